"""Standalone scripts of findings fail while the bug exists, and pass afterwards.

They run on the installed runtimes' findings.
"""

import ast
import json
import subprocess
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from c_compiler import c_compiler
from catalogue import CATALOG
from command import convcheck, report_at
from planted import identity
from report_json import document, render
from repro_scripts import run_many, run_one

from convcheck.chains.asked import own_chain
from convcheck.cli import COMMANDS
from convcheck.documents.decode import read
from convcheck.errors import UsageError
from convcheck.judge.failure import finding_of
from convcheck.judge.result import BackendInfo, RunResult
from convcheck.plan.runner import execute
from convcheck.records import replace
from convcheck.reproduce.emit.c import c
from convcheck.reproduce.emit.onnx import files_of_witness
from convcheck.reproduce.emit.python import python
from convcheck.reproduce.witness import ask_case, failing, smallest
from convcheck.reproduce.witness import reported as of_finding
from convcheck.rules.find import find_case
from convcheck.rules.load import data_dir
from convcheck.semantics.expected import (
    EXACT,
    UNDEFINED,
    CallReading,
    Decision,
    ExpectedCall,
    ExpectedOutput,
)
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.model import CallSet

TYPES = CATALOG.types.types
SPEC = CATALOG.specs["onnx.Cast-21"]
CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
UNSAFE = "promote_unsafe=true/pytorch_scalar_promotion=false/u64_integer_promotion_target=f32"
SAFE = "promote_unsafe=false/pytorch_scalar_promotion=true/u64_integer_promotion_target=i64"
ORT = (
    "onnx.Cast-21/float64-to-float16",
    "onnx.Cast-21/float16-to-float8e4m3fn/saturate=0",
    "onnx.Cast-21/float16-to-int4",
    "onnx.Cast-21/string-to-float8e4m3fn/saturate=0",
    "onnx.CastLike-21/float64-float16",
    "onnx.Range-11/int64-int64-int64",
    # alone, the element differs in ONNX Runtime, so the report has a part of the call
    "onnx.QuantizeLinear-21/float32-float32-int4/axis",
    "onnx.QuantizeLinear-21/float32-float32-uint4/blocks/block_size=3",
)
PASSING = "onnx.Cast-21/float32-to-bfloat16"
CRASH = "openvino.Range-4/int32-int32-int32-to-int32"
OPENVINO = (
    f"openvino.ConvertPromoteTypes-14/float8e4m3fn-float8e5m2/tensor-scalar/{SAFE}",
    f"openvino.ConvertPromoteTypes-14/uint64-float8e5m2/scalar-tensor/{UNSAFE}",
    "openvino.FakeConvert-13/float32-float32-float32/per-tensor-shift/destination_type=f8e5m2",
    "openvino.Range-4/float64-float64-float64-to-float64",
)
FIRST = (
    "onnx.QuantizeLinear-13/float32-float32-int8/tensor",
    "openvino.FakeQuantize-1/float32-float32-float32-float32-float32/per-channel/levels=102",
    # its models have dynamic shapes, except the first call
    "openvino.FakeQuantize-1/bfloat16-bfloat16-bfloat16-bfloat16-bfloat16/tensor/levels=256",
    "openvino.FakeQuantize-1/float32-float32-float32-float32-float32/low-rank/levels=256/auto_broadcast=numpy",
    # the importer of ONNX models needs the rank
    "onnx.DequantizeLinear-21/int8-float32-int8/tensor",
    # its other outputs depend on all elements
    "onnx.DynamicQuantizeLinear-11/float32-to-uint8/tensor",
)


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch):
    monkeypatch.setattr("convcheck.cli.repro.catalog", lambda: CATALOG)


@cache
def of_runtime(address):
    names = {"ort": (*ORT, PASSING), "openvino": OPENVINO, "openvino:first": FIRST}[address]
    cases = [find_case(CATALOG, name, None, None, ()) for name in names]
    done = execute(address, cases, CORPUS, jobs=1, timeout=30, on_result=lambda _: None)
    digests = CORPUS.digests(cases)
    return RunResult(done.backend, "edge", "disputed", digests, done.cases)


def reported(result, folder):
    path = folder / "run.json"
    path.write_text(render(document(result)))
    again = read(str(path), TYPES)
    found = []
    for one in again.cases:
        case = find_case(CATALOG, one.case.id, None, None, ())
        groups = failing(one)
        assert groups or one.case.id == PASSING, one.case.id
        spec = CATALOG.specs[case.spec]
        vectors = CORPUS.vectors(case)
        calls = vectors.calls if isinstance(vectors, CallSet) else ()
        made = (of_finding(spec, again.backend, case, g, calls) for g in groups[::3])
        found += list(zip(groups, made, strict=False))
    return found


def words(witness):
    strips = witness.got or ()
    return [w if isinstance(w, str) else hex(w) for strip in strips for w in strip.words]


def script(witness, path):
    path.write_text(python(witness, {witness.group.decision.source: "https://example.org/text"}))
    return path


def repaired(witness):
    """Expect the answer, and anything of what the report lacks."""
    outputs = []
    for strip in witness.got:
        codes = np.zeros(prod(strip.shape), strip.format.storage)
        patterns = np.full(codes.shape, UNDEFINED, np.uint8)
        known = slice(strip.first, strip.first + len(strip.words))
        codes[known], patterns[known] = strip.words, EXACT
        outputs.append(ExpectedOutput(TYPES[strip.type], strip.shape, codes, patterns))
    expected = ExpectedCall(0, (CallReading("", tuple(outputs)),))
    return replace(witness, one=replace(witness.one, expected=(expected,)))


def asking(witness, *call):
    return replace(witness, one=replace(witness.one, calls=(call,)))


@pytest.mark.parametrize(
    ("address", "names"), [("ort", ORT), ("openvino", OPENVINO), ("openvino:first", FIRST)]
)
def test_scripts_of_a_report_fail_with_the_answer_that_it_has(address, names, tmp_path):
    pytest.importorskip({"ort": "onnxruntime"}.get(address, "openvino"))
    found = reported(of_runtime(address), tmp_path)
    assert {w.case.id for _, w in found} == set(names)
    calm = [w for g, w in found if g.verdict != "crashed"]
    paths = [script(w, tmp_path / f"{i}.py") for i, w in enumerate(calm)]
    for witness, path, (code, said) in zip(calm, paths, run_many(paths), strict=True):
        text = path.read_text()
        assert code == 1, (witness.case.id, said, text)
        came = [line for line in said.splitlines() if line.startswith("got")]
        missing = [word for word in words(witness) if word not in " ".join(came).split()]
        assert came, witness.case.id
        assert not missing, (witness.case.id, said)
        body = [line for line in text.splitlines() if not line.startswith("#")]
        assert len(body) <= 85, text
    answered = [w for w in calm if w.got is not None]
    assert len(answered) > len(names) // 2
    right = [script(repaired(w), tmp_path / f"right{i}.py") for i, w in enumerate(answered)]
    for witness, (code, said) in zip(answered, run_many(right), strict=True):
        assert code == 0, (witness.case.id, said)


def test_a_chain_is_shown_in_its_setting(tmp_path):
    """ONNX Runtime's graph is wrong while the middle is hidden. If the middle is an output as well,
    each cast is right.
    """
    pytest.importorskip("onnxruntime")
    report, chain = tmp_path / "run.json", "float16-to-bfloat16-to-int8"
    asked = ("--chains", "--backend", "ort", "onnx.Cast-25", "--case", f"*/{chain}/*/middle=hidden")
    assert convcheck("run", *asked, "-o", str(report), "--no-progress").returncode == 1
    cause = ("repro", "--report", str(report), "--cause", "A")
    assert convcheck(*cause, "--out", str(tmp_path / "a.py")).returncode == 0
    assert convcheck(*cause, "--as", "onnx", "--out", str(tmp_path / "test")).returncode == 0
    assert convcheck(*cause, "--as", "c", "--out", str(tmp_path / "a.h")).returncode == 0
    result = read(str(report), TYPES)
    failed = [one for one in result.cases if failing(one)]
    assert {("input", "constant"), ("input", "fed")} == {one.case.setting[1] for one in failed}
    paths = [tmp_path / "a.py"]
    for number, one in enumerate(failed):
        case = own_chain(CATALOG, one.case)
        witness = of_finding(SPEC, result.backend, case, failing(one)[0], ())
        paths.append(script(witness, tmp_path / f"{number}.py"))
        exposed = (*witness.case.setting[:2], ("middle", "exposed"))
        shown = set_to(witness, exposed)
        paths.append(script(shown, tmp_path / f"{number}-exposed.py"))
        with pytest.raises(UsageError, match="inner outputs"):
            list(files_of_witness(shown))
    codes = [code for code, _ in run_many(paths)]
    assert codes == [1, *[1, 0] * len(failed)]
    level = "optimization.enable_cast_chain_elimination"
    often = (("optimisation", "all-and-cast-chains"), *exposed[1:])
    assert level in python(set_to(witness, often), {})


def set_to(witness, setting):
    case = replace(witness.case, setting=setting)
    return replace(witness, one=replace(witness.one, case=case))


PAIRS = (
    "*/float16-float16-int8-to-int8-to-float16/tensor/y_scale=1000.7/*/optimisation=extended/*",
)
GRAPHS = (
    "*/float32-float32-int8-to-int8-to-float32/tensor/y_scale=0x1.234566p+96/*",
    "*/int4-to-uint4-to-int64/*",
)


@pytest.mark.parametrize(("address", "specs", "globs", "fail"), [
    ("ort", ("onnx.QuantizeLinear-21",), PAIRS, 1),
    ("openvino", ("onnx.QuantizeLinear-13", "openvino.Convert-1"), GRAPHS, 6),
])  # fmt: skip
def test_scripts_of_graphs_fail_in_their_settings(address, specs, globs, fail, tmp_path):
    pytest.importorskip({"ort": "onnxruntime"}.get(address, address))
    report = tmp_path / "run.json"
    cases = [word for glob in globs for word in ("--case", glob)]
    asked = ("run", "--chains", "--backend", address, *specs, *cases, "--no-progress")
    assert convcheck(*asked, "-o", report).returncode == 1
    failed = [one for one in report_at(report)["cases"] if one["verdict"] == "fail"]
    assert len(failed) == fail
    paths = [tmp_path / f"{i}.py" for i in range(len(failed))]
    for one, path in zip(failed, paths, strict=True):
        done = convcheck("repro", "--report", report, one["id"], "--out", path)
        assert done.returncode == 0, done.stderr
    for one, path, (code, said) in zip(failed, paths, run_many(paths), strict=True):
        [came] = [line for line in said.splitlines() if line.startswith("got")]
        group = next(group for group in one["groups"] if group["verdict"] == "fail")
        got = group["examples"][0]["got"]
        assert (code, int(came.split()[-1], 16)) == (1, int(got, 16)), one["id"]
        text = path.read_text()
        [due] = [line for line in text.splitlines() if line.startswith("EXPECTED")]
        path.write_text(text.replace(due, f"{due}\nEXPECTED[0][2][0] = {int(got, 16)}"))
    assert {code for code, _ in run_many(paths)} == {0}


def test_a_disputed_call_may_be_read_in_any_way_and_lie_between(tmp_path):
    """Another reading than the report's, and a value between two, pass. Values beyond fail."""
    pytest.importorskip("openvino")
    found = reported(of_runtime("openvino"), tmp_path)
    witness = next(w for _, w in found if w.between and len(w.due) > 1)
    [low, high] = witness.between[0]
    assert low.words != high.words
    last = witness.due[-1].outputs
    # the script's own verdict on an answer in the runtime's place
    answers = {
        "other": last[0],
        "inside": replace(high, words=low.words),
        "beyond": replace(high, words=tuple(int(w) ^ (1 << 40) for w in high.words)),
    }
    paths = []
    for name, answer in answers.items():
        text = python(witness, {})
        said = [("f64", list(answer.shape), list(answer.words))]
        paths.append(tmp_path / f"{name}.py")
        paths[-1].write_text(text.replace("got = ask()", f"got = {said!r}"))
    assert [code for code, _ in run_many(paths)] == [0, 0, 1]


def test_a_script_about_a_value_is_short(tmp_path):
    done = convcheck("repro", ORT[0], "--backend", "ort", "--out", tmp_path / "repro.py")
    assert done.returncode == 0, done.stderr
    assert "other findings:" in done.stderr
    text = (tmp_path / "repro.py").read_text()
    about = [line for line in text.splitlines() if line.startswith("# ")]
    assert len(text.splitlines()) - len(about) <= 60
    assert any("https://doi.org/" in line for line in about)
    assert "convcheck" not in text.replace("convcheck:", "")
    code, said = run_one(tmp_path / "repro.py")
    assert (code, said.splitlines()) == (1, [
        "input     DOUBLE [1] 0xc0effdffffffffff",
        "expected  FLOAT16 [1] 0xfbff",
        "got       FLOAT16 [1] 0xfc00",
    ])  # fmt: skip


def test_a_crash_is_reported_by_the_script_that_survives_it(tmp_path):
    pytest.importorskip("openvino")
    found = asked(CRASH, "openvino")
    witness = smallest(found, next(g for g in found.groups if g.verdict == "crashed"))
    text = script(witness, tmp_path / "crash.py").read_text()
    assert "# The call crashes its process" in text
    code, said = run_one(tmp_path / "crash.py")
    assert code == 1
    assert said.splitlines()[-1] == "got       nothing, died of SIGFPE"
    [(start, stop, step)] = witness.one.calls
    harmless = asking(witness, start, stop, np.ones_like(step))
    code, said = run_one(script(harmless, tmp_path / "harmless.py"))
    assert (code, said.splitlines()[-1][:9]) == (0, "got      ")


def asked(name, address):
    case = find_case(CATALOG, name, None, None, ())
    return ask_case(address, CATALOG.specs[case.spec], CORPUS.vectors(case), 30.0)


@pytest.mark.parametrize(("name", "placement", "shape"), [
    ("Scalars", "alone", ()),
    ("OddTail", "odd tail", (9,)),
    ("FourD", "4-D", (2, 3, 4, 5)),
    ("Transposed", "2-D", (4, 5)),
    ("Reversed", "3-D", (3, 4, 5)),
    ("Reversed4", "4-D", (2, 3, 4, 5)),
    ("Squeezed", "2-D", (1, 22)),
    ("PastLoop", "2,129 elements", (1025,)),
    ("PastThread", "66,643 elements", (65_537,)),
    ("PastLoopDies", "2,129 elements", (1025,)),
    ("After100", "101 calls", (1,)),
    ("RefusesEmpty", "empty", (0,)),
])  # fmt: skip
def test_what_shows_in_one_placement_is_cut_down_to_its_smallest_shape(name, placement, shape):
    case = identity.case(0)
    vectors = identity.Corpus().vectors(case)
    found = ask_case(f"tests.planted.placed_backends:{name}", SPEC, vectors, 30.0)
    group = next(g for g in found.groups if g.placement == placement)
    witness = smallest(found, group)
    assert witness.inputs[0].shape == shape
    assert witness.calls == (101 if placement == "101 calls" else 1)
    [due] = witness.due
    if witness.got and 0 not in shape:
        assert witness.got[0] != due.outputs[0]


OTHER_TEXTS = """
from convcheck.backends.reference import Reference


class Other(Reference):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        answer.arrays[0][answer.arrays[0] == "1"] = "x1"
        return answer
"""


def test_a_text_is_shown_with_every_reading(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/texts.py").write_text(OTHER_TEXTS)
    found = asked("onnx.Cast-21/float32-to-string", "other.texts:Other")
    witness = smallest(found, found.groups[0])
    assert (witness.inputs[0].words, witness.got[0].words) == ((0x3F800000,), ("x1",))
    assert len(witness.due) == len(found.groups[0].decision.readings) > 1


EVIL = 'a */ b /* c """ d \\ e ??/ f \n#include <g>\nimport os'


def evil(witness):
    by = witness.group.decision
    said = Decision(EVIL, EVIL, by.level, EVIL, EVIL, by.place)
    group = replace(witness.group, decision=said, kind=EVIL)
    return replace(witness, group=group, message=EVIL, backend=BackendInfo("ort", EVIL))


@cache
def witness_of(name):
    found = asked(name, "ort")
    return smallest(found, found.groups[0])


def test_what_others_wrote_is_never_code():
    text_witness = witness_of(ORT[3])
    plain = python(text_witness, {})
    text = python(asking(evil(text_witness), np.array([EVIL], object)), {EVIL: EVIL})
    kinds = [type(node) for node in ast.walk(ast.parse(plain))]
    assert [type(node) for node in ast.walk(ast.parse(text))] == kinds
    assert EVIL in [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]


def test_the_c_form_compiles_without_a_warning(tmp_path):
    compiler, number_witness, text_witness = c_compiler(), witness_of(ORT[0]), witness_of(ORT[3])
    texts = asking(evil(text_witness), np.array([EVIL, "é"], object))
    empty = asking(number_witness, np.zeros(0, np.uint64))
    witnesses = [number_witness, empty, texts, text_witness]
    headers = [f"w{i}.h" for i in range(len(witnesses))]
    for name, witness in zip(headers, witnesses, strict=True):
        (tmp_path / name).write_text(c(witness, {EVIL: EVIL}), encoding="utf-8")
        (tmp_path / f"{name[:-2]}.c").write_text(f'#include "{name}"\n')
    sources = [f"{name[:-2]}.c" for name in headers]
    done = subprocess.run(
        [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", *sources],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "w0.h").read_text()
    assert "static const uint64_t input[] = {0xc0effdffffffffff};" in said
    assert "static const uint16_t expected[] = {0xfbff};" in said
    assert "static const uint16_t got[] = {0xfc00};" in said


def test_the_onnx_form_has_the_witness_only():
    from onnx import TensorProto

    made = dict(files_of_witness(witness_of(ORT[0])))
    [model, data, put_in, due] = sorted(made, key=lambda name: ("model" not in name, name))
    assert [Path(name).name for name in (model, data)] == ["model.onnx", "data.json"]
    assert json.loads(made[data]) == {"rtol": 0, "atol": 0}
    tensors = [TensorProto.FromString(made[name]).raw_data.hex() for name in (put_in, due)]
    assert tensors == ["fffffffffffdefc0", "fffb"]


def test_the_command_takes_a_finding_and_says_what_is_wrong_with_it(tmp_path, capsys):
    result, report = of_runtime("ort"), tmp_path / "run.json"
    report.write_text(render(document(result)))
    unknown = "onnx.Cast-21/float32-to-int8"
    for arguments, said in (
        ((ORT[0],), "give one of --backend NAME and --report FILE"),
        (("NOTHING", "--backend", "ort"), "NOTHING is neither a case nor a finding"),
        (("NOTHING", "--report", report), f"NOTHING is neither a finding of {report} nor a case"),
        ((ORT[0], "9", "--report", report), "has no finding 9"),
        ((unknown, "--report", report), f"does not have the case {unknown}"),
        ((PASSING, "--report", report), "does not fail on ort in"),
        ((ORT[0], "--report", report, "--as", "onnx"), "an ONNX test is a folder"),
    ):  # fmt: skip
        with pytest.raises(UsageError) as error:
            COMMANDS["repro"].main([*map(str, arguments)], standalone_mode=False)
        assert said in str(error.value), arguments
    assert capsys.readouterr().out == ""
    group = failing(result.cases[0])[2]
    named = finding_of(group, result.cases[0].case)[:8]
    COMMANDS["repro"].main([ORT[0], named, "--report", str(report)], standalone_mode=False)
    assert group.kind in capsys.readouterr().out.splitlines()[0]
