"""The body of a spec whose output is computed in steps: arithmetic, and conversions by a rule.

    steps:
      lines:
        - {let: NAME, be: EXPRESSION}
        - {let: NAME, be: EXPRESSION, with: INPUT, without: EXPRESSION}
        - {let: NAME, convert: NAME, by: RULE, to: {ATTRIBUTE: {VALUE: TYPE}}}
      readings: [{name: …, in: {TYPE: TYPE}, once: [NAME], narrow: [NAME], cite: …}]

The last line is the output. `with` names an input that a question may leave out. A reading says
where results are rounded: by default after each operation, to the type of the first input; `in`
names a wider type by that type; `once` lines whose expression is rounded as a whole; `narrow`
lines whose result is rounded to the type of the first input all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convcheck.errors import Place
from convcheck.numerics.format import Float
from convcheck.rules.body.call_checks import (
    check_layouts,
    check_numbers,
    check_one_output,
    wrong_type,
)
from convcheck.rules.context import Context, read_cite, read_level
from convcheck.rules.expression import Expression, parse_expression
from convcheck.rules.model import (
    Attributes,
    Body,
    Case,
    Cite,
    DType,
    Layout,
    Level,
    Spec,
    TypeNames,
    Value,
)
from convcheck.rules.source import Node
from convcheck.rules.types import Types

Words = tuple[tuple[str, str], ...]  # input -> a value as it is written
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class StepsLine:
    """A line: an expression, or the conversion of what an earlier line gave."""

    name: str
    #: The expression; None for a conversion.
    be: Expression | None
    #: The input that the expression has besides those always there, '' for none.
    needs: str
    #: The expression where that input is left out.
    otherwise: Expression | None
    #: The line or input that is converted, '' for an expression.
    source: str
    #: The rule that it is converted by.
    rule: str
    #: The attribute that names the type it is converted to.
    to: str
    #: Values of that attribute -> types.
    targets: tuple[tuple[str, DType], ...]
    place: Place


@dataclass(frozen=True)
class StepsReading:
    """Where results are rounded; see the module's docstring."""

    name: str
    #: The type of the first input -> the type that operations are done in.
    within: tuple[tuple[str, DType], ...]
    #: Lines whose expression is rounded once, as a whole.
    once: frozenset[str]
    #: Lines whose result is rounded to the type of the first input.
    narrow: frozenset[str]
    cite: Cite
    place: Place

    def type_for(self, data: DType) -> DType:
        """Return the type in which operations are done for a type of the first input."""
        return dict(self.within).get(data.name, data)


@dataclass(frozen=True)
class Outside:
    """Layouts, types of the first input and attribute values that a text leaves out: of a case
    that has one of them nothing is expected.
    """

    name: str
    #: The names of the layouts.
    layouts: frozenset[str]
    types: TypeNames
    #: Attribute -> values as they are written.
    values: tuple[tuple[str, frozenset[str]], ...]
    cite: Cite
    place: Place

    def has(self, layout: Layout, case: Case) -> bool:
        """Return whether a case is one of these."""
        said = dict(case.attributes)
        return (
            layout.name in self.layouts
            or case.inputs[0].name in self.types
            or any(str(said.get(name)) in values for name, values in self.values)
        )


@dataclass(frozen=True)
class StepsExample:
    """An example: inputs as words, or their shapes alone; what they give, as words or a shape."""

    #: The name of the first input's type.
    type: str
    #: The layout's name.
    layout: str
    attributes: Attributes
    shapes: tuple[tuple[str, Sizes], ...]
    #: Inputs -> their elements as words, in C order.
    values: tuple[tuple[str, tuple[str, ...]], ...]
    #: The output's elements as words, or its dimensions.
    gives: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Steps(Body):
    """A steps body; see the module's docstring."""

    name = "steps"
    #: The lines in order; the last is the output.
    lines: tuple[StepsLine, ...]
    #: The ways to round that the text leaves open.
    readings: tuple[StepsReading, ...]
    #: Where no operation rounds, and what is converted is a value of that type.
    level: Level
    #: Where something is rounded, and all readings agree.
    agreed: Level
    cite: Cite
    #: Whether a zero output may have either sign.
    free_zero: bool
    #: Whether an output that is not finite is undefined.
    free_rest: bool
    #: What a text leaves out, and is asked all the same.
    outside: tuple[Outside, ...]
    #: Values of the inputs after the first, each set asked with all that is worth asking.
    ask: tuple[Words, ...]
    #: Sets that leave little defined, each asked with a few values.
    ask_little: tuple[Words, ...]
    #: Examples of the text, or worked out by hand.
    examples: tuple[StepsExample, ...]
    place: Place

    def check(self, spec: Spec, node: Node, types: Types) -> None:
        """Check that lines of floats lead to one output, in layouts that broadcast."""
        check_layouts(spec, node, {line.needs for line in self.lines})
        body = node.need("steps")
        check_one_output(spec, node)
        for key in ("lines", "readings", "ask"):
            if not body.listed(key):
                raise body.need(key).error(f"no {key}", "one at least")
        last, output = self.lines[-1], spec.outputs[0][0]
        if last.name != output:
            at = body.need("lines").elements()[-1].need("let")
            raise at.error("the last line is not the output", f"let: {output}")
        for entry in body.listed("outside"):
            for at in entry.listed("layouts"):
                at.word(tuple(layout.name for layout in spec.layouts), "layout")
        outside = {name for entry in self.outside for name in entry.layouts}
        for layout in spec.layouts:
            if layout.name not in outside:
                _broadcasts(layout, node.need("layouts").need(layout.name))
        for variable, listed in spec.types.items():
            for dtype in listed:
                if not isinstance(dtype.format, Float):
                    raise wrong_type(node, variable, dtype, "steps work on floats only")
        rows = (*body.listed("ask"), *body.listed("ask-a-little"))
        check_numbers((word for row in rows for word in row.items().values()), types)


def _broadcasts(layout: Layout, at: Node) -> None:
    """Refuse a layout in which an input cannot be brought to the shape of the first one."""
    (first, shape), *others = layout.shapes
    for name, dims in others:
        ends = zip(reversed(dims), reversed(shape), strict=False)
        if len(dims) > len(shape) or any(d not in ("1", wanted) for d, wanted in ends):
            said = f"{name} does not broadcast to the shape of {first}"
            raise at.need(name).error(
                said, "its last dimensions, or 1; else list it under `outside`"
            )


def read_steps(node: Node, context: Context) -> Steps:
    """Return the steps of a spec file's root node. Raises SpecError with file and line."""
    inputs = list(node.need("inputs").items())
    body = node.need("steps")
    body.only(
        "lines", "readings", "level", "agreed", "cite", "zero", "not-finite", "outside", "ask",
        "ask-a-little",
    )  # fmt: skip
    level, agreed = body.need("level"), body.get("agreed")
    lines = _lines(body.need("lines"), inputs, context)
    names = [line.name for line in lines]
    return Steps(
        lines=lines,
        readings=tuple(_reading(e, names, context) for e in body.need("readings").elements()),
        level=read_level(level),
        agreed=read_level(agreed or level),
        cite=read_cite(body.need("cite"), context),
        free_zero=_choice(body, "zero", "signed", "either-sign"),
        free_rest=_choice(body, "not-finite", "exact", "undefined"),
        outside=tuple(_outside(e, context) for e in body.listed("outside")),
        ask=tuple(_words(e, inputs[1:]) for e in body.need("ask").elements()),
        ask_little=tuple(_words(e, inputs[1:]) for e in body.listed("ask-a-little")),
        examples=tuple(_example(e, inputs, context) for e in node.listed("examples")),
        place=body.place,
    )


def _choice(node: Node, key: str, no: str, yes: str) -> bool:
    return node.need(key, f"{no} or {yes}").word((no, yes), key) == yes


def _lines(node: Node, inputs: Sequence[str], context: Context) -> tuple[StepsLine, ...]:
    optional = {e.need("with").text() for e in node.elements() if e.get("with")}
    known = [name for name in inputs if name not in optional]
    lines: list[StepsLine] = []
    for entry in node.elements():
        line = _line(entry, known, inputs, context)
        if line.name in (*known, *inputs):
            raise entry.error(f"{line.name!r} is there already", "each line has a new name")
        known.append(line.name)
        lines.append(line)
    return tuple(lines)


def _line(node: Node, known: Sequence[str], inputs: Sequence[str], context: Context) -> StepsLine:
    name = node.need("let", "the name of the line").text()
    if node.get("convert"):
        return _conversion(node, name, known, context)
    node.only("let", "be", "with", "without")
    needs, without = node.get("with"), node.get("without")
    if (needs is None) != (without is None):
        raise node.error("`with` and `without` go together", "with: INPUT, without: EXPRESSION")
    extra = [needs.word(tuple(inputs), "input")] if needs else []
    be = parse_expression(node.need("be"), [*known, *extra])
    otherwise = parse_expression(without, known) if without else None
    return StepsLine(name, be, "".join(extra), otherwise, "", "", "", (), node.place)


def _conversion(node: Node, name: str, known: Sequence[str], context: Context) -> StepsLine:
    node.only("let", "convert", "by", "to")
    source = node.need("convert").word(tuple(known), "name")
    rule = node.need("by", "the rule that converts").text()
    to = node.need("to", "{ATTRIBUTE: {VALUE: TYPE}}")
    if len(to.items()) != 1:
        raise to.error("one attribute names the type", "{ATTRIBUTE: {VALUE: TYPE}}")
    to.only(*context.attributes)
    [(attribute, types)] = to.items().items()
    types.only(*context.attributes[attribute])
    targets = tuple((value, _type(t, context)) for value, t in types.items().items())
    return StepsLine(name, None, "", None, source, rule, attribute, targets, node.place)


def _type(node: Node, context: Context) -> DType:
    return context.types.types[node.word(tuple(context.types.types), "type")]


def _reading(node: Node, lines: Sequence[str], context: Context) -> StepsReading:
    node.only("name", "in", "once", "narrow", "cite")
    within = node.get("in")
    if within:
        within.only(*context.types.types)
    types = within.items().items() if within else ()
    return StepsReading(
        node.need("name").text(),
        tuple((source, _type(target, context)) for source, target in types),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("once")),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("narrow")),
        read_cite(node.need("cite", "the sentence that the reading rests on"), context),
        node.place,
    )


def _outside(node: Node, context: Context) -> Outside:
    node.only("name", "layouts", "types", "values", "cite")
    types, values = node.get("types"), node.get("values")
    if values:
        values.only(*context.attributes)
    return Outside(
        node.need("name").text(),
        frozenset(e.text() for e in node.listed("layouts")),
        TypeNames(context.types.names(types) if types else ()),
        tuple(
            (name, frozenset(e.text() for e in entry.elements()))
            for name, entry in (values.items().items() if values else ())
        ),
        read_cite(node.need("cite"), context),
        node.place,
    )


def _words(node: Node, inputs: Sequence[str]) -> Words:
    node.only(*inputs)
    return tuple((name, node.need(name, "a value").text()) for name in inputs)


def _example(node: Node, inputs: Sequence[str], context: Context) -> StepsExample:
    node.only("type", "layout", "shapes", "values", "gives", *context.attributes)
    attributes: list[tuple[str, Value]] = [
        (name, node.need(name).word(values, f"value of {name}"))
        for name, values in context.attributes.items()
    ]
    return StepsExample(
        _type(node.need("type"), context).name,
        node.need("layout").text(),
        tuple(attributes),
        tuple((name, _sizes(e)) for name, e in _by_input(node, "shapes", inputs)),
        tuple(
            (n, tuple(w.text() for w in e.elements())) for n, e in _by_input(node, "values", inputs)
        ),
        _texts(node.need("gives")),
        node.place,
    )


def _by_input(node: Node, key: str, inputs: Sequence[str]) -> list[tuple[str, Node]]:
    entries = node.get(key)
    if entries is None:
        return []
    entries.only(*inputs)
    return list(entries.items().items())


def _sizes(node: Node) -> Sizes:
    return tuple(e.integer() for e in node.elements())


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(e.text() for e in node.elements())
