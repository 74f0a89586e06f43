"""Nodes -> edits of what a spec says of whole calls: of its formula, its steps or its matrix.

    formula:                           # the inputs are start, stop and step, in this order
      arguments: [{of: TYPES, through: HOP}]   # what an argument of these types goes through first
      length:  {in: float32, is: EXPRESSION}   # computed in that type, by that expression
      element: {in: float32, by: recurrence, is: EXPRESSION}
    steps:                             # inputs, lines and attributes go by the spec's own names
      lines: {moved: {be: EXPRESSION, without: EXPRESSION, through: [HOP],
                      branches: [{if: CONDITION, be: EXPRESSION}]}}
      only: unpaired                   # the lines are edited for some elements alone
      inputs: {scale: [HOP]}           # what an input goes through first
      meets: first                     # what element of a scale an element of the data meets;
                                       # {INPUT: first}: of that input alone
      refuses: [x, y_scale]            # a question in which these have different types
      in: float32                      # every operation is rounded to that type
      narrow: [moved]                  # its result is rounded to the type of the data
      rounds: toward-zero              # what is rounded to the type of the data is by that mode
    matrix:
      cells: [{of: [TYPES, TYPES], ranks: [scalar, dimensioned], gives: TYPE}]
      flushes: with-zeros              # in an output with a subnormal number, it and zeros are +0

What an edit leaves out is as the spec has it. Cells are of two types that differ, and give a type,
a word for one (`first`, `wider`, …), `refused!` (unless the attributes allow it) or `accepted`. In
integer types sums wrap round, and division drops the rest and ends the process if it is by zero; a
negative length is a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.rules.body.formula import EXACT, INDEX, LAST, OUTPUT, PRODUCT, RECURRENCE
from convcheck.rules.body.matrix import RANKS
from convcheck.rules.body.steps import Branch, read_branch
from convcheck.rules.expression import Expression, conversions_in, parse_expression
from convcheck.rules.hop import Hop, read_hop
from convcheck.rules.model import DType
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import plural

BODIES = ("formula", "steps", "matrix")
ARGUMENTS = ("start", "stop", "step")
FIRST, WIDER, ONE_WIDER, ONE_NARROWER, OTHER_SIGN = TYPES_AS = (
    "first", "wider", "one-wider", "one-narrower", "other-sign",
)  # fmt: skip
REFUSED, ACCEPTED = "refused!", "accepted"
UNPAIRED = "unpaired"
MEETINGS = (  # see convcheck.semantics.body.meetings
    "first", "next", "in-memory", "axis-1", "axis-before", "interleaved", "whole-blocks",
    "even-blocks", "no-blocks",
)  # fmt: skip
WITH_ZEROS = "with-zeros"


@dataclass(frozen=True, eq=False)
class WayEdit:
    """How a length or the elements are computed; what is None is as the spec has it."""

    #: Over ARGUMENTS, of an element INDEX and LAST besides.
    expression: Expression | None
    #: The type in which it is computed, 'exact' or 'output'.
    arithmetic: DType | str | None
    #: Whether each element is made of the last one.
    running: bool | None
    #: The types that the expression converts to.
    conversions: tuple[DType, ...]


@dataclass(frozen=True, eq=False)
class FormulaEdit:
    """Another way to compute a sequence."""

    #: The body of the specs that it edits.
    body: ClassVar[str] = "formula"

    #: Types of an argument -> what it goes through.
    arguments: tuple[tuple[frozenset[str], Hop], ...]
    #: How the length is computed, None as the spec has it.
    length: WayEdit | None
    #: How the elements are.
    element: WayEdit | None


@dataclass(frozen=True)
class LineEdit:
    """Another expression of a line; None for that of the spec."""

    be: Expression | None
    #: Where an input is left out.
    otherwise: Expression | None
    #: What its result goes through.
    through: tuple[Hop, ...]
    #: The float types that the expressions convert to.
    conversions: tuple[DType, ...]
    #: In the place of those of the spec, where there is an expression.
    branches: tuple[Branch, ...]


@dataclass(frozen=True, eq=False)
class StepsEdit:
    """Another way to compute steps."""

    #: The body of the specs that it edits.
    body: ClassVar[str] = "steps"

    #: Name -> the edit of its line.
    lines: tuple[tuple[str, LineEdit], ...]
    #: The type that every operation is rounded to.
    within: DType | None
    #: Lines whose result is rounded to the type of the first input; None as the spec has it.
    narrow: tuple[str, ...] | None
    #: The mode by which results are rounded to the type of the first input, '' for that of the
    #: spec.
    rounds: str
    #: The inputs that have to be of one type: other questions are refused.
    equal: tuple[str, ...]
    #: Whether lines are edited only for elements whose byte has no room for more, or holds elements
    #: that meet another one of the second input, or none.
    unpaired: bool
    #: Input -> what it goes through first.
    inputs: tuple[tuple[str, tuple[Hop, ...]], ...]
    #: What the first input meets of tensors of several elements, one of MEETINGS; '' for what the
    #: spec says.
    meets: str
    #: The input of which that is a mistake alone, '' for all of them.
    meeting: str


@dataclass(frozen=True)
class CellEdit:
    """Another answer for pairs of types."""

    #: The types of the one and of the other input.
    of: tuple[frozenset[str], frozenset[str]]
    #: What kind of rank the one and the other have; () for any, in either order.
    ranks: tuple[str, ...]
    #: The common type, or one of TYPES_AS; '' for that of the spec.
    gives: str
    #: Whether it is refused where the attributes do not allow it; None as the spec has it.
    guarded: bool | None


@dataclass(frozen=True, eq=False)
class MatrixEdit:
    """Other answers of a matrix."""

    #: The body of the specs that it edits.
    body: ClassVar[str] = "matrix"

    #: The first that has a pair rules it.
    cells: tuple[CellEdit, ...]
    #: Whether an output that has a subnormal number has +0 in its place, and in that of zeros.
    flushes: bool


CallEdit = FormulaEdit | StepsEdit | MatrixEdit


def read_call_edit(node: Node, types: Types) -> CallEdit | None:
    """Return the edit of whole calls of a cause's node, None where it has none.

    Raises SpecError with file and line.
    """
    found = [key for key in BODIES if node.get(key)]
    if len(found) > 1:
        raise node.need(found[1]).error(f"there is already a {found[0]} here", "a cause each")
    if not found:
        return None
    return _READERS[found[0]](node.need(found[0]), types)


def _formula(node: Node, types: Types) -> FormulaEdit:
    node.only("arguments", "length", "element")
    length, element = node.get("length"), node.get("element")
    return FormulaEdit(
        tuple(_argument(entry, types) for entry in node.listed("arguments")),
        _way(length, ARGUMENTS, types) if length else None,
        _way(element, (*ARGUMENTS, INDEX, LAST), types) if element else None,
    )


def _argument(node: Node, types: Types) -> tuple[frozenset[str], Hop]:
    node.only("of", "through")
    through = read_hop(node.need("through", "through: float32"), types)
    return frozenset(types.names(node.need("of", "of: [int64, uint64]"))), through


def _way(node: Node, names: Sequence[str], types: Types) -> WayEdit:
    node.only("in", "by", "is")
    within, by, said = node.get("in"), node.get("by"), node.get("is")
    if within is None and by is None and said is None:
        raise node.error("nothing differs from the rules", "in: float32, by: recurrence, is: …")
    expression = parse_expression(said, names, types.types) if said else None
    word = within.word((EXACT, OUTPUT, *types.types), "arithmetic") if within else None
    converted = sorted(conversions_in(expression)) if expression else ()
    return WayEdit(
        expression,
        types.types.get(word, word) if word else None,
        by.word((PRODUCT, RECURRENCE), "form") == RECURRENCE if by else None,
        tuple(types.types[name] for name in converted),
    )


def _steps(node: Node, types: Types) -> StepsEdit:
    node.only("lines", "only", "in", "narrow", "rounds", "refuses", "inputs", "meets")
    lines, within, narrow = node.get("lines"), node.get("in"), node.get("narrow")
    rounds, only, inputs = node.get("rounds"), node.get("only"), node.get("inputs")
    return StepsEdit(
        tuple((k, _line(v, types)) for k, v in lines.items().items()) if lines else (),
        types.types[within.word(tuple(types.types), "type")] if within else None,
        tuple(e.text() for e in narrow.elements()) if narrow else None,
        rounds.word(tuple(MODES), "rounding mode") if rounds else "",
        tuple(e.text() for e in node.listed("refuses")),
        only is not None and bool(only.word((UNPAIRED,), "word")),
        tuple((k, _hops(v.elements(), types)) for k, v in inputs.items().items()) if inputs else (),
        *_meeting(node.get("meets")),
    )


def _meeting(node: Node | None) -> tuple[str, str]:
    """Return what is met by mistake, and of which input alone; '' for all."""
    if node is None:
        return "", ""
    if isinstance(node.value, str):
        return node.word(MEETINGS, "word"), ""
    if len(node.items()) != 1:
        raise node.error("not one input", "meets: WORD of all, or meets: {INPUT: WORD}")
    [(name, word)] = node.items().items()
    return word.word(MEETINGS, "word"), name


def _hops(nodes: Sequence[Node], types: Types) -> tuple[Hop, ...]:
    return tuple(read_hop(entry, types) for entry in nodes)


def _line(node: Node, types: Types) -> LineEdit:
    node.only("be", "without", "through", "branches")
    hops = _hops(node.listed("through"), types)
    floats = [name for name, dtype in types.types.items() if isinstance(dtype.format, Float)]
    be, without = (
        parse_expression(part, None, floats) if (part := node.get(key)) else None
        for key in ("be", "without")
    )
    if be is None and without is None and not hops:
        raise node.error("nothing differs from the rules", "be: EXPRESSION, or through: TYPE")
    converted = {name for part in (be, without) if part for name in conversions_in(part)}
    branches = tuple(read_branch(entry, None) for entry in node.listed("branches"))
    if branches and be is None:
        raise node.error("`branches` without what is after them", "be: EXPRESSION")
    known = tuple(types.types[name] for name in sorted(converted))
    return LineEdit(be, without, hops, known, branches)


def _matrix(node: Node, types: Types) -> MatrixEdit:
    node.only("cells", "flushes")
    cells, flushes = node.listed("cells"), node.get("flushes")
    if not cells and flushes is None:
        raise node.error("nothing differs from the rules", "cells: […], or flushes: with-zeros")
    flushed = flushes is not None and bool(flushes.word((WITH_ZEROS,), "word"))
    return MatrixEdit(tuple(_cell(entry, types) for entry in cells), flushed)


def _cell(node: Node, types: Types) -> CellEdit:
    node.only("of", "ranks", "gives")
    of, ranks = node.need("of").elements(), node.listed("ranks")
    if len(of) != 2 or len(ranks) not in (0, 2):
        raise node.error(f"of {plural(len(of), 'type')}", "of: [TYPES, TYPES], ranks alike")
    word = node.need("gives").word((*TYPES_AS, REFUSED, ACCEPTED, *types.types), "answer")
    return CellEdit(
        (frozenset(types.names(of[0])), frozenset(types.names(of[1]))),
        tuple(rank.word(RANKS, "kind of rank") for rank in ranks),
        "" if word in (REFUSED, ACCEPTED) else word,
        word == REFUSED if word in (REFUSED, ACCEPTED) else None,
    )


#: Body -> how its edits are read.
_READERS: Mapping[str, Callable[[Node, Types], CallEdit]] = {
    "formula": _formula,
    "steps": _steps,
    "matrix": _matrix,
}
