"""Read causes as edits of whole calls: of a formula, steps or a matrix (docs/specs.md)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.rules.body.formula import EXACT, INDEX, LAST, OUTPUT, PRODUCT, RECURRENCE
from convcheck.rules.body.matrix import RANKS
from convcheck.rules.body.steps import read_branch
from convcheck.rules.expression import Expression, conversions_in, parse_expression
from convcheck.rules.hop import Hop, read_hop
from convcheck.rules.model import DType
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.streams import plural

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
