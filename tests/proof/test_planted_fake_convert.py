"""The edge calls tell right from wrong: planted bugs are caught wherever they can be seen.

Observable: on calls made without looking at the edge calls, answers with the bug are judged
wrong. Counted are triples of a bug, the reading that it is planted in, and a case.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from catalogue import calls_asked
from comparing import numeric
from planted.fake_convert_bugs import BUGS, IN_TYPE, WIDE, Bug, codes_of, right, spec

from convcheck.ask.calls import ask_calls
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.judge.calls import judge_calls
from convcheck.judge.result import FAILURES
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float
from convcheck.numerics.number import numbers_of_texts
from convcheck.numerics.rounding import rounded_codes
from convcheck.numerics.words import code_of
from convcheck.records import replace
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.semantics.body.steps import layout_of, outside_of
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.calls import expecting
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet

Record = Callable[[str, object], None]
Replying = Callable[[Case, Sequence[Bits]], Answer]
CASES = list(cases(spec()))
STEPS = spec().body_as(Steps)
OUTSIDE = [c for c in CASES if outside_of(STEPS, layout_of(spec(), c), c)]
ANSWERED = [c for c in CASES if c not in OUTSIDE]
# Forms of broadcasting differ in shapes, so of some only bugs of shapes are planted, in one type.
FORMS = (
    *("per-element", "per-element-shift", "last-axis", "last-axis-shift", "images", "scalar"),
    *("scalar-to-vector", "scalar-to-images-shift"),
)
_OF_SHAPES = "scale along|the first scale|scales one|the tail|nothing"
OF_SHAPES = [bug for bug in BUGS if re.match(_OF_SHAPES, bug.name)]
PLANTED = [
    (c, OF_SHAPES if c.layout in FORMS else BUGS) for c in ANSWERED
    if c.layout not in FORMS or (c.name.startswith("float16") and c.name.endswith("=f8e4m3"))
]  # fmt: skip
SIZES = {"n": 701, "b": 3, "c": 8, "h": 8, "w": 8}
SCALARS = 80  # rich calls of one element
RIGHT = Bug("none", lambda case, base, inputs: codes_of(right(case), base, inputs))


class Replies:
    """A backend made of a function."""

    name, version = "planted", "1"

    def __init__(self, reply: Replying) -> None:
        self.reply = reply

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return self.reply(case, inputs)


def planted(bug: Bug, base: int) -> Replies:
    def reply(case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = bug.answers(case, base, inputs)
        found = codes_of(right(case), base, inputs) if codes is None else codes
        return Outputs((found.reshape(inputs[0].shape),), (case.outputs[0].name,))

    return Replies(reply)


def answering(codes: Bits) -> Replies:
    """A backend that answers these codes, in the shape of the data."""

    def reply(case: Case, inputs: Sequence[Bits]) -> Answer:
        return Outputs((codes.reshape(inputs[0].shape),), (case.outputs[0].name,))

    return Replies(reply)


def caught(backend: Replies, calls: CallSet) -> bool:
    """Ask and judge as a run does, but one call after the other until one fails."""
    return any(failing(backend, one) for one in singly(calls))


def failing(backend: Replies, calls: CallSet) -> bool:
    answers = ask_calls(backend, calls, lambda *call: None, {})
    return judge_calls(calls, answers).verdict in FAILURES


def singly(calls: CallSet) -> Iterator[CallSet]:
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        yield replace(calls, calls=(call,), expected=(expected,))


# Rich calls ----------------------------------------------------------------------------------


@cache
def rich(case: Case) -> CallSet:
    """Random data and boundaries, under random scales and shifts."""
    rng = np.random.default_rng(zlib.crc32(case.id.encode()))
    fmt = case.inputs[0].format
    assert isinstance(fmt, Float)
    scalar = not case.ranks[0]
    calls = [_rich_call(case, fmt, rng, k % 4) for k in range(SCALARS if scalar else 4)]
    return expecting(spec(), case, calls, "sampled")


def _rich_call(case: Case, fmt: Float, rng: np.random.Generator, kind: int) -> tuple[Bits, ...]:
    layout = layout_of(spec(), case).shapes
    sizes = {**SIZES, "n": (8, 8, 31, 7)[kind]} if len(layout[0][1]) == 3 else SIZES
    shapes = [tuple(sizes.get(dim) or int(dim) for dim in dims) for _, dims in layout]
    data = _rich_data(case, fmt, rng, int(np.prod(shapes[0])), kind)
    return (data.reshape(shapes[0]), *(_some(fmt, rng, shape, kind) for shape in shapes[1:]))


def _rich_data(case: Case, fmt: Float, rng: np.random.Generator, count: int, kind: int) -> Codes:
    """Boundaries of the destination as they are, or numbers of every size about one."""
    target = {"f8e4m3": "float8e4m3fn", "f8e5m2": "float8e5m2"}[str(case.attributes[0][1])]
    if kind == 0:
        pool, _ = numeric_inputs(fmt, numeric(target), "boundary", 7)
        return rng.choice(pool, count)
    exponent = rng.integers(fmt.bias - 17, fmt.bias + 10, count)
    magnitude = (np.maximum(exponent, 0) << fmt.mantissa) | rng.integers(
        0, 1 << fmt.mantissa, count
    )
    sign = rng.integers(0, 2, count) * fmt.sign_bit
    return (np.minimum(magnitude, fmt.max_magnitude) | sign).astype(fmt.storage)


def _some(fmt: Float, rng: np.random.Generator, shape: tuple[int, ...], kind: int) -> Codes:
    """Ones for a scale in the plain kind, anything of a moderate size otherwise."""
    values = np.exp(rng.normal(0, 1.5, shape)) * rng.choice([1, -1], shape, p=[0.8, 0.2])
    words = [("1" if kind == 0 else f"{v:.4f}1") for v in np.atleast_1d(values).reshape(-1)]
    return rounded_codes(numbers_of_texts(np.array(words, object)), fmt).reshape(shape)


# Bugs ----------------------------------------------------------------------------------------


def report(record: Record, name: str, seen: int, found: int) -> None:
    """Print a bug's line, and hand its counts to the summary of the run."""
    print(f"\n{name}: {seen} observable, {found} caught", end="")
    record("planted (openvino.FakeConvert)", (seen, found))


def together(scalars: Sequence[Call]) -> list[Bits]:
    """Calls of scalars as one call of tensors of shape (n,)."""
    return [np.stack(tensors) for tensors in zip(*scalars, strict=True)]


class Put:
    """Calls of a case, put to bugs planted in a reading. Many answer the same, judged once."""

    def __init__(self, calls: CallSet, base: int) -> None:
        self.case, self.base, self.asked = calls.case, base, list(singly(calls))
        self.right = list(self.answers(RIGHT))
        self.known: dict[tuple[int, bytes], bool] = {}

    def fails(self, bug: Bug) -> bool:
        """Ask and judge what the bug answers as a run does, call by call until one fails."""
        return any(self.failing(n, codes) for n, codes in enumerate(self.answers(bug)))

    def failing(self, number: int, codes: Bits) -> bool:
        key = (number, codes.tobytes())
        if key not in self.known:
            self.known[key] = failing(answering(codes), self.asked[number])
        return self.known[key]

    def answers(self, bug: Bug) -> Iterator[Bits]:
        """What a bug answers to each call: to scalars at once."""
        calls = [one.calls[0] for one in self.asked]
        if not self.case.ranks[0]:
            given = bug.to_scalars(self.case, self.base, together(calls))
            yield from self.right if given is None else given[:, None]
        else:
            for number, call in enumerate(calls):
                given = bug.answers(self.case, self.base, call)
                yield self.right[number] if given is None else given


def rightly(calls: CallSet, base: int) -> Replies:
    """A backend that answers these calls as a reading does."""
    known = dict(zip(map(content, calls.calls), Put(calls, base).right, strict=True))

    def reply(case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = known[content(inputs)].reshape(inputs[0].shape)
        return Outputs((codes,), (case.outputs[0].name,))

    return Replies(reply)


def content(inputs: Sequence[Bits]) -> bytes:
    return b"".join(tensor.tobytes() for tensor in inputs)


def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    """Case by case and reading by reading, call by call until one fails."""
    seen: dict[str, list[str]] = {bug.name: [] for bug in BUGS}
    missed: dict[str, list[str]] = {bug.name: [] for bug in BUGS}
    for (case, bugs), base in product(PLANTED, (IN_TYPE, WIDE)):
        richly, edges = Put(rich(case), base), Put(calls_asked(case), base)
        for bug in bugs:
            if richly.fails(bug):
                seen[bug.name].append(case.name)
                if not edges.fails(bug):
                    missed[bug.name].append(f"{case.name}, reading {base}")
    for name, shown in seen.items():
        report(record_property, name, len(shown), len(shown) - len(missed[name]))
    assert {name for name, shown in seen.items() if shown} == {b.name for b in BUGS if b.observable}
    assert not any(missed.values()), missed


def test_a_refusal_is_caught_where_an_answer_is_due_and_outside_the_contract_nothing_is(
    record_property: Record,
) -> None:
    def answers(case: Case, inputs: Sequence[Bits]) -> Answer:
        return Outputs((inputs[0],), (case.outputs[0].name,))

    def refuses(case: Case, inputs: Sequence[Bits]) -> Answer:
        return Refused("no")

    found = sum(caught(Replies(refuses), calls_asked(case)) for case in ANSWERED)
    report(record_property, "refusal too many", len(ANSWERED), found)
    assert found == len(ANSWERED)
    assert OUTSIDE
    for backend in (Replies(answers), Replies(refuses)):
        assert not any(caught(backend, calls_asked(case)) for case in OUTSIDE)


def test_no_bug_no_finding() -> None:
    """Right answers of any reading are not caught. That convcheck's own pass, a run shows."""
    for case in ANSWERED:
        for base in range(4):
            assert not failing(rightly(calls_asked(case), base), calls_asked(case)), case.name
        assert not failing(rightly(rich(case), WIDE), rich(case)), case.name


def test_to_scalars_a_bug_answers_together_what_it_answers_to_each() -> None:
    case = next(c for c in ANSWERED if not c.ranks[0])
    calls = calls_asked(case).calls[::5]
    right_ones = codes_of(right(case), WIDE, together(calls))
    for bug in BUGS:
        given = bug.to_scalars(case, WIDE, together(calls))
        for n, call in enumerate(calls):
            alone = bug.answers(case, WIDE, call)
            expected = right_ones[n] if alone is None else alone
            assert (right_ones if given is None else given)[n] == expected, bug.name


def test_calls_that_ask_nothing_special_catch_nothing() -> None:
    """The proof can fail: with ones for data under a scale of one, most bugs are not seen."""
    case = next(c for c in ANSWERED if c.name.startswith("float32-float32/per-tensor"))
    one = np.array([0x3F800000], np.uint32)
    plain = expecting(spec(), case, [(np.tile(one, 8), one)], "sampled")
    missed = [bug.name for bug in BUGS if not caught(planted(bug, IN_TYPE), plain)]
    assert len(missed) > 20


# A set of values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "gives", "level"),
    [
        ("1 1.1", "1 1.1", "normative"),  # 1.1 is no value of float8
        ("1 1.1", "1 1.25", "implied"),  # a neighbour that is not the nearest
        ("1 1.1 1000 nan", "1 1.125 1000 nan", ""),  # of what overflows nothing is said
    ],
)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("layout", ["per-tensor", "per-tensor-shift"])
def test_under_a_scale_of_1_the_output_is_a_value_of_float8(
    layout: str, name: str, data: str, gives: str, level: str
) -> None:
    [case] = [
        c for c in ANSWERED
        if c.layout == layout and c.inputs[0].name == name and c.name.endswith("=f8e4m3")
    ]  # fmt: skip
    fmt = numeric(name)

    def codes(words: str) -> Codes:
        return np.array([code_of(fmt, word)[0] for word in words.split()], fmt.storage)

    inputs = [codes(data), *map(codes, ("1", "0")[: len(case.inputs) - 1])]
    asked = expecting(spec(), case, [tuple(inputs)], "sampled")
    answers = ask_calls(answering(codes(gives)), asked, lambda *call: None, {})
    found = judge_calls(asked, answers)
    assert [g.decision.level for g in found.groups if g.verdict in FAILURES] == [level] * bool(
        level
    )
