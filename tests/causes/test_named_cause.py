import pytest
from command import convcheck, refused
from report_json import document, render
from report_runs import explained

from convcheck.plan.select import explanations_of, of_cause


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("named") / "run.json"
    path.write_text(render(document(explained())))
    return path


@pytest.mark.parametrize(("named", "count"), [
    ("A", 5), ("a", 5), ("truncates", 5), ("toward-zero", 4),
    ("B", 2), ("nan-at-max", 2), ("A+B", 1), ("truncates+nan-at-max", 1), ("B+A", 1),
])  # fmt: skip
def test_a_letter_or_a_name_gives_the_cases_of_a_cause(named, count):
    whole = explained()
    part = of_cause(whole, named)
    assert len(part.cases) == count
    assert part.cases == tuple(
        case for case in whole.cases for one in explanations_of(part, named) if case in one.cases
    )
    assert of_cause(part, named) == part


def test_report_shows_one_cause(report):
    done = convcheck("report", report, "--cause", "nan-at-max")
    assert done.returncode == 1
    assert "2 of 2 cases fail; 2 causes explain 2 of them" in done.stdout
    assert "onnx.Cast-21/float64-to-float16" in done.stdout
    assert "onnx.Cast-21/float32-to-float16" in done.stdout  # truncates is also at work here
    assert "float32-to-bfloat16" not in done.stdout
    assert convcheck("report", report, "--cause", "b").stdout == done.stdout
    assert "\nB  gives NaN" in done.stdout  # its letter in the whole report
    narrow = convcheck("report", report, "--to", "float16", "--from", "float64").stdout
    assert "\nB  gives NaN" in narrow
    of_a_spec = convcheck("report", report, "onnx.Cast-19", "--cause", "A").stdout
    assert "2 of 2 cases fail" in of_a_spec


def test_repro_of_a_cause_is_the_answer_that_the_report_shows(report):
    done = convcheck("repro", "--report", report, "--cause", "A", "--as", "c")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.replace("//", "").replace(" * ", " ").split())
    assert "Cause: truncates (truncates) (it gives every answer of 4 cases of the run)" in said
    assert "onnx.Cast-19/float32-to-bfloat16: one ulp too small in magnitude" in said
    assert "0x3f808001" in said


WRONG = [
    (("report", "--cause", "C"), "C names no cause of this run\n  hint: it has A truncates,"),
    (("report", "--cause", "trunctes"), "did you mean truncates?"),
    (("report", "--cause", "A", "-o", "part.json"), "-o part.json of a part of a run"),
    (("repro", "--cause", "C", "--report"), "--cause C names no cause of this run"),
    (("repro", "abc", "--cause", "A", "--report"), "--cause chooses a case of a report"),
    (("repro", "--cause", "A", "--backend", "reference", "onnx.Cast-21/int8-to-int16"), "--cause"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_no_cause(words, said, report, tmp_path):
    asks = words[-1].startswith("onnx")
    assert said in refused(*words, *(() if asks else (report,)), cwd=tmp_path)
    assert not list(tmp_path.iterdir())
