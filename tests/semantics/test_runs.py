from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG, compiled, unlike

from convcheck.causes.catalogue import causes_of
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.compile import compile_wrong
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.runs import TILE, Constant, Unknown, runs
from convcheck.vectors.corpus import CHUNK, WHOLE_SPAN, is_swept
from convcheck.vectors.inputs import numeric_inputs
from specs import wrapping, write_spec

SPECS = ("onnx.Cast-21", "onnx.Cast-24", "onnx.Cast-28", "pypto.cast-0.2")
SHORT = ("float16", "bfloat16", "int16", "uint16")
TEXT = "string"


def of_sources(names):
    every = [case for spec in SPECS for case in cases(CATALOG.specs[spec])]
    return [c for c in every if c.inputs[0].name in names and c.outputs[0].name != TEXT]


def looked_up(found_runs, due, tile, codes):
    """Return the evaluator's expectations, but those of runs where these say them."""
    readings = tuple(Reading(r.codes.copy(), r.patterns.copy()) for r in due.readings)
    rows = due.rows.copy()
    cuts = np.searchsorted(codes, np.array([s.end for s in found_runs[:-1]], np.int64))
    edges = [0, *cuts.tolist(), len(codes)]
    for run, begin, end in zip(found_runs, edges[:-1], edges[1:], strict=True):
        part = slice(begin, end)
        if begin == end or isinstance(run, Unknown):
            continue
        rows[part] = run.row
        offset = codes[part].astype(np.int64) - run.first
        for r, one in enumerate(readings):
            if isinstance(run, Constant):
                one.codes[part], one.patterns[part] = run.outcomes[r]
            else:
                one.codes[part] = run.bases[r][offset // tile] + run.shapes[r][offset % tile]
                one.patterns[part] = run.patterns[r]
    return Expected(rows, due.decisions, readings)


def outlined(case, program, first, count, tile=TILE):
    source, target = (t[0].format for t in (case.inputs, case.outputs))
    found_runs = runs(program, source, target, first, count, tile)
    edges = [first, *(s.end for s in found_runs)]
    assert [s.first for s in found_runs] == edges[:-1]
    assert edges[-1] == first + count
    return found_runs


def wrong(case, program, first, count, codes, tile=TILE):
    found_runs, due = outlined(case, program, first, count, tile), run_program(program, case, codes)
    differ = unlike(looked_up(found_runs, due, tile, codes), due)
    return [hex(code) for code in codes[differ][:4]]


@pytest.mark.parametrize("source", SHORT)
def test_runs_of_whole_sources(source):
    chosen = of_sources((source,))
    assert len(chosen) > 80
    for number, case in enumerate(chosen):
        codes, tile = (
            np.arange(1 << 16).astype(case.inputs[0].format.storage),
            (16, 128)[number % 2],
        )
        assert not wrong(case, compiled(case), 0, 1 << 16, codes, tile), (case.id, tile)


def wide(case):
    return is_swept(case) and case.inputs[0].format.bits == 32


@cache
def newest():
    found = {(c.inputs[0].name, c.outputs[0].name): c for c in cases(CATALOG.specs["onnx.Cast-28"])}
    modes = [
        c
        for c in cases(CATALOG.specs["pypto.cast-0.2"])
        if c.outputs[0].name in ("int32", "float16")
    ]
    return tuple(case for case in (*found.values(), *modes) if wide(case))


@cache
def boundaries(case):
    source, target = (t[0].format for t in (case.inputs, case.outputs))
    return np.sort(numeric_inputs(source, target, "boundary", 0)[0])


def held(case, pages, random):
    rng = np.random.default_rng(len(case.id))
    edges = boundaries(case)
    total = 0
    for page in pages:
        first = page << 24
        near = edges[slice(*np.searchsorted(edges, [first, first + WHOLE_SPAN]))]
        drawn = rng.integers(first, first + WHOLE_SPAN, random // len(pages)).astype(edges.dtype)
        codes = np.sort(np.concatenate([near, drawn]))
        total += len(codes)
        assert not wrong(case, compiled(case), first, WHOLE_SPAN, codes), case.id
    return total


def busiest(case, count):
    pages, found = np.unique(boundaries(case) >> np.uint32(24), return_counts=True)
    return [int(page) for page in pages[np.argsort(found)[-count:]]]


@pytest.mark.parametrize("part", range(4))
def test_boundaries_and_random_codes_of_wide_sources(part):
    for case in newest()[part::4]:
        pages = busiest(case, 4)
        random = np.random.default_rng(len(case.id)).integers(0, 256, 4).tolist()
        assert held(case, sorted({*pages, *random}), 1 << 19) >= 1 << 18


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for s in SPECS[2:] for c in cases(CATALOG.specs[s]) if wide(c)], ids=lambda c: c.id
)
def test_all_boundaries_and_many_random_codes_of_wide_sources(case):
    assert held(case, list(range(256)), 1 << 26) >= 1 << 26


WHOLE = (
    ("float32", "float8e4m3fn", ("saturate=0",)),
    ("float32", "int64", ()),
    ("int32", "float32", ()),
)


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target", "attributes"), WHOLE)
def test_every_code_of_32_bits(source, target, attributes):
    case = find_case(CATALOG, "onnx.Cast-21", source, target, attributes)
    for first in range(0, 1 << 32, WHOLE_SPAN):
        codes = np.arange(first, first + WHOLE_SPAN, dtype=np.int64).astype(np.uint32)
        assert not wrong(case, compiled(case), first, WHOLE_SPAN, codes)


def test_runs_of_another_rounding_is_found_out():
    down, nearest = (
        find_case(CATALOG, "onnx.Cast-28", "float32", "float8e8m0", (f"round_mode={mode}",))
        for mode in ("down", "nearest")
    )
    found_runs, codes = outlined(down, compiled(down), 0x3F << 24, WHOLE_SPAN), boundaries(down)
    codes = codes[slice(*np.searchsorted(codes, [0x3F << 24, 0x40 << 24]))]
    due = run_program(compiled(nearest), nearest, codes)
    assert unlike(looked_up(found_runs, due, TILE, codes), due).any()


def test_results_that_wrap_within_a_tile(tmp_path):
    """Both ends of half a tile have the same code if 256 results lie between."""
    catalog = load([write_spec(tmp_path / "specs", wrapping())])
    case = find_case(catalog, "acme.Convert-1", "float32", "int8", ())
    held_by_own(catalog, case, range(0x47800000, 0x4B800000, 1 << 20))


def held_by_own(catalog, case, firsts):
    program = compile_case(catalog.specs[case.spec], case)
    for first in firsts:
        codes = np.arange(first, first + 8 * TILE).astype(np.uint32)
        assert not wrong(case, program, first, 8 * TILE, codes)


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
def test_codes_that_a_destination_can_hold_are_seen_among_others(target, tmp_path):
    catalog = load([write_spec(tmp_path / "specs", EXACT)])
    case = find_case(catalog, "acme.Exact-1", "float32", target, ())
    held_by_own(catalog, case, range(0x3F000000, 0x4F000000, 1 << 21))


CAUSES = causes_of(CATALOG)
WINDOW = 2 * CHUNK


def near_powers(first):
    """Return codes next to multiples of powers of two, on both sides of a window's middle."""
    rise = (np.arange(0, WINDOW, 1 << k)[:24] + d for k in range(17) for d in (-1, 0, 1))
    codes = np.unique(np.concatenate([np.arange(64), *rise]))
    codes = np.unique(np.concatenate([codes, CHUNK - codes, CHUNK + codes]))
    return codes[(codes >= 0) & (codes < WINDOW)] + first


@pytest.mark.parametrize(("source", "target", "first"), [
    ("float32", "bool", 0x4F000000),
    ("float32", "float8e5m2", 0x47700000),
    ("float32", "int8", 0x42FE0000),
    ("int32", "bool", 0x47800000),
    ("uint32", "float16", 0),
])  # fmt: skip
def test_wrong_conversions_are_cut_as_they_are_evaluated(source, target, first):
    case = find_case(CATALOG, "onnx.Cast-21", source, target, ())
    codes = near_powers(first).astype(case.inputs[0].format.storage)
    mine = [cause for cause in CAUSES if cause.applies_to(case)]
    told = [cause for cause in mine if cause.name in ("compares-x-infinity", "inf-is-+inf")]
    pairs = zip(mine[::4], mine[7::4], strict=False)
    for causes in [*((one,) for one in mine), *pairs, told[:2]]:
        program = compile_wrong(CATALOG.specs[case.spec], case, causes)
        if program is not None:
            assert not wrong(case, program, first, WINDOW, codes), causes
