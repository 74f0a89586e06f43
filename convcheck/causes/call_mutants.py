"""Causes planted in cases of whole calls: which of them the calls that are asked catch.

Calls beyond those are looked at only where none of them catches a mutant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.call_search import freed
from convcheck.causes.score import Mutant
from convcheck.judge.answers import ANSWERED, CRASHED, CallAnswers
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.judge.calls import judged_call
from convcheck.judge.result import Word
from convcheck.judge.tally import RIGHT
from convcheck.numerics.decimal import spell
from convcheck.numerics.format import Format, Text
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.expected import REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import DEADLY, Call, CallReading, WrongCall
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

_SHOWN = 3  # elements of a tensor that are named


def call_mutants(
    spec: Spec, calls: CallSet, causes: Sequence[Cause], seed: int, *, further: bool
) -> list[Mutant]:
    """Return the causes that can be observed in a case, with how many calls catch each; `further`:
    those that none does are looked at in the calls of the boundary tier, too.
    """
    found, left = [], []
    caught: dict[object, int] = {}
    for cause, made in _planted(spec, calls, causes):
        if made.key not in caught:
            caught[made.key] = sum(is_wrong(calls, i, made.answer(i)) for i in range(len(calls)))
        if caught[made.key]:
            found.append(Mutant(calls.case, cause, caught[made.key]))
        else:
            left.append(cause)
    return [*found, *(_observed(spec, calls, left, seed) if further and left else ())]


def _planted(
    spec: Spec, calls: CallSet, causes: Iterable[Cause]
) -> Iterator[tuple[Cause, WrongCall]]:
    """Yield causes with what they make of calls, but for those that change nothing."""
    edits = wrong_calls(spec, calls.case, calls.calls)
    right = {made.key for made in edits(())}
    for cause in causes:
        made = next(iter(edits((cause,))), None)
        if made is not None and made.key not in right:
            yield cause, made


def _observed(spec: Spec, calls: CallSet, causes: Sequence[Cause], seed: int) -> Iterator[Mutant]:
    """Yield the causes that some call shows which is not asked."""
    more = _others(spec, calls, seed)
    shown_by: dict[object, int | None] = {}
    for cause, made in _planted(spec, more, causes) if len(more) else ():
        if made.key not in shown_by:
            wrong = (i for i in range(len(more)) if is_wrong(more, i, made.answer(i)))
            shown_by[made.key] = next(wrong, None)
        i = shown_by[made.key]
        if i is not None:
            yield Mutant(calls.case, cause, 0, call_in_short(calls.case, more.calls[i]))


def _others(spec: Spec, calls: CallSet, seed: int) -> CallSet:
    """Return the calls of the boundary tier that the edge tier does not ask."""
    known = set(map(_content, calls.calls))
    asked, coverage = calls_of(spec, calls.case, "boundary", seed)
    more = [call for call in asked if _content(call) not in known]
    return expecting(spec, calls.case, more, coverage)


def _content(call: Call) -> tuple[tuple[tuple[int, ...], bytes], ...]:
    return tuple((tensor.shape, tensor.tobytes()) for tensor in call)


def call_in_short(case: Case, call: Call) -> str:
    """Return the inputs of a call, of a tensor the shape and the first elements."""
    said = []
    for dtype, tensor in zip(case.inputs, call, strict=True):
        words = [_spelled(dtype.format, word) for word in tensor.reshape(-1)[:_SHOWN].tolist()]
        more = ["…"] if tensor.size > _SHOWN else []
        listed = ", ".join(words + more)
        said.append(f"{list(tensor.shape)} {listed}" if tensor.shape else listed)
    return "; ".join(said)


def _spelled(fmt: Format, word: Word) -> str:
    return str(word) if isinstance(fmt, Text) else spell(fmt, int(word))


# One call ----------------------------------------------------------------------------------------


def is_wrong(calls: CallSet, i: int, given: CallReading | None) -> bool:
    """Return whether an answer to call `i` is judged wrong, whatever stands where it is open."""
    if given is None:
        return False
    one = replace(calls, calls=calls.calls[i : i + 1], expected=calls.expected[i : i + 1])
    due = calls.expected[i]
    said = freed(given, due) is not None
    filled = [given] if said else [_filled(given, reading) for reading in due.readings]
    return all(each is not None and _is_judged_wrong(one, each) for each in filled)


def _is_judged_wrong(one: CallSet, given: CallReading) -> bool:
    answers = CallAnswers((_outputs(given),), np.array([_state(given)], np.uint8), {})
    return judged_call(one, answers, 0).sort not in (RIGHT, "undefined")


def _filled(given: CallReading, due: CallReading) -> CallReading | None:
    """Return an answer with what is due in the place of elements that are not said: of all answers
    that it may be the one that is closest to a reading; None where that has another form.
    """
    pairs = list(zip(given.outputs, due.outputs, strict=False))
    if len(due.outputs) != len(given.outputs) or any(a.shape != b.shape for a, b in pairs):
        return None
    outputs = []
    for one, other in pairs:
        open_ = one.patterns == UNDEFINED
        codes = np.where(open_, other.codes, one.codes)
        patterns = np.where(open_, other.patterns, one.patterns)
        outputs.append(replace(one, codes=codes, patterns=patterns))
    return replace(given, outputs=tuple(outputs))


def _outputs(given: CallReading | None) -> Outputs | None:
    if given is None or not given.outputs:
        return None
    arrays = tuple(output.answer for output in given.outputs)
    return Outputs(arrays, tuple(output.dtype.name for output in given.outputs))


def _state(given: CallReading | None) -> int:
    if given is DEADLY:
        return CRASHED
    return WAS_REFUSED if given is not None and given.pattern == REFUSED else ANSWERED
