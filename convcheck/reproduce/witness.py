"""The smallest call that shows a finding, from new answers or from a report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.answers import CRASHED, REFUSED, Answers
from convcheck.judge.calls import judged_call
from convcheck.judge.examples import (
    ELEMENTS_BEFORE,
    formats_of,
    returned_strips,
    strip,
    strips_due,
)
from convcheck.judge.matching import Returned, closest, is_between
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CallExample,
    CaseResult,
    Example,
    Group,
    Strip,
    TypeName,
    Word,
    entry_word,
)
from convcheck.judge.words import pattern
from convcheck.numerics.format import Float, Text
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.order import order_key
from convcheck.records import grouped, replace
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics import expected as patterns
from convcheck.semantics.expected import (
    EXACT,
    PATTERNS,
    UNDEFINED,
    Call,
    CallReading,
    Expected,
    ExpectedCall,
    ExpectedOutput,
    Reading,
)
from convcheck.vectors.model import CallSet, VectorSet

SHOWN = 64  # elements shown of a longer output
REFUSAL, ANYTHING = "<refused>", "<undefined>"
# shape of a single element that shows a placement
_ALONE: Mapping[str, tuple[int, ...]] = {"": (1,), "bulk": (1,), "alone": (), "empty": (0,)}


class Due(NamedTuple):
    """The expected result under one reading: outputs, REFUSAL or ANYTHING."""

    reading: str
    outputs: tuple[Strip, ...] | str


@dataclass(frozen=True)
class Witness:
    """A finding on one call, with the expected results and the answer."""

    backend: BackendInfo
    group: Group
    one: CallSet
    got: tuple[Strip, ...] | None  # None if the answer is missing or unknown
    message: str = ""
    where: tuple[int, int] = (0, 0)  # the output and the element that differ
    first: bool = True  # whether it shows on the first call of a fresh backend
    asked: bool = True  # whether the answer is new, not from a report
    calls: int = 1
    cause: str = ""  # the cause and its number of cases, '' if causes were not tried
    before: Case | None = None  # the case with other attribute values that has to run first

    @property
    def case(self) -> Case:
        """The case of the call."""
        return self.one.case

    @cached_property
    def inputs(self) -> tuple[Strip, ...]:
        """The input tensors."""
        tensors = zip(self.case.inputs, self.one.calls[0], strict=True)
        return tuple(Strip(_type(t), bits.shape, 0, _words(bits)) for t, bits in tensors)

    @cached_property
    def due(self) -> tuple[Due, ...]:
        """The expected results, any of them right. Equal readings are one."""
        readings = self.one.expected[0].readings
        found: dict[object, Due] = {}
        for reading in readings:
            outputs = _outputs(reading, *self.where)
            found.setdefault(outputs, Due(reading.name, outputs))
        kept = tuple(found.values())
        if len(kept) == 1 and len(readings) > 1:
            kept = (kept[0]._replace(reading=""),)
        refusal = Due("a refusal is also accepted", REFUSAL)
        return (*kept, refusal) if self.case.refusal else kept

    @cached_property
    def between(self) -> tuple[tuple[Strip, Strip], ...]:
        """Pairs of outputs. Answers between them, widened by an ulp, are tolerated."""
        [expected] = self.one.expected
        exact = [r.outputs for r in expected.readings if r.pattern == EXACT]
        if not expected.between or any(len(outputs) != 1 for outputs in exact):
            return ()
        floats = (due for [due] in exact if isinstance(due.dtype.format, Float))
        alike = grouped(((due.dtype, due.shape), due) for due in floats)
        return tuple(_ends(dues, self.where[1]) for dues in alike.values())


def failing(result: CaseResult) -> list[Group]:
    """Return the findings of a case, in the report's order."""
    return [group for group in result.groups if group.verdict in FAILURES]


def call_at(vectors: VectorSet, index: NDArray[np.intp]) -> CallSet:
    """Return elements, in the index's shape, as a call."""
    some, case = vectors.expected.take(index.reshape(-1)), vectors.case
    used = [some.decisions[row] for row in np.unique(some.rows)]
    names = max((decision.readings for decision in used), key=len, default=("",))

    def reading(name: str, due: Reading) -> CallReading:
        found = set(due.patterns.tolist())
        if len(found) == 1 and found <= {patterns.REFUSED, UNDEFINED}:
            return CallReading(name, pattern=found.pop())
        output = ExpectedOutput(case.outputs[0], index.shape, due.codes, due.patterns)
        return CallReading(name, (output,))

    readings = tuple(map(reading, names, some.readings))
    expected = ExpectedCall(int(some.rows[0]) if index.size else 0, readings, rows=(some.rows,))
    call = tuple(inputs_at(vectors, index))
    return CallSet(case, (call,), (expected,), some.decisions, vectors.coverage, vectors.form)


def of_call(backend: BackendInfo, one: CallSet, answers: Answers, group: Group) -> Witness | None:
    """Return a call's witness, None if its answer does not show the group."""
    shown, where = group, (0, 0)
    [call], [got] = one.calls, answers.got
    if got is None and answers.state[0] not in (REFUSED, CRASHED):
        if group.kind != "wrong type":  # the answer was malformed or missing
            return None
    else:
        judged = judged_call(one, answers, 0)
        if judged.sort != group.verdict:
            return None
        output, at = judged.where or (0, 0)
        where = output, max(at, 0)
        if any(tensor.size for tensor in call):
            shown = replace(group, decision=one.decisions[judged.row], kind=judged.kind)
    return witness_of(backend, one, answers, shown, where)


def witness_of(
    backend: BackendInfo,
    one: CallSet,
    answers: Answers,
    group: Group,
    where: tuple[int, int] = (0, 0),
) -> Witness:
    """Return a call's witness. `where`: (output, element) that differs."""
    [got] = answers.got
    strips = None if got is None else _returned(one, got, where)
    return Witness(backend, group, one, strips, answers.messages.get(0, ""), where)


def _returned(one: CallSet, got: Returned, where: tuple[int, int]) -> tuple[Strip, ...]:
    if isinstance(got, Oversized):
        return returned_strips(one, 0, got, 0)
    formats, (output, at) = formats_of(one, 0), where
    arrays = zip(map(str, got.types), got.arrays, strict=False)
    return tuple(
        _part(TypeName(name, formats.get(name)), array, at if i == output else 0)
        for i, (name, array) in enumerate(arrays)
    )


def _type(dtype: DType) -> TypeName:
    return TypeName(dtype.name, dtype.format)


def _words(bits: Bits) -> tuple[Word, ...]:
    return tuple(map(entry_word, bits.reshape(-1)))


def _part(name: TypeName, bits: Bits, at: int, due: Bits | None = None) -> Strip:
    """Return a tensor, of a long one the elements around `at`."""
    first = max(0, at - ELEMENTS_BEFORE) if bits.size > SHOWN else 0
    return strip(name, name.fmt, bits, first, due, SHOWN)


def _outputs(reading: CallReading, output: int, at: int) -> tuple[Strip, ...] | str:
    if reading.pattern != EXACT:
        return f"<{PATTERNS[reading.pattern]}>"
    shaped = [(_type(due.dtype), due.codes.reshape(due.shape)) for due in reading.outputs]
    return tuple(
        _part(name, codes, at if i == output else 0, reading.outputs[i].patterns)
        for i, (name, codes) in enumerate(shaped)
    )


def _ends(dues: list[ExpectedOutput], at: int) -> tuple[Strip, Strip]:
    dtype, shape = dues[0].dtype, dues[0].shape
    fmt = cast(Float, dtype.format)
    codes = np.stack([due.codes for due in dues])
    keys = np.stack([order_key(fmt, cast(Codes, due.codes)).astype(np.int64) for due in dues])
    free = np.stack([due.patterns != EXACT for due in dues]).any(axis=0)
    shown = np.where(free, UNDEFINED, EXACT).astype(np.uint8)
    low, high = (
        np.take_along_axis(codes, one[None], 0)[0].reshape(shape)
        for one in (keys.argmin(axis=0), keys.argmax(axis=0))
    )
    return _part(_type(dtype), low, at, shown), _part(_type(dtype), high, at, shown)


def reported(
    spec: Spec, backend: BackendInfo, case: Case, group: Group, calls: Sequence[Call]
) -> Witness:
    """Return the witness of a group's first example, without a backend. Raises UsageError.

    `calls` are those of the case, in a run's order.
    """
    if not group.examples:
        raise _ask_again(f"the report has no example of {group.kind or group.verdict}")
    example = group.examples[0]
    if isinstance(example, Example):
        return _of_element(backend, case, group, example)
    entire = next((one for one in calls if all(map(_is_part, example.inputs, one))), None)
    first = entire is None or [t.shape for t in entire] == [t.shape for t in calls[0]]
    for call, shown in _known_calls(example, entire):
        one = expecting_call(spec, case, call)
        if one is None:
            continue
        [expected], is_pattern = one.expected, isinstance(shown.expected, str)
        due = [strips_due(r, 0) for r in expected.readings if r.pattern == EXACT]
        if shown is not example and not is_pattern and shown.expected not in due:
            continue
        if is_pattern or not _is_right(expected, shown.got):
            output, at = shown.difference or (0, 0)
            where = output, max(at, 0)
            return Witness(backend, group, one, shown.got, shown.message, where, first, asked=False)
    raise _ask_again("the report has only a part of the call, or of the readings")


def _ask_again(said: str) -> UsageError:
    return UsageError(said, hint="use --backend NAME instead of --report to test it again")


def _of_element(backend: BackendInfo, case: Case, group: Group, example: Example) -> Witness:
    shape = _ALONE.get(group.placement)
    if shape is None or (group.placement == "bulk" and group.verdict == "crashed"):
        raise _ask_again(f"the report only names the placement {group.placement!r}")
    source, target, due = case.inputs[0].format, case.outputs[0], example.expected
    blank = "" if isinstance(target.format, Text) else 0
    code, sort = (blank, PATTERNS.index(str(due)[1:-1])) if pattern(due) else (due, EXACT)
    decision = replace(group.decision, readings=(group.reading,))
    reading = Reading(np.array([code], target.format.storage), np.array([sort], np.uint8))
    expected = Expected(np.zeros(1, np.int16), (decision,), (reading,))
    inputs = (np.array(example.inputs[:1], source.storage),)
    one = call_at(VectorSet(case, inputs, expected, "sampled", decision), np.zeros(shape, np.intp))
    got = example.got
    strips = None if got is None else (Strip(_type(target), shape, 0, (got,) * prod(shape)),)
    return Witness(backend, group, one, strips, example.message, asked=False)


def _is_part(strip: Strip, tensor: Bits) -> bool:
    cut = tensor.reshape(-1)[strip.first : strip.first + len(strip.words)]
    return strip.shape == tensor.shape and strip.words == _words(cut)


def _known_calls(example: CallExample, entire: Call | None) -> Iterator[tuple[Call, CallExample]]:
    if all(strip.is_whole for strip in example.inputs):
        yield tuple(map(_tensor, example.inputs)), example
        return
    alone = entire is None or all(tensor.size == 1 for tensor in entire[1:])
    if alone and (cut := _cut(example)):
        yield tuple(map(_tensor, cut.inputs)), cut
    if entire is not None:
        yield entire, example


def _cut(example: CallExample) -> CallExample | None:
    _, at = example.difference or (0, 0)

    def one(strip: Strip, word: Word) -> Strip:
        return replace(strip, shape=(1,) * len(strip.shape), first=0, words=(word,))

    def of_output(strips: tuple[Strip, ...]) -> tuple[Strip, ...]:
        [strip] = strips
        return (one(strip, strip.words[max(at - strip.first, 0)]),)

    due, got = example.expected, example.got
    try:
        return replace(
            example,
            inputs=tuple(
                one(*pair) for pair in zip(example.inputs, example.arguments, strict=True)
            ),
            expected=due if isinstance(due, str) else of_output(due),
            got=None if got is None else of_output(got),
            difference=None,
        )
    except (ValueError, IndexError):
        return None


def expecting_call(spec: Spec, case: Case, call: Call) -> CallSet | None:
    """Return a call with expected results, None if the rules do not decide it."""
    from convcheck.vectors.generate import expecting

    try:
        return expecting(spec, case, [call], "sampled")
    except ConvcheckError:
        return None


def _is_right(expected: ExpectedCall, got: tuple[Strip, ...] | None) -> bool:
    if got is None or not all(s.format and s.is_whole for s in got):
        return False
    answer = Outputs(tuple(map(_tensor, got)), tuple(s.type for s in got))
    return is_between(expected, answer) or closest(expected, answer)[1] is None


def _tensor(strip: Strip) -> Bits:
    assert strip.format is not None  # noqa: S101 a case's own types are known
    codes: Bits = np.array(strip.words, strip.format.storage).reshape(strip.shape)
    return codes
