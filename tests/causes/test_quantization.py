"""Planted bugs of quantisation: causes give the answers of most of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pytest
from catalogue import CATALOG
from planted.quantize_bugs import BUGS, Bug, answer
from planted.quantize_put import Put
from planted_calls import answered, asked

from convcheck.backends.protocol import Outputs
from convcheck.causes.call_search import diagnose_calls
from convcheck.causes.catalogue import causes_of
from convcheck.judge.result import CaseDiagnosis
from convcheck.rules.causes import Cause
from convcheck.semantics.body.wrong_steps import _missing_in

CASES = (
    *(
        f"onnx.QuantizeLinear-23/{name}"
        for name in (
            "float32-float32-int8/tensor", "float32-float32-uint8/tensor",
            "float32-float32-to-uint8/tensor-default",
            "float32-float32-float8e4m3fn/tensor/saturate=0",
            "float32-float32-float8e4m3fn/tensor/saturate=1",
            "float32-float32-int8/in-float16/precision=10", "float32-float32-int8/axis",
            "float32-float32-int8/axis-0/axis=0", "float32-float32-uint8/axis-last/axis=-1",
            "float32-float32-int8/blocks/block_size=3",
            "float32-float32-int8/blocks-1d/axis=0/block_size=3",
        )
    ),
    *(
        f"onnx.DequantizeLinear-23/{name}"
        for name in (
            "int8-float32-int8-to-float32/tensor", "uint8-float32-uint8-to-float32/tensor",
            "float8e4m3fn-float32-float8e4m3fn-to-float32/tensor",
            "int8-float32-int8-to-float32/blocks-1d/axis=0/block_size=3",
        )
    ),
)  # fmt: skip
OF_BLOCKS = [name for name in CASES if "blocks" in name]
_EVERY = 5  # of the bugs one is tried: all of them take half a minute
UNKNOWN = {  # faults that no entry of the catalogue says
    "subnormal x taken for 0", "subnormal scale taken for 0", "infinity is 0",
    "the least number never reached", "FN for FNUZ, and the other way round",
    "e4m3 for e5m2, and the other way round", "the tail not written",
}  # fmt: skip


@cache
def every_cause() -> tuple[Cause, ...]:
    return causes_of(CATALOG)


def explained(bug: Bug, name: str) -> CaseDiagnosis | None:
    """What is said of the answers of a bug to a case."""
    calls = asked(name)
    output = calls.case.outputs[0]
    codes = (answer(bug.way, calls.case, call) for call in calls.calls)
    given = [Outputs((c.astype(output.format.storage),), (output.name,)) for c in codes]
    return diagnose_calls(every_cause(), CATALOG, calls, answered(calls, given))


def told(bug: Bug, names: Sequence[str] = CASES) -> CaseDiagnosis | None:
    """What is said of the first case that shows a bug."""
    for name in names:
        calls = asked(name)
        if calls.case.op in bug.ops and Put(calls).caught(bug.way, one_is_enough=True):
            return explained(bug, name)
    raise AssertionError(f"nothing asked here shows {bug.name}")


def test_what_one_version_taught_of_causes_changes_nothing_of_another() -> None:
    """What is known not to give the answers to one version is not tried again on the next."""
    by_a_reciprocal = next(bug for bug in BUGS if "reciprocal" in bug.name)
    names = [f"onnx.QuantizeLinear-{n}/float32-float32-int8/tensor" for n in (21, 23)]
    alone = []
    for name in names:
        _missing_in.cache_clear()
        alone.append(explained(by_a_reciprocal, name))
    before = _missing_in.cache_info().hits
    later = [explained(by_a_reciprocal, name) for name in reversed(names)]
    assert _missing_in.cache_info().hits > before
    assert later == alone[::-1]
    assert all(found and found.fits for found in alone)


def test_some_planted_bugs_are_explained() -> None:
    for bug in BUGS[::_EVERY]:
        found = told(bug)
        assert bool(found and found.fits) == (bug.name not in UNKNOWN), bug.name


def test_blocks_of_a_vector_that_are_taken_for_elements_are_told() -> None:
    """Of both operators: what is behind the last scale is 0, and the quotient infinite; of 0 and 0
    it is NaN, which the bug takes for 0.
    """
    [bug] = [bug for bug in BUGS if bug.name == "blocks of a vector taken for an axis"]
    names = [name for name in CASES if "blocks-1d" in name]
    found = [told(bug, [name]) for name in names]
    assert [one.fits for one in found if one] == [
        (("blocks-not-seen", "nan-is-+0"),), (("blocks-not-seen",),)
    ]  # fmt: skip
    assert len(names) == len(bug.ops)


@pytest.mark.parametrize("op", ["Quantize", "Dequantize"])
def test_a_zero_point_met_by_mistake_is_told_from_a_scale_that_is(op: str) -> None:
    """The scale is right: that both are met so is no explanation."""
    names = {"first": "the first zero point for all", "next": "zero points one off"}
    kernel = f"onnx.{op}Linear-23/"
    for word, name in names.items():
        [bug] = [bug for bug in BUGS if bug.name == name]
        found = told(bug, [case for case in OF_BLOCKS if case.startswith(kernel)])
        back = "-back" if op == "Dequantize" else ""
        assert found is not None
        assert found.fits == ((f"zero-points{back}-meet-the-{word}",),)


@pytest.mark.slow
def test_most_planted_bugs_are_explained(record_property: Callable[[str, object], None]) -> None:
    found = {bug.name: told(bug) for bug in BUGS}
    explained = {name for name, one in found.items() if one and one.fits}
    print(f"\n{len(explained)} of {len(found)} planted bugs of quantisation explained", end="")
    record_property("planted bugs of quantisation explained", (len(found), len(explained)))
    assert set(found) - explained == UNKNOWN
    assert len(explained) >= 0.8 * len(found)
