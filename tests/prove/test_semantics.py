"""The terms of an instruction against the machine."""

import numpy as np
import pytest
import z3
from llvmlite import binding
from prove.programs import program
from prove.terms import Terms, unsigned

from convcheck.backends.compiled import SIGNATURE, WIDTHS, load, machine, with_loop
from convcheck.prove import ir
from convcheck.prove.ir import Value, evaluate

COUNT = 100_000  # inputs of each program


def width_of(type_):
    return WIDTHS.get(type_) or int(type_[1:])


def inputs(width, seed, count):
    """Return random codes, with few and many leading and trailing equal bits."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 1 << width, count, np.uint64, endpoint=False) if width < 64 else (
        draw.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
    )  # fmt: skip
    codes[: count // 3] >>= draw.integers(0, width, count // 3).astype(np.uint64)
    codes[: count // 6] ^= np.uint64((1 << width) - 1)
    codes[:6] = [0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1, 3]
    return codes.astype(unsigned(width))


def differences(folder, seed, count=COUNT):
    """Return what a random program does differently than its terms, and the inputs compared."""
    text, source, target = program(seed)
    (folder / "f.ll").write_text(text)
    kernel = load(f"{folder}/f.ll:f")
    codes = inputs(width_of(source), seed, count)
    x = Value(z3.BitVec("x", width_of(source)))
    outcome = evaluate(kernel.function, [x], x)
    terms = Terms({"x": codes.astype(object)}, outcome.facts, count)
    found, poison = terms.of(outcome.result.bits), terms.of(outcome.result.poison)
    known = ~poison & ~terms.nan
    for condition, _ in outcome.undefined:
        known &= ~terms.of(condition)
    out = np.zeros(count, unsigned(width_of(target)))
    module = binding.parse_assembly(with_loop(kernel, (codes.itemsize, out.itemsize), []))
    with binding.create_mcjit_compiler(module, machine()) as engine:
        engine.finalize_object()
        call = SIGNATURE(engine.get_function_address("convcheck_elements"))
        call(codes.ctypes.data, out.ctypes.data, count)
    wrong = np.flatnonzero(known & (found != out.astype(object)))
    said = [f"{codes[i]:#x}: {found[i]:#x}, got {out[i]:#x}\n{text}" for i in wrong[:3]]
    return said, int(known.sum())


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_a_program_does_what_its_terms_say(tmp_path, start):
    compared = 0
    for seed in range(start, start + 20):
        told, count = differences(tmp_path, seed)
        assert not told, told[0]
        compared += count
    assert compared > 20 * COUNT // 5


@pytest.mark.parametrize(("table", "name", "wrong"), [
    (ir.INTEGERS, "lshr", lambda words, a, b: (a >> b, [z3.UGE(b, a.size())])),
    (ir.INTEGERS, "srem", lambda words, a, b: (z3.URem(a, b), [])),
    (ir.CALLS, "smin", ir.CALLS["umin"]),
    (ir.CALLS, "round", ir.CALLS["rint"]),
    (ir.CALLS, "fshl", ir.CALLS["fshr"]),
])  # fmt: skip
def test_a_wrong_instruction_shows(tmp_path, monkeypatch, table, name, wrong):
    monkeypatch.setitem(table, name, wrong)
    seeds = [seed for seed in range(200) if name in program(seed)[0]]
    assert any(differences(tmp_path, seed, 2000)[0] for seed in seeds)
