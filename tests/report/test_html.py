import base64
import hashlib
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from command import convcheck
from drawn import in_html
from report_runs import (
    CAUSES,
    ELSE,
    FORMATS,
    HOSTILE,
    RUNS,
    TRUNCATED,
    answered,
    case,
    diagnosed,
    dtype,
    group,
    hostile,
    run,
)

from convcheck.documents import encode as report_json
from convcheck.documents.decode import read
from convcheck.judge.result import Cpu, Environment, Example
from convcheck.numerics.format import Int
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.html import (
    ACROSS,
    axis,
    data,
    near,
    overview,
    shown_failures,
)

F32, BF16, E4M3, E8M0 = (
    FORMATS[name] for name in ("float32", "bfloat16", "float8e4m3fn", "float8e8m0")
)


def data_of(result):
    return data(Document(result))


def examples_in(found):
    members = [member for finding in found["findings"] for member in finding["members"]]
    return [e for member in members if member["evidence"] for e in member["evidence"]["examples"]]


class Parts(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.texts = {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        name = str(attributes.get("id") or tag)
        self.texts[name] = self.texts.get(name, "") + data


@pytest.mark.parametrize("name", RUNS)
def test_data_has_every_finding_with_its_examples(name):
    made, found = Document(RUNS[name]()), data_of(RUNS[name]())
    assert [(row["status"], row["id"]) for row in found["findings"]] == [
        (finding.status, finding.id) for finding in made.findings
    ]
    cases = [row["status"] for row in found["cases"]]
    assert cases == [one.status.word for some in made.cases.values() for one in some]
    due = [e for f in made.findings for m in f.members for e in m.examples]
    wrong = [e for e in due if isinstance(e, Example)]
    held = [e["rows"] for e in examples_in(found) if "lines" not in e]
    shown = {tuple(int(w["code"][1:-1], 16) if w["code"] else None for w in e) for e in held}
    codes = ((e.inputs[0], e.expected, e.got) for e in wrong)
    assert shown == {tuple(c if isinstance(c, int) else None for c in e) for e in codes}


@pytest.mark.parametrize("name", ["failing", "calls", "listed"])
def test_the_same_result_gives_the_same_page(name, tmp_path):
    cpu = Cpu("a processor", ("avx",), 2)
    here = Environment("a system", cpu, 2, {"python": "3.11"})
    result = replace(RUNS[name](), environment=here)
    (tmp_path / "run.json").write_text(report_json.text(result))
    again = read(str(tmp_path / "run.json"), {word: dtype(word) for word in FORMATS})
    assert in_html(result, command="convcheck run --backend ort") == in_html(
        again, command="convcheck run --backend ort"
    )


def test_a_cause_shows_an_example_of_other_types():
    types = [("float32", "bfloat16"), ("float32", "float16"), ("float64", "bfloat16"),
             ("float64", "float16"), ("float64", "int16")]  # fmt: skip
    cases = [diagnosed(case("onnx.Cast-19", *pair), 980, ("truncates",)) for pair in types]
    found = Document(run(*cases, causes=CAUSES))
    (cause,), some = found.causes, found.cases["onnx.Cast-19"]
    shown = shown_failures(cause, {one.case.id: one.failures for one in some})
    assert [one.case.name for one in shown] == [
        "float32-to-bfloat16", "float64-to-float16", "float64-to-int16",
    ]  # fmt: skip
    alone = data_of(run(cases[0], causes=CAUSES))["causes"]
    assert [len(one["shown"]) for one in alone] == [1]


def test_passing_groups_are_only_counted():
    passes = group(ELSE, "pass", counts=(3, 9))
    few, many = (
        run(answered(case("onnx.Cast-21", "float32", "bfloat16"), *[passes] * n, checked=3 * n))
        for n in (1, 999)
    )
    assert len(in_html(many)) - len(in_html(few)) < 20
    [entry] = data_of(many)["cases"][0]["entries"]
    assert (entry["status"], entry["count"]) == ("pass", 2997)


def test_what_others_write_stays_text():
    page = in_html(hostile(), command=HOSTILE)
    parts = Parts(page)
    tags = [tag for tag, _ in parts.elements]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert not [name for _, given in parts.elements for name in given if name.startswith("on")]
    assert "49" not in parts.texts.get("h1", "")
    [cause] = data_of(hostile())["causes"]
    assert cause["says"].startswith(cause["whole"])
    assert (cause["whole"], cause["names"]) == (f"{HOSTILE} ({HOSTILE})", (HOSTILE,))


def test_half_a_surrogate_pair_can_be_written():
    half = Example(("a\ud800",), 0x3F80, 0x3F81)
    found = run(answered(case("onnx.Cast-19", "string", "bfloat16"),
                         group(ELSE, "fail", "odd", examples=(half,))))  # fmt: skip
    assert in_html(found).encode("utf-8")
    assert [one["rows"][0]["words"] for one in examples_in(data_of(found))] == ['"a\\ud800"']


def test_the_page_forbids_itself_what_is_not_its_own():
    page = in_html(RUNS["failing"]())
    parts = Parts(page)
    policy = next(str(given["content"]) for _, given in parts.elements
                  if given.get("http-equiv") == "Content-Security-Policy")  # fmt: skip
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    links = [
        str(v) for _, given in parts.elements for k, v in given.items() if k in ("src", "href")
    ]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_a_number_line_by_hand():
    """x is just past the midpoint of 1 and 1 + 2^-7. Below 1 the step of bfloat16 is 2^-8."""
    example = TRUNCATED.examples[0]
    words = (example.inputs[0], example.expected, example.got)
    step = Fraction(1, 128)
    values = [1 - step / 2, Fraction(1), 1 + step, 1 + 2 * step]
    # the answers' neighbours are also shown
    values = [*values, 1 + 3 * step]
    edge = (values[-1] - values[0]) / 16
    low, across = values[0] - edge, values[-1] - values[0] + 2 * edge
    places = [round((v - low) / across * ACROSS) for v in values]
    x = round((1 + step / 2 + Fraction(1, 1 << 23) - low) / across * ACROSS)
    line = near(F32, BF16, words, TRUNCATED.ranges)
    said = ("0.99609375", "1", "1.0078125", "1.015625", "1.0234375")
    assert line == {
        "ticks": list(zip(places, said, strict=True)),
        "marks": [x, places[2], places[1]],
        "failing": [[x, ACROSS]],
    }


def test_past_the_end_and_far_away():
    line = near(F32, E4M3, (0x43E80001, 0x7E, 0x7F), ()) or {}  # 464 + 2^-15, 448, NaN
    places, said = zip(*line["ticks"], strict=True)
    assert said == ("416", "448", "")
    assert line["marks"][2] is None
    assert places[1] < line["marks"][0] < places[2]
    line = near(F32, E4M3, (0x7F7FFFFF, 0x7E, 0x00), ()) or {}
    assert line["marks"] == [ACROSS + 1, line["ticks"][1][0], -1]
    line = near(F32, E4M3, (0xFF800000, 0xFE, 0x00), ()) or {}
    assert line["marks"][0] == -1


@pytest.mark.parametrize("words", [(0x7FC00000, 0x7F, 0x7E), (0x7FC00000, "<nan>", 0x7F),
                                   (0x7FC00000, "<nan>", 0x01)])  # fmt: skip
def test_no_line_of_what_has_no_place(words):
    assert near(F32, E4M3, words, ()) is None


def test_a_text_that_is_a_number_has_a_place():
    line = near(FORMATS["string"], Int(8, True), ("1.5", 2, 1))
    (one, _), (two, _) = line["ticks"][1:3]
    assert line["marks"] == [(one + two) // 2, two, one]
    assert near(F32, FORMATS["string"], (0, "0", "1")) is None


def test_an_overview():
    """Floats are ordered by index: -0 and 0 in the middle, infinities at the ends."""
    spans = ((0xFF800000, 0xFF800000), (0x80000000, 0x00000000), (0x7FC00000, 0x7FC00001))
    assert overview(F32, spans) == {"spans": [(0, 0), (500, 500)], "nan": True}
    whole = overview(F32, ((0x00000000, 0x7F800000),)) or {}
    assert whole["spans"] == [(500, 1000)]
    whole = overview(Int(8, True), ((0x80, 0x80), (0x7F, 0x7F))) or {}
    assert whole["spans"] == [(0, 0), (1000, 1000)]
    found = axis(F32, E4M3) or {}
    places, said = zip(*found["ticks"], strict=True)
    assert said == ("-3.403e+38", "-1", "0", "1", "3.403e+38")
    assert (places[0], places[2], places[4]) == (0, 500, ACROSS)
    (low, lowest), (high, largest) = found["reach"]
    assert low == ACROSS - high
    assert (lowest, largest) == ("-448", "448")


def test_every_example_of_a_call_is_an_own_kind():
    made = [one for one in examples_in(data_of(RUNS["calls"]())) if "lines" in one]
    answers = ([line["words"].split("  ")[0] for line in one["lines"][-2:]] for one in made)
    assert sorted({(due, got) for due, got in answers}) == [
        ("a refusal", "uint8 [0]"), ("float16 [128]", "float16 [128]"),
        ("int64 [2]", "int64 [3]"), ("int64 scalar; int64 [4]", "int64 scalar; int64 [4]"),
        ("uint8 [0]", "nothing, crashed: SIGFPE"), ("uint8 [0]", "nothing, refused: not so"),
        ("uint8 [0]", "u9 [2]"), ("uint8 [0]", "uint8 [5]"),
    ]  # fmt: skip
    [tensor] = [one for one in made if one["reading"] == "in a wider type"]
    rows = [[cell["full"] for cell in row] for row in tensor["elements"]["rows"]]
    assert ["-0.0000762939 (0x8500)", "±0", "-0.000152588 (0x8900)"] in rows


@pytest.mark.parametrize(("words", "report"), [
    (("run", "-o", "mine.json"), "mine.json"),
    (("run",), ""),
    (("run", "-o", "-"), ""),
    (("report", "before.json"), "before.json"),
])  # fmt: skip
def test_the_page_names_the_report(words, report, tmp_path):
    (tmp_path / "before.json").write_text(report_json.text(RUNS["explained"]()))
    asked = ("--backend", "reference", "onnx.Cast-21", "--case", "uint8-to-uint8")
    more = asked if words[0] == "run" else ()
    convcheck(*words, *more, "-o", "page.html", cwd=tmp_path)
    parts = Parts((tmp_path / "page.html").read_text())
    [body] = [attributes for name, attributes in parts.elements if name == "body"]
    assert body["data-report"] == report
