"""Merge `extends`: a version file states only its changes (docs/specs.md)."""

from dataclasses import replace
from itertools import chain

from convcheck.rules.source import Node
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
