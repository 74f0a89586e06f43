"""Nodes -> edits of what a spec says of whole calls: of its formula, its steps or its matrix.

    formula:
      names: [start, stop, step]       # of the inputs, in their order, for the expressions below
      arguments: [{of: TYPES, through: HOP}]   # what an argument of these types goes through first
      length:  {in: float32, is: EXPRESSION}   # computed in that type, by that expression
      element: {in: float32, by: recurrence}
      cast: [HOP]                      # what an element goes through before the output's type
      beyond: wrap                     # what becomes of one that the output's type cannot hold
      by-zero: dies                    # a division by zero ends the process
      refuses: {is: EXPRESSION}        # a call for which that is above 0 is refused
    steps:
      names: [data, scale, shift, moved, emulated, output]  # those of the specs that it is for:
                                       # their inputs, their lines and then the attributes that
                                       # these compute with, in their order
      lines: {moved: {be: EXPRESSION, without: EXPRESSION, through: [HOP],
                      branches: [{if: CONDITION, be: EXPRESSION}]}}
      only: unpaired                   # the lines are edited for some elements alone
      inputs: {scale: [HOP]}           # what an input goes through first
      meets: first                     # what element of a scale an element of the data meets;
                                       # {INPUT: first}: of that input alone
      refuses: unequal-types           # a question whose first two inputs have different types
      in: float32                      # every operation is rounded to that type
      once: [moved]                    # the line is rounded as a whole
      narrow: [moved]                  # its result is rounded to the type of the data
      cast: float16                    # the output goes through that type
      rounds: toward-zero              # what is rounded to the type of the data is by that mode
    matrix:
      cells: [{of: [TYPES, TYPES], ranks: [scalar, dimensioned], gives: WORD}]
      flushes: with-zeros              # in an output with a subnormal number, it and zeros are +0

What an edit leaves out is as the spec has it; cells are of two types that differ. In integer types
sums wrap round, and division drops the rest. `gives` is a type, a word for one (`first`, `wider`,
…), `refused` or `accepted`; with `!` behind it, it is refused unless the attributes allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.rules.body.formula import EXACT, OUTPUT, PRODUCT, RECURRENCE
from convcheck.rules.body.matrix import RANKS
from convcheck.rules.body.steps import Branch, read_branch
from convcheck.rules.expression import Expression, conversions_in, parse_expression
from convcheck.rules.hop import BEYOND, Hop, read_hop
from convcheck.rules.model import DType
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import plural

BODIES = ("formula", "steps", "matrix")
INDEX, LAST = "i", "last"
TYPES_AS = (
    "first", "second", "wider", "narrower", "one-wider", "one-narrower", "other-sign",
)  # fmt: skip
REFUSED, ACCEPTED = "refused", "accepted"
UNEQUAL = "unequal-types"
UNPAIRED = "unpaired"
# the first element; the one before; along the last axis; axis 1; the axis before a negative one;
# elements of blocks in turns; no last part of a block; blocks of equal sizes; blocks of a vector
# for an element each, and 0 behind the last one
MEETINGS = ("first", "next", "in-memory", "axis-1", "axis-before", "interleaved", "whole-blocks",
            "even-blocks", "no-blocks")  # fmt: skip
WITH_ZEROS = "with-zeros"
OPEN = "!"  # refused unless the attributes allow it


@dataclass(frozen=True, eq=False)
class WayEdit:
    """How a length or the elements are computed; what is None is as the spec has it."""

    #: Over the names of the edit.
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

    #: Of the inputs, in order; () where no expression is.
    names: tuple[str, ...]
    #: Types of an argument -> what it goes through.
    arguments: tuple[tuple[frozenset[str], Hop], ...]
    #: How the length is computed, None as the spec has it.
    length: WayEdit | None
    #: How the elements are.
    element: WayEdit | None
    #: What an element goes through before the output's type.
    cast: tuple[Hop, ...]
    #: What becomes of an element that the output's type cannot hold; '' where the edit says
    #: nothing of such a call.
    beyond: str
    #: Whether a division by zero ends the process.
    deadly: bool
    #: What is above 0 for calls that are refused, computed as a length is; None for none.
    refuses: WayEdit | None


@dataclass(frozen=True)
class LineEdit:
    """Another expression of a line; None for that of the spec."""

    #: Over the names of the edit.
    be: Expression | None
    #: Where an input is left out.
    otherwise: Expression | None
    #: What its result goes through.
    through: tuple[Hop, ...] = ()
    #: The float types that the expressions convert to.
    conversions: tuple[DType, ...] = ()
    #: In the place of those of the spec, where there is an expression.
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, eq=False)
class StepsEdit:
    """Another way to compute steps."""

    #: The body of the specs that it edits.
    body: ClassVar[str] = "steps"

    #: The inputs and lines of the specs that it is for, in order; () for any spec.
    names: tuple[str, ...]
    #: Name -> the edit of its line.
    lines: tuple[tuple[str, LineEdit], ...]
    #: The type that every operation is rounded to.
    within: DType | None
    #: Lines whose expression is rounded once, as a whole; None as the spec has it.
    once: tuple[str, ...] | None
    #: Lines whose result is rounded to the type of the first input.
    narrow: tuple[str, ...] | None
    #: The mode by which results are rounded to the type of the first input, '' for that of the
    #: spec.
    rounds: str
    #: A type that the output goes through on its way to that of the first input.
    cast: DType | None
    #: Which questions are refused: '' or UNEQUAL.
    refuses: str = ""
    #: Of which elements lines are edited: '' for all, or UNPAIRED for those whose byte has no room
    #: for more, or holds elements that meet another one of the second input, or none.
    only: str = ""
    #: Input -> what it goes through first.
    inputs: tuple[tuple[str, tuple[Hop, ...]], ...] = ()
    #: What the first input meets of tensors of several elements, one of MEETINGS; '' for what the
    #: spec says.
    meets: str = ""
    #: The input of which that is a mistake alone, '' for all of them.
    meeting: str = ""


@dataclass(frozen=True)
class CellEdit:
    """Another answer for pairs of types."""

    #: The types of the one and of the other input.
    of: tuple[frozenset[str], frozenset[str]]
    #: What kind of rank the one and the other have; () for any, in either order.
    ranks: tuple[str, ...]
    #: A type's name, or a word for one; '' for that of the spec.
    gives: str
    #: Whether it is refused where the attributes do not allow it; None as the spec has it.
    guarded: bool | None
    #: Whether it is refused where they do.
    free: bool


@dataclass(frozen=True, eq=False)
class MatrixEdit:
    """Other answers of a matrix."""

    #: The body of the specs that it edits.
    body: ClassVar[str] = "matrix"

    #: The first that has a pair rules it.
    cells: tuple[CellEdit, ...]
    #: Whether an output that has a subnormal number has +0 in its place, and in that of zeros.
    flushes: bool = False


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
    node.only("names", "arguments", "length", "element", "cast", "beyond", "by-zero", "refuses")
    names = _names(node)
    length, element, beyond = node.get("length"), node.get("element"), node.get("beyond")
    refuses = node.get("refuses")
    return FormulaEdit(
        names,
        tuple(_argument(entry, types) for entry in node.listed("arguments")),
        _way(length, names, types) if length else None,
        _way(element, (*names, INDEX, LAST), types) if element else None,
        tuple(read_hop(entry, types) for entry in node.listed("cast")),
        beyond.word(BEYOND, "word") if beyond else "",
        (zero := node.get("by-zero")) is not None and bool(zero.word(("dies",), "word")),
        _way(refuses, names, types) if refuses else None,
    )


def _names(node: Node) -> tuple[str, ...]:
    return tuple(entry.text() for entry in node.listed("names"))


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
    node.only("names", "lines", "only", "in", "once", "narrow", "rounds", "cast", "refuses",
              "inputs", "meets")  # fmt: skip
    refuses, only = node.get("refuses"), node.get("only")
    inputs, meets = node.get("inputs"), node.get("meets")
    names, within, lines = _names(node), node.get("in"), node.get("lines")
    for part in (lines, inputs):
        if part:
            part.only(*names)
    return StepsEdit(
        names,
        tuple((k, _line(v, names, types)) for k, v in lines.items().items()) if lines else (),
        types.types[within.word(tuple(types.types), "type")] if within else None,
        _lines(node, "once", names),
        _lines(node, "narrow", names),
        rounds.word(tuple(MODES), "rounding mode") if (rounds := node.get("rounds")) else "",
        types.types[cast.word(tuple(types.types), "type")] if (cast := node.get("cast")) else None,
        refuses.word((UNEQUAL,), "word") if refuses else "",
        only.word((UNPAIRED,), "word") if only else "",
        tuple((name, _hops(hops, types)) for name, hops in inputs.items().items())
        if inputs else (),
        *(_meeting(meets, names) if meets else ("", "")),
    )  # fmt: skip


def _meeting(node: Node, names: Sequence[str]) -> tuple[str, str]:
    """Return what is met by mistake, and of which input alone; '' for all."""
    if isinstance(node.value, str):
        return node.word(MEETINGS, "word"), ""
    node.only(*names)
    if len(node.items()) != 1:
        raise node.error("not one input", "meets: WORD of all, or meets: {INPUT: WORD}")
    [(name, word)] = node.items().items()
    return word.word(MEETINGS, "word"), name


def _hops(node: Node, types: Types) -> tuple[Hop, ...]:
    return tuple(read_hop(entry, types) for entry in node.elements())


def _line(node: Node, names: Sequence[str], types: Types) -> LineEdit:
    node.only("be", "without", "through", "branches")
    hops = tuple(read_hop(entry, types) for entry in node.listed("through"))
    floats = [name for name, dtype in types.types.items() if isinstance(dtype.format, Float)]
    be, without = (
        parse_expression(part, names, floats) if (part := node.get(key)) else None
        for key in ("be", "without")
    )
    if be is None and without is None and not hops:
        raise node.error("nothing differs from the rules", "be: EXPRESSION, or through: TYPE")
    converted = {name for part in (be, without) if part for name in conversions_in(part)}
    branches = tuple(read_branch(entry, names) for entry in node.listed("branches"))
    if branches and be is None:
        raise node.error("`branches` without what is after them", "be: EXPRESSION")
    known = tuple(types.types[name] for name in sorted(converted))
    return LineEdit(be, without, hops, known, branches)


def _lines(node: Node, key: str, names: Sequence[str]) -> tuple[str, ...] | None:
    found = node.get(key)
    return tuple(e.word(tuple(names), "line") for e in found.elements()) if found else None


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
    gives = node.need("gives", "a type, `first`, `wider`, … , `refused` or `accepted`")
    text = gives.text()
    word = text.removesuffix(OPEN)
    if word not in (REFUSED, ACCEPTED, *TYPES_AS, *types.types):
        known = (*TYPES_AS, REFUSED, ACCEPTED)
        raise gives.error(f"unknown answer {text!r}", f"a type, or {', '.join(known)}")
    refused = word == REFUSED
    return CellEdit(
        (frozenset(types.names(of[0])), frozenset(types.names(of[1]))),
        tuple(e.word(RANKS, "kind of rank") for e in ranks),
        "" if word in (REFUSED, ACCEPTED) else word,
        True if refused or text.endswith(OPEN) else False if word == ACCEPTED else None,
        refused and not text.endswith(OPEN),
    )


_READERS: Mapping[str, Callable[[Node, Types], CallEdit]] = {
    "formula": _formula,
    "steps": _steps,
    "matrix": _matrix,
}
