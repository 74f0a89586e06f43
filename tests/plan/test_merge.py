import pytest
from command import convcheck, refused, run_shards
from report_json import document, parsed, render
from report_runs import RUNS

from convcheck.errors import Place, UsageError
from convcheck.gate.baseline import released
from convcheck.judge.result import BackendInfo, Excuse, Problem, Shard
from convcheck.plan.units import merge_shards, plan_digest
from convcheck.records import replace

OF = 4


def RULES(case):  # noqa: N802
    raise AssertionError("no case here is swept")


def sharded(result, of=OF):
    plan = plan_digest([case.case.id for case in result.cases])
    return [
        (f"{i}.json", replace(result, cases=result.cases[i - 1 :: of], shard=Shard(i, of, plan)))
        for i in range(1, of + 1)
    ]


@pytest.mark.parametrize("name", ["all_pass", "failing", "kinds", "calls", "nothing"])
@pytest.mark.parametrize("of", [1, 2, 16])
def test_merged_shards_are_the_run(name, of):
    result = RUNS[name]()
    cases = {case.case.id: case for case in result.cases}
    result = replace(result, cases=tuple(cases.values()))
    parts = sharded(result, of)
    again = merge_shards([*parts[1:], parts[0]], RULES)
    assert render(document(again)) == render(document(result))


def test_restarts_add_up_and_notes_are_said_once():
    parts = [(n, replace(r, restarts=2, notes=("edited",))) for n, r in sharded(RUNS["failing"]())]
    again = merge_shards(parts, RULES)
    assert (again.restarts, again.notes) == (2 * OF, ("edited",))


def test_what_a_list_said_of_a_shard_is_dropped():
    result = RUNS["failing"]()
    excuse, place = Excuse("known", "so it is", "", Place("known.toml", 1)), Place("known.toml", 1)
    first, *others = result.cases[0].groups
    groups = (replace(first, excuse=excuse), *others)
    held = replace(
        result,
        known="known.toml",
        problems=(Problem("stale", place, "passes"),),
        cases=(replace(result.cases[0], groups=groups), *result.cases[1:]),
    )
    shards = [(name, released(shard)) for name, shard in sharded(held)]
    assert merge_shards(shards, RULES) == result


def not_merged(parts):
    with pytest.raises(UsageError) as error:
        merge_shards(parts, RULES)
    return str(error.value)


def test_every_shard_has_to_be_there_once():
    parts = sharded(RUNS["failing"]())
    assert "shard 3/4 missing" in not_merged([*parts[:2], parts[3]])
    assert "shards 2/4, 3/4, 4/4 missing" in not_merged(parts[:1])
    assert "1.json and again.json are both shard 1/4" in not_merged(
        [*parts, ("again.json", parts[0][1])]
    )


def test_shards_are_of_one_run():
    parts = sharded(RUNS["failing"]())
    name, first = parts[0]
    for what, other in {
        "corpus": replace(first, corpora=(("onnx.Cast-19", "0" * 64),)),
        "backend": replace(first, backend=BackendInfo("onnxruntime", "1.30.0")),
        "tier": replace(first, tier="boundary"),
        "gate": replace(first, level="normative"),
        "plan": replace(first, shard=Shard(1, OF, "another")),
    }.items():
        said = not_merged([(name, other), *parts[1:]])
        assert f"2.json and 1.json differ in their {what}" in said


def test_options_that_differ_on_the_command_line(tmp_path):
    one, other = tmp_path / "1.json", tmp_path / "2.json"
    asked = ("--backend", "reference", "onnx.Cast-19", "--from", "float16", "--to", "long")
    for command in (("run",), ("run", "--open")):
        for shard, seed, path in (("1/2", 1, one), ("2/2", 2, other)):
            made = convcheck(*command, *asked, "--seed", seed, "--shard", shard, "-o", path)
            assert made.returncode == 0, made.stderr
        options = dict(parsed(one.read_text())["shard"]["options"])
        assert options["--from"] == "float16"
        assert options["SPEC"] == "onnx.Cast-19"
        done = convcheck("report", one, other)
        assert (done.returncode, done.stdout) == (2, "")
        said = f"{one} was run with --seed 1, and {other} with --seed 2\n  hint: merge the shards"
        assert said in done.stderr


def test_a_shard_is_whole():
    parts = sharded(RUNS["failing"]())
    name, last = parts[-1]
    assert "4.json was interrupted" in not_merged(
        [*parts[:-1], (name, replace(last, interrupted=True))]
    )
    fewer = replace(last, cases=last.cases[:-1])
    assert "lack cases of their plan" in not_merged([*parts[:-1], (name, fewer)])
    assert "is a whole run" in not_merged([("run.json", replace(last, shard=None))])


def test_from_the_command_line(tmp_path):
    asked = "--backend", "reference", "onnx.CastLike-19", "--from", "float16", "--to", "float8"
    whole, merged = tmp_path / "run.json", tmp_path / "merged.json"
    assert convcheck("run", *asked, "-o", whole).returncode == 0
    shards = run_shards(tmp_path, 3, *asked)
    done = convcheck("report", *shards, "-o", merged)
    assert done.returncode == 0, done.stderr
    assert merged.read_bytes() == whole.read_bytes()
    assert parsed(shards[2].read_text())["shard"]["index"] == 3


@pytest.mark.parametrize("said", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/3/5"])
def test_a_shard_that_is_none(said):
    assert "--shard 3/16" in refused("run", "--backend", "reference", "--shard", said)


def test_a_shard_without_cases():
    one = ("--case", "float32-to-int8")
    assert "shard 2/2 has none of 1 part" in refused(
        "run", "--backend", "reference", "onnx.Cast-13", *one, "--shard", "2/2"
    )
