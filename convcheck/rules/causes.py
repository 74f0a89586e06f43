"""Read causes: wrong conversions as edits of a spec."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, permutations, product
from math import prod
from typing import Any, ClassVar, NamedTuple

from convcheck.errors import Place
from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.rules.body.formula import EXACT, INDEX, LAST, OUTPUT, PRODUCT, RECURRENCE
from convcheck.rules.body.matrix import RANKS
from convcheck.rules.body.steps import read_branch
from convcheck.rules.expression import Expression, conversions_in, parse_expression
from convcheck.rules.hop import Hop, Through, code_width, read_hop
from convcheck.rules.load import CAUSES, Catalog, data_dir, files_in
from convcheck.rules.model import Case, Cite, DType, Rule, Spec, Value
from convcheck.rules.rule import Context, read_condition, read_rule_of, rule_of_all
from convcheck.rules.source import Node, parse_yaml, read_all, yaml_text
from convcheck.rules.types import Types
from convcheck.streams import meant, plural

BODIES = ("formula", "steps", "matrix")
ARGUMENTS = ("start", "stop", "step")
FIRST, WIDER, ONE_WIDER, ONE_NARROWER, OTHER_SIGN = TYPES_AS = (
    "first", "wider", "one-wider", "one-narrower", "other-sign",
)  # fmt: skip
REFUSED_UNSAFE, ACCEPTED = "refused!", "accepted"
MEETINGS = (  # see convcheck.semantics.body.meetings
    "first", "next", "in-memory", "axis-1", "axis-before", "interleaved", "whole-blocks",
    "even-blocks", "no-blocks",
)  # fmt: skip


Changes = Mapping[str, Any]  # field -> its other value


@dataclass(frozen=True, eq=False)
class FormulaEdit:
    """Another way to compute a sequence."""

    body: ClassVar[str] = "formula"
    arguments: tuple[tuple[frozenset[str], Hop], ...]  # types of an argument -> its hop
    length: Changes  # over ARGUMENTS
    element: Changes  # over INDEX and LAST besides


@dataclass(frozen=True, eq=False)
class StepsEdit:
    """Another way to compute steps."""

    body: ClassVar[str] = "steps"
    lines: Mapping[str, Changes]  # line -> its changes
    reading: Changes  # of each reading
    rounds: str  # the mode to the first input's type, '' for the spec's
    equal: tuple[str, ...]  # inputs whose types have to be equal, else refused
    unpaired: bool  # only elements change that share no byte with one of the same scale
    inputs: Mapping[str, tuple[Hop, ...]]  # input -> its hops
    meets: tuple[str, str] | None  # one of MEETINGS, and the input that it is for, '' for all


@dataclass(frozen=True)
class CellEdit:
    """Another answer for pairs of types."""

    of: tuple[frozenset[str], frozenset[str]]  # of both inputs
    ranks: tuple[str, ...]  # kinds of both inputs in either order, () for any
    gives: str  # a type, one of TYPES_AS, REFUSED_UNSAFE, or ACCEPTED


@dataclass(frozen=True, eq=False)
class MatrixEdit:
    """Other answers of a matrix."""

    body: ClassVar[str] = "matrix"
    cells: tuple[CellEdit, ...]  # the first with a pair decides
    flushes: bool  # an output with a subnormal has +0 in its place and for zeros


CallEdit = FormulaEdit | StepsEdit | MatrixEdit


def read_call_edit(node: Node, types: Types) -> CallEdit | None:
    """Return a cause's edit of whole calls, if any."""
    readers: dict[str, Callable[[Node, Types], CallEdit]]
    readers = {"formula": _formula, "steps": _steps, "matrix": _matrix}
    found = [key for key in BODIES if node.get(key)]
    if len(found) > 1:
        raise node.need(found[1]).error(f"there is already a {found[0]} here", "a cause each")
    return readers[found[0]](node.need(found[0]), types) if found else None


def _formula(node: Node, types: Types) -> FormulaEdit:
    node.only("arguments", "length", "element")
    arguments = []
    for entry in node.listed("arguments"):
        entry.only("of", "through")
        through = read_hop(entry.need("through", "through: float32"), types)
        of = types.names(entry.need("of", "of: [int64, uint64]"))
        arguments.append((frozenset(of), through))
    return FormulaEdit(
        tuple(arguments),
        node.read("length", lambda way: _way(way, ARGUMENTS, types), {}),
        node.read("element", lambda way: _way(way, (*ARGUMENTS, INDEX, LAST), types), {}),
    )


def _way(node: Node, names: Sequence[str], types: Types) -> Changes:
    node.only("in", "by", "is")
    changes: dict[str, Any] = {}
    if within := node.get("in"):
        word = within.word((EXACT, OUTPUT, *types.types), "arithmetic")
        changes |= {"arithmetic": types.types.get(word, word), "converted": False}
    if by := node.get("by"):
        changes["running"] = by.word((PRODUCT, RECURRENCE), "form") == RECURRENCE
    if said := node.get("is"):
        expression = parse_expression(said, names, types.types)
        changes |= {"expression": expression, "conversions": _converted(types, expression)}
    if not changes:
        raise node.error("nothing differs from the rules", "in: float32, by: recurrence, is: …")
    return changes


def _converted(types: Types, *expressions: Expression) -> tuple[DType, ...]:
    names = {name for one in expressions for name in conversions_in(one)}
    return tuple(types.types[name] for name in sorted(names))


def _steps(node: Node, types: Types) -> StepsEdit:
    node.only("lines", "only", "in", "narrow", "rounds", "refuses", "inputs", "meets")
    reading: dict[str, Any] = {}
    if within := node.get("in"):
        dtype = types.types[within.word(tuple(types.types), "type")]
        reading |= {"fixed": dtype, "exact": False, "by": ""}
    if node.get("narrow"):
        reading["narrow"] = frozenset(node.words("narrow"))
    return StepsEdit(
        {name: _line(line, types) for name, line in node.entries("lines").items()},
        reading,
        node.read("rounds", lambda mode: mode.word(tuple(MODES), "rounding mode"), ""),
        node.words("refuses"),
        node.says("only", "unpaired"),
        {name: _hops(hops.elements(), types) for name, hops in node.entries("inputs").items()},
        node.read("meets", _meeting, None),
    )


def _meeting(node: Node) -> tuple[str, str]:
    if isinstance(node.value, str):
        return node.word(MEETINGS, "word"), ""
    if len(node.items()) != 1:
        raise node.error("not one input", "meets: WORD of all, or meets: {INPUT: WORD}")
    [(name, word)] = node.items().items()
    return word.word(MEETINGS, "word"), name


def _hops(nodes: Sequence[Node], types: Types) -> tuple[Hop, ...]:
    return tuple(read_hop(entry, types) for entry in nodes)


def _line(node: Node, types: Types) -> Changes:
    node.only("be", "without", "through", "branches")
    floats = [name for name, dtype in types.types.items() if isinstance(dtype.format, Float)]
    said = {
        field: parse_expression(part, None, floats)
        for field, key in (("be", "be"), ("otherwise", "without"))
        if (part := node.get(key))
    }
    changes: dict[str, Any] = {**said}
    if node.listed("through"):
        changes["through"] = _hops(node.listed("through"), types)
    if not changes:
        raise node.error("nothing differs from the rules", "be: EXPRESSION, or through: TYPE")
    if "be" in said:
        changes["branches"] = tuple(read_branch(entry, None) for entry in node.listed("branches"))
    elif branches := node.get("branches"):
        raise branches.error("`branches` without what is after them", "be: EXPRESSION")
    if converted := _converted(types, *said.values()):
        changes["conversions"] = converted
    return changes


def _matrix(node: Node, types: Types) -> MatrixEdit:
    node.only("cells", "flushes")
    edit = MatrixEdit(
        tuple(_cell(entry, types) for entry in node.listed("cells")),
        node.says("flushes", "with-zeros"),
    )
    if not (edit.cells or edit.flushes):
        raise node.error("nothing differs from the rules", "cells: […], or flushes: with-zeros")
    return edit


def _cell(node: Node, types: Types) -> CellEdit:
    node.only("of", "ranks", "gives")
    of, ranks = node.need("of").elements(), node.listed("ranks")
    if len(of) != 2 or len(ranks) not in (0, 2):
        raise node.error(f"of {plural(len(of), 'type')}", "of: [TYPES, TYPES], ranks alike")
    return CellEdit(
        (frozenset(types.names(of[0])), frozenset(types.names(of[1]))),
        tuple(rank.word(RANKS, "kind of rank") for rank in ranks),
        node.need("gives").word((*TYPES_AS, REFUSED_UNSAFE, ACCEPTED, *types.types), "answer"),
    )


@dataclass(frozen=True)
class CauseFile:
    """A file of causes."""

    name: str
    text: str
    own: bool = False  # the user's


def cause_files(catalog: Catalog) -> tuple[CauseFile, ...]:
    """Return built-in causes' files, then a catalog's."""
    built_in, files = data_dir("specs") / CAUSES, files_in(catalog, CAUSES)
    texts = read_all(lambda each: yaml_text(*each), files)
    return tuple(
        CauseFile(name, text, path.parent != built_in)
        for (path, name), text in zip(files, texts, strict=True)
    )


def has_own_causes(catalog: Catalog) -> bool:
    """Return whether a catalog's folders have causes."""
    return any((folder / CAUSES).is_dir() for folder in catalog.folders)


WITHOUT, WITH, OF, REORDERED, OWN = "without", "with", "of", "reordered", "own"
Link = str | Hop  # a type, for a cast by the rules; or a hop
Links = tuple[Link, ...]


@dataclass(frozen=True)
class ChainEdit:
    """An edit of a chain's types."""

    word: str  # WITHOUT, WITH, OF, REORDERED or OWN
    types: tuple[str, ...] = ()  # to remove, to insert, or to hold in another way
    through: Hop | None = None

    def edited(self, types: Sequence[Link]) -> Iterator[Links]:
        """Yield edited chains, given the types from source to destination."""
        if self.word == OWN:  # the types stay
            return
        source, *middles, target = types
        last = len(types) - 1
        if hop := self.through:
            for i, name in enumerate(types):
                same = isinstance(hop.type, DType) and hop.type.name == name
                if i and name in self.types and (same or i < last):
                    yield (*types[:i], hop, *types[i + 1 :])
        elif self.word == WITH:
            [added] = self.types
            for i in range(last):
                if added not in types[i : i + 2]:
                    yield (*types[: i + 1], added, *types[i + 1 :])
        elif self.word == REORDERED:
            for order in dict.fromkeys(permutations(middles)):
                if order != tuple(middles):
                    yield source, *order, target
        else:
            listed = [i for i, name in enumerate(middles) if name in self.types]
            for count in range(1, len(listed) + 1):
                for gone in combinations(listed, count):
                    kept = (name for i, name in enumerate(middles) if i not in gone)
                    yield source, *kept, target


def read_chain_edit(node: Node, types: Types) -> ChainEdit | None:
    """Return a cause's chain edit, if any."""
    found = node.get("chain")
    if found is None:
        return None
    if isinstance(found.value, str):
        return ChainEdit(found.word((REORDERED, OWN), "word"))
    if found.get(OF):
        found.only(OF, "through")
        named, hop = found.need(OF), read_hop(found.need("through"), types)
        if not isinstance(hop.type, DType):
            raise found.need("through").error("a chain goes through types", "through: int32")
        return ChainEdit(OF, (named.word(tuple(types.types), "type"),), hop)
    found.only(WITHOUT, WITH)
    if len(found.items()) != 1:
        raise found.error("a chain is edited in one way", f"{WITHOUT}, {WITH} or {OF}")
    [(word, name)] = found.items().items()
    if word == WITHOUT:
        return ChainEdit(WITHOUT, types.names(name))
    return ChainEdit(word, (name.word(tuple(types.types), "type"),))


_EDITS = ("through", "table", "rounds", "under", "version", "chain", *BODIES)
_KEYS = ("name", "says", "each", "of", "when", "round", *_EDITS)
MOST_INSTANCES = 1000
TOGETHER = 2  # causes combined
When = tuple[tuple[str, frozenset[Value]], ...]


class Find(NamedTuple):
    """An observation of a cause, or of two together."""

    where: str  # a runtime's release, or a report
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Cause:
    """A wrong conversion: a set of edits of a spec."""

    name: str
    says: str  # a predicate: 'rounds twice, through float32'
    when: When  # the types it applies to
    rules: tuple[Rule, ...]  # before all other rules
    rounds: str  # replaces rounding modes, '' for none
    under: tuple[tuple[str, str], ...]  # attribute -> another value
    place: Place
    call: CallEdit | None = None  # None for values
    chain: ChainEdit | None = None  # None for values
    version: str = ""  # an earlier version whose rules apply, or ''
    of: str = ""  # the operator of its whole calls, '' for all
    found_in: tuple[str, ...] = ()  # releases and reports
    common: bool = False  # observed alone, or the user's
    found_with: tuple[str, ...] = ()  # later causes observed with it

    @property
    def of_operator(self) -> bool:
        """Whether it affects the operator, not values."""
        return bool(self.call or self.under or self.version)

    def edits(self, spec: Spec) -> bool:
        """Return whether it may apply to a spec of whole calls."""
        return self.of in ("", spec.op) and (not self.call or self.call.body == spec.body.name)

    def applies_to(self, case: Case) -> bool:
        """Return whether it may explain a case's wrong values."""
        return self.call is None and self.converts(case.inputs[0], case.outputs[0])

    def is_for(self, source: DType, target: DType) -> bool:
        """Return whether its condition allows two types."""
        facts = {"from": source.name, "to": target.name}
        return all(facts[key] in allowed for key, allowed in self.when)

    def converts(self, source: DType, target: DType) -> bool:
        """Return whether it may explain a wrong conversion."""
        if self.chain or not (self.call or self.is_for(source, target)):
            return False
        if len(self.hops) != 1:
            return True
        return not _is_idle(self.hops[0], source, target, last=bool(_hops_of(self.rules[-1:])))

    @cached_property
    def hops(self) -> list[Hop]:
        """The hops of x."""
        return _hops_of(self.rules)


def found_together(causes: Sequence[Cause]) -> list[tuple[Cause, Cause]]:
    """Return the pairs of causes observed together."""
    known = {cause.name: cause for cause in causes}
    pairs = [(one, known.get(name)) for one in causes for name in one.found_with]
    return [(one, other) for one, other in pairs if other]


def read_causes(files: Sequence[CauseFile], types: Types) -> tuple[Cause, ...]:
    """Return the causes of files, in order."""
    roots = read_all(_root, files)
    nodes = read_all(
        lambda root: [one for entry in root.listed("causes") for one in _instances(entry)], roots
    )
    entries = [entry for some in nodes for entry in some]
    own = [file.own for file, some in zip(files, nodes, strict=True) for _ in some]
    causes = read_all(lambda entry: _cause(entry, types), entries)
    finds: dict[str, list[Find]] = {}
    for entry, cause in zip(entries, causes, strict=True):
        if cause.name in finds:
            raise entry.error(f"two causes are named {cause.name!r}", "name each otherwise")
        finds[cause.name] = []
    for find in chain.from_iterable(read_all(lambda root: _finds(root, finds), roots)):
        for name in find.names:
            finds[name].append(find)
    found = []
    for cause, is_own in zip(causes, own, strict=True):
        mine = finds[cause.name]
        with_others = (find.names for find in mine if find.names[0] == cause.name)
        found.append(replace(
            cause,
            found_in=tuple(dict.fromkeys(find.where for find in mine)),
            common=is_own or any(find.names == (cause.name,) for find in mine),
            found_with=tuple(dict.fromkeys(name for names in with_others for name in names[1:])),
        ))  # fmt: skip
    return tuple(found)


def _hops_of(rules: Sequence[Rule]) -> list[Hop]:
    outcomes = (o for rule in rules for row in rule.rows for c in row.cells for o in c.outcomes)
    return [outcome.hop for outcome in outcomes if isinstance(outcome, Through)]


def _is_idle(hop: Hop, source: DType, target: DType, *, last: bool) -> bool:
    """Return whether a hop is the identity, the conversion itself, or meaningless."""
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


def _root(file: CauseFile) -> Node:
    node = parse_yaml(file.text, file.name)
    node.only("causes", "found-in")
    return node


def _finds(root: Node, known: Collection[str]) -> tuple[Find, ...]:
    found = root.entries("found-in").items()
    named = ((where, node) for where, nodes in found for node in nodes.elements())
    return read_all(lambda one: Find(one[0], _names(one[1], known)), named)


def _names(node: Node, known: Collection[str]) -> tuple[str, ...]:
    nodes = node.elements()
    if not nodes:
        raise node.error("expected a cause, or two together", "leave the empty list out")
    if len(nodes) > TOGETHER:
        raise node.error(f"{len(nodes)} causes together", f"{TOGETHER} at most explain a case")
    for each in nodes:
        if each.text() not in known:
            raise each.error(f"no cause is named {each.text()!r}", meant(each.text(), known))
    return tuple(each.text() for each in nodes)


def _instances(entry: Node) -> Iterator[Node]:
    lists = {name: values.elements() for name, values in entry.entries("each").items()}
    if prod(map(len, lists.values())) > MOST_INSTANCES:
        said = f"the values make more than {MOST_INSTANCES:,} causes of one entry"
        raise entry.need("each").error(said, "give each of them fewer values")
    bare = replace(entry, value={k: v for k, v in entry.items().items() if k != "each"})
    for values in product(*lists.values()):
        yield _filled(bare, dict(zip(lists, (v.text() for v in values), strict=True)))


def _filled(node: Node, values: Mapping[str, str]) -> Node:
    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    if isinstance(node.value, str):
        return replace(node, value=fill(node.value)) if "{" in node.value else node
    if isinstance(node.value, list):
        return replace(node, value=[_filled(each, values) for each in node.value])
    return replace(node, value={fill(k): _filled(v, values) for k, v in node.value.items()})


def _cause(node: Node, types: Types) -> Cause:
    node.only(*_KEYS)
    context = Context(types, {}, {}, {}, {})
    name, says = node.need("name").text(), node.need("says", "what it does, in plain words").text()
    if not any(node.get(key) for key in _EDITS):
        hint = "through, rounds, under, version, a table, chain, or " + ", ".join(BODIES)
        raise node.error("nothing differs from the rules", hint)
    cite = Cite(says, "text", node.place)
    return Cause(
        name,
        says,
        node.read("when", lambda when: read_condition(when, context)[0], ()),
        tuple(_rules(node, name, context, cite)),
        node.read("rounds", lambda mode: mode.word(tuple(MODES), "rounding mode"), ""),
        tuple((name, value.text()) for name, value in node.entries("under").items()),
        node.place,
        read_call_edit(node, types),
        read_chain_edit(node, types),
        node.read("version", Node.text, ""),
        node.read("of", Node.text, ""),
    )


def _rules(node: Node, name: str, context: Context, cite: Cite) -> Iterator[Rule]:
    for key in node.items():
        if key == "table":
            entries = {k: v for k, v in node.items().items() if k in ("name", "table", "round")}
            table = replace(node, value={**entries, "when": replace(node, value={})})
            yield read_rule_of(table, context, "undefined", cite)
        elif key == "through":
            for number, hop in enumerate(node.listed("through"), start=1):
                outcome = Through("through", hop=read_hop(hop, context.types))
                yield rule_of_all(f"{name} / through {number}", outcome, cite, hop.place)
