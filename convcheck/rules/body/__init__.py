"""Read the body of a spec. `semantics.body` and `vectors.body` list the same bodies."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from convcheck.rules.attributes import Context
from convcheck.rules.model import Body
from convcheck.rules.source import Node

# Body -> its reader, imported on use: most commands need one.
READERS: Mapping[str, str] = {
    "table": "convcheck.rules.body.table:read_table",
    "matrix": "convcheck.rules.body.matrix:read_matrix",
    "formula": "convcheck.rules.body.formula:read_formula",
    "steps": "convcheck.rules.body.steps:read_steps",
}
# A spec file without any is a table.
KEYS = tuple(name for name in READERS if name != "table")


def read_body(root: Node, context: Context) -> Body:
    """Return a body."""
    found = [key for key in KEYS if root.get(key)]
    if len(found) > 1:
        said = f"there is already a {found[0]} here"
        raise root.need(found[1]).error(said, "a spec has one body")
    read: Callable[[Node, Context], Body] = resolve_name(READERS[found[0] if found else "table"])
    return read(root, context)
