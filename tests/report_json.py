"""Reports as JSON data and as text, for the tests that look into them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from convcheck.judge.result import RunResult
from convcheck.report.json import encode
from convcheck.report.json.codec import json_text
from convcheck.report.json.schemas import schema

SOMEWHERE = {
    "platform": "PLATFORM",
    "cpu": {"model": "CPU", "features": [], "count": 2},
    "threads": 2,
    "versions": {"python": "VERSION"},
}


def document(result: RunResult) -> Any:
    """The report of a run as JSON data."""
    return json.loads(encode.text(result))


def render(document: Any) -> str:
    """JSON data of a report as its text."""
    return json_text(document, "rules", "cases")


def masked(document: Any) -> Any:
    """JSON data without what differs between machines and versions of convcheck."""
    return document | {"environment": SOMEWHERE, "convcheck": "VERSION"}


def held_to_schema(name: str, found: Any) -> Any:
    """Return JSON data of a format, which its schema has to allow."""
    jsonschema.Draft202012Validator(schema(name)).validate(found)
    return found
