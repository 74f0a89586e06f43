"""Writes the schemas anew."""

from convcheck.report.json.schemas import FOLDER, FORMATS, text

for name in FORMATS:
    (FOLDER / f"{name}.json").write_text(text(name), encoding="utf-8")
