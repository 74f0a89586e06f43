"""Draw the expected outputs of one call under each reading, the rules, and a backend's answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from convcheck.judge.result import Strip, TypeName, Word
from convcheck.judge.words import pattern, type_and_shape
from convcheck.numerics.number import Bits
from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.report.draw.explain import LEVELS, sentence_blocks
from convcheck.report.examples import few, spelled
from convcheck.rules.model import DType
from convcheck.semantics.expected import EXACT, PATTERNS, CallReading, Decision, ExpectedOutput
from convcheck.streams import plural
from convcheck.vectors.model import CallSet

_READINGS = 12
_COMPLETE = 16  # elements shown of a tensor
_FEW = 3  # elements shown with codes


@dataclass(frozen=True)
class ExplainedCall:
    """One call of a case with its expected outputs, as a set of one call."""

    calls: CallSet
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    #: For each input, notes on values that its type cannot represent.
    notes: tuple[Sequence[str], ...]


def explain_call_page(it: ExplainedCall) -> Iterator[Block]:
    """Yield an explanation: inputs, rule, and the outputs of each reading."""
    [expected] = it.calls.expected
    yield Text(it.calls.case.id, "bold", hang=2)
    yield BLANK
    yield from _inputs(it)
    yield from decision_blocks(it.calls.decisions[expected.row])
    if it.calls.case.refusal:
        yield field("note", "a backend may also refuse this case")
    for reading in expected.readings[:_READINGS]:
        yield from _reading(it, reading, len(expected.readings) > 1)
    if len(expected.readings) > _READINGS:
        yield field("", f"and {plural(len(expected.readings) - _READINGS, 'more reading')}")
    if expected.between:
        yield BLANK
        said = "also what lies, at every index, between the least and the greatest of the readings"
        yield field("tolerated", f"{said}, an ulp more to either side")


def _inputs(it: ExplainedCall) -> Iterator[Block]:
    [call] = it.calls.calls
    given = zip(it.names, it.calls.case.inputs, call, it.notes, strict=True)
    for name, dtype, tensor, notes in given:
        one = _strip(dtype, tensor.shape, tensor.reshape(-1))
        alike = len(set(one.words)) == 1 and len(one.words) > 1
        each = ", each element" if alike else ""
        said = ", ".join(spelled(one, w) for w in (one.words[:1] if alike else one.words[:_FEW]))
        yield field(name, f"{type_and_shape(one)}  {said}{each}".rstrip())
        for note in notes:
            yield field("", note)


def decision_blocks(by: Decision) -> Iterator[Block]:
    """Yield the decision for a call or an element: row, level and text."""
    yield field("rule", by.name, right=[(str(by.place), "dim")])
    level = LEVELS[by.level] if by.level != "disputed" else "disputed: one reading has to hold"
    yield field("level", level)
    for one in by.sentences:
        yield from sentence_blocks(one, one.of)
    if by.row_in_words:
        yield field("row", by.row_in_words)


def _reading(it: ExplainedCall, reading: CallReading, several: bool) -> Iterator[Block]:
    if several:
        yield BLANK
        yield field("reading", reading.name or "unnamed", "bold")
    if reading.pattern != EXACT:
        yield field("expected", pattern(f"<{PATTERNS[reading.pattern]}>"), "bold")
        return
    for i, due in enumerate(reading.outputs):
        named = f"{it.outputs[i]}  " if len(reading.outputs) > 1 else ""
        yield field("expected" if not i else "", named + _due(due), "bold")


def _due(due: ExpectedOutput) -> str:
    """Return type, shape and the first elements."""
    one = _strip(due.dtype, due.shape, due.codes, due.patterns)
    if len(one.words) <= _FEW:
        return f"{type_and_shape(one)}  {few(one)}".rstrip()
    more = prod(due.shape) - len(one.words)
    said = ", ".join(spelled(one, word, codes=False) for word in one.words)
    return f"{type_and_shape(one)}  {said}" + (f", … and {more:,} more" if more > 0 else "")


def _strip(
    dtype: DType, shape: tuple[int, ...], codes: Bits, patterns: Bits | None = None
) -> Strip:
    words: list[Word] = [int(one) for one in codes[:_COMPLETE]]
    if patterns is not None:
        said = zip(words, patterns[:_COMPLETE].tolist(), strict=True)
        words = [w if p == EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(TypeName(dtype.name, dtype.format), shape, 0, tuple(words))
