import json
from functools import cache

import jsonschema

from convcheck.documents import encode
from convcheck.documents.report import End
from convcheck.documents.schemas import schema

SOMEWHERE = {
    "platform": "PLATFORM",
    "cpu": {"model": "CPU", "features": [], "count": 2},
    "threads": 2,
    "versions": {"python": "VERSION"},
}
ROWS = ("rule", "case", "part")


def document(result):
    return parsed(encode.text(result))


def parsed(text):
    """Merge a log into one object: its head, `rules`, `cases`, `parts`, and its end."""
    [found] = several(text)
    return found


def several(text):
    found = []
    for line in map(json.loads, text.splitlines()):
        if "format" in line:
            found.append(line | {f"{row}s": [] for row in ROWS})
        else:
            for key in line.keys() & {*ROWS}:
                found[-1][f"{key}s"].append(line[key])
            found[-1] |= line.get("end", {})
    return found


def render(document):
    ends = {key for key in document if key in End.__struct_fields__}
    head = {key for key in document if key not in ends and key[:-1] not in ROWS}
    lines = [{key: document[key] for key in document if key in head}]
    lines += [{row: one} for row in ROWS for one in document.get(f"{row}s") or ()]
    lines.append({"end": {key: document[key] for key in document if key in ends}})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def damaged(document, path, to):
    """Replace the value at a path, by a value or a function's result, or delete it."""
    part = document
    for step in path[:-1]:
        part = part[step]
    if to is KeyError:
        del part[path[-1]]
    else:
        now = part.get(path[-1]) if isinstance(part, dict) else None
        part[path[-1]] = to(now) if callable(to) else to
    return document


def masked(document):
    return document | {"environment": SOMEWHERE, "convcheck": "VERSION"}


@cache
def validator(name):
    return jsonschema.Draft202012Validator(schema(name))


def held_to_schema(name, found):
    validator(name).validate(found)
    return found


def held_log(text):
    for line in map(json.loads, text.splitlines()):
        held_to_schema("run-head" if "format" in line else "run-line", line)
    return several(text)
