"""What a backend did in the open rows of a case, in a journal: whole, so that a survey goes on."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from convcheck.judge.answers import ANSWERED, LOST
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.report.json import encode
from convcheck.report.json import report as form
from convcheck.report.json.codec import Count, Shape
from convcheck.report.json.decode import Types, call_of, place_of, shown_of
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision, Quotation
from convcheck.survey.model import Answered, Surveyed

State = Annotated[int, msgspec.Meta(ge=ANSWERED, le=LOST)]
KeptExample = form.ExampleJson | form.CallJson


class KeptDecisionJson(Shape, frozen=True, kw_only=True):
    """The row that decides; the fields are those of `Decision`."""

    rule: str
    row: str
    level: Level
    cite: str
    source: str
    place: str
    readings: tuple[str, ...]
    trail: tuple[tuple[str, str], ...]
    quotations: tuple[Quotation, ...] = ()
    row_in_words: str = ""
    gloss: str = ""


class KeptAnswersJson(Shape, frozen=True, kw_only=True):
    """Elements with what came of them."""

    #: for each input, codes or texts
    inputs: tuple[tuple[int | str, ...], ...]
    #: The code or text that was answered, where one was.
    got: tuple[int | str, ...]
    #: Whether each was answered, refused, or killed the backend.
    state: tuple[State, ...]
    #: by position
    messages: tuple[tuple[int, str], ...]


class KeptRowJson(Shape, frozen=True, kw_only=True):
    """What a backend did with the inputs of one row; the fields are those of `Surveyed`."""

    decision: KeptDecisionJson
    asked: Count
    fits: tuple[tuple[str, tuple[str, ...]], ...]
    refused: Count
    crashed: Count
    elsewhere: Count
    odd: Count
    message: str
    unsupported: bool
    digest: str
    examples: tuple[KeptExample, ...]
    #: of elements, or of whole calls
    elements: KeptAnswersJson | None
    calls: tuple[form.CallJson, ...]


_ALIKE = ("asked", "fits", "refused", "crashed", "elsewhere", "odd", "message", "unsupported",
          "digest")  # fmt: skip


def kept_row(case: Case, one: Surveyed) -> KeptRowJson:
    """Return a row of a case's survey as a struct."""
    by, sample = one.decision, one.sample
    calls = () if isinstance(sample, Answered) else sample
    return KeptRowJson(
        **{name: getattr(one, name) for name in _ALIKE},
        decision=KeptDecisionJson(**vars(by) | {"place": str(by.place)}),
        examples=tuple(encode.example(case, shown) for shown in one.examples),
        elements=_kept(sample) if isinstance(sample, Answered) else None,
        calls=tuple(encode.call_example(case, shown) for shown in calls),
    )


def _kept(sample: Answered) -> KeptAnswersJson:
    return KeptAnswersJson(
        inputs=tuple(tuple(tensor.tolist()) for tensor in sample.inputs),
        got=tuple(sample.got.tolist()),
        state=tuple(sample.state.tolist()),
        messages=tuple(sample.messages.items()),
    )


def surveyed_of(row: KeptRowJson, case: Case, types: Types) -> Surveyed:
    """Return a row of a case's survey. Raises ValueError for what does not fit the case."""
    by = msgspec.structs.asdict(row.decision)
    calls = tuple(call_of(shown, case, types) for shown in row.calls)
    return Surveyed(
        **{name: getattr(row, name) for name in _ALIKE},
        decision=Decision(**by | {"place": place_of(row.decision.place)}),
        examples=tuple(shown_of(shown, case, types) for shown in row.examples),
        sample=_answered(row.elements, case) if row.elements else calls,
    )


def _answered(kept: KeptAnswersJson, case: Case) -> Answered:
    lengths = {len(each) for each in (*kept.inputs, kept.got, kept.state)}
    if not case.outputs or len(lengths) > 1:
        raise ValueError(f"the answers of {case.id} do not go together")
    pairs = zip(kept.inputs, case.inputs, strict=False)
    inputs = tuple(_array(words, dtype.format) for words, dtype in pairs)
    got = _array(kept.got, case.outputs[0].format)
    return Answered(inputs, got, np.array(kept.state, np.uint8), dict(kept.messages))


def _array(words: tuple[int | str, ...], fmt: Format) -> Bits:
    """Return codes or texts as an array. Raises ValueError, or OverflowError, for what is none."""
    text = fmt.storage.hasobject
    if any(isinstance(word, str) != text for word in words):
        raise ValueError("codes and texts are not words of one type")
    return np.array(words, fmt.storage)
