from collections import Counter

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from command import convcheck

from convcheck.emit.suite import identifier, plateaus_of, series_of, why_left_out
from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT

SPECS = ("onnx.Cast-28", "openvino.Convert-1", "pypto.cast-0.2")
SOURCES = ("float32", "bfloat16", "int16")
ASKED = 1 << 12  # inputs of each table of series


def swept(spec):
    for case in cases(CATALOG.specs[spec]):
        if why_left_out(case):
            continue
        if case.outputs[0].format.bits <= 16 and case.inputs[0].name in SOURCES:
            yield case


def told(table, bits):
    firsts, facts = [np.array([table[0].first])], []
    for one in table:
        turn, part = np.divmod(np.arange(one.count), len(one.turns))
        length, row, pattern, code = np.array(one.turns, object)[part].T
        assert firsts[-1][-1] == one.first
        firsts.append(one.first + np.cumsum(length))
        facts.append([row, pattern, (code + turn * one.step) % (1 << bits)])
    return np.concatenate(firsts).astype(np.int64), np.concatenate(facts, axis=1)


@pytest.mark.parametrize("spec", SPECS)
def test_series_are_what_the_evaluator_says(spec):
    """At both ends of many plateaus, and at random. Series come from runs, expectations from the
    evaluator.
    """
    random, without = np.random.default_rng(20), Counter[str]()
    for case in swept(spec):
        source, target = case.inputs[0].format, case.outputs[0].format
        plateaus = plateaus_of(compiled(case), source, target)
        if plateaus is None:
            without[f"{case.inputs[0].name}-to-{case.outputs[0].name}"] += 1
            continue
        for reading, table in enumerate(series_of(*plateaus, source, target)):
            firsts, facts = told(table, max(target.bits, 8 * (target.bits == 1)))
            assert len(firsts) == facts.shape[1] + 1
            assert (firsts[0], firsts[-1]) == (0, 1 << source.bits)
            ends = random.choice(firsts[:-1], ASKED // 4)
            some = np.concatenate([ends, ends - 1, random.integers(0, 1 << source.bits, ASKED)])
            bits = np.unique(some & ((1 << source.bits) - 1))
            expected = evaluate(CATALOG.specs[spec], case, bits.astype(source.storage))
            due = expected.readings[reading]
            at = np.searchsorted(firsts, bits, "right") - 1
            codes = np.where(due.patterns == EXACT, due.codes, 0)
            assert (facts[:, at] == [expected.rows, due.patterns, codes]).all(), case.id
    # integers that wrap, told apart by low bits
    assert without.keys() <= {"float32-to-int16"}


def test_names_are_unlike():
    ids = {
        case.id for one in CATALOG.specs.values() for case in cases(one) if not why_left_out(case)
    }
    assert len({identifier(name).lower() for name in ids}) == len(ids)


PAIR = ("onnx.Cast-21", "--from", "float32", "--to", "bfloat16")
NAME = "onnx_Cast_21_float32_to_bfloat16.h"


def test_the_same_command_writes_the_same(tmp_path):
    for folder in ("one", "two"):
        done = convcheck("export", *PAIR, "--as", "c", "--out", tmp_path / folder)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith(f"in {tmp_path / folder}: 1 case, ")
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / f).iterdir()} for f in ("one", "two"))
    assert one == two
    assert one.keys() == {"convcheck.h", NAME, "convcheck-export.json"}


@pytest.mark.parametrize(("arguments", "said"), [
    (["onnx.Cast-99"], "no spec matches 'onnx.Cast-99'"),
    (["onnx.Range-11"], "its inputs are whole tensors, not single numbers"),
    (["onnx.Cast-21", "--from", "string"], "it converts strings"),
    (["onnx.Cast-21", "--to", "string", "--from", "float32"], "it converts strings"),
    (["onnx.Cast-21", "--to", "float8", "--where", "saturate=default"], "leaves out an attribute"),
    (["onnx.Cast-21", "--to", "bfloat16", "--where", "saturate=0"], "a function cannot refuse"),
    (["onnx.Cast-21", "--from", "bfloat16", "--to", "int8", "--where", "saturate=1"],
     "no case matches all of these together"),
])  # fmt: skip
def test_what_has_no_suite_is_bad_input(arguments, said, tmp_path):
    done = convcheck("export", *arguments, "--as", "c", "--out", tmp_path / "new")
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_language_and_a_folder_are_named(tmp_path):
    for arguments, said in (
        (("--as", "fortran", "--out", tmp_path / "new"), "fortran"),
        (("--out", tmp_path / "new"), "--as"),
        (("--as", "c"), "--out"),
    ):
        done = convcheck("export", *PAIR, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
