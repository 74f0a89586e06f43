"""Rewrite the schemas."""

from convcheck.documents.schemas import FOLDER, FORMATS, schema_text

for name in FORMATS:
    (FOLDER / f"{name}.json").write_text(schema_text(name), encoding="utf-8")
