"""What is expected of one whole call, under each reading, and why; and what a backend answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import Strip, Word
from convcheck.judge.words import pattern, type_and_shape
from convcheck.numerics.codes import Bits
from convcheck.report.draw.explain import LEVELS, line, sentence_lines
from convcheck.report.draw.layout import paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.report.examples import few, spelled
from convcheck.rules.model import DType
from convcheck.semantics.expected import EXACT, PATTERNS, Decision
from convcheck.semantics.expected_calls import CallReading, ExpectedOutput
from convcheck.vectors.model import CallSet
from convcheck.wording import plural

_READINGS = 12
_COMPLETE = 16  # so many elements are shown of a tensor
_FEW = 3  # of so few, the codes too


@dataclass(frozen=True)
class ExplainedCall:
    """One call of a case with what is expected of it: a set of that call alone."""

    #: The call, and what is expected of it.
    calls: CallSet
    #: The names of the inputs.
    names: tuple[str, ...]
    #: The names of the outputs.
    outputs: tuple[str, ...]
    #: Of each input, what is said of values that its type does not have.
    notes: tuple[Sequence[str], ...]


def explained_call_lines(it: ExplainedCall, width: int) -> Iterator[StyledText]:
    """Yield the lines of an explanation: inputs, the rule, and each reading's outputs."""
    [expected] = it.calls.expected
    yield from paragraph(it.calls.case.id, width, indent=0, hang=2, style="bold")
    yield StyledText()
    yield from _inputs(it, width)
    yield from _why(it, width)
    for reading in expected.readings[:_READINGS]:
        yield from _reading(it, reading, len(expected.readings) > 1, width)
    if len(expected.readings) > _READINGS:
        yield from line(
            "", f"and {plural(len(expected.readings) - _READINGS, 'more reading')}", width
        )
    if expected.between:
        yield StyledText()
        said = "also what lies, at every index, between the least and the greatest of the readings"
        yield from line("tolerated", f"{said}, an ulp more to either side", width)


def _inputs(it: ExplainedCall, width: int) -> Iterator[StyledText]:
    [call] = it.calls.calls
    given = zip(it.names, it.calls.case.inputs, call, it.notes, strict=True)
    for name, dtype, tensor, notes in given:
        one = _strip(dtype, tensor.shape, tensor.reshape(-1))
        alike = len(set(one.words)) == 1 and len(one.words) > 1
        each = ", each element" if alike else ""
        said = ", ".join(spelled(one, w) for w in (one.words[:1] if alike else one.words[:_FEW]))
        yield from line(name, f"{type_and_shape(one)}  {said}{each}".rstrip(), width)
        for note in notes:
            yield from line("", note, width)


def _why(it: ExplainedCall, width: int) -> Iterator[StyledText]:
    yield from decision_lines(it.calls.decisions[it.calls.expected[0].row], width)
    if is_accepted(it.calls.case):
        yield from line("note", "a backend may also refuse this case", width)


def decision_lines(by: Decision, width: int) -> Iterator[StyledText]:
    """Yield the lines of what decides a call, or an element of one: its row, level and text."""
    label = StyledText("rule".ljust(10), "dim")
    yield from to_margins(
        StyledText.assemble(label, by.name), StyledText(str(by.place), "dim"), width
    )
    level = LEVELS[by.level] if by.level != "disputed" else "disputed: one reading has to hold"
    yield from line("level", level, width)
    for one in by.sentences:
        yield from sentence_lines(one, width, one.of)
    if by.row_in_words:
        yield from line("row", by.row_in_words, width)


def _reading(
    it: ExplainedCall, reading: CallReading, several: bool, width: int
) -> Iterator[StyledText]:
    if several:
        yield StyledText()
        yield from line("reading", reading.name or "unnamed", width, "bold")
    if reading.pattern != EXACT:
        yield from line("expected", pattern(f"<{PATTERNS[reading.pattern]}>"), width, "bold")
        return
    for i, due in enumerate(reading.outputs):
        named = f"{it.outputs[i]}  " if len(reading.outputs) > 1 else ""
        yield from line("expected" if not i else "", named + _due(due), width, "bold")


def _due(due: ExpectedOutput) -> str:
    """Return type, shape and elements: all, or as many as there is room for."""
    one = _strip(due.dtype, due.shape, due.codes, due.patterns)
    if len(one.words) <= _FEW:
        return f"{type_and_shape(one)}  {few(one)}".rstrip()
    more = prod(due.shape) - len(one.words)
    said = ", ".join(spelled(one, word, codes=False) for word in one.words)
    return f"{type_and_shape(one)}  {said}" + (f", … and {more:,} more" if more > 0 else "")


def _strip(
    dtype: DType, shape: tuple[int, ...], codes: Bits, patterns: Bits | None = None
) -> Strip:
    """Show a tensor's first elements."""
    words: list[Word] = [int(one) for one in codes[:_COMPLETE]]
    if patterns is not None:
        said = zip(words, patterns[:_COMPLETE].tolist(), strict=True)
        words = [w if p == EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(dtype.name, dtype.format, shape, 0, tuple(words))
