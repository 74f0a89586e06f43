import pytest
from catalogue import CATALOG
from command import convcheck, refused

from convcheck.rules.rule import Cite
from convcheck.semantics.expected import Quotation


def texts():
    """Return every sentence that a built-in spec cites."""
    found, seen, todo = set[str](), set[int](), list[object](CATALOG.specs.values())
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Cite):
            found.add(one.text)
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, (tuple, list)):
            todo += one
        elif hasattr(one, "__dict__") and type(one).__module__.startswith("convcheck.rules"):
            todo += vars(one).values()
    return found


def test_no_two_sentences_share_an_id():
    every = {" ".join(text.split()) for text in texts() if text}
    assert len(every) > 200
    assert len({Quotation(text, "").id for text in every}) == len(every)


def test_ids_are_permanent():
    assert Quotation("| [x] > FLT_MAX | NaN | NaN | Inf | NaN |", "any document").id == "#b0053c"
    assert Quotation("Inf  if\nx is Inf", "").id == Quotation("Inf if x is Inf", "").id


def test_a_sentence_is_shown(tmp_path):
    log = tmp_path / "run.jsonl"
    convcheck("run", "--backend", "ort", "onnx.Cast-21/float32-to-float8e4m3fn/saturate=0",
              "--no-causes", "-o", log)  # fmt: skip
    shown = convcheck("show", "onnx.Cast-21#b0053c", "--report", log)
    assert shown.returncode == 0
    words = " ".join(shown.stdout.split())
    assert '"| [x] > FLT_MAX | NaN | NaN | Inf | NaN |"' in words
    assert "float-to-float8 / [x] > max" in words
    assert "breaks it in 1 of 1 case" in words


@pytest.mark.parametrize(("backend", "name", "said"), [
    ("reference", "float32-to-float8e4m3fn/saturate=0", "keeps it"),
    (
        "planted.deviating:Declining",
        "float32-to-float8e4m3fn/saturate=0",
        "was not judged by it",
    ),
    ("reference", "float16-to-float32", "was not judged by it"),
])  # fmt: skip
def test_a_report_says_what_a_backend_does(tmp_path, backend, name, said):
    convcheck("run", "--backend", backend, f"onnx.Cast-21/{name}", "-o", "run.jsonl", cwd=tmp_path)
    shown = convcheck("show", "onnx.Cast-21#b0053c", "--report", "run.jsonl", cwd=tmp_path)
    assert said in " ".join(shown.stdout.split())


def test_a_report_goes_with_a_sentence():
    assert "--report goes with a sentence" in refused("show", "cases", "--report", "run.jsonl")


def test_an_unknown_sentence_is_refused():
    assert "onnx.Cast-21 cites no sentence #000000" in refused("show", "onnx.Cast-21#000000")
