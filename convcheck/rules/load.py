"""Load spec files into a catalog and resolve `extends`."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import convcheck
from convcheck.errors import Place, SpecError
from convcheck.rules.body import KEYS, read_body
from convcheck.rules.cases import check_spec, read_uncovered
from convcheck.rules.layouts import (
    read_combinations,
    read_functions,
    read_layouts,
    read_pairs,
    read_shapes,
)
from convcheck.rules.model import PARAPHRASE, Source, Spec, Spelling, version_key
from convcheck.rules.rule import Context, read_attribute, read_cite, read_rule
from convcheck.rules.source import Node, read_all, read_yaml, refuse
from convcheck.rules.types import Types, read_types
from convcheck.streams import meant

_PLACED = ("rules", "undefined")  # in a formula


def extend(parent: Node, child: Node) -> Node:
    """Merge a child's file over its parent's resolved file."""
    entries = dict(parent.items())
    entries.pop("examples", None)
    for key, node in child.items().items():
        before, merge = entries.get(key), _MERGE.get(key)
        entries[key] = merge(before, node) if before and merge else node
    return replace(child, value=entries)


def standalone(root: Node) -> Node:
    """Return a root that extends nothing; edit verbs are errors."""
    formula = root.entries("formula")
    placed = (formula[key].elements() for key in _PLACED if key in formula)
    for rule in [*root.listed("rules"), *chain.from_iterable(placed)]:
        for verb in ("before", "after"):
            if node := rule.get(verb):
                raise node.error(f"`{verb}` in a file that extends nothing", "rules match in order")
    return root


def _update(before: Node, node: Node) -> Node:
    return replace(node, value={**before.items(), **node.items()})


def _joined(before: Node, node: Node) -> Node:
    return replace(before, value=[*before.elements(), *node.elements()])


def _formula(before: Node, node: Node) -> Node:
    entries = {**before.items(), **node.items()}
    for key in _PLACED:
        if (mine := before.get(key)) and (own := node.get(key)):
            entries[key] = _rules(mine, own)
    if (mine := before.get("calls")) and (own := node.get("calls")):
        entries["calls"] = _update(mine, own)
        if (lists := mine.get("lists")) and (more := own.get("lists")):
            entries["calls"].items()["lists"] = _joined(lists, more)
    return replace(node, value=entries)


def _types(before: Node, node: Node) -> Node:
    if not {"add", "remove"} & node.items().keys():
        return _update(before, node)
    node.only("add", "remove")
    entries = dict(before.items())
    for verb, changes in node.items().items():
        for variable, types in changes.items().items():
            if variable not in entries:
                said = f"the parent has no type variable {variable!r}"
                raise types.error(said, meant(variable, entries))
            listed = entries[variable].elements()
            if verb == "add":
                listed = [*listed, *types.elements()]
            else:
                known, gone = [e.text() for e in listed], [e.text() for e in types.elements()]
                for element in types.elements():
                    if element.text() not in known:
                        said = f"the parent does not list {element.text()}"
                        raise element.error(said, meant(element.text(), known))
                listed = [e for e in listed if e.text() not in gone]
            entries[variable] = replace(entries[variable], value=listed)
    return replace(before, value=entries)


def _layouts(before: Node, node: Node) -> Node:
    entries, changes = _without_names(before, node, "layout")
    return replace(node, value=entries | changes)


def _without_names(before: Node, node: Node, what: str) -> tuple[dict[str, Node], dict[str, Node]]:
    entries, changes = dict(before.items()), dict(node.items())
    for gone in changes.pop("remove", replace(node, value=[])).elements():
        if gone.text() not in entries:
            said = f"the parent has no {what} {gone.text()!r}"
            raise gone.error(said, meant(gone.text(), entries))
        del entries[gone.text()]
    return entries, changes


def _attributes(before: Node, node: Node) -> Node:
    entries, changes = _without_names(before, node, "attribute")
    for name, attribute in changes.items():
        entries[name] = _update(entries[name], attribute) if name in entries else attribute
    return replace(node, value=entries)


def _rules(before: Node, node: Node) -> Node:
    rules = list(before.elements())
    changes = node
    if isinstance(node.value, dict):
        node.only("remove", "change")
        for name in node.listed("remove"):
            rules.pop(_position(rules, name))  # raises for an unknown name
        changes = node.items().get("change", replace(node, value=[]))
    for rule in changes.elements():
        own = rule.need("name").text()
        known = [r.need("name").text() for r in rules]
        if own in known:
            index = known.index(own)
            rules[index] = _update(rules[index], rule)
        elif at := rule.get("before"):
            rules.insert(_position(rules, at), rule)
        elif at := rule.get("after"):
            rules.insert(_position(rules, at) + 1, rule)
        else:
            rules.append(rule)
    return replace(before, value=rules)


def _position(rules: list[Node], name: Node) -> int:
    known = [r.need("name").text() for r in rules]
    if name.text() not in known:
        raise name.error(f"there is no rule {name.text()!r} here", meant(name.text(), known))
    return known.index(name.text())


#: How values merge; others replace the parent's.
_MERGE = {
    **dict.fromkeys(("sources", "glosses", "literals", "steps"), _update),
    **dict.fromkeys(("rules", "outside"), _rules),
    "types": _types,
    "attributes": _attributes,
    "layouts": _layouts,
    "notes": _joined,
    "formula": _formula,
}


_KEYS = (
    "op", "version", "extends", "sources", "glosses", "inputs", "outputs", "type-only", "shape",
    "types", "pairs", "combinations", "layouts", "attributes", "literals", "rules", *KEYS,
    "outside", "examples", "notes", "calls",
)  # fmt: skip
_HEAD = ("op", "version")
DTYPES = "dtypes.yaml"
CAUSES = "causes"
OBSERVATIONS = "observations"  # folder of observed behaviour
REQUIREMENTS = "requirements"  # folder of requirement sets
GRAPHS = "graphs"  # folder of promises about graphs
MOST_EXTENDED = 100  # files in a chain of `extends`
SPECS_VARIABLE = "CONVCHECK_SPECS"


def data_dir(name: str) -> Path:
    """Return the path of `specs`, `vectors` or `examples`."""
    package = Path(convcheck.__file__).resolve().parent
    installed = package / "data" / name
    return installed if installed.is_dir() else package.parent / name


def user_folders() -> list[Path]:
    """Return the folders in CONVCHECK_SPECS, which workers see as well."""
    named = os.environ.get(SPECS_VARIABLE, "")
    return [Path(folder) for folder in named.split(os.pathsep) if folder]


@dataclass(frozen=True)
class Catalog:
    """The types, and specs by id, ordered by operator and version."""

    types: Types
    specs: Mapping[str, Spec]  # parsed on access
    own: tuple[str, ...] = ()  # ids of specs that are not built in
    folders: tuple[Path, ...] = ()

    def only(self, ids: Iterable[str]) -> "Catalog":
        """Return a catalog of all types and these specs, which pickles fast."""
        return replace(self, specs={name: self.specs[name] for name in ids})


@dataclass(frozen=True, eq=False)
class _File:
    path: Path
    shown: str
    root: Path

    @cached_property
    def head(self) -> Node:
        return read_yaml(self.path, self.shown, _HEAD)

    @cached_property
    def node(self) -> Node:
        node = read_yaml(self.path, self.shown)
        node.only(*_KEYS)
        return node


@dataclass(frozen=True)
class _Merged:
    file: _File
    node: Node
    parent: str = ""  # its id, or ''
    extended: int = 0  # the number of ancestors


def _merged(file: _File, above: _Merged | None) -> _Merged:
    if above is None:
        return _Merged(file, standalone(file.node))
    if above.extended == MOST_EXTENDED:
        said = f"it extends a chain of more than {MOST_EXTENDED} files"
        raise file.node.need("extends").error(said, "extend a file that stands alone")
    node = extend(above.node, file.node)
    return _Merged(file, node, _id(above.file.head), above.extended + 1)


class _Specs(Mapping[str, Spec]):
    def __init__(self, types: Types, files: Sequence[_File]) -> None:
        self._types, self._files = types, files
        found: dict[str, _File] = {}
        for file in files:
            other = found.setdefault(name := _id(file.head), file)
            if other is not file:
                message = f"{name} is already defined in {other.shown}"
                raise file.head.error(message, "give it another op or version")
        keys = {name: (_op(f.head), version_key(_version(f.head))) for name, f in found.items()}
        self._by_id = {name: found[name] for name in sorted(found, key=keys.__getitem__)}
        self._resolved: dict[Path, _Merged] = {}
        self._refused: dict[Path, SpecError] = {}
        self._built: dict[str, Spec] = {}

    def __getitem__(self, name: str) -> Spec:
        if name not in self._built:
            merged = self._merged(self._by_id[name])
            parent = self[merged.parent] if merged.parent else None
            self._built[name] = _spec(merged.node, self._types, parent)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, name: object) -> bool:
        return name in self._by_id

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)  # files may differ elsewhere

    def _merged(self, file: _File) -> _Merged:
        chain: list[_File] = []
        at: _File | None = file
        try:
            while at is not None and at.path not in self._resolved:
                if at.path in self._refused:
                    raise self._refused[at.path]
                chain.append(at)
                at = self._parent(chain)
            above = self._resolved[at.path] if at else None
            for one in reversed(chain):
                above = self._resolved[one.path] = _merged(one, above)
        except SpecError as error:
            self._refused.update((one.path, error) for one in chain)
            raise
        return self._resolved[file.path]

    def _parent(self, chain: Sequence[_File]) -> _File | None:
        file = chain[-1]
        if (extends := file.node.get("extends")) is None:
            return None
        name = extends.text()
        named = [f for f in self._files if f.path.stem == name]
        if not named:
            known = sorted(f.path.stem for f in self._files)
            raise extends.error(f"there is no spec {name!r} to extend", meant(name, known))
        op = _op(file.head)
        parent = min(named, key=lambda f: (f.root != file.root, _op(f.head) != op))
        if parent in chain:
            circle = " -> ".join(f.path.stem for f in (*chain, parent))
            said = f"`extends` forms a circle: {circle}"
            raise extends.error(said, "one file has to extend nothing")
        return parent


def load(folders: Sequence[Path] = ()) -> Catalog:
    """Return the built-in specs and those of more folders."""
    built_in = data_dir("specs")
    files = [file for root in (built_in, *folders) for file in _files(root)]
    added = [file for file in files if file.root != built_in]
    read_all(lambda file: file.node, added)
    types = _all_types([built_in, *folders])
    specs = _Specs(types, files)
    own = tuple(_id(file.head) for file in added)
    read_all(specs.__getitem__, own)
    return Catalog(types, specs, own, tuple(folders))


def _all_types(roots: Sequence[Path]) -> Types:
    paths = [(root / DTYPES, root) for root in roots if (root / DTYPES).exists()]
    if not paths:
        raise SpecError(f"no {DTYPES} in {roots[0]}", hint="the installation is incomplete")
    merged, *added = (read_yaml(path, _shown(path, root)) for path, root in paths)
    for node in added:
        entries = dict(merged.items())
        for section, more in node.items().items():
            known = entries[section].items() if section in entries else {}
            for name in known.keys() & more.items().keys():
                hint = "choose another name"
                raise more.items()[name].error(f"{name!r} is already defined", hint)
            entries[section] = replace(more, value={**known, **more.items()})
        merged = replace(merged, value=entries)
    return read_types(merged)


def _shown(path: Path, root: Path) -> str:
    return f"{root.name}/{path.relative_to(root).as_posix()}"


def files_in(catalog: Catalog, folder: str) -> list[tuple[Path, str]]:
    """Return paths and shown names of the files in a folder of specs, built-in ones first."""
    roots = (data_dir("specs"), *catalog.folders)
    found = ((root, path) for root in roots for path in sorted((root / folder).glob("*.yaml")))
    return [(path, _shown(path, root)) for root, path in found]


def _files(root: Path) -> list[_File]:
    if not root.is_dir():
        raise SpecError(f"{root} is not a folder", hint="--specs takes a folder of YAML files")
    said = "would not be read: the name of a spec file ends in .yaml"
    refuse(
        SpecError(said, place=Place(_shown(path, root), 0), hint=f"rename it to {path.stem}.yaml")
        for path in sorted(root.rglob("*.yml"))
    )
    others = (root / CAUSES, root / OBSERVATIONS, root / REQUIREMENTS, data_dir("specs") / GRAPHS)
    paths = sorted(p for p in root.rglob("*.yaml") if p != root / DTYPES and p.parent not in others)
    return [_File(path, _shown(path, root), root) for path in paths]


def _op(node: Node) -> str:
    op = node.need("op", "family.Operator")
    if not re.fullmatch(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+", op.text()):
        raise op.error(f"{op.text()!r} is not an operator", "write family.Operator")
    return op.text()


def _id(node: Node) -> str:
    version = _version(node)
    return f"{_op(node)}-{version}" if version else _op(node)


def _version(node: Node) -> str:
    version = node.get("version")
    if version and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}", version.text()):
        raise version.error(f"{version.text()!r} is not a version", "write 21, or 0.2")
    return version.text() if version else ""


def _spec(node: Node, types: Types, parent: Spec | None) -> Spec:
    sources, says = read_sources(node.need("sources", "title, section and url of the text"))
    attributes = node.entries("attributes")
    values = {name: a.words("values") for name, a in attributes.items()}
    glosses = {" ".join(key.split()): one for key, one in node.entries("glosses").items()}
    context = Context(
        types, sources, says,
        {sentence: gloss.text() for sentence, gloss in glosses.items()},
        {k: v for k, v in values.items() if v},
    )  # fmt: skip
    shape = node.need("shape", "cite the sentence on the output's shape")
    inputs = _pairs(node.need("inputs"))
    variables = {
        variable: tuple(types.types[name] for name in types.names(names))
        for variable, names in node.need("types").items().items()
    }
    known = tuple(read_attribute(n, a, context) for n, a in attributes.items())
    spec = Spec(
        id=_id(node),
        op=_op(node),
        version=next(iter(version_key(_version(node))), 0),
        sources=sources,
        glosses={sentence: gloss.place for sentence, gloss in glosses.items()},
        output_cite=read_cite(shape.need("cite"), context),
        types=variables,
        inputs=inputs,
        outputs=_pairs(node.need("outputs")),
        attributes=known,
        literals=_spellings(node.entries("literals")),
        rules=read_all(lambda rule: read_rule(rule, context), node.listed("rules")),
        body=read_body(node, context),
        notes=node.words("notes"),
        place=node.place,
        likes=node.words("type-only"),
        layouts=read_layouts(node.entries("layouts"), [*dict(inputs)], known, [*variables], types),
        combinations=read_combinations(node.listed("combinations"), len(inputs), types),
        pairs=node.read("pairs", lambda pairs: read_pairs(pairs, context), None),
        shapes=read_shapes(shape, context),
        outside=read_uncovered(node, context),
        calls=read_functions(node.entries("calls"), context),
        parent=parent,
    )
    check_spec(spec, node, types.types)
    return spec


def _spellings(nodes: Mapping[str, Node]) -> dict[str, Spelling]:
    literals = {}
    for name, entry in nodes.items():
        entry.only("matches", "such-as")
        matches = entry.need("matches")
        try:
            re.compile(matches.text())
        except re.error as error:
            raise matches.error(f"not a regular expression: {error}", "Python's syntax") from None
        entry.need("such-as")
        literals[name] = Spelling(matches.text(), entry.words("such-as"), entry.place)
    return literals


def _pairs(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple((key, value.text()) for key, value in node.items().items())


def read_sources(node: Node) -> tuple[dict[str, Source], dict[str, str]]:
    """Return documents by key, and their sentence, '' if citations state it."""
    node.need("text", "the source of the operator's own text")
    sources, says = {}, {}
    for key, entry in node.items().items():
        entry.only("title", "section", "url", "says", "paraphrase")
        title, section, url = (entry.need(k).text() for k in ("title", "section", "url"))
        sources[key] = Source(key, title, section, url)
        if paraphrase := entry.get("paraphrase"):
            if entry.get("says"):
                hint = "quote it, or tell it in your words"
                raise paraphrase.error("both `says` and `paraphrase`", hint)
            says[key] = PARAPHRASE + paraphrase.text()
        else:
            says[key] = entry.read("says", Node.text, "")
    return sources, says


@dataclass(frozen=True)
class Promise:
    """A runtime's promise about its graphs in some settings."""

    when: tuple[tuple[str, tuple[str, ...]], ...]  # backend option -> values
    leaves_out: bool  # casts may be removed, else graphs equal their nodes one by one
    floats_as: str  # may hold intermediate floats, or ''
    text: str
    document: str  # title and section, with the date of access
    place: Place

    @property
    def is_free(self) -> bool:
        """Whether a graph may differ from its nodes run one by one."""
        return self.leaves_out or bool(self.floats_as)

    def holds_of(self, setting: Sequence[tuple[str, str]]) -> bool:
        """Return whether it applies to a setting."""
        given = dict(setting)
        return all(given.get(name) in values for name, values in self.when)


def promises_of(backend: str, types: Types) -> tuple[Promise, ...]:
    """Return the promises of a backend's runtime."""
    folder = data_dir("specs") / GRAPHS
    nodes = (
        read_yaml(path, f"specs/{GRAPHS}/{path.name}") for path in sorted(folder.glob("*.yaml"))
    )
    return tuple(p for node in nodes for p in _promises(node, types)
                 if node.need("backend").text() == backend)  # fmt: skip


def _promises(node: Node, types: Types) -> Iterator[Promise]:
    node.only("backend", "sources", "settings")
    sources, says = read_sources(node.need("sources"))
    context = Context(types, sources, says, {}, {})
    for entry in node.listed("settings"):
        entry.only("when", "leaves-out", "floats-as", "cite")
        when = entry.need("when").items().items()
        cite = read_cite(entry.need("cite"), context)
        source = sources[cite.source]
        yield Promise(
            tuple((name, tuple(v.text() for v in values.elements())) for name, values in when),
            entry.says("leaves-out", "casts"),
            entry.read("floats-as", lambda held: held.word(tuple(types.types), "type"), ""),
            cite.text,
            f"{source.title}, {source.section}",
            entry.place,
        )
