"""`convcheck known` writes and updates a list."""

import tomllib

import pytest
from catalogue import CATALOG
from click.testing import CliRunner
from command import convcheck, report_at
from known_runs import (
    CORPUS,
    ENTRY,
    FAILING,
    HERE,
    IDS,
    THERE,
    TODAY,
    WAIVER,
    found,
    held,
    whole,
    wrong,
)
from report_json import parsed
from report_runs import NARROW, TABLE, unasked

from convcheck import cli
from convcheck.documents import encode
from convcheck.gate.baseline import HEAD as JUDGED
from convcheck.gate.baseline import Written, baseline, read_known, updated
from convcheck.judge.result import Shard
from convcheck.records import replace

HEAD = """\
# Known failures of onnxruntime. A run with --known and this file fails
# on other failures, and on entries that are out of date.
"""
HOLDS = "8 cases judged: a run with this list fails if one of them is declined\n"
HOLDS_2 = HOLDS.replace("8", "2")
SMALL = "# one ulp too small in magnitude\n"
FRESH = (
    ENTRY.replace('"fail"\n', f'"fail"  {SMALL}')
    .replace("goes through float32", "not yet looked into")
    .replace('issue = "https://example.org/1"\n', "")
)  # fmt: skip


def fresh(result):
    return without_judged(baseline(result))


def without_judged(written):
    text, judged, _ = written.text.partition(JUDGED)
    return replace(written, text=text.removesuffix("\n") if judged else text, judged=0)


def update(text, result, tmp_path, there=(), prune=False):
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    every = [*IDS, *there]
    return without_judged(
        updated(result, read_known(str(path), CATALOG), lambda _: every, TODAY, prune)
    )


def passes(text, result, tmp_path, there=()):
    judged = held(text, result, tmp_path, there)
    said = [note for note in judged.notes if "does not list judged cases" not in note]
    return (judged.outcome, judged.problems, said) == ("pass", (), [])


def test_a_list_is_written(tmp_path):
    written = fresh(found(FAILING))
    assert written == Written(f"{HEAD}\n{FRESH}", entries=1, new=1)
    assert passes(written.text, found(FAILING), tmp_path)


def test_a_run_of_many_kinds_of_failures(tmp_path):
    odd = 'text is "\\d" > else\x7f'
    rule = replace(TABLE, row=odd)
    failing = {
        IDS[0]: wrong(1, 1, rule), IDS[1]: wrong(2, 2, TABLE), IDS[2]: wrong(3, 3),
        IDS[3]: replace(wrong(1, 2), verdict="crashed", kind="died of SIGSEGV, pid 17"),
    }  # fmt: skip
    result = whole(found(failing), "error", IDS[6], IDS[7])
    written = fresh(result)
    entries = tomllib.loads(written.text)["known"]
    assert [(e["rule"], e["verdict"], "digest" in e) for e in entries] == [
        (f"{TABLE.rule} / {odd}", "fail", True),
        (TABLE.name, "fail", True),
        ("float-to-float / else", "fail", True),
        ("float-to-float / else", "crashed", False),
        ("", "error", False),
    ]
    assert entries[-1]["case"] == "onnx.Cast-21/float64-to-{float16,bfloat16}"
    assert written.text.endswith(
        'verdict = "error"  # ValueError\ntier = "edge"\n'
        f'corpus = "{entries[-1]["corpus"]}"\ncount = 2\nreason = "not yet looked into"\n'
    )
    assert passes(written.text, result, tmp_path)
    dead = replace(failing[IDS[3]], digest="f" * 32)
    assert passes(written.text, whole(found(failing | {IDS[3]: dead}), "error", *IDS[6:]), tmp_path)


def test_what_is_below_the_gate_is_not_written(tmp_path):
    failing = FAILING | {IDS[0]: wrong(1, 1, NARROW)}
    assert fresh(found(failing, level="implied")).entries == 1
    assert fresh(found(failing)).entries == 2
    assert fresh(found(FAILING, level="normative")).text == HEAD
    crashed = replace(wrong(1, 1, NARROW), verdict="crashed")
    assert fresh(found({IDS[0]: crashed}, level="normative")).entries == 1


LIST = f"""\
# Ours. Ask Ada.
# Second line.

# the double rounding
{ENTRY.replace("= 21", "= 21  # both")}until = 2026-12-31

# crashes

# gone
[[known]]
case = "{IDS[1]}"
rule = "a / b"
verdict = "refused"
tier = "edge"
corpus = "0123456789abcdef"
count = 1
reason = "gone"

# for good
{WAIVER.replace("float64-to-float16", "float32-to-bfloat16")}
# the end
"""
BY_DESIGN = {IDS[1]: wrong(3, 3), IDS[5]: wrong(3, 4)}


def test_an_update_keeps_what_people_wrote(tmp_path):
    result = found(FAILING | BY_DESIGN | {IDS[2]: wrong(12, 0), IDS[4]: wrong(7, 7, TABLE)})
    written = update(LIST, result, tmp_path)
    gone = LIST.index("# gone"), LIST.index("# for good")
    kept = LIST[: gone[0]] + LIST[gone[1] :]
    kept = kept.replace("count = 21 ", "count = 23 ").replace('0b"', '0c"')
    text = written.text
    assert text.startswith(f'{kept}\n[[known]]\ncase = "{IDS[4]}"\n')
    assert text.count("[[known]]") == 2
    assert written == Written(text, entries=3, new=1, changed=1, removed=1)
    assert passes(text, result, tmp_path)
    again = update(text, result, tmp_path)
    assert again == Written(text, entries=3)


def test_pruning_adds_and_changes_nothing(tmp_path):
    broad = LIST.replace("float64-to-float16", "float64-to-{float16,bfloat16}")
    result = found(FAILING | BY_DESIGN | {IDS[4]: wrong(7, 7, TABLE)})
    written = update(broad, result, tmp_path, prune=True)
    gone = LIST.index("# gone"), LIST.index("# for good")
    kept = LIST[: gone[0]] + LIST[gone[1] :]
    assert written == Written(kept, entries=2, narrowed=1, removed=1)
    changed = found(FAILING | BY_DESIGN | {IDS[2]: wrong(12, 0)})
    assert update(LIST, changed, tmp_path, prune=True).text == kept


def test_a_name_of_no_case_goes(tmp_path):
    text = ENTRY.replace("float64-to", "{float64,flaot64}-to")
    for prune in (True, False):
        written = update(text, found(FAILING), tmp_path, prune=prune)
        assert written == Written(ENTRY, entries=1, narrowed=1)
    lost = ENTRY.replace("Cast", "Cats")
    assert update(f"{lost}\n{ENTRY}", found(FAILING), tmp_path) == Written(
        ENTRY, entries=1, removed=1
    )


def test_a_day_that_is_past_stays(tmp_path):
    text = f"{ENTRY}until = 2026-01-31\n"
    written = update(text, found(FAILING), tmp_path)
    assert (written.text, [p.line for p in written.late]) == (text, [1])
    changed = found(FAILING | {IDS[2]: wrong(12, 0)})
    written = update(text, changed, tmp_path)
    assert (written.text, written.changed) == (text.replace("= 21", "= 23").replace('b"', 'c"'), 1)
    assert update(text, changed, tmp_path, prune=True).text == text


def test_a_part_of_the_cases_leaves_an_entry_as_it_is(tmp_path):
    text = ENTRY.replace("{19,21}", "{19,21,25}")
    for failing in (FAILING, {}, {IDS[2]: wrong(99, 9)}):
        written = update(text, found(failing), tmp_path, THERE)
        assert written == Written(text, entries=1, partly=1)
    new = update(text, found({IDS[0]: wrong(1, 1)}), tmp_path, THERE)
    assert new.text.startswith(f"{text}\n[[known]]\n")


def test_vectors_that_have_changed_are_written_down(tmp_path):
    text = ENTRY.replace(CORPUS, "0123456789abcdef")
    assert update(text, found(FAILING), tmp_path) == Written(ENTRY, entries=1, changed=1)
    assert update(text, found(FAILING), tmp_path, prune=True).text == text


def test_a_list_of_another_tier_stays_and_has_what_is_new(tmp_path):
    other = ENTRY.replace('"edge"', '"boundary"')
    written = update(other, found(FAILING), tmp_path)
    assert written == Written(f"{other}\n{FRESH}", entries=2, new=1)


def test_an_empty_list_is_updated(tmp_path):
    assert update("", found(FAILING), tmp_path).text == FRESH
    assert update("", found({}), tmp_path).text == ""


MINE = '''
import os
from convcheck.backends.reference import Reference

class Mine(Reference):
    """Rounds some results to float16 wrongly."""
    name, version = "mine", "kernels 1.2, test build"

    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        codes, mode = answer.arrays[0], os.environ["MINE"]
        if case.outputs[0].name == "float16" and mode != "right":
            every = 32 if mode == "more" else 64
            wrong = (codes < 0x7C00) & (codes % every == 1)
            codes[wrong] += 3 if mode == "other" else 1
        return answer
'''
ASKED = ["onnx.Cast-21", "--from", "float64", "--to", "float16", "--to", "bfloat16"]


class Shell:
    def __init__(self, folder, monkeypatch):
        self.folder, self.list, self.json = folder, folder / "known.toml", folder / "run.json"
        self.patch = monkeypatch
        monkeypatch.setattr("convcheck.cli.outputs.FIRST", 3600.0)  # however busy the machine is
        monkeypatch.syspath_prepend(folder)
        (folder / "own").mkdir()
        (folder / "own/mine.py").write_text(MINE, encoding="utf-8")

    def do(self, *arguments, mode=""):
        self.patch.setenv("MINE", mode)
        done = CliRunner().invoke(cli.group, list(map(str, arguments)), standalone_mode=False)
        said = f"convcheck: {done.exception}\n" if done.exception else done.output
        code = getattr(done.exception, "exit_code", done.return_value)
        return code, said.replace(f"{self.folder}/", "")

    def run(self, mode):
        self.json.unlink(missing_ok=True)
        code, _ = self.do("run", "--backend", "own.mine:Mine", "-j", 1, *ASKED,
                             "--known", self.list, "-o", self.json, mode=mode)  # fmt: skip
        return code, self.problems()

    def problems(self):
        found = [
            {"repair": "", **one, "place": "{file}:{line}".format(**one["place"])}
            for one in parsed(self.json.read_text()).get("problems", [])
        ]
        return [{k: v.replace(f"{self.folder}/", "") for k, v in p.items()} for p in found]

    def update(self, mode):
        code, said = self.do("run", "--backend", "own.mine:Mine", "-j", 1, "-q", *ASKED,
                             "--known", self.list, "--update", mode=mode)  # fmt: skip
        return code, said[: said.index(HOLDS_2) + len(HOLDS_2)]

    def held(self, text):
        path, held = self.folder / "other.toml", self.folder / "held.json"
        path.write_text(text, encoding="utf-8")
        code, _ = self.do("report", self.json, "--known", path, "-o", held)
        held.replace(self.json)
        return code, self.problems()


def test_the_life_of_a_list(tmp_path, monkeypatch):
    shell = Shell(tmp_path, monkeypatch)
    assert shell.update("bug") == (0, f"1 entry: 1 new\n{HOLDS_2}")
    text = shell.list.read_text()
    (entry,) = tomllib.loads(text)["known"]
    assert text.startswith("# Known failures of mine. A run with --known and this file fails\n")
    assert shell.update("bug") == (0, f"1 entry: nothing changed\n{HOLDS_2}")
    assert shell.run("bug") == (0, [])
    groups = [g for c in report_at(shell.json)["cases"] for g in c["groups"]]
    assert entry["count"] == sum(g["count"] for g in groups if g["verdict"] == "fail") > 10

    code, (changed,) = shell.run("other")
    assert (code, changed["kind"], changed["place"]) == (1, "changed", "known.toml:4")
    assert changed["message"].startswith(f"{entry['count']} failures as listed, but with other ")
    repaired = text[: text.index("[[")] + changed["repair"] + text[text.index(JUDGED) :]
    assert shell.held(repaired) == (0, [])

    assert shell.update("more") == (0, f"1 entry: 1 changed\n{HOLDS_2}")
    assert shell.run("more") == (0, [])
    now = shell.list.read_text()
    assert tomllib.loads(now)["known"][0]["count"] > entry["count"]

    code, (stale,) = shell.run("right")
    assert (code, stale["kind"], stale["repair"]) == (1, "stale", "")
    assert stale["message"].startswith("passes now; remove the entry")
    code, said = shell.do("known", shell.list, shell.json, "--prune")
    assert (code, said) == (0, f"0 entries: 1 removed\n{HOLDS_2}")
    assert tomllib.loads(shell.list.read_text()).keys() == {"judged"}
    assert shell.do("known", shell.list, shell.json)[0] == 2


def test_a_list_that_is_edited_wrongly(tmp_path, monkeypatch):
    shell = Shell(tmp_path, monkeypatch)
    assert shell.update("bug")[0] == 0
    assert shell.run("bug") == (0, [])
    text = shell.list.read_text()
    text = text[: text.index(f"\n{JUDGED}")]
    entry = text[text.index("[[") :]
    case = tomllib.loads(text)["known"][0]["case"]
    past = f"{text}until = 2020-02-02\n"
    code, problems = shell.held(f"{past}\n{entry.replace('-to-', '-tu-')}")
    assert (code, [p["kind"] for p in problems]) == (1, ["expired", "unmatched"])
    assert problems[0]["repair"].startswith(f"{entry}until = 2020-02-02 # this date is past")
    broad = text.replace("-to-float16", "-to-{float16,bfloat16}")
    assert broad != text
    code, problems = shell.held(broad)
    assert (code, [p["kind"] for p in problems]) == (1, ["changed"])
    assert tomllib.loads(problems[0]["repair"])["known"][0]["case"] == case


def test_what_baseline_refuses(tmp_path):
    report, out = tmp_path / "run.json", tmp_path / "known.toml"
    whole_run = found(FAILING)
    for result, said in (
        (replace(whole_run, interrupted=True), "has only a part of a run\n  hint: run it again"),
        (replace(whole_run, shard=Shard(1, 2, "0")), "only a part of a run\n  hint: `convcheck"),
    ):
        report.write_text(encode.text(result))
        done = convcheck("known", out, report)
        assert (done.returncode, said in done.stderr, out.exists()) == (2, True, False)
    cases = [unasked(c, "unsupported", "no kernel") for c in HERE]
    report.write_text(encode.text(replace(whole_run, cases=tuple(cases))))
    done = convcheck("known", out, report)
    assert (done.returncode, out.exists()) == (3, False)
    assert done.stderr == "nothing was judged, and nothing written\n"
    report.write_text(encode.text(whole_run))
    done = convcheck("known", "a" * 300, report)
    assert (done.returncode, "File name too long" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("arguments", "said"), [
    (("known", "none/known.toml", "r.json", "--update", "--prune"), "--update and --prune"),
    (("known", "none/known.toml", "r.json"), "cannot write none/known.toml"),
    (("run", "--known", "-", "--update"), "--update needs --known FILE"),
    (("run", "--update"), "--update needs --known FILE"),
    (("run", "--known", "none/known.toml", "--update"), "cannot write none/known.toml"),
    (("run", "--known", "new.toml", "--update", "--shard", "1/2"), "does not go with --shard"),
    (("run", "--known", "new.toml", "--update", "-x"), "does not go with --fail-fast"),
    (("run", "--known", "new.toml", "--update", "--inputs", "x.txt"), "--inputs"),
])  # fmt: skip
def test_options_that_do_not_go_together(arguments, said):
    more = ("--backend", "reference", "onnx.Cast-9") if arguments[0] == "run" else ()
    done = convcheck(*arguments, *more)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_list_on_standard_output(tmp_path):
    (tmp_path / "run.json").write_text(encode.text(found(FAILING)))
    done = convcheck("known", "-", tmp_path / "run.json")
    assert (done.returncode, done.stderr) == (0, f"1 entry: 1 new\n{HOLDS}")
    assert tomllib.loads(done.stdout)["known"][0]["count"] == 21
