"""specs/causes/*.yaml -> Causes: wrong conversions as edits of what a spec says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from convcheck.errors import Place
from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.rules.call_edits import BODIES, CallEdit, read_call_edit
from convcheck.rules.cause_files import CauseFile
from convcheck.rules.chain_edits import ChainEdit, read_chain_edit
from convcheck.rules.context import Context
from convcheck.rules.hop import Hop, Through, code_width, read_hop
from convcheck.rules.model import Case, Cite, DType, Rule, Value
from convcheck.rules.rule import read_condition, read_rule_of, rule_of_all
from convcheck.rules.source import Node, parse_yaml, read_all
from convcheck.rules.types import Types

_KEYS = (
    "name", "says", "each", "when", "through", "round", "under", "table", "rounds", "version",
    "chain", *BODIES,
)  # fmt: skip
MOST_INSTANCES = 1000
When = tuple[tuple[str, frozenset[Value]], ...]


@dataclass(frozen=True, eq=False)
class Cause:
    """A wrong conversion: what it does otherwise than a spec says. Each part is an edit; where it
    has several, all of them are made. It equals itself alone.
    """

    name: str
    #: A plain sentence without its subject: 'rounds twice, through float32'.
    says: str
    #: What it is applied to: as the condition of a rule.
    when: When
    #: What is tried before all rules: its own table, and the types that x goes through.
    rules: tuple[Rule, ...]
    #: The rounding mode in the place of each that a rule has, '' for none.
    rounds: str
    #: Attribute -> the value that is in force whatever is given.
    under: tuple[tuple[str, str], ...]
    place: Place
    #: What it does otherwise with whole calls, None for a wrong conversion of values.
    call: CallEdit | None = None
    #: What it makes of a chain of casts, None where it is no optimiser's doing.
    chain: ChainEdit | None = None
    #: The earlier version of the operator whose rules are in force, '' for the one asked.
    version: str = ""

    def applies_to(self, case: Case) -> bool:
        """Return whether it may be the cause of what is wrong with the values of a case."""
        return self.call is None and self.converts(case.inputs[0], case.outputs[0])

    def is_for(self, source: DType, target: DType) -> bool:
        """Return whether its condition holds of two types: those between which values are
        converted; of what edits whole calls, those of an input and of an output.
        """
        facts = {"from": source.name, "to": target.name}
        return all(facts[key] in allowed for key, allowed in self.when)

    def converts(self, source: DType, target: DType) -> bool:
        """Return whether it may be what is wrong with a conversion of values. What edits whole
        calls is for the types of a call: the conversions in it may be of others.
        """
        if self.chain or not (self.call or self.is_for(source, target)):
            return False
        hops = hops_of(self.rules)
        return len(hops) != 1 or not _is_idle(
            hops[0], source, target, last=bool(hops_of(self.rules[-1:]))
        )


def read_causes(files: Sequence[CauseFile], types: Types) -> tuple[Cause, ...]:
    """Return the causes of files, in order.

    Raises SpecError, with file and line, for every one that cannot be read.
    """
    nodes = read_all(_entries, files)
    entries = [entry for found in nodes for entry in found]
    causes = read_all(lambda entry: _cause(entry, types), entries)
    _check_names(entries, causes)
    return causes


def hops_of(rules: Sequence[Rule]) -> list[Hop]:
    """Return what x goes through by rules."""
    outcomes = (o for rule in rules for row in rule.rows for c in row.cells for o in c.outcomes)
    return [outcome.hop for outcome in outcomes if isinstance(outcome, Through)]


def _is_idle(hop: Hop, source: DType, target: DType, *, last: bool) -> bool:
    """Return whether going through a type is the conversion itself, changes nothing, or has no
    meaning: a code is none of a type of another width.
    """
    if isinstance(hop.type, str):
        return False
    fmt = hop.type.format
    if hop.by_code:
        return source.name == hop.type.name or code_width(source.format) != code_width(fmt)
    if hop.type.name == target.name:
        return last
    read_otherwise = hop.subnormals or hop.no_specials
    clamps_infinities = isinstance(fmt, Float) and hop.beyond == "clamp"
    return hop.type.name == source.name and not (clamps_infinities or read_otherwise)


def _entries(file: CauseFile) -> list[Node]:
    """Return the entries of a file, one for each choice of what stands in braces."""
    node = parse_yaml(file.text, file.name)
    node.only("causes")
    return [one for entry in node.listed("causes") for one in _instances(entry)]


def _instances(entry: Node) -> Iterator[Node]:
    """Yield an entry once for each combination of the values of `each`. Raises SpecError where
    these are too many.
    """
    each = entry.get("each")
    lists = {name: values.elements() for name, values in each.items().items()} if each else {}
    if prod(map(len, lists.values())) > MOST_INSTANCES:
        said = f"the values make more than {MOST_INSTANCES:,} causes of one entry"
        raise entry.need("each").error(said, "give each of them fewer values")
    bare = replace(entry, value={k: v for k, v in entry.items().items() if k != "each"})
    for values in product(*lists.values()):
        yield _filled(bare, dict(zip(lists, (v.text() for v in values), strict=True)))


def _filled(node: Node, values: Mapping[str, str]) -> Node:
    """Return a node with `{NAME}` replaced by the value of that name, in words and in keys."""

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    if isinstance(node.value, str):
        return replace(node, value=fill(node.value))
    if isinstance(node.value, list):
        return replace(node, value=[_filled(each, values) for each in node.value])
    return replace(node, value={fill(k): _filled(v, values) for k, v in node.value.items()})


def _check_names(entries: Sequence[Node], causes: Sequence[Cause]) -> None:
    seen: set[str] = set()
    for entry, cause in zip(entries, causes, strict=True):
        if cause.name in seen:
            raise entry.error(f"two causes are named {cause.name!r}", "name each otherwise")
        seen.add(cause.name)


def _cause(node: Node, types: Types) -> Cause:
    node.only(*_KEYS)
    context = Context(types, {}, {}, {}, {})
    name, says = node.need("name").text(), node.need("says", "what it does, in plain words").text()
    when = node.get("when")
    hop, rounds, under = node.get("through"), node.get("rounds"), node.get("under")
    call, chain = read_call_edit(node, types), read_chain_edit(node, types)
    version = node.get("version")
    parts = hop, rounds, under, version, node.get("table"), call, chain
    if all(part is None for part in parts):
        hint = "through, rounds, under, version, a table, chain, or " + ", ".join(BODIES)
        raise node.error("nothing differs from the rules", hint)
    cite = Cite(says, "text", node.place)
    return Cause(
        name,
        says,
        read_condition(when, context)[0] if when else (),
        tuple(_rules(node, name, context, cite)),
        rounds.word(tuple(MODES), "rounding mode") if rounds else "",
        tuple((k, v.text()) for k, v in under.items().items()) if under else (),
        node.place,
        call,
        chain,
        version.text() if version else "",
    )


def _rules(node: Node, name: str, context: Context, cite: Cite) -> Iterator[Rule]:
    """Yield the rule of a cause's table, and those by which x goes through types, in the order in
    which they stand.
    """
    for key in node.items():
        if key == "table":
            entries = {k: v for k, v in node.items().items() if k in ("name", "table", "round")}
            table = replace(node, value={**entries, "when": replace(node, value={})})
            yield read_rule_of(table, context, "undefined", cite)
        elif key == "through":
            for number, hop in enumerate(node.listed("through"), start=1):
                outcome = Through("through", hop=read_hop(hop, context.types))
                yield rule_of_all(f"{name} / through {number}", outcome, cite, hop.place)
