"""Find a case by its id, or by types and attribute values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod

from convcheck.errors import Place, UsageError
from convcheck.rules.cases import cases, defaults, is_listed, make_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import DEFAULT, Attribute, Case, DType, Spec, Value
from convcheck.rules.rule import OTHER
from convcheck.streams import meant, plural


def find_spec(catalog: Catalog, name: str) -> Spec:
    """Return a spec by its id. Raises UsageError."""
    if name not in catalog.specs:
        hint = meant(name, catalog.specs, "`convcheck show specs`")
        raise UsageError(f"there is no spec {name!r}", hint=hint)
    return catalog.specs[name]


def find_case(
    catalog: Catalog, name: str, source: str | None = None, target: str | None = None,
    where: Sequence[str] = (),
) -> Case:  # fmt: skip
    """Return a case by its id, or by its spec's id and the rest. Raises UsageError."""
    head, slash, rest = name.partition("/")
    spec = find_spec(catalog, head)
    if not slash and spec.body.whole_calls:
        hint = f"`convcheck show cases {spec.id}`, such as {next(cases(spec)).id}"
        raise UsageError(f"which case of {spec.id}?", hint=hint)
    if not slash:
        if source is None or target is None:
            missing = "--from" if source is None else "--to"
            hint = f"give --from and --to, or a case's id: {next(cases(spec)).id}"
            raise UsageError(f"which types? {missing} is missing", hint=hint)
        return _made(catalog, spec, source, target, where)
    if source or target or where:
        raise UsageError(f"{name} is a case", hint="leave out --from, --to and --where")
    if found := next((case for case in cases(spec) if case.id == name), None):
        return found
    types, *attributes = rest.split("/")
    before, to, after = types.partition("-to-")
    if spec.body.whole_calls and "-to-" in after:
        hint = f"convcheck run --chains --backend NAME {head} --case '{name}*'"
        raise UsageError(f"{name} is a node with the one that turns it back", hint=hint)
    if spec.body.whole_calls or spec.likes:
        return _listed(spec, name)
    if not to:
        hint = f"write {head}/SOURCE-to-DESTINATION, such as {next(cases(spec)).id}"
        raise UsageError(f"{name!r} is not a case", hint=hint)
    if "-to-" in after:
        hint = f"convcheck chain {types.replace('-to-', ' ')} --spec {head} --backend NAME"
        raise UsageError(f"{name} is a chain of casts", hint=hint)
    return _made(catalog, spec, before, after, attributes)


def _listed(spec: Spec, name: str) -> Case:
    parts = name.split("/")
    known = list(cases(spec))
    inputs = tuple(f"{name}=" for name, _ in spec.inputs[1:])
    if fixed := [part.partition("=")[2] for part in parts if part.startswith(inputs)]:
        call = "/".join(part for part in parts if not part.startswith(inputs))
        hint = f"convcheck explain {call} X {' '.join(fixed)}"
        raise UsageError(f"{name} is a part of the exhaustive tier", hint=hint)
    ids = {case: case.id.split("/") for case in known}
    found = [c for c, words in ids.items() if words[1] == parts[1] and set(parts) <= set(words)]
    if not found:
        hint = meant(name, (c.id for c in known), f"`convcheck show cases {spec.id}`")
        raise UsageError(f"{name!r} is not a case", hint=hint)
    stated = {(a.name, a.default) for a in spec.attributes}
    return min(found, key=lambda case: len(set(case.attributes) - stated))


def _made(catalog: Catalog, spec: Spec, source: str, target: str, where: Sequence[str]) -> Case:
    types = (_type(catalog, spec, source, spec.inputs), _type(catalog, spec, target, spec.outputs))
    said = _said(spec, where)
    values = {**dict(defaults(spec, types[1])), **said}
    case = make_case(spec, *types, tuple(values.items()))
    listed = _by_id(spec).get(case.id)
    if listed is None and not is_listed(spec, *types):
        hint = f"`convcheck show cases {spec.id}`"
        raise UsageError(f"{spec.id} has no case from {types[0]} to {types[1]}", hint=hint)
    if listed is not None:
        return listed
    known = {attribute.name: attribute for attribute in spec.attributes}
    for name, value in said.items():
        attribute = known[name]
        if not attribute.applies_to(types[1]):
            hint = f"it applies to {', '.join(sorted(attribute.applies or ()))}"
            raise UsageError(f"{name} does not apply to {types[1]}", hint=hint)
        others = any(OTHER in allowed for r in spec.rules for k, allowed in r.when if k == name)
        if value not in (*attribute.values, *_left_out(attribute)) and not others:
            raise _outside(attribute, str(value))
    return case


@lru_cache(4)
def _by_id(spec: Spec) -> Mapping[str, Case]:
    return {case.id: case for case in reversed([*cases(spec)])}


def _type(catalog: Catalog, spec: Spec, name: str, tensors: tuple[tuple[str, str], ...]) -> DType:
    outside = (t for entry in spec.outside for t in (*entry.sources, *entry.targets))
    known = {t.name: t for t in (*spec.types[tensors[0][1]], *outside)}
    if name in known:
        return known[name]
    if name in catalog.types.sets:
        members = ", ".join(t for t in catalog.types.sets[name] if t in known)
        said = f"{name} is a family of types, not one type"
        raise UsageError(said, hint=f"choose one of {members}")
    if name in catalog.types.types:
        hint = f"its {tensors[0][0]} may be {', '.join(known)}"
        raise UsageError(f"{spec.id} has no {name} as its {tensors[0][0]}", hint=hint)
    raise UsageError(f"unknown type {name!r}", hint=meant(name, known))


def _said(spec: Spec, where: Sequence[str]) -> dict[str, Value]:
    attributes = {a.name: a for a in spec.attributes if not a.carries}
    said: dict[str, Value] = {}
    for word in where:
        name, equals, value = word.partition("=")
        if not equals or name not in attributes:
            has = f"{spec.id} has {', '.join(attributes) or 'no attributes to choose'}"
            hint = meant(name, attributes, has)
            raise UsageError(f"{word!r} is not NAME=VALUE of an attribute", hint=hint)
        if name in said:
            raise UsageError(f"{name} is given twice", hint="one value makes one case")
        try:
            said[name] = attributes[name].value_of(value)
        except ValueError:
            raise _outside(attributes[name], value) from None
    return said


def _left_out(attribute: Attribute) -> tuple[Value, ...]:
    return (DEFAULT,) if attribute.stated and attribute.default is not None else ()


def _outside(attribute: Attribute, word: str) -> UsageError:
    hint = meant(word, map(str, (*attribute.values, *_left_out(attribute))))
    return UsageError(f"{attribute.name} cannot be {word!r}", hint=hint)


_WORD = re.compile(r"(-to-|[/=-])")
_LIST = re.compile(r"\{([^{}]*)\}")
_MOST = 100_000  # ids of a name
_Words = tuple[tuple[str, ...], ...]  # alternatives for each part


def compact_names(ids: Iterable[str]) -> list[str]:
    """Return names for exactly these ids, each of one operator."""
    cut: Iterable[_Words] = (tuple((word,) for word in _WORD.split(name)) for name in ids)
    names = list(dict.fromkeys(cut))
    words = dict.fromkeys(word for name in names for (word,) in name)
    rank = {word: position for position, word in enumerate(words)}
    for place in reversed(range(1, max(map(len, names), default=0))):
        alike: dict[tuple[_Words, _Words], dict[str, None]] = {}
        for name in names:
            here = dict.fromkeys(name[place] if place < len(name) else ())
            alike.setdefault((name[:place], name[place + 1 :]), {}).update(here)
        names = [(*before, tuple(sorted(here, key=rank.__getitem__)), *after) if here else before
                 for (before, after), here in alike.items()]  # fmt: skip
    return ["".join(w[0] if len(w) == 1 else f"{{{','.join(w)}}}" for w in name) for name in names]


def ids_of(name: str, place: Place) -> list[str]:
    """Return the ids of a name. Raises UsageError for too many."""
    parts = _LIST.split(name)
    lists = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    if (count := prod(map(len, lists))) > _MOST:
        hint = f"a name stands for {_MOST:,} cases at most"
        raise UsageError(f"{plural(count, 'case')} in one name", place=place, hint=hint)
    return ["".join(words) for words in product(*lists)]
