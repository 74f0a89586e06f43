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
from planted.put import Put, accused, failing

from convcheck.backends.protocol import Outputs, Refused
from convcheck.judge.answers import ANSWERED as STATE
from convcheck.judge.answers import CallAnswers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float
from convcheck.numerics.number import numbers_of_texts
from convcheck.numerics.rounding import rounded_codes
from convcheck.numerics.words import code_of
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.semantics.body.steps import layout_of, outside_of
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.calls import expecting
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet

Record = Callable[[str, object], None]
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


class PutIn(Put):
    """Calls of a case, put to bugs planted in a reading."""

    def __init__(self, calls: CallSet, base: int) -> None:
        self.case, self.base, self.inputs = calls.case, base, calls.calls
        self.right: Sequence[Bits] = ()
        super().__init__(calls, list(self.answers(RIGHT)))

    def fails(self, bug: Bug) -> bool:
        return self.catch(self.answers(bug))

    def answers(self, bug: Bug) -> Iterator[Bits]:
        """What a bug answers to each call: to scalars at once."""
        if not self.case.ranks[0]:
            given = bug.to_scalars(self.case, self.base, together(self.inputs))
            yield from self.right if given is None else given
        else:
            for number, call in enumerate(self.inputs):
                codes = bug.answers(self.case, self.base, call)
                yield self.right[number] if codes is None else codes.reshape(call[0].shape)


def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    """Case by case and reading by reading, call by call until one fails."""
    seen: dict[str, list[str]] = {bug.name: [] for bug in BUGS}
    missed: dict[str, list[str]] = {bug.name: [] for bug in BUGS}
    for (case, bugs), base in product(PLANTED, (IN_TYPE, WIDE)):
        richly, edges = PutIn(rich(case), base), PutIn(calls_asked(case), base)
        for bug in bugs:
            caught = edges.fails(bug)
            if caught or richly.fails(bug):
                seen[bug.name].append(case.name)
                if not caught:
                    missed[bug.name].append(f"{case.name}, reading {base}")
    for name, shown in seen.items():
        report(record_property, name, len(shown), len(shown) - len(missed[name]))
    assert {name for name, shown in seen.items() if shown} == {b.name for b in BUGS if b.observable}
    assert not any(missed.values()), missed


def test_a_refusal_is_caught_where_an_answer_is_due_and_outside_the_contract_nothing_is(
    record_property: Record,
) -> None:
    found = sum(accused(calls_asked(case), 0, Refused("no")) for case in ANSWERED)
    report(record_property, "refusal too many", len(ANSWERED), found)
    assert found == len(ANSWERED)
    assert OUTSIDE
    for case in OUTSIDE:
        calls = calls_asked(case)
        assert not any(accused(calls, i, Refused("no")) for i in range(len(calls)))
        assert not any(failing(calls, i, call[0]) for i, call in enumerate(calls.calls))


def test_no_bug_no_finding() -> None:
    """Right answers of any reading are not caught. That convcheck's own pass, a run shows."""
    asked = [(calls_asked(case), base) for case in ANSWERED for base in range(4)]
    for calls, base in (*asked, *((rich(case), WIDE) for case in ANSWERED)):
        right = enumerate(PutIn(calls, base).right)
        assert not any(failing(calls, i, codes) for i, codes in right), calls.case.name


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
    missed = [bug.name for bug in BUGS if not PutIn(plain, IN_TYPE).fails(bug)]
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
    given = Outputs((codes(gives),), (case.outputs[0].name,))
    found = judge(asked, CallAnswers((given,), np.array([STATE], np.uint8), {}))
    assert [g.decision.level for g in found.groups if g.verdict in FAILURES] == [level] * bool(
        level
    )
