"""Logs of runs as JSON data and as text, for the tests that look into them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from convcheck.judge.result import RunResult
from convcheck.report.json import encode
from convcheck.report.json.report import End
from convcheck.report.json.schemas import schema

SOMEWHERE = {
    "platform": "PLATFORM",
    "cpu": {"model": "CPU", "features": [], "count": 2},
    "threads": 2,
    "versions": {"python": "VERSION"},
}
ROWS = ("rule", "case", "part")


def document(result: RunResult) -> Any:
    """The log of a run as JSON data."""
    return parsed(encode.text(result))


def parsed(text: str) -> Any:
    """A log as one object: its head, `rules`, `cases`, `parts`, and its end."""
    [found] = several(text)
    return found


def several(text: str) -> list[Any]:
    """Several logs, one after another."""
    found: list[Any] = []
    for line in map(json.loads, text.splitlines()):
        if "format" in line:
            found.append(line | {f"{row}s": [] for row in ROWS})
        else:
            for key in line.keys() & {*ROWS}:
                found[-1][f"{key}s"].append(line[key])
            found[-1] |= line.get("end", {})
    return found


def render(document: Any) -> str:
    """JSON data of a log as its text."""
    ends = {key for key in document if key in End.__struct_fields__}
    head = {key for key in document if key not in ends and key[:-1] not in ROWS}
    lines = [{key: document[key] for key in document if key in head}]
    lines += [{row: one} for row in ROWS for one in document.get(f"{row}s") or ()]
    lines.append({"end": {key: document[key] for key in document if key in ends}})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def masked(document: Any) -> Any:
    """JSON data without what differs between machines and versions of convcheck."""
    return document | {"environment": SOMEWHERE, "convcheck": "VERSION"}


def held_to_schema(name: str, found: Any) -> Any:
    """Return JSON data of a format, which its schema has to allow."""
    jsonschema.Draft202012Validator(schema(name)).validate(found)
    return found


def held_log(text: str) -> Any:
    """Return logs as JSON data, whose lines the schemas have to allow."""
    for line in map(json.loads, text.splitlines()):
        held_to_schema("run-head" if "format" in line else "run-line", line)
    return several(text)
