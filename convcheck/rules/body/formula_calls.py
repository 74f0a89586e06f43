"""Read the calls to test and the examples of a formula.

calls:
  limit: stop                        # the argument that the sequence does not reach
  lists:
    - listed: [[0, 5, 1]]            # tested as they are
      around: [[0, 3, 1]]            # also with the limit one ulp off
    - when: {to: bfloat16}
      listed: [[0, 261, 1]]
    - shape: [1]                     # the arguments are tensors, not scalars
      listed: [[0, 5, 1]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convcheck.errors import Place
from convcheck.rules.context import Context
from convcheck.rules.model import DType, TypeNames
from convcheck.rules.source import Node


@dataclass(frozen=True)
class When:
    """A condition on types. An absent part allows all."""

    #: on the output
    to: TypeNames | None = None
    all: TypeNames | None = None
    any: TypeNames | None = None

    def holds(self, inputs: Sequence[DType], output: DType) -> bool:
        """Return whether the condition allows these types."""
        names = {dtype.name for dtype in inputs}
        return (
            (self.to is None or output.name in self.to)
            and (self.all is None or names <= self.all)
            and (self.any is None or bool(names & self.any))
        )


@dataclass(frozen=True)
class CallList:
    """Arguments of calls, as decimals."""

    when: When
    #: rows of arguments to test as they are
    listed: tuple[tuple[str, ...], ...]
    around: tuple[tuple[str, ...], ...]
    #: () for scalars
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class AskedCalls:
    """The calls to test; `limit` is the argument that the sequence does not reach."""

    limit: str
    lists: tuple[CallList, ...]


@dataclass(frozen=True)
class FormulaExample:
    """An example of the text: inputs and the resulting sequence."""

    inputs: tuple[DType, ...]
    output: DType
    #: the arguments as words
    x: tuple[str, ...]
    #: the elements as words
    gives: tuple[str, ...]
    place: Place


def read_when(node: Node | None, context: Context) -> When:
    """Return a condition on types. Raises SpecError."""
    if node is None:
        return When()
    node.only("to", "all", "any")
    return When(**{k: TypeNames(context.types.names(v)) for k, v in node.items().items()})


def read_asked(node: Node, arguments: Sequence[str], context: Context) -> AskedCalls:
    """Return the calls to test. Raises SpecError."""
    node.only("limit", "lists")
    limit = node.need("limit").word(tuple(arguments), "input")
    lists = node.need("lists").elements()
    return AskedCalls(limit, tuple(_list(e, len(arguments), context) for e in lists))


def read_call_example(node: Node, arguments: Sequence[str], context: Context) -> FormulaExample:
    """Return an example: `{from: [TYPES], to: TYPE, x: [ARGUMENTS], gives: [ELEMENTS]}`."""
    node.only("from", "to", "x", "gives")
    types = context.types
    inputs = [types.names(e)[0] for e in node.need("from").elements()]
    x, gives = (tuple(e.text() for e in node.need(k).elements()) for k in ("x", "gives"))
    if not len(inputs) == len(x) == len(arguments):
        raise node.error(
            "the example has too few or too many arguments", "a type and an x for each"
        )
    output = types.types[types.names(node.need("to"))[0]]
    return FormulaExample(tuple(types.types[n] for n in inputs), output, x, gives, node.place)


def _list(node: Node, count: int, context: Context) -> CallList:
    node.only("when", "shape", "listed", "around")
    listed, around = (_rows(node, key, count) for key in ("listed", "around"))
    shape = tuple(e.integer() for e in node.listed("shape"))
    return CallList(read_when(node.get("when"), context), listed, around, shape)


def _rows(node: Node, key: str, count: int) -> tuple[tuple[str, ...], ...]:
    rows = tuple(tuple(e.text() for e in row.elements()) for row in node.listed(key))
    if any(len(row) != count for row in rows):
        raise node.need(key).error("a call with another number of arguments", f"{count} each")
    return rows
