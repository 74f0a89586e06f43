import tomllib

import pytest
from catalogue import CATALOG
from command import convcheck
from known_runs import FAILING, HERE, IDS, THERE, TODAY, found, whole
from places import KERNELS
from report_json import parsed
from report_runs import passed, unasked

from convcheck.errors import Place, UsageError
from convcheck.gate.baseline import baseline, hold, read_known, updated
from convcheck.gate.known_file import KnownList
from convcheck.judge.result import Shard
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.rules.find import compact_names, ids_of

PLACE = Place("known.toml", 1)
NAME = "onnx.Cast-{19,21}/{float32,float64}-to-{float16,bfloat16}"


def every(_):
    return [*IDS, *THERE]


def list_of(result, folder):
    path = folder / "known.toml"
    path.write_text(baseline(result).text, encoding="utf-8")
    return read_known(str(path), CATALOG)


def declining(*names, result=None):
    return whole(result or found(FAILING), "unsupported", *names)


def problems(result, known):
    return [p for p in hold(result, known, every, TODAY).problems if p.kind == "vanished"]


def test_names_stand_for_their_ids_and_no_other():
    assert compact_names(IDS) == [NAME]
    assert sorted(ids_of(NAME, PLACE)) == sorted(IDS)
    for left_out in IDS:
        some = [name for name in IDS if name != left_out]
        names = compact_names(some)
        assert sorted(name for one in names for name in ids_of(one, PLACE)) == sorted(some)
    with pytest.raises(UsageError, match="10,000,000,000 cases in one name"):
        list(ids_of("x/" + "{0,1,2,3,4,5,6,7,8,9}" * 10, PLACE))


def test_the_list_has_what_was_judged(tmp_path):
    assert [one.name for one in list_of(found(FAILING), tmp_path).judged] == [NAME]
    (name,) = list_of(declining(*IDS[4:]), tmp_path).judged
    assert [*name.ids] == IDS[:4]


def test_what_vanishes_fails_the_run_and_is_named(tmp_path):
    known = list_of(found(FAILING), tmp_path)
    assert problems(found(FAILING), known) == []
    held = hold(declining(IDS[0], IDS[5]), known, every, TODAY)
    (problem,) = held.problems
    place = known.judged[0].place
    assert (held.outcome, problem.kind, problem.place) == ("fail", "vanished", place)
    assert NAME in (tmp_path / "known.toml").read_text().splitlines()[place.line - 1]
    assert problem.message == (
        f"2 cases are no longer judged: {IDS[0]}, {IDS[5]}; the backend says: "
        f"ValueError; if this is intended, correct {place}"
    )
    left = tomllib.loads(f"case = [{problem.repair}]")["case"]
    assert {name for one in left for name in ids_of(one, PLACE)} == {*IDS} - {IDS[0], IDS[5]}
    assert Document(held).reasons[0] == "1 entry of known.toml to repair (1 vanished)"


def test_a_part_of_a_run_is_held_to_what_it_has(tmp_path):
    known = list_of(found(FAILING), tmp_path)
    assert problems(found(FAILING, left_out=IDS[:5]), known) == []
    shard = replace(declining(IDS[7]), shard=Shard(1, 2, "0"))
    assert len(problems(shard, known)) == 1


def test_a_name_of_no_case_fails_the_run(tmp_path):
    known = list_of(found(FAILING), tmp_path)
    held = hold(found(FAILING), known, lambda _: [], TODAY)
    assert held.problems == ()
    gone = found(FAILING, left_out=IDS[:1])
    (problem,) = hold(gone, known, lambda _: IDS[1:], TODAY).problems
    assert (problem.kind, problem.message[: len(IDS[0]) + 17]) == (
        "unmatched", f"no case is named {IDS[0]}"
    )  # fmt: skip


def test_a_list_is_brought_up_to_date(tmp_path):
    known = list_of(found(FAILING), tmp_path)
    same = updated(found(FAILING), known, every, TODAY)
    assert (same.text, same.judged) == (known.text, 8)
    fewer = updated(
        declining(IDS[0], result=found(FAILING, left_out=IDS[1:2])), known, every, TODAY
    )
    (tmp_path / "known.toml").write_text(fewer.text)
    again = read_known(str(tmp_path / "known.toml"), CATALOG)
    assert {i for one in again.judged for i in one.ids} == {*IDS[1:]}, (
        "one was declined, another was not asked"
    )
    more = updated(found(FAILING), again, every, TODAY, prune=True)
    assert more.text == fewer.text, "pruning adds nothing"
    assert updated(found(FAILING), again, every, TODAY).judged == 8


def test_a_run_without_a_list_says_that_nothing_holds_the_backend():
    cases = [unasked(HERE[0], "unsupported", "no kernel"), *map(passed, HERE[1:])]
    result = replace(found({}), cases=tuple(cases))
    assert Document(result).reasons[-1] == "1 unsupported (nothing holds the backend to them)"
    held = hold(result, KnownList("known.toml", "", ()), every, TODAY)
    assert Document(held).reasons[-1] == "1 unsupported"
    assert held.notes == (
        "known failures: known.toml does not list judged cases, so 1 case not judged here "
        "cannot be reported; `--known FILE --update` adds the list",
    )


def test_the_life_of_a_kernel_that_disappears(tmp_path):
    text = (KERNELS / "cast.py").read_text("utf-8")
    program, known = tmp_path / "cast.py", tmp_path / "known.toml"
    program.write_text(text, encoding="utf-8")
    backend = f"process:python3 -S {program}"
    asked = ["--backend", backend, "onnx.Cast-21", "--to", "float8e4m3fn", "--to", "int8", "-j", 1]
    done = convcheck("run", *asked, "--known", known, "--update")
    assert done.returncode == 0, done.stderr
    assert "4 cases judged" in done.stderr
    assert convcheck("run", *asked, "--known", known).returncode == 0
    (judged,) = tomllib.loads(known.read_text("utf-8"))["judged"]
    assert sorted(judged["case"]) == [
        "onnx.Cast-21/float32-to-float8e4m3fn/saturate={0,1,default}", "onnx.Cast-21/int32-to-int8",
    ]  # fmt: skip

    program.write_text(text.replace('["float8e4m3fn"]', '["nothing"]'), encoding="utf-8")
    assert program.read_text("utf-8") != text
    unheld = convcheck("run", *asked)
    assert unheld.returncode == 0
    assert "nothing holds the backend to them" in " ".join(unheld.stdout.split())
    report = tmp_path / "run.json"
    held = convcheck("run", *asked, "--known", known, "-o", report)
    assert held.returncode == 1, held.stdout
    assert "VANISHED" in held.stdout
    (problem,) = parsed(report.read_text())["problems"]
    assert "the backend says: no such kernel" in problem["message"]
