"""What rules say on the way to a destination, as something that can be compared: where two specs
say the same, edits make the same of both. Nothing is compiled to know that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, lru_cache, partial

from convcheck.rules.model import DEFAULT, REAL, DType, Outcome, Rounding, Rule, Spec, Value
from convcheck.rules.rule import OTHER, PAIR
from convcheck.semantics.vocabulary import AS, BY, TEXT_IS, THROUGH

_KEPT = 4096  # pairs of types with values of attributes
Words = tuple[tuple[str, str], ...]  # attributes with their values, as written
Facts = Mapping[str, Set[Value]]  # a key of conditions -> the words that it may have


@lru_cache(_KEPT)
def said_under(spec: Spec, sources: tuple[DType, ...], target: DType) -> Callable[[Words], int]:
    """Return what gives what `what_is_said` does under some attribute values, each once."""
    return cache(partial(what_is_said, spec, sources, target))


@lru_cache(_KEPT)
def what_is_said(spec: Spec, sources: tuple[DType, ...], target: DType, given: Words) -> int:
    """Return a number that is equal for specs and attribute values under which the same rules may
    decide of some types on the way to a destination.
    """
    ends, possible = _on_the_way(spec, sources, target)
    facts = {**_attributes(spec, given), **ends}
    rules = _deciding(spec.rules, possible, facts)
    bare: tuple[Hashable, ...] = tuple(_bare(rule, facts) for rule in rules)
    if any(outcome.word == AS for outcome in _outcomes(rules)):
        rules, bare = spec.rules, (spec.rules, given)
    pairs: tuple[str, ...] = ()
    if spec.pairs and any(key == PAIR for rule in rules for key, _ in rule.when):
        force = spec.in_force(given)
        pairs = tuple(spec.pairs.word(each.name, target.name, force) for each in sources)
    labels = (row.label.removeprefix(TEXT_IS) for rule in rules for row in rule.rows)
    texts = tuple((name, spec.literals[name].matches) for name in labels if name in spec.literals)
    return _numbers.setdefault((bare, texts, pairs), len(_numbers))


@lru_cache(_KEPT)
def _on_the_way(
    spec: Spec, sources: tuple[DType, ...], target: DType
) -> tuple[Facts, tuple[Rule, ...]]:
    """Return the types as facts, and the rules whose condition may hold of them."""
    ends: Facts = {"from": {REAL, *(each.name for each in sources)}, "to": {target.name}}
    return ends, tuple(rule for rule in spec.rules if _may_hold(rule, ends))


_numbers: dict[Hashable, int] = {}  # what rules say -> a number, which is compared at once


def _attributes(spec: Spec, given: Words) -> Facts:
    """Return the words that hold of each attribute: its value, that it is left out, or that its
    value is none of those listed.
    """
    force, found = dict(spec.in_force(given)), dict[str, Set[Value]]()
    for attribute in spec.attributes:
        value = str(force.get(attribute.name, ""))
        words = {value} if value in ("", *map(str, attribute.values)) else {value, OTHER}
        found[attribute.name] = words | {DEFAULT} if (attribute.name, DEFAULT) in given else words
    return found


def _deciding(rules: tuple[Rule, ...], possible: Iterable[Rule], facts: Facts) -> tuple[Rule, ...]:
    """Return the possible rules whose condition holds, and those by which one of them decides."""
    found = {rule.name for rule in possible if _may_hold(rule, facts)}
    names: set[str] = set()
    while found - names:
        names |= found
        known = [rule for rule in rules if rule.name in names]
        found = {outcome.argument for outcome in _outcomes(known) if outcome.word == BY}
    return tuple(rule for rule in rules if rule.name in names)


def _may_hold(rule: Rule, facts: Facts) -> bool:
    held = all(allowed & facts[key] for key, allowed in rule.when if key in facts)
    return held and bool(_columns(rule, facts))


def _outcomes(rules: Iterable[Rule]) -> Iterator[Outcome]:
    cells = (cell for rule in rules for row in rule.rows for cell in row.cells)
    return (outcome for cell in cells for outcome in cell.outcomes)


def _columns(rule: Rule, facts: Facts) -> Sequence[int]:
    """Return the columns of a rule that may be the one."""
    found: Sequence[int] = range(len(rule.columns[0][1]) if rule.columns else 1)
    for key, values in rule.columns:
        found = [n for n in found if key not in facts or values[n] in facts[key]]
    return found


def _bare(rule: Rule, facts: Facts) -> Hashable:
    """Return a rule without its place and what it rests on, and without what it says of others."""
    when = tuple((key, allowed & facts.get(key, allowed)) for key, allowed in rule.when)
    here = _columns(rule, facts)
    columns = tuple((key, tuple(values[n] for n in here)) for key, values in rule.columns)
    rows = tuple(
        (row.label, tuple(tuple(map(_bare_outcome, row.cells[n].outcomes)) for n in here))
        for row in rule.rows
        if not row.label.startswith(THROUGH)
    )
    return rule.name, when, rule.same_type, _rounding(rule.rounding, facts), columns, rows


def _bare_outcome(outcome: Outcome) -> Hashable:
    return outcome.word, outcome.argument, outcome.round


def _rounding(rounding: Rounding, facts: Facts) -> Hashable:
    """Return how a rule rounds: of a mode that an attribute chooses, those of its values."""
    if rounding.by not in facts:
        return rounding
    modes = ((value, mode) for value, mode in rounding.modes if value in facts[rounding.by])
    return rounding.mode, tuple(modes)
