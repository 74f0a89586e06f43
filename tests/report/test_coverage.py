import pytest
from drawn import html_text, in_markdown, printed
from report_runs import RUNS, case, passed, run, unasked

from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.vectors.model import COVERAGES

LINE = "asked: 3 cases exhaustively, 2 on every boundary, 1 by samples, 1 by edge inputs, 1 in part"
TARGETS = ("float16", "bfloat16", "uint8")


def asked(coverage, count, source="float32"):
    some = (passed(case("onnx.Cast-21", source, target)) for target in TARGETS[:count])
    return run(*(replace(one, coverage=coverage) for one in some))


def every():
    counts = {"exhaustive": 3, "boundary-complete": 2}
    declined = unasked(case("onnx.Cast-21", "bool", "int4"), "unsupported", "no kernel")
    sources = ("float32", "float64", "int64", "int8", "string")
    some = (
        one
        for source, coverage in zip(sources, reversed(COVERAGES), strict=True)
        for one in asked(coverage, counts.get(coverage, 1), source).cases
    )
    return run(*some, replace(declined, coverage="exhaustive"))


def lines_of(result, verbose=False):
    return printed(result, 100, verbose).splitlines()


def test_a_line_counts_the_cases():
    assert LINE in " ".join(" ".join(lines_of(every())).split())
    assert LINE in in_markdown(every())
    assert LINE in html_text(every())
    assert [words for words, _ in Document(every()).coverage][:2] == [
        "exhaustively", "on every boundary",
    ]  # fmt: skip


@pytest.mark.parametrize(("result", "said"), [
    (asked("exhaustive", 1), "asked: 1 case exhaustively"),
    (RUNS["failing"](), "asked: 22 cases by edge inputs"),
    (replace(asked("sampled", 2), own_inputs=True), "asked: 2 cases by inputs of your own"),
])  # fmt: skip
def test_in_words(result, said):
    assert Document(result).setting[-1] == said


def test_what_was_not_asked_is_not_counted():
    declined = unasked(case("onnx.Cast-21", "bool", "int4"), "unsupported", "no kernel")
    assert Document(run(declined)).coverage == []
    assert not any("asked:" in line for line in lines_of(run(declined)))


def test_which_were_asked_otherwise_than_most_is_said_with_v():
    assert not any("asked  " in line for line in lines_of(every()))
    shown = lines_of(every(), verbose=True)
    at = shown.index("asked  on every boundary: 2 cases")
    assert shown[at + 1].strip() == "onnx.Cast-21/int8-to-{float16,bfloat16}"
    assert not any("exhaustively:" in line for line in shown)
    assert not any("asked  " in line for line in lines_of(asked("exhaustive", 3), verbose=True))
