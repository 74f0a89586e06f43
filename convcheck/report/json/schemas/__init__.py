"""The JSON Schemas of the formats, made from their structs, for other programs.

`python -m convcheck.report.json.schemas` writes the files in this folder anew.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from convcheck.report.json import (
    chain,
    diagnosis,
    diff,
    graphs,
    journal,
    model,
    report,
    reports,
    score,
    survey,
)
from convcheck.report.json.codec import Shape

FORMATS: dict[str, type[Shape]] = {
    "report": report.ReportJson,
    "reports": reports.ReportsJson,
    "survey": survey.SurveyJson,
    "diff": diff.DiffJson,
    "diagnosis": diagnosis.DiagnosisJson,
    "score": score.ScoreJson,
    "chain": chain.ChainJson,
    "chains": chain.ChainsJson,
    "graphs": graphs.GraphsJson,
    "model": model.ModelJson,
    "journal-line": journal.LineJson,
}
FOLDER = Path(__file__).parent


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a format. A field's description is the `#:` comment above it, and a
    struct's name that of its class without its ending, Json.
    """
    form = msgspec.json.schema(FORMATS[name])
    for struct in _structs(FORMATS[name]):
        described = form["$defs"][struct.__name__]["properties"]
        for field, words in _comments(struct):
            described[field]["description"] = words
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:convcheck:{name}",
        "title": f"convcheck {name}",
    }
    plain: dict[str, Any] = json.loads(re.sub(r'Json"', '"', json.dumps(about | form)))
    return plain


def schema_text(name: str) -> str:
    """Return the schema of a format as JSON text."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def _structs(form: type[Shape]) -> Iterator[type[msgspec.Struct]]:
    """Return the structs of a format that its schema defines."""
    todo: list[Any] = [msgspec.inspect.type_info(form)]
    done = set()
    while todo:
        kind = todo.pop()
        if isinstance(kind, msgspec.inspect.StructType) and kind.cls not in done:
            done.add(kind.cls)
            yield kind.cls
            todo += [field.type for field in kind.fields]
        for inner in ("types", "item_types"):
            todo += getattr(kind, inner, ())
        todo += [getattr(kind, one) for one in ("item_type", "value_type") if hasattr(kind, one)]


def _comments(struct: type) -> Iterator[tuple[str, str]]:
    """Return the fields of a struct and of its bases, with the `#:` comments above them."""
    for kind in struct.__mro__:
        if kind.__module__.startswith("convcheck."):
            source = inspect.getsource(kind)
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    words = _above(source.splitlines(), node.lineno - 1)
                    yield from [(node.target.id, words)] if words else []


def _above(lines: list[str], at: int) -> str:
    words: list[str] = []
    while at and lines[at - 1].strip().startswith("#:"):
        at -= 1
        words.insert(0, lines[at].strip().removeprefix("#:").strip())
    return " ".join(words)
