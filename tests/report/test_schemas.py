import jsonschema
import pytest
from report_json import damaged, document, held_log
from report_runs import RUNS

from convcheck.documents.encode import text
from convcheck.documents.schemas import FOLDER, FORMATS, schema, schema_text


@pytest.mark.parametrize("name", FORMATS)
def test_the_files_are_what_the_structs_say(name):
    hint = "python -m convcheck.documents.schemas writes it anew"
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == schema_text(name), hint
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_every_schema_file_is_of_a_format():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(FORMATS)


def test_fields_are_described_by_their_comments():
    struct = schema("run-line")["$defs"]["Group"]
    assert "values" in struct["properties"]["of"]["description"]
    assert struct["additionalProperties"] is False
    assert "excuse" not in struct["required"]


@pytest.mark.parametrize("name", RUNS)
def test_reports_are_what_the_schema_says(name):
    held_log(text(RUNS[name]()))


@pytest.mark.parametrize(("path", "to"), [
    (("case", "groups", 0, "verdict"), "wrong"),
    (("case", "checked"), -1),
    (("case", "groups", 0, "examples", 0, "asked"), "call"),
    (("more",), 1),
])  # fmt: skip
def test_the_schema_sees_damage(path, to):
    found = {"case": document(RUNS["failing"]())["cases"][0]}
    validator = jsonschema.Draft202012Validator(schema("run-line"))
    assert validator.is_valid(found)
    assert not validator.is_valid(damaged(found, path, to))
