"""Read `formula` of a spec file: length, elements and readings of a sequence (docs/specs.md)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from convcheck.errors import Place
from convcheck.numerics.format import Text
from convcheck.numerics.modes import MODES
from convcheck.rules.body.matrix import check_layouts, check_numbers, check_one_output, wrong_type
from convcheck.rules.expression import Expression, conversions_in, parse_expression
from convcheck.rules.model import Body, Cite, DType, Level, Spec, TypeNames
from convcheck.rules.rule import Context, read_cite, read_level
from convcheck.rules.source import Node
from convcheck.streams import meant

INDEX, LAST = "i", "last"
EXACT, OUTPUT = "exact", "output"
NOT_SCALAR, NOT_FINITE, MINUS_ZERO = "not scalar", "not finite", "-0"
OVERFLOW, ZERO = "overflow", "zero"
PRODUCT, RECURRENCE = "product", "recurrence"
_ZERO = re.compile(r"(\w+) = 0")
_PLACING = ("before", "after")  # for files that extend another


@dataclass(frozen=True)
class When:
    """A condition on types; an absent part allows all."""

    to: TypeNames | None = None  # on the output
    all: TypeNames | None = None
    any: TypeNames | None = None

    def holds(self, inputs: Sequence[DType], output: DType) -> bool:
        """Return whether it allows these types."""
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
    listed: tuple[tuple[str, ...], ...]  # tested as they are
    around: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...] = ()  # () for scalars


@dataclass(frozen=True)
class AskedCalls:
    """The calls to test. The sequence does not reach the argument `limit`."""

    limit: str
    lists: tuple[CallList, ...]


@dataclass(frozen=True)
class FormulaExample:
    """An example of the text: inputs and sequence."""

    inputs: tuple[DType, ...]
    output: DType
    x: tuple[str, ...]
    gives: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class FormulaWay:
    """A computation of the length or the elements."""

    expression: Expression
    arithmetic: DType | str  # or 'exact', 'output'
    running: bool  # a recurrence, not a product
    converted: bool  # arguments are first converted to the output's type
    conversions: tuple[DType, ...]  # of the expression
    name: str  # '' if other fields describe it
    cite: Cite

    @cached_property
    def _hash(self) -> int:
        return hash((self.expression, self.arithmetic, self.running, self.converted, self.name))

    def __hash__(self) -> int:  # a key of many caches
        return self._hash

    def __str__(self) -> str:
        if self.name:
            return self.name
        said = "exact" if self.arithmetic == EXACT else f"in {self.arithmetic}"
        return f"converted first, {said}" if self.converted else said


@dataclass(frozen=True)
class Undefined:
    """A condition under which any answer is right."""

    name: str
    #: 'not scalar', 'not finite' or '-0' (of any argument), 'overflow' (of an argument into an
    #: integer output, or in any reading), or 'zero' (`argument` in the output's type)
    when: str
    argument: str  # that is zero, else ''
    level: Level
    cite: Cite
    place: Place


@dataclass(frozen=True)
class Interval:
    """The sentence that no element reaches the limit. Rounding adds a reading that ends before."""

    limit: str
    step: str  # whose sign is the direction
    cite: Cite


@dataclass(frozen=True)
class FormulaRule:
    """How some types are computed."""

    name: str
    when: When
    level: Level  # if no element is rounded
    agreed: Level  # if elements are rounded and all readings agree
    cite: Cite  # on the elements
    differing: Cite  # on their difference
    between: bool  # an answer between the readings, widened by one ulp, is tolerated
    readings: tuple[tuple[FormulaWay, FormulaWay], ...]  # (length, element)
    place: Place


@dataclass(frozen=True)
class Formula(Body):
    """A formula body. Expressions use the inputs' names."""

    name = "formula"
    arguments: tuple[str, ...]
    length: Expression
    length_cite: Cite
    element: Expression  # of INDEX
    next: Expression | None  # of LAST, None without a recurrence
    to_float: tuple[str, ...]  # modes, each a reading
    to_integer: str
    convert_cite: Cite
    interval: Interval | None
    undefined: tuple[Undefined, ...]  # the first that holds decides
    rules: tuple[FormulaRule, ...]  # the first for the types decides
    asked: AskedCalls
    examples: tuple[FormulaExample, ...]
    place: Place

    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check for numeric scalars, one output, and calls of numbers."""
        check_layouts(spec, node)
        if at := node.get("rules"):
            raise at.error("a formula does not use these rules", "write them under `formula`")
        check_one_output(spec, node)
        for rule in node.need("formula").listed("rules"):
            if not rule.listed("readings"):
                raise rule.need("readings").error("no readings", "a length and an element at least")
        for layout in spec.layouts:
            for name, dims in layout.shapes:
                if dims:
                    at = node.need("layouts").need(layout.name).need(name)
                    raise at.error("the arguments of a formula are scalars", f"{name}: []")
        for variable, listed in spec.types.items():
            for dtype in listed:
                if isinstance(dtype.format, Text):
                    raise wrong_type(node, variable, dtype, "a formula works on numbers only")
        lists = node.need("formula").need("calls").listed("lists")
        rows = (row for e in lists for key in ("listed", "around") for row in e.listed(key))
        check_numbers((word for row in rows for word in row.elements()), types)


@dataclass(frozen=True)
class _Scope:
    arguments: tuple[str, ...]
    context: Context
    length: Expression
    element: Expression
    next: Expression | None


def read_formula(root: Node, context: Context) -> Formula:
    """Return a formula."""
    node = root.need("formula")
    node.only(
        "length", "length-cite", "element", "next", "convert", "interval", "undefined", "rules",
        "calls",
    )  # fmt: skip
    arguments = tuple(root.need("inputs").items())
    scope = _Scope(
        arguments,
        context,
        parse_expression(node.need("length"), arguments, context.types.types),
        parse_expression(node.need("element"), (*arguments, INDEX)),
        node.read("next", lambda e: parse_expression(e, (*arguments, LAST)), None),
    )
    convert = node.need("convert", "how a value becomes one of another type")
    convert.only("to-float", "to-integer", "cite")
    modes = [e.word(tuple(MODES), "rounding mode") for e in convert.need("to-float").elements()]
    calls = node.need("calls", "arguments worth asking")
    calls.only("limit", "lists")
    return Formula(
        arguments,
        scope.length,
        read_cite(node.need("length-cite", "the sentence on the length"), context),
        scope.element,
        scope.next,
        tuple(modes),
        convert.need("to-integer").word(tuple(MODES), "rounding mode"),
        read_cite(convert.need("cite"), context),
        node.read("interval", lambda e: _interval(e, scope), None),
        tuple(_undefined(e, scope) for e in node.listed("undefined")),
        tuple(_rule(e, scope) for e in node.need("rules").elements()),
        AskedCalls(
            calls.need("limit").word(arguments, "input"),
            tuple(_list(e, len(arguments), context) for e in calls.need("lists").elements()),
        ),
        tuple(_call_example(e, arguments, context) for e in root.listed("examples")),
        node.place,
    )


def _interval(node: Node, scope: _Scope) -> Interval:
    node.only("limit", "step", "cite")
    limit, step = (node.need(key).word(scope.arguments, "input") for key in ("limit", "step"))
    return Interval(limit, step, read_cite(node.need("cite"), scope.context))


def _undefined(node: Node, scope: _Scope) -> Undefined:
    node.only("name", "when", "level", "cite", *_PLACING)
    when = node.need("when")
    zero = _ZERO.fullmatch(when.text())
    if zero and zero[1] not in scope.arguments:
        raise when.error(f"unknown input {zero[1]!r}", meant(zero[1], scope.arguments))
    word = ZERO if zero else when.word((NOT_SCALAR, NOT_FINITE, MINUS_ZERO, OVERFLOW), "condition")
    return Undefined(
        node.need("name").text(),
        word,
        zero[1] if zero else "",
        node.read("level", read_level, "undefined"),
        read_cite(node.need("cite"), scope.context),
        node.place,
    )


def _rule(node: Node, scope: _Scope) -> FormulaRule:
    node.only(
        "name", "when", "level", "agreed", "cite", "differing", "between", "readings", *_PLACING
    )
    level = read_level(node.need("level"))
    return FormulaRule(
        node.need("name").text(),
        _read_when(node.need("when"), scope.context),
        level,
        node.read("agreed", read_level, level),
        read_cite(node.need("cite"), scope.context),
        read_cite(node.need("differing"), scope.context),
        node.says("between", "tolerated"),
        tuple(pair for e in node.need("readings").elements() for pair in _pairs(e, scope)),
        node.place,
    )


def _pairs(node: Node, scope: _Scope) -> Iterator[tuple[FormulaWay, FormulaWay]]:
    node.only("length", "element", "cite")
    cite = read_cite(node.need("cite", "the sentence that allows the reading"), scope.context)
    lengths = [w for e in node.need("length").elements() for w in _ways(e, "length", cite, scope)]
    values = [w for e in node.need("element").elements() for w in _ways(e, "element", cite, scope)]
    return product(lengths, values)


def _ways(
    node: Node, of: Literal["length", "element"], cite: Cite, scope: _Scope
) -> Iterator[FormulaWay]:
    node.only("in", "by", "of", "is", "name", "cite")
    types = scope.context.types.types
    cite = node.read("cite", lambda e: read_cite(e, scope.context), cite)
    start = node.read("of", lambda e: e.word(("given", "converted"), "word"), "given")
    forms = [e.word((PRODUCT, RECURRENCE), "form") for e in node.listed("by")] or [PRODUCT]
    words = [e.word((EXACT, OUTPUT, *types), "arithmetic") for e in node.need("in").elements()]
    for word, form in product(words, forms):
        said = _expression(node, of, form, scope)
        yield FormulaWay(
            said,
            types.get(word, word),
            form == RECURRENCE,
            start == "converted",
            tuple(types[name] for name in sorted(conversions_in(said))),
            node.read("name", Node.text, ""),
            cite,
        )


def _expression(node: Node, of: str, form: str, scope: _Scope) -> Expression:
    stated = node.get("is")
    if of == "length":
        types = scope.context.types.types
        return parse_expression(stated, scope.arguments, types) if stated else scope.length
    if stated:
        raise stated.error("another expression for the elements", "only lengths have any")
    if form == PRODUCT:
        return scope.element
    if scope.next is None:
        raise node.error("a recurrence without `next`", "write next: last + …")
    return scope.next


def _read_when(node: Node, context: Context) -> When:
    node.only("to", "all", "any")
    return When(**{k: TypeNames(context.types.names(v)) for k, v in node.items().items()})


def _call_example(node: Node, arguments: Sequence[str], context: Context) -> FormulaExample:
    node.only("from", "to", "x", "gives")
    types = context.types
    inputs = [types.names(e)[0] for e in node.need("from").elements()]
    x, gives = (tuple(e.text() for e in node.need(k).elements()) for k in ("x", "gives"))
    if not len(inputs) == len(x) == len(arguments):
        said = "the example has too few or too many arguments"
        raise node.error(said, "a type and an x for each")
    output = types.types[types.names(node.need("to"))[0]]
    return FormulaExample(tuple(types.types[n] for n in inputs), output, x, gives, node.place)


def _list(node: Node, count: int, context: Context) -> CallList:
    node.only("when", "shape", "listed", "around")
    rows = {
        key: tuple(tuple(e.text() for e in row.elements()) for row in node.listed(key))
        for key in ("listed", "around")
    }
    for key, found in rows.items():
        if any(len(row) != count for row in found):
            said = "a call with another number of arguments"
            raise node.need(key).error(said, f"{count} each")
    when = node.read("when", lambda e: _read_when(e, context), When())
    return CallList(when, **rows, shape=tuple(e.integer() for e in node.listed("shape")))
