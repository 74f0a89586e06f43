"""JSON Schemas of the formats, generated from their structs.

`python -m convcheck.documents.schemas` rewrites the files in this folder.
"""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from convcheck.documents import chain, model, proof, report, score
from convcheck.documents.report import Named, Pairs
from convcheck.judge.answers import Array
from convcheck.judge.reading import CaseHead
from convcheck.judge.result import (
    AnswersField,
    CaseField,
    Code,
    DecisionField,
    SampleField,
    TypeName,
    Word,
)
from convcheck.plan.diff import RunDifference
from convcheck.records import Record
from convcheck.semantics.expected import Decision

FORMATS: dict[str, type[Record]] = {
    "run-head": report.Head,
    "run-line": report.Line,
    "diff": RunDifference,
    "score": score.ScoreJson,
    "chain": chain.ChainJson,
    "chains": chain.ChainsJson,
    "graphs": chain.GraphsJson,
    "model": model.ModelJson,
    "proof": proof.ProofsJson,
}
_SPELLED = {"type": "string", "pattern": "^0x[0-9a-f]+$"}
# Schemas of values built by decoding hooks, or the class with the schema.
_BY_HOOK: dict[Any, dict[str, Any] | type] = {
    Word: {
        "description": "A code, spelled and in decimal; or a text, or a pattern.",
        "anyOf": [
            {"type": "array", "prefixItems": [_SPELLED, {"type": ["string", "null"]}]},
            {"type": "string"},
            {"type": "integer", "minimum": 0},
        ],
    },
    Code: {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]},
    CaseField: CaseHead,
    DecisionField: Decision,
    TypeName: {"type": "string"},
    Named: {"type": "string"},
    Pairs: {"type": "object", "additionalProperties": {"type": "string"}},
    Array: {"type": "array"},
    SampleField: {"title": "A spread of answers"},
    AnswersField: {"title": "All answers"},
}
_DESCRIBED = (msgspec.inspect.StructType, msgspec.inspect.DataclassType)
_COMMENTED = re.compile(r"((?: +#:.*\n)+) +(\w+):")
FOLDER = Path(__file__).parent


def schema(name: str) -> dict[str, Any]:
    """Return the schema of a format.

    A field's description is the `#:` comment above it. A struct's name is its class's without
    "Json".
    """
    roots: list[type] = [FORMATS[name]]

    def made_by_hook(kind: type) -> dict[str, Any]:
        found = _BY_HOOK[kind]
        if isinstance(found, dict):
            return dict(found)  # a description will be added
        if found not in roots:
            roots.append(found)
        named = {"$ref": f"#/$defs/{found.__name__}"}
        # by its place, or its id
        short = "integer" if found is Decision else "string" if found is CaseHead else ""
        return {"anyOf": [{"type": short}, named]} if short else named

    for root in roots:  # the hook appends roots
        msgspec.json.schema(root, schema_hook=made_by_hook)
    [of, *_], definitions = msgspec.json.schema_components(
        roots, schema_hook=made_by_hook, ref_template="#/$defs/{name}"
    )
    for kind in _kinds(roots):
        described = definitions[kind.cls.__name__]["properties"]
        comments = dict(_comments(kind.cls))
        for field in kind.fields:
            if words := comments.get(field.name):
                described[field.encode_name]["description"] = words
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:convcheck:{name}",
        "title": f"convcheck {name}",
    }
    whole = about | of | {"$defs": definitions}
    plain: dict[str, Any] = json.loads(re.sub(r'Json"', '"', json.dumps(whole)))
    return plain


def schema_text(name: str) -> str:
    """Return the schema of a format as JSON text."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def _kinds(roots: list[type]) -> Iterator[Any]:
    todo: list[Any] = [msgspec.inspect.type_info(root) for root in roots]
    done = set()
    while todo:
        kind = todo.pop()
        if isinstance(kind, _DESCRIBED) and kind.cls not in done:
            done.add(kind.cls)
            yield kind
            todo += [field.type for field in kind.fields]
        for inner in ("types", "item_types"):
            todo += getattr(kind, inner, ())
        todo += [getattr(kind, one) for one in ("item_type", "value_type") if hasattr(kind, one)]


def _comments(struct: type) -> Iterator[tuple[str, str]]:
    """Yield the fields of a struct and its bases, with the `#:` comments above them."""
    for kind in struct.__mro__:
        if kind.__module__.startswith("convcheck."):
            for said, name in _COMMENTED.findall(inspect.getsource(kind)):
                yield (
                    name,
                    " ".join(line.strip().removeprefix("#:").strip() for line in said.splitlines()),
                )
