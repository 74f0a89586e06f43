"""Spec files -> Catalog: `extends` resolved, every error with file, line and a hint."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import convcheck
from convcheck.errors import SpecError
from convcheck.rules.attributes import (
    elements,
    read_attribute,
    read_combinations,
    read_example,
    read_layouts,
    read_spellings,
)
from convcheck.rules.body import read_body, whole_calls
from convcheck.rules.body.table import Context, read_cite, read_rule
from convcheck.rules.checks import check_spec
from convcheck.rules.extend import extend, rules_of, standalone
from convcheck.rules.functions import read_calls
from convcheck.rules.model import (
    DType,
    Source,
    Spec,
)
from convcheck.rules.source import Node, read
from convcheck.rules.supported import read_pairs, read_shapes
from convcheck.rules.types import Types, read_types

_KEYS = (
    "op", "version", "extends", "sources", "inputs", "outputs", "type-only", "shape", "types",
    "pairs", "combinations", "layouts", "attributes", "literals", "rules", "matrix", "formula",
    "steps", "examples", "notes", "calls",
)  # fmt: skip
DTYPES = "dtypes.yaml"
SPECS_VARIABLE = "CONVCHECK_SPECS"


def data_dir(name: str) -> Path:
    """Find `specs` or `vectors`: inside an installed package, else beside it in a checkout."""
    package = Path(convcheck.__file__).resolve().parent
    installed = package / "data" / name
    return installed if installed.is_dir() else package.parent / name


def user_folders() -> list[Path]:
    """Name the folders of a user's own spec files: those in the environment's CONVCHECK_SPECS.

    The command line puts `--specs` and a pyproject's setting there, so that workers see them too.
    """
    named = os.environ.get(SPECS_VARIABLE, "")
    return [Path(folder) for folder in named.split(os.pathsep) if folder]


@dataclass(frozen=True)
class Catalog:
    """Everything loaded: the types, and the specs by id in order of operator and version."""

    types: Types
    specs: Mapping[str, Spec]

    def only(self, ids: Iterable[str]) -> Catalog:
        """Return a catalogue of all types and of these specs alone, which is quick to pickle."""
        return Catalog(self.types, {name: self.specs[name] for name in ids})


@dataclass(frozen=True)
class _File:
    node: Node
    path: Path
    name: str  # op-version as `extends` names it: the file's stem


def load(folders: Sequence[Path] = ()) -> Catalog:
    """Load the built-in specs and those of more folders (searched recursively for *.yaml).

    A folder may have a dtypes.yaml of its own, whose types and families add to the built-in ones.
    Raises SpecError.
    """
    roots = [data_dir("specs"), *folders]
    types = _all_types(roots)
    files = [file for root in roots for file in _files(root)]
    by_name = _unique(files)
    specs: dict[str, Spec] = {}
    for file in files:
        resolved, parent = _resolved(file, by_name, ())
        spec = _spec(resolved, types, parent)
        if spec.id in specs:
            other = specs[spec.id].place
            raise file.node.error(
                f"{spec.id} is already defined in {other.file}", "give it another op or version"
            )
        specs[spec.id] = spec
    return Catalog(types, dict(sorted(specs.items(), key=lambda s: (s[1].op, s[1].version))))


def _all_types(roots: Sequence[Path]) -> Types:
    merged: Node | None = None
    for root in roots:
        path = root / DTYPES
        if path.is_file():
            node = read(path, _shown(path, root))
            merged = node if merged is None else _merge_types(merged, node)
    if merged is None:
        raise SpecError(f"no {DTYPES} in {roots[0]}", hint="the installation is incomplete")
    return read_types(merged)


def _merge_types(before: Node, node: Node) -> Node:
    entries = dict(before.items())
    for section, more in node.items().items():
        known = entries[section].items() if section in entries else {}
        for name in known.keys() & more.items().keys():
            raise more.items()[name].error(f"{name!r} is defined already", "choose another name")
        entries[section] = replace(more, value={**known, **more.items()})
    return replace(before, value=entries)


def _shown(path: Path, root: Path) -> str:
    """Name a file as people know it: specs/onnx/cast-19.yaml, or their own folder's path."""
    return f"{root.name}/{path.relative_to(root).as_posix()}"


def _files(root: Path) -> list[_File]:
    if not root.is_dir():
        raise SpecError(f"{root} is not a folder", hint="--specs takes a folder of YAML files")
    paths = sorted(p for p in root.rglob("*.yaml") if p.name != DTYPES)
    return [_File(read(p, _shown(p, root)), p, p.stem) for p in paths]


def _unique(files: Sequence[_File]) -> dict[tuple[str, str], _File]:
    """Index files by (operator, stem), which is how `extends` finds them."""
    return {(_op(file.node), file.name): file for file in files}


def _op(node: Node) -> str:
    op = node.need("op", "family.Operator")
    if not re.fullmatch(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+", op.text()):
        raise op.error(f"{op.text()!r} is not an operator", "write family.Operator")
    return op.text()


def _resolved(
    file: _File, files: Mapping[tuple[str, str], _File], seen: tuple[str, ...]
) -> tuple[Node, str]:
    """Give a file's node with its parents merged in, and the id of its parent ('' for none)."""
    file.node.only(*_KEYS)
    extends = file.node.get("extends")
    if extends is None:
        return standalone(file.node), ""
    name, op = extends.text(), _op(file.node)
    if name in (*seen, file.name):
        circle = " -> ".join((*seen, file.name, name))
        raise extends.error(f"`extends` goes in a circle: {circle}", "one file extends nothing")
    parent = files.get((op, name)) or next((f for k, f in files.items() if k[1] == name), None)
    if parent is None:
        known = ", ".join(sorted(stem for _, stem in files))
        raise extends.error(f"there is no spec {name!r} to extend", f"known: {known}")
    node, _ = _resolved(parent, files, (*seen, file.name))
    return extend(node, file.node), _id(parent.node)


def _id(node: Node) -> str:
    version = _version(node)
    return f"{_op(node)}-{version}" if version else _op(node)


def _version(node: Node) -> int:
    """Read the version; 0 for an operator whose text has none."""
    version = node.get("version")
    return version.integer() if version else 0


def _spec(node: Node, types: Types, parent: str) -> Spec:
    sources, says = _sources(node.need("sources", "title, section and url of the text"))
    attributes = _attribute_nodes(node)
    values = {name: _words(a.get("values")) for name, a in attributes.items()}
    context = Context(types, sources, says, {k: v for k, v in values.items() if v})
    shape = node.need("shape", "cite the sentence on the output's shape")
    inputs = _pairs(node.need("inputs"))
    spec = Spec(
        id=_id(node),
        op=_op(node),
        version=_version(node),
        extends=parent,
        sources=sources,
        output_cite=read_cite(shape.need("cite"), context),
        types=_type_lists(node.need("types"), types),
        inputs=inputs,
        outputs=_pairs(node.need("outputs")),
        attributes=tuple(read_attribute(n, a, context) for n, a in attributes.items()),
        literals=read_spellings(node.get("literals")),
        rules=tuple(read_rule(rule, context) for rule in rules_of(node)),
        examples=()
        if whole_calls(node)
        else tuple(read_example(e, context) for e in elements(node.get("examples"))),
        notes=tuple(n.text() for n in elements(node.get("notes"))),
        place=node.place,
        likes=_words(node.get("type-only")),
        layouts=read_layouts(node.get("layouts"), [name for name, _ in inputs]),
        combinations=read_combinations(node.get("combinations"), len(inputs), types),
        pairs=read_pairs(node.get("pairs"), context),
        shapes=read_shapes(shape, context),
        calls=read_calls(node.get("calls"), context),
        **read_body(node, context),
    )
    _check_rule_names(spec)
    check_spec(spec, node, types)
    return spec


def _check_rule_names(spec: Spec) -> None:
    seen: dict[str, int] = {}
    for rule in spec.rules:
        if rule.name in seen:
            raise SpecError(
                f"two rules are named {rule.name!r}",
                place=rule.place,
                hint="to change a parent's rule, state it once",
            )
        seen[rule.name] = 1


def _words(node: Node | None) -> tuple[str, ...]:
    return tuple(e.text() for e in elements(node))


def _pairs(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple((key, value.text()) for key, value in node.items().items())


def _sources(node: Node) -> tuple[dict[str, Source], dict[str, str]]:
    node.need("text", "the source of the operator's own text")
    sources, says = {}, {}
    for key, entry in node.items().items():
        entry.only("title", "section", "url", "says")
        title, section, url = (entry.need(k).text() for k in ("title", "section", "url"))
        sources[key] = Source(key, title, section, url)
        says[key] = entry.items()["says"].text() if entry.get("says") else ""
    return sources, says


def _type_lists(node: Node, types: Types) -> dict[str, tuple[DType, ...]]:
    lists = {}
    for variable, names in node.items().items():
        lists[variable] = tuple(types.types[name] for name in types.names(names))
    return lists


def _attribute_nodes(node: Node) -> dict[str, Node]:
    attributes = node.get("attributes")
    return attributes.items() if attributes else {}
