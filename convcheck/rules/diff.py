"""List the changes between two versions of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convcheck.rules.model import Attribute, Rule, Spec
from convcheck.rules.types import Types
from convcheck.wording import plural


@dataclass(frozen=True)
class Change:
    """A change: its subject, the old and the new text ('' for nothing)."""

    about: str
    before: str = ""
    after: str = ""


def diff(old: Spec, new: Spec, types: Types) -> list[Change]:
    """Return the changes from one spec to another, in the order of a spec file."""
    return [*_types(old, new), *_attributes(old, new, types), *_rules(old, new, types)]


def _types(old: Spec, new: Spec) -> Iterator[Change]:
    for variable in dict.fromkeys([*old.types, *new.types]):
        before = [t.name for t in old.types.get(variable, ())]
        after = [t.name for t in new.types.get(variable, ())]
        gone = [name for name in before if name not in after]
        come = [name for name in after if name not in before]
        if gone or come:
            yield Change(f"type {variable}", ", ".join(gone), ", ".join(come))


def _attributes(old: Spec, new: Spec, types: Types) -> Iterator[Change]:
    before = {a.name: attribute_text(a, types) for a in old.attributes}
    after = {a.name: attribute_text(a, types) for a in new.attributes}
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield Change(f"attribute {name}", before.get(name, ""), after.get(name, ""))


def attribute_text(attribute: Attribute, types: Types) -> str:
    """Describe an attribute: type, values, default, condition."""
    if attribute.carries:
        return f"{attribute.kind}, the type {attribute.carries}"
    values = ", ".join(map(str, attribute.values))
    default = "" if attribute.default is None else f"; default {attribute.default}"
    to = attribute.applies
    applies = "" if to is None else f"; to {', '.join(types.folded(to))}"
    return f"{attribute.kind}: {values}{default}{applies}"


def _rules(old: Spec, new: Spec, types: Types) -> Iterator[Change]:
    before, after = ({r.name: r for r in spec.rules} for spec in (old, new))
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield Change(f"rule {name}", before=_summary(before[name], types))
        elif name not in before:
            yield Change(f"rule {name}", after=_summary(after[name], types))
        else:
            yield from _rule(before[name], after[name], types)


def _summary(rule: Rule, types: Types) -> str:
    return f"{condition(rule, types)}; {plural(len(rule.rows), 'row')}"


def condition(rule: Rule, types: Types) -> str:
    """Describe when a rule applies."""
    parts = []
    for key, allowed in rule.when:
        words = map(str, allowed)
        named = types.folded(words) if key in ("from", "to") else sorted(words)
        parts.append(f"{key} {', '.join(named)}")
    if rule.same_type:
        parts.append("to itself")
    return "; ".join(parts)


def rounding(rule: Rule) -> str:
    """Describe how a rule rounds, '' if it does not."""
    if rule.rounding.by:
        modes = ", ".join(f"{value}: {mode}" for value, mode in rule.rounding.modes)
        return f"by {rule.rounding.by} ({modes})"
    return rule.rounding.mode


def _rule(old: Rule, new: Rule, types: Types) -> Iterator[Change]:
    about = f"rule {new.name}"
    for what, before, after in (
        ("when", condition(old, types), condition(new, types)),
        ("round", rounding(old), rounding(new)),
    ):
        if before != after:
            yield Change(f"{about}, {what}", before, after)
    rows_before, rows_after = ({row.label: row.cells for row in r.rows} for r in (old, new))
    for label in dict.fromkeys([*rows_before, *rows_after]):
        cells = [rows.get(label, ()) for rows in (rows_before, rows_after)]
        before, after = (_merged([cell.text for cell in one]) for one in cells)
        if before != after:
            yield Change(f"{about}, row {label}", before, after)
        before, after = (_merged([cell.level for cell in one]) for one in cells)
        if before and after and before != after:
            yield Change(f"{about}, row {label}, level", before, after)


def _merged(words: Sequence[str]) -> str:
    return " | ".join(words[:1] if len(set(words)) == 1 else words)
