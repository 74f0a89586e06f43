"""The edge calls of quantisation catch every planted bug that can be seen at all.

Counted are pairs of a bug and a case. What can be seen is told by calls made without a look at the
edge calls: any scale and zero point, numbers at boundaries and any others.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
from catalogue import CATALOG, calls_asked
from oracle.formats import FLOATS, INTEGERS, span
from oracle.quantize import NARROW
from planted.quantize_bugs import BUGS, Bug, Way, answer, coded, met, values
from planted.quantize_put import Put, failing

from convcheck.numerics.codes import Bits
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.steps import layout_of, outside_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

Record = Callable[[str, object], None]
# the last version that has what earlier ones have, the first, and what came later
SPECS = [CATALOG.specs[f"onnx.{op}Linear-{v}"] for op in ("Quantize", "Dequantize")
         for v in (10, 23, 28)]  # fmt: skip
SIZES = {"n": 257, "b": 3, "c": 4, "h": 5, "w": 3}
RICH = 6  # calls


def planted_in(spec: Spec) -> list[Case]:
    """The cases of a spec in which an answer is due."""
    steps = spec.body_as(Steps)
    return [c for c in cases(spec) if not outside_of(steps, layout_of(spec, c), c)]


def is_simple(case: Case) -> bool:
    """Whether values are asked in its layout, and not only where they meet."""
    return len(case.ranks) > 1 and case.ranks[0] == 1 and not any(case.ranks[1:])


# Rich calls --------------------------------------------------------------------------------------


def rich(spec: Spec, case: Case) -> CallSet:
    rng = np.random.default_rng(zlib.crc32(case.id.encode()))
    calls = [_rich_call(spec, case, rng) for _ in range(RICH)]
    return expecting(spec, case, calls, "sampled")


def _rich_call(spec: Spec, case: Case, rng: np.random.Generator) -> tuple[Bits, ...]:
    layout = layout_of(spec, case).shapes
    shapes = [tuple(SIZES.get(dim) or int(dim) for dim in dims) for _, dims in layout]
    types = [dtype.name for dtype in case.inputs]
    scale = _scales(types[1], rng, shapes[1], _exponents(case))
    zero = [_zeros(types[2], rng, shape) for shape in shapes[2:]]
    if case.op == "onnx.DequantizeLinear":
        return (_codes(types[0], rng, shapes[0]), scale, *zero)
    said = dict(case.attributes)
    where = shapes[0], int(said.get("axis", 1)), int(said.get("block_size", 0))
    by = values(types[1], met(scale, *where))
    shift = values(types[2], met(zero[0], *where)) if zero else np.zeros(shapes[0])
    return (_data(case, rng, by, shift), scale, *zero)


def _exponents(case: Case) -> tuple[int, int]:
    """Of scales: about one, and as small as leaves something of what is divided by them."""
    wide = {dtype.name for dtype in case.inputs[:2]} <= {"float32", "int8", "uint8", "int32"}
    return (-126, 90) if wide else (-14, 9)


def _scales(
    name: str, rng: np.random.Generator, shape: tuple[int, ...], ends: tuple[int, int]
) -> Bits:
    some = rng.integers(-12, 6, shape) if rng.random() < 0.6 else rng.integers(*ends, shape)
    if name == "float8e8m0":
        return np.clip(127 + some, 0, 254).astype(np.uint8)
    return coded(name, np.atleast_1d(rng.uniform(1, 2, shape) * 2.0**some)).reshape(shape)


def _zeros(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Bits:
    if name in NARROW or name == "int32":
        return np.zeros(shape, np.uint32 if name == "int32" else np.uint8)
    return _codes(name, rng, shape)


def _codes(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Bits:
    bits = INTEGERS.get(name) or FLOATS[name].bits
    storage = np.uint8 if bits <= 8 else np.uint16 if bits == 16 else np.uint32
    return rng.integers(0, 1 << bits, shape, np.uint64).astype(storage)


def _data(case: Case, rng: np.random.Generator, scale: np.ndarray, zero: np.ndarray) -> Bits:
    """Midpoints of the output, what is next to them, what is far away, and any codes."""
    target, source = case.outputs[0].name, case.inputs[0].name
    if target in INTEGERS:
        low, high = span(target)
        wanted = rng.integers(low - 3, high + 3, scale.shape) + 0.5 - zero
        wanted = np.where(rng.random(scale.shape) < 0.1, rng.choice([-1, 1]) * 2.0**32, wanted)
    else:
        edges = values(target, rng.integers(0, FLOATS[target].largest + 1, scale.shape))
        wanted = edges * rng.choice([1, -1, 1.0625, 1.125, 1.25, 2], scale.shape)
    with np.errstate(invalid="ignore"):
        x = wanted * scale
    if source == "int32":
        return np.clip(np.nan_to_num(x), -(2**31), 2**31 - 1).astype(np.int32).view(np.uint32)
    found = coded(source, np.atleast_1d(x).reshape(-1)).reshape(scale.shape)
    moved = found + rng.integers(-1, 2, found.shape).astype(found.dtype)
    any_ = _codes(source, rng, scale.shape)
    return np.where(rng.random(scale.shape) < 0.9, moved, any_).astype(found.dtype)


# Planting ----------------------------------------------------------------------------------------


def tallies() -> dict[str, dict[str, bool]]:
    """Every bug in every case: bugs of values where values are asked, those of places elsewhere. Of
    a bug, the cases on which it shows, and whether the edge calls catch it.
    """
    found: dict[str, dict[str, bool]] = {bug.name: {} for bug in BUGS}
    for spec in SPECS:
        for case in planted_in(spec):
            edge, richly = Put(calls_asked(case)), Put(rich(spec, case))
            for bug in _fitting(case):
                caught = edge.caught(bug.way)
                if caught or richly.caught(bug.way):
                    found[bug.name][case.id] = caught
    return found


def _fitting(case: Case) -> Iterator[Bug]:
    for bug in BUGS:
        if case.op in bug.ops and (bug.placed or is_simple(case)):
            yield bug


def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    found = tallies()
    for name, cases_ in found.items():
        print(f"\n{name}: {len(cases_)} observable, {sum(cases_.values())} caught", end="")
        record_property("planted (quantisation)", (len(cases_), sum(cases_.values())))
    assert all(found.values())
    assert not {name: shown for name, shown in found.items() if not all(shown.values())}


def test_no_bug_no_finding() -> None:
    for spec in SPECS:
        for case in planted_in(spec):
            for calls in (calls_asked(case), rich(spec, case)):
                for i, call in enumerate(calls.calls):
                    assert not failing(calls, i, answer(Way(), case, call)), (case.id, i)
