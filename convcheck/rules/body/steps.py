"""The body of a spec whose output is computed in steps: arithmetic, and conversions by a rule.

    steps:
      lines:
        - {let: NAME, be: EXPRESSION}
        - {let: NAME, be: EXPRESSION, with: INPUT, without: EXPRESSION}
        - {let: NAME, be: EXPRESSION, for: TYPES, else: EXPRESSION, exact: yes}
        - {let: NAME, branches: [{if: CONDITION, be: EXPRESSION}], be: EXPRESSION}
        - {let: NAME, convert: NAME, by: RULE, to: {ATTRIBUTE: {VALUE: TYPE}}}
        - {let: NAME, convert: NAME, to: output, as: TYPE}
      readings: [{name: …, in: {TYPE: TYPE}, once: [NAME], narrow: [NAME], round: MODE,
                  near-ties: open, as: TYPE, cite: …}]
      along: {axis: ATTRIBUTE, block: ATTRIBUTE}
      undefined: [{name: …, when: CONDITION, where: {NAME: TYPES}, only: sign, cite: …}]
      values: {of: NAME, where: {INPUT: VALUE}, cite: …}
      back: EXPRESSION
      back: {of: NAME, be: EXPRESSION}

The last line is the output. `with` names an input that a question may leave out, `for` the outputs
that an expression is for; nothing of an `exact` line is rounded. Of `branches`, the first one whose
condition holds gives the line. Expressions may have attributes whose values are whole numbers. A
conversion is by one rule, or by all of them; what it gets is first taken `as` a type. A reading
says where results are rounded: by default after each operation, to the type of the first input;
`in` names another type, by that type, by an attribute's value, as that of an input or of the
output, or says that nothing is rounded; `once` lines whose expression is rounded as a whole;
`narrow` lines whose result is rounded to the type of the first input all the same; `operands`
inputs that are rounded first; `round` the mode of ``round(x)``, nearest-even by default; by
`near-ties`, what was rounded to a wider type than the first input's, and is within one ulp of a tie
of ``round(x)``, leaves the output open; what is exact is converted `as` a type. `along`
names the attributes that say which axis of the first input a vector goes along, and how often each
element of a tensor of its rank is repeated there. `values` names a conversion: where the other
inputs have certain values, the output is one of those of its type. `back` is the first input that
brings the last line, which is named like the output, to a value; or another line, whose rounding is
what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from convcheck.errors import Place
from convcheck.numerics.format import Float, Int
from convcheck.numerics.modes import MODES
from convcheck.rules.body.call_checks import (
    check_layouts,
    check_numbers,
    wrong_type,
)
from convcheck.rules.context import Context, read_cite, read_level
from convcheck.rules.expression import (
    Condition,
    Expression,
    names_in,
    parse_condition,
    parse_expression,
    varying_names,
)
from convcheck.rules.hop import Hop
from convcheck.rules.model import (
    DEFAULT,
    LATER,
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
from convcheck.wording import plural

NEAREST = "nearest-even"
CONDITIONS = ("<= 0", "not finite", "= -0", "is nan", "not 0")
OUTPUT, EXACTLY = "output", "exact"
_TO = "output, or {ATTRIBUTE: {VALUE: TYPE}}"
Words = tuple[tuple[str, str], ...]  # input -> a value as it is written
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """What a line is where a condition holds."""

    #: Of the names that the line may use.
    condition: Condition
    #: The line there.
    be: Expression


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
    #: The outputs that the expression is for, None for all.
    only: TypeNames | None = field(default=None, metadata=LATER)
    #: The expression for other outputs.
    elsewhere: Expression | None = field(default=None, metadata=LATER)
    #: Whether nothing of it is rounded.
    exact: bool = field(default=False, metadata=LATER)
    #: What a value to convert is taken as, to odd where it is between two values of that type;
    #: None for the type that the reading calculates in.
    taken_as: DType | None = field(default=None, metadata=LATER)
    #: What its result goes through, by a cause alone.
    through: tuple[Hop, ...] = field(default=(), metadata=LATER)
    #: The types that its expression converts to, by a cause alone.
    conversions: tuple[DType, ...] = field(default=(), metadata=LATER)
    #: What the line is in place of its expression: the first one whose condition holds.
    branches: tuple[Branch, ...] = field(default=(), metadata=LATER)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Every expression that the line may compute, those of conditions among them."""
        found = [self.be, self.otherwise, self.elsewhere]
        for branch in self.branches:
            found += [branch.condition.left, branch.condition.right, branch.be]
        return tuple(one for one in found if one)

    def for_output(self, output: DType, *, given: bool) -> StepsLine:
        """Return the line of a question: for one type of the output, and with the input that it
        needs or without it.
        """
        if self.be is None or (self.only is None and not self.needs):
            return self
        if self.only is not None and output.name not in self.only:
            return replace(self, be=self.elsewhere, needs="", exact=False, only=None)
        return replace(self, be=self.be if given else self.otherwise, needs="", only=None)


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
    #: The type in which operations are done whatever the types are.
    fixed: DType | None = field(default=None, metadata=LATER)
    #: Whether they are done exactly.
    exact: bool = field(default=False, metadata=LATER)
    #: The input, or the output, in whose type they are done; '' for the first input.
    of: str = field(default="", metadata=LATER)
    #: The attribute whose value names the type in which they are done, where it is given.
    by: str = field(default="", metadata=LATER)
    #: Values of that attribute -> types.
    named: tuple[tuple[str, DType], ...] = field(default=(), metadata=LATER)
    #: The inputs that are rounded to that type first.
    operands: tuple[str, ...] = field(default=(), metadata=LATER)
    #: The mode by which ``round(x)`` gives a whole number.
    whole: str = field(default=NEAREST, metadata=LATER)
    #: Whether what was rounded to a wider type, and is near a tie of ``round(x)``, is left open.
    open_near_ties: bool = field(default=False, metadata=LATER)
    #: As what an exact value is converted, where the line does not say it.
    taken_as: DType | None = field(default=None, metadata=LATER)

    def type_for(self, case: Case, types: Mapping[str, DType]) -> DType | None:
        """Return the type in which operations are done, None where they are exact. `types` are
        those of the inputs and the output by name.
        """
        value = case.attribute(self.by) if self.by else None
        if value is not None and value != DEFAULT:
            return dict(self.named)[str(value)]
        if self.exact or self.fixed:
            return self.fixed
        data = types[self.of] if self.of else case.inputs[0]
        return dict(self.within).get(data.name, data)


@dataclass(frozen=True)
class OpenElements:
    """Elements of which a text leaves open what they become: by the value of an input there."""

    name: str
    input: str
    #: One of CONDITIONS.
    condition: str
    #: An input or the output -> the types that it has; it is said of no question without it.
    where: tuple[tuple[str, TypeNames], ...]
    cite: Cite
    place: Place
    #: Whether no more is left open than the sign of an output that is zero.
    sign_only: bool = field(default=False, metadata=LATER)

    def is_said_of(self, types: Mapping[str, DType]) -> bool:
        """Return whether it is said of a question; `types` are those of its inputs and output."""
        return self.input in types and all(
            name in types and types[name].name in known for name, known in self.where
        )


@dataclass(frozen=True)
class ValuesOf:
    """The conversion to whose type the output has to belong, where inputs have certain values."""

    #: The name of its line.
    line: str
    #: The input -> its value.
    where: Words
    cite: Cite
    place: Place


@dataclass(frozen=True)
class Along:
    """How the tensors after the first meet it: the attributes that say so."""

    #: The attribute that names an axis of the first input.
    axis: str
    #: Its value where it is left out.
    default: int
    #: The attribute that says how often each element is repeated there, '' for none.
    block: str

    def of(self, attributes: Attributes) -> tuple[int, int]:
        """Return the axis and the size of a block, 0 for no blocks, under attribute values."""
        said = {name: value for name, value in attributes if value != DEFAULT}
        return int(said.get(self.axis, self.default)), int(said.get(self.block, 0))


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

    #: The names of the inputs' types; of the first alone, where it tells the others.
    types: tuple[str, ...]
    #: The layout's name.
    layout: str
    attributes: Attributes
    shapes: tuple[tuple[str, Sizes], ...]
    #: Inputs -> their elements as words, in C order.
    values: tuple[tuple[str, tuple[str, ...]], ...]
    #: The output's elements as words, or its dimensions.
    gives: tuple[str, ...]
    place: Place
    #: The name of the output's type, '' where the inputs tell it.
    to: str = ""


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
    #: Elements that a text leaves open.
    undefined: tuple[OpenElements, ...] = field(default=(), metadata=LATER)
    #: How tensors meet the first one, None where they broadcast to it.
    along: Along | None = field(default=None, metadata=LATER)
    #: The first input that brings the last line to a value; None where the lines tell it.
    back: Expression | None = field(default=None, metadata=LATER)
    #: The line that `back` brings to a value, '' for the last one.
    back_of: str = field(default="", metadata=LATER)
    #: The attributes that lines compute with.
    numbers: tuple[str, ...] = field(default=(), metadata=LATER)
    #: The operator that turns the output back, '' for none, and its inputs after the first with
    #: those here that have the same values.
    undone_by: tuple[str, tuple[tuple[str, str], ...]] = ("", ())
    #: The outputs after the first, each of one element: lines that are the same for all elements.
    others: tuple[str, ...] = field(default=(), metadata=LATER)
    #: The inputs after the first of which the least and the greatest codes are asked, too.
    extremes: tuple[str, ...] = field(default=(), metadata=LATER)
    #: The smallest and the largest element of tensors that are asked, of a spec of one input.
    ends: tuple[tuple[str, str], ...] = field(default=(), metadata=LATER)
    #: Of what the output has to be one of the values, None where nothing is said of it.
    values: ValuesOf | None = field(default=None, metadata=LATER)

    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check that lines of floats lead to one output, in layouts that broadcast."""
        check_layouts(spec, node, {line.needs for line in self.lines})
        body = node.need("steps")
        self._check_others(node)
        for key in ("lines", "readings", "ask" if spec.inputs[1:] else "ends"):
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
                _meets(layout, node.need("layouts").need(layout.name), self.along)
        computed = {variable for _, variable in spec.outputs[:1]} if self.lines[-1].be else set()
        for variable, listed in spec.types.items():
            for dtype in listed:
                if not isinstance(dtype.format, Float | Int):
                    raise wrong_type(node, variable, dtype, "steps work on numbers only")
                if variable in computed and isinstance(dtype.format, Int):
                    raise wrong_type(node, variable, dtype, "a computed output is a float")
        rows = (*body.listed("ask"), *body.listed("ask-a-little"))
        check_numbers((word for row in rows for word in row.items().values()), types)
        check_numbers((word for row in body.listed("ends") for word in row.elements()), types)

    def _check_others(self, node: Node) -> None:
        """Refuse an output after the first that is no line, or differs from element to element."""
        same = constant_lines(self.lines)
        for name in self.others:
            if name not in same:
                at = node.need("outputs").need(name)
                said = f"{name} is no line that is the same for all elements"
                raise at.error(said, "a line of largest(x) and smallest(x)")


def constant_lines(lines: Sequence[StepsLine]) -> frozenset[str]:
    """Return the lines that are the same for all elements: the first input is in them only as the
    largest or the smallest of all.
    """
    found: set[str] = set()
    for line in lines:
        names = (varying_names(expression) for expression in line.expressions)
        needed = frozenset().union(*names) if line.be else {line.source}
        if needed <= found and line.only is None and not line.needs:
            found.add(line.name)
    return frozenset(found)


def _meets(layout: Layout, at: Node, along: Along | None) -> None:
    """Refuse a layout in which an input cannot be brought to the shape of the first one."""
    if along is None:
        _broadcasts(layout, at)
        return
    (first, shape), *others = layout.shapes
    axis, block = along.of(layout.attributes)
    for name, dims in others:
        wanted: tuple[str, ...] = ()
        if block and len(dims) == len(shape):
            wanted = (*shape[:axis], _blocks(shape[axis], block), *shape[axis % len(shape) + 1 :])
        elif len(dims) == 1 and -len(shape) <= axis < len(shape):
            wanted = (shape[axis],)
        if dims != wanted:
            raise at.need(name).error(
                f"{name} does not meet {first} along axis {axis}", f"[{', '.join(wanted)}]"
            )


def _blocks(size: str, block: int) -> str:
    """Return how many blocks an axis has; '?' for a letter, which no layout may have there."""
    return str(-(-int(size) // block)) if size.isdigit() else "?"


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
        "ask-a-little", "along", "undefined", "back", "ends", "undone-by", "extremes", "values",
    )  # fmt: skip
    level, agreed = body.need("level"), body.get("agreed")
    numbers = _numbers(inputs, context)
    lines = _lines(body.need("lines"), inputs, numbers, context)
    names = [line.name for line in lines]
    ends = [*inputs, *node.need("outputs").items()]
    others = tuple(node.need("outputs").items())[1:]
    back_of, back = _back(body.get("back"), [*inputs[1:], *others, *numbers], names)
    return Steps(
        lines=lines,
        readings=tuple(_reading(e, names, ends, context) for e in body.need("readings").elements()),
        level=read_level(level),
        agreed=read_level(agreed or level),
        cite=read_cite(body.need("cite"), context),
        free_zero=_choice(body, "zero", "signed", "either-sign"),
        free_rest=_choice(body, "not-finite", "exact", "undefined"),
        outside=tuple(_outside(e, context) for e in body.listed("outside")),
        ask=tuple(_words(e, inputs[1:]) for e in body.listed("ask")),
        ask_little=tuple(_words(e, inputs[1:]) for e in body.listed("ask-a-little")),
        examples=tuple(_example(e, inputs, context) for e in node.listed("examples")),
        place=body.place,
        undefined=tuple(
            _undefined(e, [*inputs, *names], ends, context) for e in body.listed("undefined")
        ),
        along=_along(body.get("along"), node),
        back=back,
        back_of=back_of,
        numbers=tuple(name for name in numbers if name in _used(lines, back)),
        undone_by=_undone_by(body.get("undone-by"), inputs[1:]),
        others=others,
        ends=tuple(map(_end, body.listed("ends"))),
        extremes=tuple(e.word(tuple(inputs[1:]), "input") for e in body.listed("extremes")),
        values=_values(body.get("values"), lines, inputs[1:], context),
    )


def _numbers(inputs: Sequence[str], context: Context) -> list[str]:
    """Return the attributes that an expression may name: all their values are whole numbers."""
    return [
        name
        for name, values in context.attributes.items()
        if name not in inputs and values and all(value.isdecimal() for value in values)
    ]


def _used(lines: Sequence[StepsLine], back: Expression | None) -> frozenset[str]:
    """Return the names that expressions use."""
    expressions = [*(one for line in lines for one in line.expressions), *([back] if back else [])]
    return frozenset().union(*map(names_in, expressions))


def _back(
    node: Node | None, known: Sequence[str], lines: Sequence[str]
) -> tuple[str, Expression | None]:
    """Return the line that is brought to a value, '' for the last one, and by what."""
    if node is None:
        return "", None
    if isinstance(node.value, str):
        return "", parse_expression(node, [*known, lines[-1]])
    node.only("of", "be")
    of = node.need("of", "the line that is brought to a value").word(tuple(lines), "line")
    return of, parse_expression(node.need("be"), [*known, of])


def _undefined(
    node: Node, inputs: Sequence[str], ends: Sequence[str], context: Context
) -> OpenElements:
    node.only("name", "when", "where", "only", "cite")
    when, where = node.need("when", f"INPUT {CONDITIONS[0]}"), node.get("where")
    only = node.get("only")
    if where:
        where.only(*ends)
    name, _, condition = when.text().partition(" ")
    if name not in inputs or condition not in CONDITIONS:
        raise when.error(
            f"unknown condition {when.text()!r}", f"INPUT, then one of {', '.join(CONDITIONS)}"
        )
    return OpenElements(
        node.need("name").text(), name, condition,
        tuple(
            (key, TypeNames(context.types.names(known)))
            for key, known in (where.items().items() if where else ())
        ),
        read_cite(node.need("cite"), context), node.place,
        only is not None and bool(only.word(("sign",), "word")),
    )  # fmt: skip


def _values(
    node: Node | None, lines: Sequence[StepsLine], inputs: Sequence[str], context: Context
) -> ValuesOf | None:
    if node is None:
        return None
    node.only("of", "where", "cite")
    known, where = tuple(line.name for line in lines if line.be is None), node.need("where")
    where.only(*inputs)
    return ValuesOf(
        node.need("of").word(known, "conversion"),
        tuple((name, word.text()) for name, word in where.items().items()),
        read_cite(node.need("cite"), context), node.place,
    )  # fmt: skip


def _undone_by(node: Node | None, inputs: Sequence[str]) -> tuple[str, Words]:
    if node is None:
        return "", ()
    node.only("op", "inputs")
    pairs = node.need("inputs").items().items()
    return node.need("op").text(), tuple(
        (name, e.word(tuple(inputs), "input")) for name, e in pairs
    )


def _end(node: Node) -> tuple[str, str]:
    words = [word.text() for word in node.elements()]
    if len(words) != 2:
        raise node.error(f"{plural(len(words), 'number')} instead of 2", "[SMALLEST, LARGEST]")
    return words[0], words[1]


def _along(node: Node | None, root: Node) -> Along | None:
    """Return the attributes that say how tensors meet the first input, which layouts give."""
    if node is None:
        return None
    node.only("axis", "block")
    attributes = root.need("attributes", "attributes: {AXIS: {type: int, by: layout, default: 0}}")
    axis, block = node.need("axis").word(tuple(attributes.items()), "attribute"), node.get("block")
    default = attributes.need(axis).need("default", "the axis where the attribute is left out")
    name = block.word(tuple(attributes.items()), "attribute") if block else ""
    return Along(axis, default.integer(), name)


def _choice(node: Node, key: str, no: str, yes: str) -> bool:
    return node.need(key, f"{no} or {yes}").word((no, yes), key) == yes


def _lines(
    node: Node, inputs: Sequence[str], numbers: Sequence[str], context: Context
) -> tuple[StepsLine, ...]:
    optional = {e.need("with").text() for e in node.elements() if e.get("with")}
    known = [*numbers, *(name for name in inputs if name not in optional)]
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
    node.only("let", "be", "with", "without", "for", "else", "exact", "branches")
    needs, without = node.get("with"), node.get("without")
    only, elsewhere, exact = node.get("for"), node.get("else"), node.get("exact")
    if (only is None) != (elsewhere is None):
        raise node.error("`for` and `else` go together", "for: TYPES, else: EXPRESSION")
    if (needs is None) != (without is None):
        raise node.error("`with` and `without` go together", "with: INPUT, without: EXPRESSION")
    extra = [needs.word(tuple(inputs), "input")] if needs else []
    be = parse_expression(node.need("be"), [*known, *extra])
    otherwise = parse_expression(without, known) if without else None
    return StepsLine(
        name, be, "".join(extra), otherwise, "", "", "", (), node.place,
        TypeNames(context.types.names(only)) if only else None,
        parse_expression(elsewhere, known) if elsewhere else None,
        exact is not None and bool(exact.word(("yes",), "word")),
        branches=tuple(read_branch(e, known) for e in node.listed("branches")),
    )  # fmt: skip


def read_branch(node: Node, known: Sequence[str]) -> Branch:
    """Return a branch over names. Raises SpecError with file and line."""
    node.only("if", "be")
    condition = parse_condition(node.need("if", "EXPRESSION <= EXPRESSION"), known)
    return Branch(condition, parse_expression(node.need("be"), known))


def _conversion(node: Node, name: str, known: Sequence[str], context: Context) -> StepsLine:
    node.only("let", "convert", "by", "to", "as")
    source = node.need("convert").word(tuple(known), "name")
    to, by, taken_as = node.need("to", _TO), node.get("by"), node.get("as")
    kind = _type(taken_as, context) if taken_as else None
    rule = by.text() if by else ""
    if to.value == OUTPUT:
        return StepsLine(name, None, "", None, source, rule, "", (), node.place, taken_as=kind)
    if len(to.items()) != 1:
        raise to.error("one attribute names the type", _TO)
    to.only(*context.attributes)
    [(attribute, types)] = to.items().items()
    types.only(*context.attributes[attribute])
    targets = tuple((value, _type(t, context)) for value, t in types.items().items())
    return StepsLine(
        name, None, "", None, source, rule, attribute, targets, node.place, taken_as=kind
    )


def _type(node: Node, context: Context) -> DType:
    return context.types.types[node.word(tuple(context.types.types), "type")]


def _reading(
    node: Node, lines: Sequence[str], ends: Sequence[str], context: Context
) -> StepsReading:
    node.only(
        "name", "in", "of", "by", "operands", "once", "narrow", "round", "near-ties", "as", "cite"
    )
    within, of, by, mode, near = (node.get(k) for k in ("in", "of", "by", "round", "near-ties"))
    word = within.value if within and isinstance(within.value, str) else ""
    if within and not word:
        within.only(*context.types.types)
    types = within.items().items() if within and not word else ()
    attribute, named = _named(by, context) if by else ("", ())
    return StepsReading(
        node.need("name").text(),
        tuple((source, _type(target, context)) for source, target in types),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("once")),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("narrow")),
        read_cite(node.need("cite", "the sentence that the reading rests on"), context),
        node.place,
        _type(within, context) if within and word and word != EXACTLY else None,
        word == EXACTLY,
        of.word(tuple(ends), "input or output") if of else "",
        attribute,
        named,
        tuple(e.word(tuple(ends[:-1]), "input") for e in node.listed("operands")),
        mode.word(tuple(MODES), "rounding mode") if mode else NEAREST,
        near is not None and bool(near.word(("open",), "word")),
        _type(taken_as, context) if (taken_as := node.get("as")) else None,
    )


def _named(node: Node, context: Context) -> tuple[str, tuple[tuple[str, DType], ...]]:
    """Return an attribute, and the types that its values name."""
    [(name, types)] = node.items().items()
    return name, tuple((value, _type(t, context)) for value, t in types.items().items())


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
    node.only("type", "to", "layout", "shapes", "values", "gives", *context.attributes)
    attributes: list[tuple[str, Value]] = [
        (name, said.word(values, f"value of {name}"))
        for name, values in context.attributes.items()
        if (said := node.get(name))
    ]
    to = node.get("to")
    return StepsExample(
        tuple(_type(e, context).name for e in node.need("type").elements()),
        node.need("layout").text(),
        tuple(attributes),
        tuple((name, _sizes(e)) for name, e in _by_input(node, "shapes", inputs)),
        tuple(
            (n, tuple(w.text() for w in e.elements())) for n, e in _by_input(node, "values", inputs)
        ),
        _texts(node.need("gives")),
        node.place,
        _type(to, context).name if to else "",
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
