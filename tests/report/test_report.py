"""The reports of runs built by hand: a golden page of each, and required contents."""

import re
import subprocess

import pytest
from catalogue import CATALOG
from command import check_golden
from drawn import printed
from oracle.promotion import priority
from planted.asking import Scripted
from planted.calls import PROMOTE, asked_as
from report_json import document, masked, parsed, render
from report_runs import FORMATS, RUNS, TRUNCATED, answered, case, dtype, run, unasked

from convcheck.ask.elements import ask_calls
from convcheck.documents import encode
from convcheck.files import write_text
from convcheck.judge import words
from convcheck.judge.calls import judge
from convcheck.judge.result import Example
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw import terminal
from convcheck.rules.cases import cases
from convcheck.semantics.expected import PATTERNS
from convcheck.vectors.generate import call_set

PAGES = [
    "report-all_pass-80", "report-below-80", "report-calls-80", "report-explained-80",
    "report-explained-120", "report-failing-80", "report-interrupted-80", "report-kinds-80",
    "report-known-80", "report-listed-80", "report-nothing-80", "report-stale-80",
]  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_terminal_golden(name):
    _, kind, width = name.split("-")
    check_golden(f"{name}.txt", printed(RUNS[kind](), int(width)), int(width))


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("name", RUNS)
def test_a_page_is_no_wider_than_its_terminal(name, width):
    for verbose in (False, True):
        lines = printed(RUNS[name](), width, verbose).splitlines()
        assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", ["report-calls", "report-explained"])
def test_json_golden(name):
    kind = name.removeprefix("report-")
    check_golden(f"{name}.json", render(masked(document(RUNS[kind]()))), None)


# the defaults of a group's fields
BLANK = dict.fromkeys(("kind", "reading", "placement", "digest"), "")
GROUP = {"verdict": "pass", **BLANK, "count": 0, "of": 0}


@pytest.mark.parametrize("name", RUNS)
def test_json_has_what_the_run_found(name):
    result = RUNS[name]()
    whole = document(result)
    rules = whole["rules"]
    for found, held in zip(result.cases, whole["cases"], strict=True):
        due = [found.case.id, found.verdict, found.message, found.checked]
        said = [held.get(field, blank) for field, blank in (("message", ""), ("checked", 0))]
        assert [held["case"]["id"], held["verdict"], *said] == due
        for one, it in zip(found.groups, held.get("groups", ()), strict=True):
            for field, blank in GROUP.items():
                assert it.get(field, blank) == getattr(one, field)
            row, by = rules[it["rule"]], one.decision
            assert (row["rule"], row["row"], row["level"]) == (by.rule, by.row, by.level)


SOME = {"int8", "int16", "uint8", "uint64", "float16"}
LAYOUTS = ("tensor-tensor", "scalar-tensor")
SPEC = CATALOG.specs["openvino.ConvertPromoteTypes-14"]


def accepts_scalars(asked):
    of_table = asked.scalars and 0 in asked.ranks and any(asked.ranks)
    return asked._replace(
        unsafe=asked.unsafe or (of_table and priority(asked.left) == priority(asked.right))
    )


KERNELS = {**PROMOTE.wrong, "refusal missing for scalars": asked_as(accepts_scalars)}


def promoted(name):
    backend = Scripted(KERNELS[name])
    results = []
    for one in cases(SPEC):
        if {t.name for t in one.inputs} <= SOME and one.layout in LAYOUTS:
            asked = call_set(SPEC, one, "edge")
            results.append(judge(asked, ask_calls(backend, asked, lambda *call: None, {})))
    return run(*results)


def test_promotions_show_the_wrong_cells():
    text = re.sub(r"(yaml):[0-9]+", r"\1:LINE", printed(promoted("refusal missing for scalars")))
    check_golden("report-promoted-refusal-missing-for-scalars.txt", text, None)


@pytest.mark.parametrize(("name", "wrong", "cell"), [
    ("the first input's type", 333, ("u8", "i16", "u8≠i16")),
    ("one width too wide", 411, ("f16", "i8", "f32≠f16")),
    ("refusal missing for scalars", 21, ("i16", "u8", "u8≠refused")),
])  # fmt: skip
def test_wrong_cells_were_answered(name, wrong, cell):
    result = promoted(name)
    found = terminal.patterns(result.cases)
    cells = {cell for pattern in found for cell in pattern.cells}
    assert cell in cells
    assert not [one for one in cells if len(set(one[2].split("≠"))) == 1]
    assert wrong == sum(c.verdict == "fail" for c in result.cases)
    assert wrong == sum(len(p.cells) * len(p.settings) for p in found)
    findings = Document(result).findings
    assert len(findings) <= 3
    assert max(len(one.members) for one in findings) <= wrong
    text = printed(result)
    assert cell[2] in text
    assert f"FAIL  {wrong} of 800 cases, " in text
    # an id stays whole for copying, so it may be longer
    assert all(len(line) <= 80 or "/" in line for line in text.splitlines())


def test_every_wrong_cell_is_shown_if_asked_for():
    result = promoted("one width too wide")
    short, whole = (printed(result, verbose=v) for v in (False, True))
    assert "more pattern" in short
    for hidden in ("more pattern", "more wrong cell", "more such"):
        assert hidden not in whole
    found = terminal.patterns(result.cases)
    assert whole.count("≠") == 1 + sum(len(p.cells) for p in found)


def test_a_long_list_in_braces_is_cut():
    some = [case("onnx.Cast-21", "float32", "bfloat16")]
    names = [replace(dtype("int8"), name=f"t{i}") for i in range(20)]
    many = [replace(some[0], inputs=(name,)) for name in names]
    result = run(*(answered(one, TRUNCATED) for one in many))
    assert "t14,… 5 more}-to-bfloat16" in " ".join(printed(result).split())
    assert "t19}-to-bfloat16" in " ".join(printed(result, verbose=True).split())


def test_wrong_elements_of_a_promotion_by_one_row_are_one_failure():
    asked = replace(RUNS["calls"]().cases[1].case, outputs=())
    one = RUNS["calls"]().cases[1].groups[0]
    other = replace(one, kind="too large", count=3)
    [finding] = Document(run(answered(asked, one, other))).findings
    assert finding.kind == "a number instead of zero, too large"
    assert (finding.count, len(finding.members)) == ("4 of 40", 1)
    lengths = RUNS["calls"]().cases[0].groups[0]
    assert len(Document(run(answered(asked, one, lengths))).findings) == 2
    apart = run(answered(RUNS["calls"]().cases[1].case, one, other))
    assert len(Document(apart).findings) == 2


def test_settings_are_named_by_what_they_have_in_common():
    asked = [(layout, f"a={a}", "b=1") for layout in ("x", "y", "z") for a in (0, 1)]
    names = terminal.names_of(asked[:4], asked)
    assert names == ["x|y"]
    assert terminal.names_of(asked, asked) == ["in every setting asked"]
    assert terminal.names_of(asked[::2], asked) == ["a=0"]
    assert terminal.names_of([asked[0], asked[3]], asked) == ["x, a=0", "y, a=1"]
    few = [("x", "a=default", "b=1")]
    assert terminal.names_of(asked[:2], [*asked, *asked, *few]) == ["x"]
    assert terminal.names_of(few, [*asked, *asked, *few]) == ["x, a=default"]


def test_the_command_of_a_call_is_copied_as_it_is():
    text = printed(RUNS["calls"]())
    script = re.findall(r"^ +convcheck explain (?:.*\\\n)*.*", text, re.MULTILINE)
    assert len(script) == 9
    wide = next(command for command in script if "int64-int64" in command)
    assert "\\\n" in wide
    said = subprocess.run(
        ["bash", "-c", f"convcheck() {{ printf '%s\\n' \"$@\"; }}; {wide}"],
        capture_output=True, check=True, text=True,
    ).stdout.split()  # fmt: skip
    assert said == [
        "explain", "my.Op-1/int64-int64-int64-to-int64",
        "0x7ffffffffffffff8", "0x7ffffffffffffffd", "0x0000000000000002",
    ]  # fmt: skip


def test_no_values_are_counted_where_only_calls_are_asked():
    alone = replace(RUNS["calls"](), cases=RUNS["calls"]().cases[:2])
    assert "values" not in printed(alone)


def test_json_write_replaces_the_file_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("an older report")
    write_text(encode.text(RUNS["all_pass"]()), str(path))
    assert parsed(path.read_text())["summary"]["gated"] == 0
    assert list(tmp_path.iterdir()) == [path]


def test_colour_is_only_colour():
    result = RUNS["failing"]()
    shown = printed(result, force_terminal=True, color_system="truecolor", no_color=False)
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == printed(result)


def test_matrices_that_are_equal_but_for_what_is_left_out_are_shown_once():
    wrong = [answered(case(s, "float32", "bfloat16"), TRUNCATED) for s in ("a.b-1", "a.b-2")]
    no_kernel = unasked(case("a.b-2", "int4", "int4"), "unsupported", "")
    lines = printed(run(*wrong, no_kernel)).splitlines()
    assert "a.b-{1,2}" in lines
    assert any("are left out (-v)" in line for line in lines)


def test_many_cases_that_have_nothing_in_common_are_counted():
    odd = [case(f"onnx.Cast-{30 + i}", "float32", t) for i, t in enumerate(FORMATS)]
    result = run(*(answered(one, TRUNCATED) for one in odd))
    assert f"… and {len(odd) - 5} more cases (-v lists all)" in printed(result)
    assert "more cases" not in printed(result, verbose=True)


def test_an_operator_of_two_inputs():
    two = replace(case("my.Op-1", "float16", "float16"), inputs=(dtype("float16"), dtype("int4")))
    wrong = replace(TRUNCATED, ranges=(), examples=(Example((0x3C00, 0xF), 0x3C00, 0x3C01),))
    text = printed(run(answered(two, wrong)))
    assert "convcheck explain my.Op-1/float16-int4-to-float16 0x3c00 0xf" in text
    assert re.search(r"^  float16-int4 +F$", text, re.MULTILINE)
    inputs = ["input 1   0 01111 0000000000  1", "input 2   1111                -1"]
    assert "\n      ".join(inputs) in text


def test_unsupported_reasons_that_differ_in_numbers_are_one():
    result = run(*(unasked(case(f"onnx.Cast-{v}", "int4", "bool"), "unsupported", f"no Cast({v})")
                   for v in range(20, 30)))  # fmt: skip
    assert "unsupported  10 cases, such as: no Cast(20)" in printed(result)
    assert "no Cast(29)" in printed(result, verbose=True)


def test_what_is_below_the_gate_fails_a_run_at_its_own_level():
    lower = replace(RUNS["below"](), level="implied")
    assert document(lower)["summary"]["gated"] == 1


def test_a_value_wrong_in_two_placements_counts_once():
    again = replace(TRUNCATED, placement="alone", count=300)
    result = run(answered(case("onnx.Cast-19", "float32", "bfloat16"), TRUNCATED, again))
    assert document(result)["summary"]["wrong"] == 312


def test_patterns_have_words():
    assert all(words.pattern(f"<{p}>") not in ("", p) for p in PATTERNS if p != "exact")
    assert words.pattern("<html>") == words.pattern(3) == words.pattern("") == ""
