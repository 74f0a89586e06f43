"""Enumerate a spec's cases by types, layouts and attribute values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import cast

import numpy as np

from convcheck.errors import SpecError
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Bits
from convcheck.numerics.words import code_of
from convcheck.rules.model import (
    DEFAULT,
    Attribute,
    Attributes,
    Case,
    DType,
    Layout,
    Outcome,
    Spec,
    Uncovered,
)
from convcheck.rules.rule import Context, read_cite, rule_of_all
from convcheck.rules.source import Node


def read_uncovered(root: Node, context: Context) -> tuple[Uncovered, ...]:
    """Return the excluded cases."""
    kinds = {name: each.need("type").text() for name, each in root.entries("attributes").items()}
    return tuple(_entry(e, kinds, context) for e in root.listed("outside"))


def _entry(node: Node, kinds: Mapping[str, str], context: Context) -> Uncovered:
    node.only("name", "from", "to", "values", "cite")
    sources, targets = (
        tuple(context.types.types[name] for name in context.types.names(node.need(key)))
        for key in ("from", "to")
    )
    node.read("values", lambda values: values.only(*kinds), None)
    cite = read_cite(node.need("cite", "quote the sentence that leaves it out"), context)
    rule = rule_of_all(node.need("name").text(), Outcome("undefined"), cite, node.place)
    values = []
    for name, listed in node.entries("values").items():
        whole = kinds[name] == "int"
        found = (
            e.integer() if whole and e.value != DEFAULT else e.text() for e in listed.elements()
        )
        values.append((name, tuple(found)))
    return Uncovered(sources, targets, tuple(values), rule)


def pairs_outside(spec: Spec, entry: Uncovered) -> Iterator[tuple[DType, DType, Attributes]]:
    """Yield an entry's pairs with their attribute values."""
    for source in entry.sources:
        for target in entry.targets:
            if not entry.values and not is_listed(spec, source, target):
                yield source, target, ()
            for name, values in entry.values:
                yield from ((source, target, ((name, value),)) for value in values)


def is_listed(spec: Spec, source: DType, target: DType) -> bool:
    """Return whether a spec's lists have both types."""
    lists = (spec.types[spec.inputs[0][1]], spec.types[spec.outputs[0][1]])
    return source in lists[0] and target in lists[1]


def uncovered_by(spec: Spec, case: Case) -> Uncovered | None:
    """Return the exclusion of a case, if any."""
    source, target = case.inputs[0], case.outputs[0]
    for entry in spec.outside:
        if source not in entry.sources or target not in entry.targets:
            continue
        asked = {(name, value) for name, values in entry.values for value in values}
        if asked & {*case.attributes} or not (entry.values or is_listed(spec, source, target)):
            return entry
    return None


Types = Mapping[str, DType]  # input or output -> its type
OUTPUT = "output"  # in `combinations`: the output's type


def cases(spec: Spec) -> Iterator[Case]:
    """Return a spec's cases, in the order of its type lists. Cached."""
    return iter(_cases(spec))


@lru_cache(64)  # more specs than are built in
def _cases(spec: Spec) -> tuple[Case, ...]:
    return (*(_case(spec, *one) for one in _asked(spec)), *_outside(spec))


def _outside(spec: Spec) -> Iterator[Case]:
    for entry in spec.outside:
        for source, target, own in pairs_outside(spec, entry):
            attributes = {**dict(defaults(spec, target)), **dict(own)}
            case = make_case(spec, source, target, tuple(attributes.items()), refusal=True)
            yield replace(case, outside=True)


def _asked(spec: Spec) -> Iterator[tuple[Types, Layout | None, Attributes, bool]]:
    tensors = (*spec.inputs, *spec.outputs)
    for types in _bindings(spec):
        layouts: Sequence[Layout | None] = [None]
        if spec.layouts:
            variables = {variable: types[name] for name, variable in tensors if name in types}
            layouts = [layout for layout in spec.layouts if layout.is_asked_of(variables)]
        chosen = dict(_listed(spec, types)) if layouts else {}
        for attributes, refusal in _besides(spec, types) if layouts else ():
            chosen.setdefault(attributes, refusal)
        for layout in layouts:
            own = layout.attributes if layout else ()
            for attributes, refusal in chosen.items():
                yield types, layout, (*attributes, *own), refusal


def make_case(
    spec: Spec, source: DType, target: DType, attributes: Attributes, refusal: bool = False
) -> Case:
    """Return the case of an elementwise operator."""
    types = {name: target for name, _ in (*spec.inputs, *spec.outputs)}
    return _case(spec, {**types, spec.inputs[0][0]: source}, None, attributes, refusal)


def defaults(spec: Spec, target: DType | None) -> Attributes:
    """Return a destination's default attributes. None: it is the answer."""
    applying = _applying(spec, (target,) if target else ())
    return tuple((a.name, a.default) for a in applying if a.default is not None)


def _bindings(spec: Spec) -> Iterator[Types]:
    tensors = (*spec.inputs, *spec.outputs)
    if spec.combinations:
        output, of_output = spec.outputs[0]
        inputs = [name for name, _ in spec.inputs]
        known = {t.name: t for types in spec.types.values() for t in types}
        for target in spec.types[of_output]:
            rows = (tuple(target if word == OUTPUT else known[word] for word in row)
                    for row in spec.combinations)  # fmt: skip
            for row in dict.fromkeys(rows):
                yield {**dict(zip(inputs, row, strict=True)), output: target}
        return
    variables = dict.fromkeys(v for _, v in tensors if v in spec.types)
    for types in product(*(spec.types[v] for v in variables)):
        bound = dict(zip(variables, types, strict=True))
        yield {name: bound[variable] for name, variable in tensors if variable in bound}


def _case(
    spec: Spec, types: Types, layout: Layout | None, attributes: Attributes, refusal: bool = False
) -> Case:
    order = [a.name for a in spec.attributes]
    ordered = tuple(sorted(attributes, key=lambda item: order.index(item[0])))
    own = dict(attributes)
    given = layout.carried if layout else ()
    carried = tuple(
        (a.name, a.kind)
        for a in spec.attributes
        if a.carries and a.name not in own and (not a.by_layout or a.name in given)
    )
    shapes = dict(layout.shapes) if layout else {}
    asked = [name for name, _ in spec.inputs if layout is None or name in shapes]
    inputs = tuple(types[name] for name in asked)
    outputs = tuple(types[name] for name, _ in spec.outputs if name in types)
    return Case(
        spec.id, spec.op, spec.version, inputs, outputs, ordered, carried, refusal,
        layout=layout.name if layout and len(spec.layouts) > 1 else "",
        ranks=tuple(len(shapes[name]) for name in asked) if layout else (),
        bound=spec.outputs[0][1] in [variable for name, variable in spec.inputs if name in asked],
        shapes=spec.shapes,
    )  # fmt: skip


def _applying(spec: Spec, outputs: tuple[DType, ...]) -> list[Attribute]:
    free = (a for a in spec.attributes if not (a.carries or a.by_layout))
    return [a for a in free if not outputs or a.applies_to(outputs[0])]


def _listed(spec: Spec, types: Types) -> Iterator[tuple[Attributes, bool]]:
    outputs = tuple(types[name] for name, _ in spec.outputs if name in types)
    applying = _applying(spec, outputs)
    names, usual = [a.name for a in applying], tuple(a.default for a in applying)
    source, target = spec.inputs[0][0], spec.outputs[0][0]
    for values in product(*(a.values for a in applying)):
        attributes = tuple(zip(names, values, strict=True))
        listed = (
            spec.pairs is None
            or spec.pairs.word(types[source].name, types[target].name, attributes) == "listed"
        )
        if listed or (values == usual and not (spec.pairs and spec.pairs.only)):
            yield attributes, not listed


def _besides(spec: Spec, types: Types) -> Iterator[tuple[Attributes, bool]]:
    kinds = {a.name: a for a in spec.attributes}
    askings = [(attribute, asking) for attribute in spec.attributes for asking in attribute.also]
    source, target = types[spec.inputs[0][0]], types.get(spec.outputs[0][0])
    for attribute, asking in askings:
        if source.name not in asking.sources:
            continue
        if asking.targets is not None and (target is None or target.name not in asking.targets):
            continue
        others = dict(defaults(spec, target))
        others |= {name: kinds[name].value_of(str(word)) for name, word in asking.others}
        for value in asking.values:
            yield tuple({**others, attribute.name: value}.items()), asking.refusal


def check_spec(spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
    """Check a spec against its file."""
    seen: set[str] = set()
    for rule in (*spec.rules, *(entry.rule for entry in spec.outside)):
        if rule.name in seen:
            said = f"two rules are named {rule.name!r}"
            raise SpecError(said, place=rule.place, hint="to change a parent's rule, state it once")
        seen.add(rule.name)
    _types(spec, node)
    if spec.combinations or node.get("combinations"):
        _combinations(spec, node)
    if spec.outside and spec.body.whole_calls:
        hint = "a body of whole calls says what is undefined in a place of its own"
        raise node.need("outside").error("only a table has `outside`", hint)
    spec.body.check(spec, node, types)


def _types(spec: Spec, node: Node) -> None:
    for key, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        if not tensors:
            raise node.need(key).error(f"no {key}", "write NAME: TYPES")
        for name, variable in tensors:
            answer = key == "outputs" and spec.body.gives_types
            if (variable in spec.types) == answer:
                message = f"`types` does not list {variable}, the type of {name}"
                hint = f"{variable}: [TYPE, …]"
                if answer:
                    message = f"`types` lists {variable}, the type that the {spec.body.name} gives"
                    hint = "leave it out there"
                raise node.need(key).need(name).error(message, hint)
    for name in spec.types:
        if not spec.types[name]:
            raise node.need("types").need(name).error(f"{name} has no types", "list them")


def _combinations(spec: Spec, node: Node) -> None:
    at = node.need("combinations")
    if not spec.combinations:
        raise at.error("no combinations", "list some, or leave `combinations` out for all")
    output = spec.outputs[0][1]
    if output not in spec.types or output in dict(spec.inputs).values():
        raise at.error("they are made with types of the output alone", "leave `combinations` out")
    for row, words in zip(at.elements(), spec.combinations, strict=True):
        for cell, word, (name, variable) in zip(row.elements(), words, spec.inputs, strict=True):
            known = [t.name for t in spec.types[variable]]
            if word not in (*known, OUTPUT):
                raise cell.error(f"{word} is not a type of {name}", f"output, {', '.join(known)}")


def fixes_all(layout: Layout) -> bool:
    """Return whether a layout has a vector and otherwise scalars."""
    (_, first), *others = layout.shapes
    return bool(others) and len(first) == 1 and not any(dims for _, dims in others)


def fixed_tensors(case: Case) -> list[Bits]:
    """Return fixed inputs as tensors of rank 0, unless the graph contains them."""
    both = () if not case.fixed or case.is_pair else zip(case.inputs[1:], case.fixed, strict=True)
    return [
        np.array(code_of(cast(Numeric, dtype.format), word)[0], dtype.format.storage)
        for dtype, (_, word) in both
    ]
