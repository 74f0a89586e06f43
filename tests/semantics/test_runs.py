"""Expectations of whole runs of codes equal the evaluator's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from numpy.typing import NDArray

from convcheck.causes.catalogue import causes_of
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import Expected
from convcheck.semantics.program import Program
from convcheck.semantics.runs import TILE, Constant, Run, Unknown, runs
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.span import CHUNK, WHOLE_SPAN, is_swept
from specs import wrapping, write_spec

SPECS = ("onnx.Cast-21", "onnx.Cast-24", "onnx.Cast-28", "pypto.cast-0.2")
SHORT = ("float16", "bfloat16", "int16", "uint16")
TEXT = "string"


def of_sources(names: tuple[str, ...]) -> list[Case]:
    every = [case for spec in SPECS for case in cases(CATALOG.specs[spec])]
    return [c for c in every if c.inputs[0].name in names and c.outputs[0].name != TEXT]


@dataclass
class Facts:
    """Expectations of elements: the row, and each reading's code and pattern."""

    rows: NDArray[np.int16]
    readings: list[tuple[Codes, NDArray[np.uint8]]]

    @staticmethod
    def of(expected: Expected) -> Facts:
        pairs = [(cast(Codes, r.codes), r.patterns) for r in expected.readings]
        return Facts(expected.rows, pairs)

    def differ(self, other: Facts) -> NDArray[np.bool_]:
        differ = self.rows != other.rows
        for (a, p), (b, q) in zip(self.readings, other.readings, strict=True):
            differ |= (a != b) | (p != q)
        return differ


def looked_up(
    found_runs: list[Run], case: Case, program: Program, tile: int, codes: Codes
) -> Facts:
    found = Facts.of(run_program(program, case, codes[:0]))
    rows = np.full(len(codes), -1, found.rows.dtype)
    readings = [
        (np.zeros(len(codes), c.dtype), np.zeros(len(codes), p.dtype)) for c, p in found.readings
    ]
    cuts = np.searchsorted(codes, np.array([s.end for s in found_runs[:-1]], np.int64))
    edges = [0, *cuts.tolist(), len(codes)]
    for run, begin, end in zip(found_runs, edges[:-1], edges[1:], strict=True):
        part = slice(begin, end)
        if begin == end:
            continue
        here = codes[part]
        if isinstance(run, Unknown):
            facts = Facts.of(run_program(program, case, here))
            rows[part] = facts.rows
            for (a, p), (b, q) in zip(readings, facts.readings, strict=True):
                a[part], p[part] = b, q
            continue
        rows[part] = run.row
        offset = here.astype(np.int64) - run.first
        for r, (a, p) in enumerate(readings):
            if isinstance(run, Constant):
                a[part], p[part] = run.outcomes[r]
            else:
                a[part] = run.bases[r][offset // tile] + run.shapes[r][offset % tile]
                p[part] = run.patterns[r]
    return Facts(rows, readings)


def outlined(case: Case, first: int, count: int, tile: int = TILE) -> list[Run]:
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    found_runs = runs(compiled(case), source, target, first, count, tile)
    edges = [first, *(s.end for s in found_runs)]
    assert [s.first for s in found_runs] == edges[:-1]
    assert edges[-1] == first + count
    return found_runs


def unlike(case: Case, first: int, count: int, codes: Codes, tile: int = TILE) -> Codes:
    found_runs = outlined(case, first, count, tile)
    found = looked_up(found_runs, case, compiled(case), tile, codes)
    return codes[found.differ(Facts.of(run_program(compiled(case), case, codes)))]


# Whole sources --------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SHORT)
def test_runs_of_whole_sources(source: str) -> None:
    held_whole(source, (16, 128))


def held_whole(source: str, tiles: tuple[int, ...]) -> None:
    chosen = of_sources((source,))
    assert len(chosen) > 80
    for case in chosen:
        codes = np.arange(1 << 16).astype(case.inputs[0].format.storage)
        facts = Facts.of(run_program(compiled(case), case, codes))
        for tile in tiles:
            found_runs = outlined(case, 0, 1 << 16, tile)
            found = looked_up(found_runs, case, compiled(case), tile, codes)
            assert not found.differ(facts).any(), (case.id, tile)


# Of wide sources, boundaries and random codes -------------------------------------------------


def wide(case: Case) -> bool:
    return is_swept(case) and case.inputs[0].format.bits == 32


@cache
def newest() -> tuple[Case, ...]:
    found = {(c.inputs[0].name, c.outputs[0].name): c for c in cases(CATALOG.specs["onnx.Cast-28"])}
    modes = [
        c
        for c in cases(CATALOG.specs["pypto.cast-0.2"])
        if c.outputs[0].name in ("int32", "float16")
    ]
    return tuple(case for case in (*found.values(), *modes) if wide(case))


@cache
def boundaries(case: Case) -> Codes:
    source, target = (t[0].format for t in (case.inputs, case.outputs))
    return np.sort(numeric_inputs(cast(Numeric, source), target, "boundary", 0)[0])


def held(case: Case, pages: list[int], random: int) -> int:
    rng = np.random.default_rng(len(case.id))
    edges = boundaries(case)
    total = 0
    for page in pages:
        first = page << 24
        near = edges[slice(*np.searchsorted(edges, [first, first + WHOLE_SPAN]))]
        drawn = rng.integers(first, first + WHOLE_SPAN, random // len(pages)).astype(edges.dtype)
        codes = np.sort(np.concatenate([near, drawn]))
        total += len(codes)
        wrong = unlike(case, first, WHOLE_SPAN, codes)
        assert not len(wrong), (case.id, [hex(c) for c in wrong[:4]])
    return total


def busiest(case: Case, count: int) -> list[int]:
    pages, found = np.unique(boundaries(case) >> np.uint32(24), return_counts=True)
    return [int(page) for page in pages[np.argsort(found)[-count:]]]


@pytest.mark.parametrize("part", range(4))
def test_boundaries_and_random_codes_of_wide_sources(part: int) -> None:
    for case in newest()[part::4]:
        pages = busiest(case, 4)
        random = np.random.default_rng(len(case.id)).integers(0, 256, 4).tolist()
        assert held(case, sorted({*pages, *random}), 1 << 19) >= 1 << 18


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for s in SPECS[2:] for c in cases(CATALOG.specs[s]) if wide(c)], ids=lambda c: c.id
)
def test_all_boundaries_and_many_random_codes_of_wide_sources(case: Case) -> None:
    assert held(case, list(range(256)), 1 << 26) >= 1 << 26


WHOLE = (
    ("float32", "float8e4m3fn", ("saturate=0",)),
    ("float32", "int64", ()),
    ("int32", "float32", ()),
)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target", "attributes"), WHOLE)
def test_every_code_of_32_bits(source: str, target: str, attributes: tuple[str, ...]) -> None:
    case = find_case(CATALOG, "onnx.Cast-21", source, target, attributes)
    for first in range(0, 1 << 32, WHOLE_SPAN):
        codes = np.arange(first, first + WHOLE_SPAN, dtype=np.int64).astype(np.uint32)
        assert not len(unlike(case, first, WHOLE_SPAN, codes)), hex(first)


# The proof can fail; the probes -----------------------------------------------------------------


def test_runs_of_another_rounding_is_found_out() -> None:
    down, nearest = (
        find_case(CATALOG, "onnx.Cast-28", "float32", "float8e8m0", (f"round_mode={mode}",))
        for mode in ("down", "nearest")
    )
    found_runs, codes = outlined(down, 0x3F << 24, WHOLE_SPAN), boundaries(down)
    codes = codes[slice(*np.searchsorted(codes, [0x3F << 24, 0x40 << 24]))]
    found = looked_up(found_runs, down, compiled(down), TILE, codes)
    assert found.differ(Facts.of(run_program(compiled(nearest), nearest, codes))).any()


def test_results_that_wrap_within_a_tile(tmp_path: Path) -> None:
    """Both ends of half a tile have the same code if 256 results lie between."""
    catalog = load([write_spec(tmp_path / "specs", wrapping())])
    case = find_case(catalog, "acme.Convert-1", "float32", "int8", ())
    program = compile_case(catalog.specs[case.spec], case)
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    for first in range(0x47800000, 0x4B800000, 1 << 20):
        codes = np.arange(first, first + 8 * TILE).astype(np.uint32)
        found_runs = runs(program, source, target, first, 8 * TILE)
        found = looked_up(found_runs, case, program, TILE, codes)
        assert not found.differ(Facts.of(run_program(program, case, codes))).any(), hex(first)


EXACT = """\
op: acme.Exact
version: 1
sources:
  text: {title: Acme manual, section: Exact, url: "https://example.org"}
inputs: {x: T}
outputs: {y: U}
shape: {cite: "The shape of y is that of x."}
types:
  T: [float32]
  U: [float16, int32, bfloat16]
rules:
  - name: exact
    level: normative
    cite: "What y can hold is kept; of all else the result is undefined."
    when: {to: [float16, bfloat16, int32]}
    round: toward-zero
    table:
      nan: {gives: undefined, level: undefined}
      "+inf": {gives: undefined, level: undefined}
      "-inf": {gives: undefined, level: undefined}
      "[x] = x": "[x]"
      else: {gives: undefined, level: undefined}
"""


@pytest.mark.parametrize("target", ["float16", "int32", "bfloat16"])
def test_codes_that_a_destination_can_hold_are_seen_among_others(
    target: str, tmp_path: Path
) -> None:
    catalog = load([write_spec(tmp_path / "specs", EXACT)])
    case = find_case(catalog, "acme.Exact-1", "float32", target, ())
    program = compile_case(catalog.specs[case.spec], case)
    source, to = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    for first in range(0x3F000000, 0x4F000000, 1 << 21):
        codes = np.arange(first, first + 8 * TILE).astype(np.uint32)
        found_runs = runs(program, source, to, first, 8 * TILE)
        found = looked_up(found_runs, case, program, TILE, codes)
        assert not found.differ(Facts.of(run_program(program, case, codes))).any(), hex(first)


# Wrong conversions --------------------------------------------------------------------------------

CAUSES = causes_of(CATALOG)
WINDOW = 2 * CHUNK


def near_powers(first: int) -> NDArray[np.int64]:
    """Return codes next to multiples of powers of two, on both sides of a window's middle."""
    rise = (np.arange(0, WINDOW, 1 << k)[:24] + d for k in range(17) for d in (-1, 0, 1))
    codes = np.unique(np.concatenate([np.arange(64), *rise]))
    codes = np.unique(np.concatenate([codes, CHUNK - codes, CHUNK + codes]))
    return codes[(codes >= 0) & (codes < WINDOW)] + first


@pytest.mark.parametrize(
    ("source", "target", "first"),
    [
        ("float32", "bool", 0x4F000000),
        ("float32", "float8e5m2", 0x47700000),
        ("float32", "int8", 0x42FE0000),
        ("int32", "bool", 0x47800000),
        ("uint32", "float16", 0),
    ],
)
def test_wrong_conversions_are_cut_as_they_are_evaluated(
    source: str, target: str, first: int
) -> None:
    case = find_case(CATALOG, "onnx.Cast-21", source, target, ())
    codes = near_powers(first).astype(case.inputs[0].format.storage)
    formats = [cast(Numeric, t[0].format) for t in (case.inputs, case.outputs)]
    mine = [cause for cause in CAUSES if cause.applies_to(case)]
    told = [cause for cause in mine if cause.name in ("compares-x-infinity", "inf-is-+inf")]
    pairs = zip(mine[::4], mine[7::4], strict=False)
    for causes in [*((one,) for one in mine), *pairs, told[:2]]:
        program = compile_wrong(CATALOG.specs[case.spec], case, causes)
        if program is not None:
            found = runs(program, formats[0], formats[1], first, WINDOW)
            said = looked_up(found, case, program, TILE, codes)
            differ = Facts.of(run_program(program, case, codes)).differ(said)
            assert not differ.any(), (causes, codes[differ][0])
