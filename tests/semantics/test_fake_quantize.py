from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked, element
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracle.fake_quantize import UNDEFINED, WAYS, expect
from oracle.formats import FLOATS

from convcheck.ask.elements import ask_calls
from convcheck.backends.protocol import Outputs
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.rules.cases import cases
from convcheck.semantics.body.steps import compile_steps
from convcheck.vectors.generate import expecting

SPEC = CATALOG.specs["openvino.FakeQuantize-1"]
TYPES = ("float16", "bfloat16", "float32")
ALL = {(c.inputs[0].name, c.layout, c.attribute("levels")): c for c in cases(SPEC)}
F = np.float32
Floats = NDArray[np.float32]


@cache
def compiled(name, levels):
    return compile_steps(SPEC, ALL[name, "tensor", levels])


def held(name, levels, call):
    made, defined = compiled(name, levels), 0
    for way, reading in zip(WAYS, made.steps.readings, strict=True):
        due = made.finished(made.run(call, reading))
        rest = tuple(int(one.reshape(-1)[0]) for one in call[1:])
        for index, code in enumerate(call[0].tolist()):
            right = expect(name, levels, way, (code, *rest))
            assert element(due, index) == right, (way, hex(code), rest)
            defined += right != UNDEFINED
    return defined


@pytest.mark.parametrize("levels", [2, 102, 256])
@pytest.mark.parametrize("name", TYPES)
def test_the_vectors_against_the_oracle(name, levels):
    asked = calls_asked(ALL[name, "tensor", levels])
    assert sum(held(name, levels, call) for call in asked.calls) > 700


@given(data=st.data())
@settings(deadline=None, derandomize=True, max_examples=40)
def test_any_numbers(data):
    name, levels = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from([2, 102, 256]))
    one, sign = FLOATS[name].bias << FLOATS[name].mantissa, FLOATS[name].sign
    binade = 1 << FLOATS[name].mantissa
    near = st.integers(one - 4 * binade, one + 4 * binade).flatmap(
        lambda code: st.sampled_from([code, code | sign])
    )
    codes = data.draw(st.lists(near, min_size=5, max_size=5))
    call = tuple(np.array(c, f"u{FLOATS[name].bits // 8}") for c in codes)
    assume(held(name, levels, (call[0].reshape(1), *call[1:])))


def test_ties_either_side_of_borders_and_the_other_way_round_are_asked():
    asked = calls_asked(ALL["float32", "tensor", 256]).calls
    numbers = [(c[0].view(F), *(float(one.view(F)) for one in c[1:])) for c in asked if len(c[0])]
    asked_of_255 = np.concatenate([x for x, *limits in numbers if limits[:2] == [0, 255]])
    ties = asked_of_255[np.abs(asked_of_255) < 255] % 1 == 0.5
    assert ties.sum() > 2
    for low, high in ((0, 255), (1, -100), (2, 2)):
        x = np.concatenate([x for x, *limits in numbers if limits[:2] == [low, high]])
        for border in (low, high):
            sides = np.nextafter(F(border), F([-np.inf, np.inf]))
            assert {*sides.tolist(), float(border)} <= set(x.tolist()), border


class Given(NamedTuple):
    """The inputs after the first, and levels - 1."""

    low: Floats
    high: Floats
    below: Floats
    above: Floats
    n: Floats


def divided(x, a):
    return (x - a.low) / (a.high - a.low) * a.n


def back(q, a):
    return q / a.n * (a.above - a.below) + a.below


def text(place=divided, rounds=np.rint, value=back):
    return lambda x, a: value(rounds(place(x, a)), a)


def bug(inside=None, lower="<=", upper=">", order=True):
    def made(x, a):
        ordered = np.minimum(a.low, a.high), np.maximum(a.low, a.high)
        least, most = ordered if order else (a.low, a.high)
        is_low = x <= least if lower == "<=" else x < least
        is_high = x > most if upper == ">" else x >= most
        level = (inside or text())(x, a)
        return np.where(is_low, a.below, np.where(is_high, a.above, level))

    return made


def ties_away(p):
    return np.trunc(p) + np.sign(p) * (np.abs(p - np.trunc(p)) >= F(0.5))


def first_limits(x, a):
    return bug()(x, Given(*(one.reshape(-1)[0] if one.size else one for one in a)))


def reciprocal(x, a):
    return (x - a.low) * (1 / (a.high - a.low)) * a.n


def by_a_factor(x, a):
    factor = a.n / (a.high - a.low)
    return x * factor - a.low * factor


BUGS = {
    "adds a half and cuts off": bug(text(rounds=lambda p: np.floor(p + F(0.5)))),
    "truncates": bug(text(rounds=np.trunc)),
    "one level more": bug(lambda x, a: text()(x, a._replace(n=a.n + F(1)))),
    "by a factor": bug(text(by_a_factor)),
    "reciprocal": bug(text(reciprocal)),
    "above the low limit": bug(lower="<"),
    "at the high limit, too": bug(upper=">="),
    "limits not put in order": bug(order=False),
    "limits of the output swapped": bug(
        lambda x, a: text()(x, a._replace(below=a.above, above=a.below))
    ),
    "no output_low added": bug(lambda x, a: text()(x, a) - a.below),
    "limits of the input for those of the output": bug(
        lambda x, a: text()(x, a._replace(below=a.low, above=a.high))
    ),
    "not limited": text(),
    "the first limits for all": first_limits,
}  # fmt: skip


class Planted:
    name, version = "planted", "1"

    def __init__(self, compute):
        self.compute = compute

    def support(self, case):
        return None

    def answer(self, case, inputs):
        with np.errstate(all="ignore"):
            n = F(int(str(case.attribute("levels"))) - 1)
            x, *limits = (one.view(F) for one in inputs)
            found = self.compute(x, Given(*limits, np.array(n))).astype(F)
        return Outputs((np.asarray(found).reshape(inputs[0].shape).view(np.uint32),), ("float32",))


def verdicts(compute):
    found = set()
    for (name, _, levels), case in ALL.items():
        if name == "float32" and levels != 1:
            asked = calls_asked(case)
            answers = ask_calls(Planted(compute), asked, lambda *_: None, {})
            found.add(judge(asked, answers).verdict)
    return found


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name):
    assert verdicts(BUGS[name]) & FAILURES


def test_the_text_in_float32_is_tolerated_or_passes():
    assert not verdicts(bug()) & FAILURES


def in_float64(inside):
    return lambda x, a: bug(inside)(x.astype(float), Given(*(one.astype(float) for one in a)))


@pytest.mark.parametrize(("inside", "wrong"), [
    (text(), False),
    (text(reciprocal), False),  # an ulp off some of the ties
    # An exact tie rounds down.
    (text(rounds=lambda p: np.ceil(p - 0.5)), True),
])  # fmt: skip
def test_in_a_wider_type_either_level_is_right_within_an_ulp_of_a_tie(inside, wrong):
    ties = ((np.arange(255) + 0.5) * 2).astype(F)  # of 255 steps from 0 to 510
    call = [one.view(np.uint32) for one in (ties, *(np.array(n, F) for n in (0, 510, 0, 255)))]
    asked = expecting(SPEC, ALL["float32", "tensor", 256], [tuple(call)], "sampled")
    answers = ask_calls(Planted(in_float64(inside)), asked, lambda *_: None, {})
    assert (judge(asked, answers).verdict in FAILURES) == wrong


def test_ties_away_from_zero_are_a_reading():
    assert verdicts(bug(text(rounds=ties_away))) == {"pass", "tolerated"}
