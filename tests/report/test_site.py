import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from command import convcheck, refused
from places import ROOT
from report_runs import FORMATS, HOSTILE, answered, case, dtype, run, unasked
from site_runs import BRAIN, FREE, RIGHT, SITE, TRUNCATES, WRAPS, build_site, release

from convcheck.documents.encode import text as text_of
from convcheck.documents.encode import text_of_several
from convcheck.history.matrix import RuleKey
from convcheck.judge.result import BackendInfo, Shard
from convcheck.plan.runner import Turn
from convcheck.records import replace
from convcheck.report.counts import STATUSES
from convcheck.site.data import (
    RunName,
    SiteRun,
    add_report,
    badges,
    bar_parts,
    file_name,
    finding_of_site,
    heat_cells,
    run_name,
    site_of,
)

NOT_STARTED = Turn("torch", None, "it is not installed")
FLOATS = RuleKey("float-to-float", "", "onnx/cast")
ELEMENTS = """html head meta link script title body a header div nav input kbd ul button main p h1
h2 h3 section article table thead tbody tr th td span b br code footer svg rect small li ol
blockquote details summary label img"""
EIGHTS = RuleKey("float-to-float8-saturating", "", "onnx/cast")


def told(folder, *runs):
    found = dict[RunName, SiteRun]()
    for i, result in enumerate(runs):
        path = folder / f"{i}.json"
        path.write_text(text_of(result), "utf-8")
        add_report(found, str(path), {name: dtype(name) for name in FORMATS})
    return site_of([*found.values()])


@pytest.mark.parametrize(("name", "version", "expected"), [
    ("ort", "onnxruntime 1.31.1, CPUExecutionProvider", ("onnxruntime", "1.31.1")),
    ("openvino:const", "openvino 2026.4.1, CPU", ("openvino:const", "2026.4.1")),
    ("env:/x/bin/python:openvino:const", "openvino 2026.4, CPU", ("openvino:const", "2026.4")),
    ("env:/x:y/python:ort", "onnxruntime 1.15.1, CPU", ("onnxruntime", "1.15.1")),
    ("torch", "torch 2.9.0+cpu, CPU", ("torch", "2.9.0+cpu")),
    ("onnx-reference", "onnx 1.23.2 Evaluator", ("onnx Evaluator", "1.23.2")),
    ("pypto", "pypto 0.2.0 golden (torch 2.13.0, x86-64)", ("pypto golden", "0.2.0")),
    ("process:./a --b:c", "mine v0.3", ("mine", "v0.3")),
    ("mine", "7", ("mine", "7")),
    ("mine", "", ("mine", "")),
    ("pkg.mod:Class", "unknown build", ("pkg.mod:Class", "unknown build")),
])  # fmt: skip
def test_what_a_runtime_is_called(name, version, expected):
    assert run_name(BackendInfo(name, version)) == RunName(*expected)


def test_a_link_is_for_good():
    """Published ids and names must not change, since other pages link to them."""
    assert finding_of_site(RunName("onnxruntime", "1.31.1"), FLOATS) == "c21b40a9b307"
    assert file_name("onnx", "cast", "float-to-float") == "onnx_cast_float-to-float"
    assert file_name("a > b") == "a-b~" + file_name("a > b")[-6:] != file_name("a-b")
    assert file_name("A") != file_name("a")


def test_releases_are_in_their_order_and_rules_have_their_history(tmp_path):
    one = told(tmp_path, *SITE).runtime("onnxruntime")
    assert [run.name.release for run in one.runs] == ["1.2.0", "1.9.0", "1.10.0", "1.11.0"]
    cells = {rule: "".join(cell["sign"] for cell in heat_cells(one, rule)) for rule in one.rules}
    assert cells == {FLOATS: "·11·", EIGHTS: "––11"}
    assert one.story(FLOATS) == ["first bad: breaks in 1.9.0, 1 case", "fixed in 1.11.0, 1 case"]


def test_what_was_asked_with_other_vectors_is_not_compared(tmp_path):
    before = replace(release("1.0", *RIGHT), corpora=(("onnx.Cast-19", "0" * 64),))
    site = told(tmp_path, before, release("1.1", TRUNCATES), release("2.0", *RIGHT, name="other"))
    one = site.runtime("onnxruntime")
    assert not any([*row.turns] for row in one.rules.values())
    assert one.apart == ["onnx.Cast-19 of 1.0"]
    assert [cell["key"] for cell in heat_cells(one, FLOATS)] == ["none", "h5"]


def test_a_fault_of_convcheck_accuses_nobody(tmp_path):
    error = unasked(BRAIN, "error", "IndexError")
    one = told(tmp_path, release("1.0", *RIGHT), release("1.1", error)).runtime("onnxruntime")
    assert not one.rules
    assert not one.broken
    assert [part["word"] for part in bar_parts(one.newest.total())] == ["error"]


def test_counts_hide_nothing(tmp_path):
    missing = unasked(case("onnx.Cast-21", "bool", "int4"), "unsupported", "no kernel")
    one = told(tmp_path, release("1.0", *RIGHT, WRAPS, missing)).runtimes[0]
    ids = [result.case.id for result in (*RIGHT, WRAPS)]
    sets = {"mine": ids, "of-others": ["onnx.Cast-21/float64-to-float32"]}
    [whole, part, required] = badges(one.newest, sets)
    assert whole["right"] == part["right"] == "1 of 3 cases fails, 1 unsupported"
    assert required["right"] == "2 of 3 required cases, tier 3"
    counts = dict.fromkeys(STATUSES, 1) | {STATUSES[0]: 100_000}
    parts = bar_parts(counts)
    assert min(part["width"] for part in parts) >= 5
    assert parts[-1]["x"] + parts[-1]["width"] <= 1010


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.elements = set()
        self.links = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        assert not {name for name, _ in attrs if name.startswith("on") or name == "style"}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def pages(built_site):
    for path in sorted(built_site.rglob("*.html")):
        yield path, path.read_text("utf-8")


def test_every_link_leads_to_a_page(built_site):
    reached = set()
    for path, text in pages(built_site):
        links = Links(text).links
        kept = [link for link in links if not link.startswith(("data:", "#"))]
        assert all((path.parent / link.partition("#")[0]).is_file() for link in kept), path
        reached |= {(path.parent / link.partition("#")[0]).resolve() for link in kept}
    assert {path.resolve() for path, _ in pages(built_site)} <= reached


def test_what_others_wrote_is_text(built_site):
    for path, text in pages(built_site):
        assert Links(text).elements <= {*ELEMENTS.split()}, path
        assert "default-src 'none'" in text
    said = "\n".join(text for _, text in pages(built_site))
    assert "&lt;/script&gt;&lt;img src=x" in said
    assert HOSTILE not in said


def test_a_finding_says_what_the_report_says(built_site):
    name = finding_of_site(RunName("onnxruntime", "1.10.0"), FLOATS)
    text = re.sub(r"<[^>]+>", "", (built_site / "findings" / f"{name}.html").read_text("utf-8"))
    for said in ("one ulp too small in magnitude", "312 of 980 inputs under this rule fail",
                 "convcheck explain --backend ort onnx.Cast-19/float32-to-bfloat16 0x3f808001",
                 "1 case truncates", "specs/onnx/cast-13.yaml:27", "1.0078125"):  # fmt: skip
        assert said in text


def test_badges_are_pictures(built_site):
    for path in (built_site / "badges").iterdir():
        assert ET.parse(path).getroot().tag.endswith("svg")


def test_it_is_replaced_as_a_whole(tmp_path):
    two = (release("1.0", *RIGHT), release("1.1", TRUNCATES))
    site = build_site(tmp_path, two)
    first = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = build_site(tmp_path, two)
    assert {path: path.read_bytes() for path in again.rglob("*") if path.is_file()} == first
    mark = site / "convcheck-site.json"
    mark.write_text(json.dumps(json.loads(mark.read_text()) | {"dates": {}}))
    assert convcheck("site", site, tmp_path / "0.json").returncode == 0
    assert not (site / "findings").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "1.json", "site"]


def test_files_of_others_are_left_alone(tmp_path):
    site = build_site(tmp_path, [release("1.0", *RIGHT)])
    (site / "CNAME").write_text("example.org")
    report, mark = tmp_path / "0.json", site / "convcheck-site.json"
    said = refused("site", site, report)
    assert "of no site of convcheck's: CNAME\n  hint: move it" in said
    mark.write_text("{")
    assert "damaged" in refused("site", site, report)
    mark.unlink()
    assert "holds no earlier site" in refused("site", site, report)
    assert (site / "CNAME").read_text() == "example.org"
    assert "is not a folder" in refused("site", site / "CNAME", report)


def test_bad_input(tmp_path):
    good = release("1.0", *RIGHT)
    texts = {
        "same.json": text_of(good), "good.json": text_of(good),
        "old.json": text_of(good).replace("convcheck-run/3", "convcheck-run/0"),
        "shard.json": text_of(replace(good, shard=Shard(1, 2, "feed" * 16))),
        "none_of_many.json": text_of_several([Turn("ort", None, "it is not installed")]),
        "old_of_many.json": text_of_several([Turn("", good)]).replace('"convcheck-run/3', '"x/2'),
        "twice.json": text_of_several([Turn("", good)] * 2),
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    said = {
        (): "no report is named\n  hint: make one with",
        ("none.json",): "none.json",
        ("old.json",): "old.json is not a convcheck-run/3 but a convcheck-run/0\n  hint:",
        ("none_of_many.json",): "none_of_many.json has no report in it\n  hint:",
        ("old_of_many.json",): "old_of_many.json is not a convcheck-run/3 but a x/2\n  hint:",
        ("twice.json",): "twice.json and twice.json are both of onnxruntime 1.0",
        ("shard.json",): "shard 1 of 2 only\n  hint: `convcheck report`",
        ("good.json", "same.json"): "good.json and same.json are both of onnxruntime 1.0, and both"
        " have onnx.Cast-19\n  hint: give one report",
    }
    for names, message in said.items():
        assert message in refused("site", "out", *names, cwd=tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(texts)


def test_reports_of_other_specs_are_one_release(tmp_path):
    one = told(tmp_path, release("1.0", *RIGHT), release("1.0", WRAPS)).runtimes[0]
    assert [*one.newest.statuses] == ["onnx.Cast-19", "onnx.Cast-21"]
    assert one.broken == [EIGHTS]


def test_a_run_of_several_backends_is_as_good_as_a_report_of_each(tmp_path):
    apart = build_site(tmp_path, SITE)
    both = tmp_path / "both.json"
    both.write_text(text_of_several([*(Turn("", run) for run in SITE), NOT_STARTED]), "utf-8")
    done = convcheck("site", tmp_path / "one", both, "--no-progress")
    assert done.returncode == 0, done.stderr
    for page in apart.rglob("*"):
        if page.is_file():
            there = tmp_path / "one" / page.relative_to(apart)
            assert there.read_bytes() == page.read_bytes(), page


def test_nothing_to_tell_is_told(tmp_path):
    nothing = replace(run(FREE, answered(BRAIN)), backend=SITE[0].backend)
    site = build_site(tmp_path, [nothing])
    [page] = (site / "runtimes").iterdir()
    assert "No rule is broken in any release." in page.read_text()


def test_the_nightly_run_builds_it_as_the_page_says():
    nightly = (ROOT / ".github" / "workflows" / "nightly.yml").read_text()
    page = (ROOT / "docs" / "history.md").read_text("utf-8")
    asked = 'convcheck run --backend "$backend" --quiet -o "$backend.jsonl" || test $? = 1'
    for line in ("convcheck site public ./*.jsonl", asked):
        assert line in nightly
        assert line in page
    said = '["onnx/cast", "float-to-float", "onnxruntime", "1.31.1"]'
    assert f"JSON text `{said}`" in page
    digits = hashlib.sha256(said.encode()).hexdigest()[:12]
    assert finding_of_site(RunName("onnxruntime", "1.31.1"), FLOATS) == digits
