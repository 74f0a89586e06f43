"""`convcheck run --open`: laws of planted backends, and real backends."""

import io
import re
from functools import cache, partial

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from report_json import held_log
from rich.console import Console

from convcheck.backends.protocol import Outputs
from convcheck.causes.catalogue import causes_of
from convcheck.documents.decode import read_each
from convcheck.documents.encode import text_of_several
from convcheck.errors import Place
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.judge.result import BackendInfo, RunResult
from convcheck.plan.runner import Turn, execute
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.records import replace
from convcheck.report.draw.console import put
from convcheck.report.draw.survey import survey_page
from convcheck.rules.model import Case
from convcheck.semantics.expected import (
    EXACT,
    UNDEFINED,
    CallReading,
    Decision,
    ExpectedCall,
    ExpectedOutput,
)
from convcheck.survey.survey import Known, OpenRows, Survey, survey, tell
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet

KNOWN = Known(CATALOG, causes_of(CATALOG))
PLANTED = "tests.planted.free_backends:"
INTEGERS = Selection(("onnx.Cast-21",), ("float32", "float16"), ("int8", "int16", "uint8", "int32"))
SHORT = Selection(("onnx.Cast-21",), ("float32",), ("int4",))


@cache
def asked(name, selection, tier="edge"):
    corpus = Corpus(CATALOG, tier, 0, ())
    done = execute(
        PLANTED + name if name[0].isupper() else name, select(CATALOG, selection),
        OpenRows(corpus), jobs=1, timeout=30.0,
        on_result=lambda result: None, judge=partial(survey, KNOWN),
    )  # fmt: skip
    return done.cases


def column(name, *results):
    backend = BackendInfo(name, "1", name)
    return Turn(name, RunResult(backend, "edge", "disputed", (), results, survey=True))


def together(*names, selection=INTEGERS):
    return Survey(tuple(column(n, *asked(n, selection)) for n in names))


def shown(found, width=80):
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    put(survey_page(found, CATALOG.types), console, whole=False)
    return out.getvalue()


def row(found, name):
    return next(r for r in found.rows if r.decision.name == name)


def laws(name, of, selection=INTEGERS):
    """Case name -> the laws that fit all answers of a row."""
    cases = row(together(name, selection=selection), of).of(0)
    return {case.name: {law for _, some in one.fits for law in some} for case, one in cases.items()}


AS_X86 = (
    "goes through int32 (toward-zero), where overflow gives the least int32 (x86), and keeps the "
    "low bits or extends the sign"
)
PLANTS = {
    "Clamping": {"x > max": "clamps", "x < min": "clamps", "nan": "gives +0 for NaN"},
    "X86": dict.fromkeys(("x > max", "x < min", "nan"), AS_X86),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_law_is_told_for_every_pair(name):
    for label, law in PLANTS[name].items():
        found = laws(name, f"float-to-fixed / {label}")
        # int32 holds every float16, so only infinity and NaN are out of range
        assert len(found) >= 8
        assert all(law in fitting for fitting in found.values()), label


def test_a_law_of_finite_values_alone():
    found = row(together("Wrapping"), "float-to-fixed / x > max").of(0)
    for case, one in found.items():
        kinds = dict(one.fits)
        if case.name == "float16-to-int32":
            assert kinds == {"": ()}
        else:
            assert kinds["finite"][0] == "wraps round", case.name
            assert kinds["infinite"] == ()
            assert one.odd == 1


def test_no_law_is_told_where_there_is_none():
    found = row(together("Lawless"), "float-to-fixed / x > max").of(0)
    wide = next(one for case, one in found.items() if case.name == "float32-to-int8")
    assert not any(some for kind, some in wide.fits if kind != "infinite")
    assert wide.examples
    assert wide.odd > 10


def test_the_reference_is_lawful_and_told_in_few_words():
    found = together("reference")
    assert all(law for r in found.rows for told in tell([r.of(0)]) for t, _ in told for _, law in t)


def test_refusals_and_crashes_are_counted_apart_from_answers():
    above = row(together("Refusing"), "float-to-fixed / x > max").of(0)
    nan = row(together("Refusing"), "float-to-fixed / nan").of(0)
    assert all(one.refused == 1 and "not a finite number" in one.message for one in above.values())
    assert all(one.refused == one.asked and one.fits == () for one in nan.values())
    one_pair = Selection(("onnx.Cast-21",), globs=("float32-to-int8",))
    killed = together("Deadly", selection=one_pair)
    deadly = row(killed, "float-to-fixed / x > max").of(0)
    assert all(one.crashed == 1 and "SIGFPE" in one.message for one in deadly.values())
    assert all(AS_X86 in dict(one.fits)[""] for case, one in deadly.items() if one.asked > 1)
    assert "crashes some, else wraps round" in shown(killed)
    assert re.search(r"1 of [0-9]+ inputs, in its words:\s+died of SIGFPE", shown(killed))


def test_a_missing_kernel_is_no_answer_and_a_model_turned_down_is_a_refusal():
    cases = row(together("Unable", "X86"), "float-to-fixed / nan").of(0)
    by_target = {case.outputs[0].name: one for case, one in cases.items()}
    assert by_target["int8"].unsupported
    assert by_target["int8"].digest == ""
    assert by_target["int16"].refused == by_target["int16"].asked > 0
    assert by_target["int16"].message == "no int16 here"
    found = row(together("Unable", "X86"), "float-to-fixed / nan")
    assert {d.case.outputs[0].name for d in found.differences} == {"int16"}


def test_a_row_that_nobody_took_is_not_shown():
    only = Selection(("onnx.Cast-21",), ("float32",), ("int8",), ("saturate=0",))
    assert together("Unable", selection=only).rows == ()
    assert together("X86", selection=only).rows


def test_answers_that_depend_on_the_placement_are_told():
    found = row(together("Moody"), "float-to-fixed / nan").of(0)
    assert all(one.elsewhere > 0 for one in found.values())
    assert "another placement" not in shown(together("X86"))


def test_a_disputed_row_is_told_by_its_reading():
    name = "float-to-short / else"
    assert laws("reference", name, SHORT) == {"float32-to-int4": {"nearest-even"}}
    assert laws("ByTheOther", name, SHORT) == {"float32-to-int4": {"toward-zero"}}
    found = together("reference", "ByTheOther", "X86", selection=SHORT)
    text = shown(found)
    assert "-7.9999995 (0xc0ffffff): reference -8 (0x8), ByTheOther -7" in text
    assert {r.decision.name: [d.inputs for d in r.differences] for r in found.rows} == {
        "float-to-short / nan": [], "float-to-short / x > max": [75],
        "float-to-short / x < min": [72], name: [50],
    }  # fmt: skip
    assert text.endswith("SURVEYED  4 rows, 1 case, 1,620 answers; backends differ in 3 rows\n")


def test_backends_are_compared_by_their_answers():
    same = together("X86", "X86")
    assert all(not r.differences and r.compared == len(r.answers) for r in same.rows)
    found = row(together("X86", "Clamping"), "float-to-fixed / x > max")
    differences = {d.case.name: d for d in found.differences}
    assert set(differences) == {case.name for case in found.answers}
    for difference in differences.values():
        one, other = difference.answers
        assert one.inputs == other.inputs
        assert one.got != other.got


def everything():
    names = ("X86", "Clamping", "Wrapping", "Refusing", "Unable", "Moody", "Lawless")
    first, *others = together(*names).columns
    assert first.run
    noted = replace(first, run=replace(first.run, notes=("a note",)))
    return Survey((noted, *others, Turn("process:absent", None, "no such program")))


def test_a_log_that_is_read_back_is_drawn_alike(tmp_path):
    calls = Selection(("onnx.Range-11",), globs=("*/int16-*",))
    for found in (everything(), together("ort", "reference", selection=calls)):
        (tmp_path / "survey.json").write_text(text_of_several(found.columns))
        held_log((tmp_path / "survey.json").read_text())
        runs = read_each(str(tmp_path / "survey.json"), CATALOG.types.types, surveys=True)
        again = Survey(tuple(Turn(run.backend.address, run) for run in runs))
        kept = Survey(tuple(column for column in found.columns if column.run))
        assert shown(again) == shown(kept)


# Whole calls, built by hand.

TYPE = CATALOG.types.types["int8"]
CASE = Case("acme.Count-1", "acme.Count", 1, (TYPE,), (TYPE,), (), ranks=(0,))


def decision(row, level, *readings):
    return Decision("count", row, level, "It counts.", "Acme manual", Place("count.yaml", 7),
                    readings or ("",))  # fmt: skip


def reading(name, *codes):
    bits = np.array(codes, np.uint8)
    due = ExpectedOutput(TYPE, (len(codes),), bits, np.full(len(codes), EXACT, np.uint8))
    return CallReading(name, (due,))


def of_calls():
    ways = (decision("readings differ", "disputed", "up", "down"), decision("step 0", "undefined"))
    free = ExpectedCall(1, (CallReading("", pattern=UNDEFINED),))
    expected = (*(ExpectedCall(0, (reading("up", n, n), reading("down", n))) for n in (1, 2, 3)),
                free, free)  # fmt: skip
    calls = tuple((np.array(n, np.uint8),) for n in (1, 2, 3, 4, 5))
    vectors = CallSet(CASE, calls, expected, ways, "edge", decision("form", "normative"))
    cut = OpenRows(Fixed(vectors)).vectors(CASE)
    assert len(cut) == 5
    said = {
        "up": [[1, 1], [2, 2], [3, 3], [], []],
        "both": [[1, 1], [2], [3], [4], [5]],
        "neither": [[1, 1], [7], [3], None, None],
    }
    return Survey(
        tuple(column(name, survey(KNOWN, cut, answering(due))) for name, due in said.items())
    )


class Fixed:
    def __init__(self, vectors):
        self.one = vectors

    def vectors(self, case):
        return self.one


def answering(answers):
    got = np.array(
        [None if a is None else Outputs((np.array(a, np.uint8),), ("int8",)) for a in answers],
        object,
    )
    state = np.array([REFUSED if a is None else ANSWERED for a in answers], np.uint8)
    messages = {i: "step is 0" for i, a in enumerate(answers) if a is None}
    return Answers(got, state, messages)


def test_whole_calls_are_told_by_their_readings():
    found = of_calls()
    told = [dict(one.fits) for one in (row(found, "count / readings differ").of(i)[CASE]
                                       for i in range(3))]  # fmt: skip
    assert told[0] == {"": ("up",)}
    assert told[1] == {"": ("down, or up",)}
    assert told[2] == {"": (), "other calls": ("up, or down",)}
    free = [row(found, "count / step 0").of(i)[CASE] for i in range(3)]
    assert dict(free[0].fits) == {"": ("empty",)}
    assert dict(free[1].fits)[""] == ("one element",)
    assert (free[2].refused, free[2].message) == (2, "step is 0")
    text = " ".join(shown(found).split())
    assert "int8 2: up int8[2] 2 2, both int8[1] 2, neither int8[1] 7" in text
    assert "int8 4: up int8[0], both int8[1] 4, neither nothing (step is 0)" in text
    assert text.endswith("SURVEYED 2 rows, 1 case, 15 answers; backends differ in 2 rows")


def test_real_runtimes_are_surveyed(tmp_path):
    path = tmp_path / "s.json"
    select = ("onnx.Cast-21", "--from", "float32", "--to", "int8", "--to", "int4")
    done = convcheck(
        "run", "--open", "--backend", "ort", "--backend", "onnx-reference", *select, "-o", path
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "onnxruntime" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    logs = held_log(path.read_text())
    assert [log["backend"]["address"] for log in logs] == ["ort", "onnx-reference"]
    for log in logs:
        found = [(log["rules"][r["rule"]], r) for case in log["cases"] for r in case["rows"]]
        names = {f"{rule['rule']} / {rule['row']}" for rule, _ in found}
        assert {"float-to-fixed / x > max", "float-to-short / else"} <= names
        assert any(row["asked"] and row.get("fits") for _, row in found)
    again = convcheck("report", path)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_shards_merged_give_the_bytes_of_one_survey(tmp_path):
    backends = ("--backend", f"{PLANTED}Refusing", "--backend", "reference")
    select = ("onnx.Cast-21", "onnx.Cast-19", "--from", "float16", "--to", "int8", "--to", "int16")
    ask = ("run", "--open", *backends, *select, "--jobs", "1", "-o")
    whole = convcheck(*ask, tmp_path / "whole.json")
    assert whole.returncode == 0
    shards = [tmp_path / f"{index}.json" for index in (3, 1, 2)]
    for path in shards:
        assert convcheck(*ask, path, "--shard", f"{path.stem}/3").returncode == 0
    outputs = ("-o", tmp_path / "merged.jsonl", "-o", tmp_path / "again.json")
    done = convcheck("report", *shards, *outputs)
    assert done.returncode == 0, done.stderr
    for name in ("merged.jsonl", "again.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert done.stdout == whole.stdout
    done = convcheck("report", *shards, "-o", tmp_path / "merged.html")
    assert done.returncode == 2
    assert "has no other formats" in done.stderr
    (tmp_path / "again.json").write_bytes(shards[0].read_bytes())
    refused = {
        "shard 2/3 missing": shards[:2],
        "are both shard": [*shards, tmp_path / "again.json"],
        "is a whole run": [*shards, tmp_path / "whole.json"],
    }
    for said, paths in refused.items():
        done = convcheck("report", *paths, "-o", "-")
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_json_on_stdout_is_json_alone():
    select = ("onnx.Cast-21", "--from", "float16", "--to", "int8")
    done = convcheck("run", "--open", "--backend", "reference", *select, "-o", "-")
    assert [log["survey"] for log in held_log(done.stdout)] == [True]
    assert "SURVEYED" in done.stderr


def test_exit_codes():
    float_to_int = ("onnx.Cast-21", "--from", "float16", "--to", "int8")
    reference = ("run", "--open", "--backend", "reference")
    nothing = convcheck(*reference, "onnx.Cast-21", "--from", "int8", "--to", "int16")
    assert nothing.returncode == 3
    assert "NOTHING SURVEYED" in nothing.stdout
    absent = convcheck(*reference, "--backend", f"{PLANTED}Absent", *float_to_int)
    assert absent.returncode == 4
    assert "could not be started: no such runtime here" in " ".join(absent.stdout.split())
    assert "SURVEYED" in absent.stdout
    unknown = convcheck(*reference, "--backend", "nope", *float_to_int)
    assert unknown.returncode == 2
    assert "unknown backend 'nope'" in unknown.stderr
    assert unknown.stdout == ""
    assert convcheck("run", "--open", *float_to_int).returncode == 2
