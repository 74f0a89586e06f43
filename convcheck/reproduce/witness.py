"""The smallest call that shows a finding, from a report or by testing the backend again.

An element is tried alone, then in growing tensors. A whole call is cut to the differing element, or
halved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.ask.placements import FRONT, WITH_1, shape_of
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    LARGE_CALLS,
    MANY,
    MANY_CALLS,
    NOT_ASKED,
    OTHERS,
    REFUSED,
    Answers,
)
from convcheck.judge.calls import judge, judged_call
from convcheck.judge.examples import (
    ELEMENTS_BEFORE,
    formats_of,
    returned_strips,
    strip,
    strips_due,
)
from convcheck.judge.matching import Returned, closest, is_between, matching
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
from convcheck.plan.runner import Single, execute
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
from convcheck.vectors.model import CallSet, Vectors, VectorSet

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


SIZES = (
    *(*range(2, 35), 48, 60, 64, 65, 96, 120, 128, 129, 256, 257, 512, 1024, 1025, 4096),
    *(1 << 14, 1 << 16, (1 << 16) + 1),
)
_BASES = 3  # smallest calls of a group that are tried
_FREE = ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))
Index = NDArray[np.intp]


@dataclass(frozen=True)
class AskedCase:
    """A case with a backend's answers."""

    address: str
    spec: Spec
    vectors: Vectors
    backend: BackendInfo
    kept: CaseResult
    timeout: float  # seconds for a call

    @property
    def groups(self) -> list[Group]:
        """The findings, in the report's order."""
        return failing(self.kept)


def ask_case(address: str, spec: Spec, vectors: Vectors, timeout: float) -> AskedCase:
    """Test a case. Raises UsageError, UnavailableError or KeyboardInterrupt."""
    backend, kept = _asked(address, Single(vectors, spec), timeout)
    found = AskedCase(address, spec, vectors, backend, kept, timeout)
    if kept.verdict == "error":
        said = f"the adapter of {address} failed on {kept.case.id}: {kept.message}"
        raise UsageError(said, hint="there is no answer to show")
    if not found.groups:
        raise does_not_fail(kept, address)
    return found


def does_not_fail(one: CaseResult, address: str) -> UsageError:
    """Return the error for a case without findings."""
    said = f"{one.case.id} does not fail on {address}: {one.verdict}"
    if one.message:
        said += f" ({one.message})"
    return UsageError(said, hint="`convcheck run` says which cases fail")


def smallest(found: AskedCase, group: Group) -> Witness:
    """Return the smallest call that shows a group. Raises UsageError if none does."""
    if isinstance(found.vectors, CallSet):
        witness = _of_calls(found, found.vectors, group)
    elif isinstance(found.vectors.case.outputs[0].format, Text):
        witness = _of_texts(found, found.vectors, group)
    else:
        witness = _of_elements(found, found.vectors, group)
    if witness is None:
        said = f"{found.address} does not show it again: {group.kind or group.verdict}"
        hint = "it may depend on earlier calls; --report FILE takes it from a report"
        raise UsageError(said, hint=hint)
    return witness


def _asked(address: str, corpus: Single, timeout: float) -> tuple[BackendInfo, CaseResult]:
    done = execute(address, corpus.cases, corpus, timeout=timeout, judge=_keep, thorough=True)
    result = corpus.result(done)
    if result.answers is None:
        said = result.message or result.verdict
        raise UsageError(f"{corpus.one.case.id} cannot be tested on {address}: {said}")
    return done.backend, result


def _keep(vectors: Vectors, answers: Answers) -> CaseResult:
    return replace(judge(vectors, answers), answers=answers)


def _showing(
    found: AskedCase, tries: Sequence[CallSet], group: Group, before: Case | None = None
) -> Iterator[tuple[int, Witness]]:
    """Make calls in one worker, after those of `before`, and yield those that show a group."""
    if not tries:
        return
    first, every = tries[0], tuple(one.calls[0] for one in tries)
    free = CallSet(
        first.case, every, (_FREE,) * len(every), (first.form,), first.coverage, first.form
    )
    asked = _asked(found.address, Single(free, before=before), found.timeout)[1]
    answers = cast(Answers, asked.answers)
    for number, one in enumerate(tries):
        got, state = answers.got[number : number + 1], answers.state[number : number + 1]
        faults = (fault.message for fault in answers.faults if fault.index == number)
        said = answers.messages.get(number) or next(faults, "")
        if answers.declined is not None:
            got, state = np.array([None]), np.array([REFUSED], np.uint8)
            said = answers.declined.message
        answer = Answers(got, state, {0: said} if said else {})
        if witness := of_call(found.backend, one, answer, group):
            yield number, witness


def _alone(found: AskedCase, one: CallSet | None, group: Group) -> Witness | None:
    return next((witness for _, witness in _showing(found, [one] if one else [], group)), None)


def _of_elements(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    elements = np.array(_needed(found, vectors, group), np.intp)
    alone, every = call_at(vectors, elements), call_at(vectors, np.arange(len(vectors)))
    if group.placement == OTHERS:
        others = [one for one in Single(vectors, found.spec).cases if one != vectors.case]
        for one, before in product((alone, every), others):
            for _, witness in _showing(found, [one], group, before):
                return replace(witness, before=before)
        return None
    allowed = group.placement != "empty" and _allowed(vectors, elements.shape)
    if allowed and (shown := _alone(found, alone, group)):
        return shown
    if group.placement == MANY_CALLS:
        for one in (alone, every):
            for number, witness in _showing(found, [one] * 2 * MANY, group):
                return replace(witness, first=False, calls=number + 1)
        return None
    indices = _tries(vectors, elements, group)
    tries = [call_at(vectors, index) for index in indices if _allowed(vectors, index.shape)]
    for number, witness in _showing(found, tries, group):
        return _alone(found, tries[number], group) or replace(witness, first=False)
    return None


def _needed(asked: AskedCase, vectors: VectorSet, group: Group) -> list[int]:
    """Return a group's element, and elements that rule out other readings."""
    example = group.examples[0] if group.examples else None
    if not isinstance(example, Example):
        return [0] if len(vectors) else []
    x = int(np.flatnonzero(np.asarray(vectors.inputs[0] == example.inputs[0], bool))[0])
    answers = cast(Answers, asked.kept.answers)
    if answers.state[x] != ANSWERED or group.placement:
        return [x]
    found, expected, case = [x], vectors.expected, vectors.case
    decision = expected.decisions[expected.rows[x]]
    rule = [(d.rule, d.readings) == (decision.rule, decision.readings) for d in expected.decisions]
    here = np.array(rule, bool)[expected.rows] & (answers.state == ANSWERED)
    formats = case.outputs[0].format, case.inputs[0].format
    right = [
        matching(reading, answers.got, *formats, vectors.inputs[0])
        for reading in expected.readings[: len(decision.readings)]
    ]
    others = [one for one in right if one[x]]
    while others:
        against = np.flatnonzero(here & ~others[0])
        if not len(against):
            break
        found.append(int(against[0]))
        others = [one for one in others if one[against[0]]]
    return found


def _tries(vectors: VectorSet, elements: Index, group: Group) -> Iterator[Index]:
    placement = group.placement
    if placement == "empty" or not len(elements):
        yield np.zeros(0, np.intp)
        return
    if len(elements) == 1:
        yield elements.reshape(())
    yield elements.reshape(1, -1, 1, 1)
    ranks = [rank for rank in (*FRONT, *WITH_1) if f"{rank}-D" == placement]
    shaped = [prod(shape_of(rank, len(vectors))) for rank in ranks if rank in FRONT]
    largest = max(len(vectors), LARGE_CALLS.get(placement, 0), *shaped)
    for size in [n for n in SIZES if n < largest] + [largest]:
        copies = np.resize(elements, size)
        window = np.arange(elements[0] - size + 1, elements[0] + 1) % len(vectors)
        shapes = [shape_of(rank, size) for rank in ranks if rank in FRONT]
        for shape in [(size,), *(shape for shape in shapes if prod(shape) == size)]:
            yield from (copies.reshape(shape), window.reshape(shape))
    yield from (np.resize(elements, WITH_1[rank]) for rank in ranks if rank in WITH_1)


def _allowed(vectors: VectorSet, shape: tuple[int, ...]) -> bool:
    shapes = vectors.case.shapes
    return shapes is None or (len(shape) in shapes.ranks and (shapes.empty or 0 not in shape))


def _of_texts(found: AskedCase, vectors: VectorSet, group: Group) -> Witness | None:
    index = np.array(_needed(found, vectors, group), np.intp)
    kept = _asked(found.address, Single(vectors.take(index)), found.timeout)[1]
    answers, name = cast(Answers, kept.answers), vectors.case.outputs[0].name
    came = not len(index) or answers.state[0] == ANSWERED
    got = Outputs((answers.got,), (name,)) if came else None
    its = Answers(np.array([got]), answers.state[:1], {0: answers.messages.get(0, "")})
    for shown in (one for one in failing(kept) if one.verdict == group.verdict):
        return witness_of(found.backend, call_at(vectors, index), its, shown)
    return None


def _of_calls(found: AskedCase, calls: CallSet, group: Group) -> Witness | None:
    expecting = partial(expecting_call, found.spec, calls.case)

    def tried(call: Call) -> Witness | None:
        return _alone(found, expecting(call), group)

    for i in _members(calls, cast(Answers, found.kept.answers), group)[:_BASES]:
        call = calls.calls[i]
        one = _one_element(call, group)
        if witness := (one and tried(one)) or _halved(call, tried):
            return witness
        later = [each for each in map(expecting, (calls.calls[0], call)) if each]
        for number, witness in _showing(found, later, group):
            if number == 1:
                return replace(witness, first=False)
    return None


def _members(calls: CallSet, answers: Answers, group: Group) -> list[int]:
    found = []
    for i in np.flatnonzero(answers.state != NOT_ASKED).tolist():
        judged, got = judged_call(calls, answers, i), answers.got[i]
        kind = group.kind if judged.sort == "crashed" else judged.kind
        name = calls.decisions[judged.row].name
        if (name, judged.sort, kind) == (group.decision.name, group.verdict, group.kind):
            arrays = got.arrays if isinstance(got, Outputs) else ()
            found.append((sum(a.size for a in (*calls.calls[i], *arrays)), i))
    return [i for _, i in sorted(found)]


def _one_element(call: Call, group: Group) -> Call | None:
    if all(tensor.size <= 1 for tensor in call):
        return None
    example = group.examples[0] if group.examples else None
    words = example.arguments if isinstance(example, CallExample) else ()
    if len(words) != len(call):
        if not all(tensor.size for tensor in call):
            return None
        words = tuple(int(cast(int, tensor.reshape(-1)[0])) for tensor in call)
    return tuple(
        cast(Bits, np.full((1,) * tensor.ndim, word, tensor.dtype))
        for tensor, word in zip(call, words, strict=True)
    )


def _halved(call: Call, tried: Callable[[Call], Witness | None]) -> Witness | None:
    witness = tried(call)
    while witness:
        smaller = ((half, tried(half)) for half in _halves(call))
        found = next(((half, one) for half, one in smaller if one), None)
        if found is None:
            break
        call, witness = found
    return witness


def _halves(call: Call) -> Iterator[Call]:
    for axis in range(1, max(tensor.ndim for tensor in call) + 1):
        size = max(t.shape[-axis] for t in call if t.ndim >= axis)
        for half in (range(size // 2), range(size // 2, size)) if size > 1 else ():
            cut = tuple(
                t.take(half, -axis) if t.ndim >= axis and t.shape[-axis] == size else t
                for t in call
            )
            if any(t.size for t in cut):
                yield cut
