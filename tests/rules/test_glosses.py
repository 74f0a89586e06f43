import pytest
from catalogue import CATALOG
from command import convcheck
from drawn import annotated, html_text, in_junit, in_markdown
from report_runs import ELSE, TRUNCATED, answered, case, run

from convcheck.documents.decode import read
from convcheck.documents.encode import text
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.rules.rule import citations, is_foreign
from convcheck.semantics.expected import Quotation
from specs import GOOD, findings, write_spec

SENTENCE, GLOSS = "キャスト値はゼロに丸められます。", "Cast values are rounded to zero."
MARKED = f"our translation: {GLOSS}"
CITED = GOOD.replace("Without clamp they are undefined.", SENTENCE)
GLOSSED = CITED.replace("inputs:", f'glosses:\n  "{SENTENCE}": "{GLOSS}"\ninputs:')


def test_lint_wants_a_translation_of_what_is_not_latin(tmp_path):
    [found] = findings(write_spec(tmp_path / "without", CITED))
    assert SENTENCE in found.message
    assert CITED.splitlines()[(found.place.line or 0) - 1].endswith(f'cite: "{SENTENCE}"')
    assert findings(write_spec(tmp_path / "with", GLOSSED)) == []
    [unused] = findings(
        write_spec(tmp_path / "unused", GLOSSED.replace(f'cite: "{SENTENCE}"', 'cite: "x"'))
    )
    assert unused.message == f"no citation has this sentence: {SENTENCE}"


@pytest.mark.parametrize(("sentence", "foreign"), [
    (SENTENCE, True), ("支持以下转化", True), ("Значение", True),
    ("“f8e4m3” is 2⁻⁷ · δ − ±∞ …", False), ("Überlauf", False), ("[x] > FLT_MAX", False),
])  # fmt: skip
def test_what_needs_a_translation(sentence, foreign):
    assert is_foreign(sentence) == foreign


def test_every_citation_of_the_built_in_specs_is_found():
    foreign = {c.text for s in CATALOG.specs.values() for c in citations(s) if is_foreign(c.text)}
    assert len(foreign) >= 29
    lacking = [c.text for s in CATALOG.specs.values() for c in citations(s)
               if is_foreign(c.text) and not c.gloss]  # fmt: skip
    assert lacking == []


def shown(disputed):
    by = replace(ELSE, cite=SENTENCE, source="Acme", gloss=GLOSS)
    if disputed:
        by = replace(ELSE, cite="No.", quotations=(
            Quotation(SENTENCE, "Acme", "this", GLOSS), Quotation("Yes.", "Acme", "that"),
        ))  # fmt: skip
    return run(
        answered(case("onnx.Cast-21", "float32", "bfloat16"), replace(TRUNCATED, decision=by))
    )


@pytest.mark.parametrize("disputed", [False, True])
def test_every_format_marks_it_as_ours(disputed, tmp_path):
    result = shown(disputed)
    [found] = Document(result).findings
    assert MARKED in found.cited
    pages = (in_markdown(result), in_junit(result), html_text(result), *annotated(result))
    for page in pages:
        plain = page.replace("%0A", " ").replace("%3A", ":").replace("\\n", " ")
        assert MARKED in " ".join(plain.split())
    assert f'"gloss":"{GLOSS}"' in text(result)
    path = tmp_path / "run.json"
    path.write_text(text(result))
    assert Document(read(str(path), CATALOG.types.types)).findings[0].cited == found.cited
    done = convcheck("report", path)
    assert (SENTENCE in done.stdout, MARKED in " ".join(done.stdout.split())) == (True, True)
    made = convcheck("repro", "onnx.Cast-21/float32-to-bfloat16", "--report", path, "--as", "c")
    assert MARKED in " ".join(made.stdout.split())


def test_pages_and_explanations_show_it():
    assert "our translation: " in " ".join(convcheck("show", "openvino.Range-4").stdout.split())
    name = "openvino.Range-4/int32-int32-int32-to-int32"
    said = convcheck("explain", name, "2", "23", "3").stdout
    assert "our translation: " in " ".join(said.split())
