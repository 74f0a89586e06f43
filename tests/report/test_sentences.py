import pytest
from catalogue import CATALOG, compiled
from command import convcheck
from drawn import annotated, html_text, in_junit, in_markdown
from report_runs import TRUNCATED, answered, case, run

from convcheck.documents.decode import read
from convcheck.documents.encode import text
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.rules.body.formula import Formula
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.rules.model import Outcome
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.trace import row_in_words
from convcheck.semantics.vocabulary import AS_BELOW, AS_REAL, CASES, COMPUTATIONS, CONSTANTS, ELSE
from specs import GOOD, write_spec

TABLES = ["float-to-float8-saturating", "float-to-float8", "float-to-float8e8m0"]
CASTS = [spec for spec in CATALOG.specs.values() if spec.op == "onnx.Cast" and spec.version >= 19]
# A row's or cell's text in ONNX's tables -> its name here.
ROWS = {
    "0": "+0", "-0": "-0", "NaN": "nan", "-NaN": "-nan", "Inf": "+inf", "-Inf": "-inf",
    "[x] > FLT_MAX": "[x] > max", "[x] < -FLT_MAX": "[x] < -max", "else": "else",
    "x > E8M0_MAX": "x > max", "x < E8M0_MIN": "x < min", "x < 0": "x < 0",
}  # fmt: skip
CELLS = {
    "0": "+0", "-0": "-0", "NaN": "nan", "-NaN": "-nan", "Inf": "+inf", "-Inf": "-inf",
    "FLT_MAX": "+max", "-FLT_MAX": "-max", "E8M0_MAX": "+max", "E8M0_MIN": "min", "RNE": "[x]",
    "Unspecified": "undefined",
}  # fmt: skip


def decisions(name):
    spec, source, target = name.split()
    found = find_case(CATALOG, spec, source, target, ())
    return {by.name: by for by in compiled(found).decisions}


def acme(folder, text):
    return load([write_spec(folder, text)]).specs["acme.Convert-1"]


def pages(shown):
    """Draw every format, without its escapes and breaks."""
    notes = "".join(annotated(shown))
    drawn = (in_markdown(shown), in_junit(shown), notes, html_text(shown), text(shown))
    plain = (page.replace("&quot;", '"').replace("%0A", " ").replace("\\", "") for page in drawn)
    return [" ".join(page.split()) for page in plain]


def showing(by):
    one = case("onnx.Cast-21", "float32", "bfloat16")
    return run(answered(one, replace(TRUNCATED, decision=by)))


@pytest.mark.parametrize("spec", CASTS, ids=lambda spec: spec.id)
def test_rows_of_onnx_tables_quote_the_row_that_says_what_they_give(spec):
    rules = [rule for rule in spec.rules if rule.name in TABLES]
    assert len(rules) == (3 if spec.version >= 24 else 2)
    for rule in rules:
        for row in rule.rows:
            for i, cell in enumerate(row.cells):
                if cell.cite.source == "text":
                    label, *printed = cell.cite.text.strip("| ").split(" | ")
                    assert row.label in (ROWS[label], "[x] = -0")
                    assert cell.outcomes[0].word in given(rule, row.label, printed[i])


def given(rule, label, printed):
    if label == "[x] = -0":
        return ("+0",)  # rounded to nearest even, in a format without a negative zero
    if printed == "-NaN":
        return ("-nan", "nan")  # the sign of a NaN counts from version 23 on
    if rule.name == "float-to-float8e8m0" and printed == "0":
        return ("min",)  # the format has no zero
    return (CELLS[printed],)


def test_a_sentence_of_a_whole_table_stands_with_the_row_in_words(tmp_path):
    spec = acme(tmp_path / "table", GOOD)
    [first] = [c for c in cases(spec) if c.name == "float32-to-float8e4m3fn"]
    said = {by.row: by.row_in_words for by in compile_case(spec, first).decisions}
    assert said["[x] > max"] == (
        "where x, once rounded, is above the largest finite value, the result is the largest "
        "finite value"
    )
    assert said["else"] == "where no row before it holds, the result is x rounded (nearest-even)"
    own = acme(
        tmp_path / "own",
        GOOD.replace('"[x] > max":  +max', '"[x] > max":  {gives: +max, cite: "Own."}'),
    )
    by = next(b for b in compile_case(own, first).decisions if b.row == "[x] > max")
    assert (by.cite, by.row_in_words) == ("Own.", "")


def test_a_row_is_put_in_the_words_of_the_rounding_mode_of_the_case(tmp_path):
    text = GOOD.replace(
        "attributes:",
        "attributes:\n  mode: {type: string, values: [tie, cut], default: tie, "
        "applies: {to: float8e4m3fn}}",
    ).replace("round: nearest-even", "round: {by: mode, tie: nearest-even, cut: toward-zero}")
    spec = acme(tmp_path / "modes", text)
    found = [c for c in cases(spec) if c.name.startswith("float32-to-float8e4m3fn")]
    said = [compile_case(spec, case).decisions[-1].row_in_words for case in found]
    modes = ("nearest-even", "toward-zero")
    assert said == [f"where no row before it holds, the result is x rounded ({m})" for m in modes]


def test_every_decision_says_which_sentence_it_rests_on():
    wanting = []
    for spec in CATALOG.specs.values():
        rules = {rule.name: rule for rule in spec.rules}
        compiling = compile_calls if spec.body.whole_calls else compile_case
        some = list(cases(spec))[:: 7 if len(list(cases(spec))) > 100 else 1]
        for by in {by for one in some for by in compiling(spec, one).decisions}:
            rule = rules.get(by.rule.rpartition(" > ")[2])
            cites = {one.text for one in by.quotations} or {by.cite}
            of_table = rule and rule.cite.text in cites and len(rule.rows) > 1
            if of_table and not by.row_in_words:
                wanting.append(by.name)
            if len(by.readings) > 1 and {q.of for q in by.quotations} != {*by.readings}:
                wanting.append(by.name)
    assert wanting == []


def test_a_disputed_finding_shows_its_readings_sentences_in_every_format(tmp_path):
    by = decisions("onnx.Cast-21 float32 int4")["float-to-short / else"]
    shown = showing(by)
    [found] = Document(shown).findings
    assert [said.partition(":")[0] for said in found.cited] == ["nearest-even", "toward-zero"]
    for page in pages(shown):
        assert "done by rounding to the nearest-integer (with ties to even)" in page
        assert "truncate (C++/numpy convention) is the main behavior" in page
    assert not any("undefined if OOR" in page for page in pages(shown)[:3])
    path = tmp_path / "run.json"
    path.write_text(text(shown))
    again = read(str(path), CATALOG.types.types)
    assert Document(again).findings[0].cited == found.cited


def test_readings_that_rest_on_one_sentence_show_it_once():
    [by] = decisions("onnx.Cast-13 float32 string").values()
    [found] = Document(showing(by)).findings
    assert [said.partition(': "')[0] for said in found.cited] == [
        "plain, exact; plain, lossy", "any notation, exact; any notation, lossy",
    ]  # fmt: skip


def test_a_row_of_a_table_is_told_in_every_format():
    by = decisions("onnx.Cast-24 float32 float8e4m3fn")["float-to-float8-saturating / [x] > max"]
    words = "above the largest finite value, the result is the largest finite value"
    assert all(words in page for page in pages(showing(by)))


def test_a_sequence_of_a_wrong_length_shows_the_sentence_on_the_length():
    for name in ("onnx.Range-11/int32-int32-int32", "openvino.Range-4/int32-int32-int32-to-int32"):
        spec = CATALOG.specs[name.partition("/")[0]]
        [one] = [c for c in cases(spec) if c.id == name]
        rows = [by for by in compile_calls(spec, one).decisions if by.rule != "undefined"]
        assert len(rows) == 3
        length = spec.body_as(Formula).length_cite.text
        for by in rows:
            assert length in {said.text for said in by.sentences if "length" in said.of}
            assert {said.of for said in by.sentences} >= {"length", "elements"}


def test_a_nan_is_judged_by_sentences_on_both_kinds_of_nan():
    found = {
        cell.cite.text
        for spec in CATALOG.specs.values() for rule in spec.rules for row in rule.rows
        for cell in row.cells if cell.cite.source == "ieee754-nan"
    }  # fmt: skip
    assert found
    assert all("signaling NaN" in says and "of a quiet NaN" in says for says in found)


def test_a_paraphrase_stands_without_quotation_marks_in_every_format():
    by = decisions("onnx.Cast-21 float32 bfloat16")["float-to-float / else"]
    said = "in our words: The floating-point number nearest to the infinitely precise result"
    assert by.cite.startswith(said)
    shown = showing(by)
    [found] = Document(shown).findings
    assert [line.startswith(said) for line in found.cited] == [True]
    for page in pages(shown):
        assert said in page
        assert f"“{said}" not in page
        assert f'""{said}' not in page
    done = convcheck("explain", "onnx.Cast-21/float32-to-bfloat16", "0.1")
    assert " ".join(done.stdout.split()).count(f"text {said}") == 1
    shown_spec = convcheck("show", "onnx.Cast-21").stdout
    assert f'"{said[:20]}' not in shown_spec
    assert said[:20] in shown_spec


def test_explain_shows_a_reading_with_its_sentence():
    shown = convcheck("explain", "onnx.Cast-21/float32-to-int4", "1.5").stdout
    assert ("undefined if OOR" in shown, shown.count("\ntext ")) == (False, 2)
    shown = convcheck("explain", "onnx.Cast-24/float32-to-float8e4m3fn/saturate=1", "1000").stdout
    assert "| [x] > FLT_MAX | FLT_MAX | FLT_MAX | FLT_MAX | FLT_MAX |" in shown
    assert "the result is the largest finite value" in " ".join(shown.split())


def test_every_word_of_the_tables_has_words():
    assert all(word.english for word in CASES.values())
    assert row_in_words(ELSE, ()).startswith("where no row before it holds")
    known = (*CONSTANTS.values(), *COMPUTATIONS.values())
    assert all(word.english for word in known)
    assert all(row_in_words(ELSE, [(Outcome(word), "")]) for word in (AS_REAL, AS_BELOW))
    assert row_in_words("x < 2^-126", ()).startswith("where x < 2^-126")
