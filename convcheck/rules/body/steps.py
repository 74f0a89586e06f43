"""Read `steps` of a spec file: arithmetic and conversions (docs/specs.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from convcheck.errors import Place
from convcheck.numerics.format import Float, Int
from convcheck.numerics.modes import MODES
from convcheck.rules.body.matrix import check_layouts, check_numbers, wrong_type
from convcheck.rules.expression import (
    Condition,
    Expression,
    names_in,
    parse_condition,
    parse_expression,
)
from convcheck.rules.hop import NEAREST, Hop
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
)
from convcheck.rules.rule import Context, read_cite, read_level
from convcheck.rules.source import Node
from convcheck.streams import plural

CONDITIONS = ("<= 0", "not finite", "= -0", "is nan", "not 0")
OUTPUT, EXACTLY = "output", "exact"
_TO = "output, or {ATTRIBUTE: {VALUE: TYPE}}"
Words = tuple[tuple[str, str], ...]  # input -> its value as written
Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """A condition and the line's value under it."""

    condition: Condition
    be: Expression


@dataclass(frozen=True)
class StepsLine:
    """An expression, or the conversion of an earlier line."""

    name: str
    be: Expression | None = None  # None for a conversion
    needs: str = ""  # its optional input, or ''
    otherwise: Expression | None = None  # the expression without that input
    source: str = ""  # what to convert, '' for an expression
    rule: str = ""
    to: str = ""  # the attribute with the target type
    targets: tuple[tuple[str, DType], ...] = ()  # its values -> types
    place: Place = field(kw_only=True)
    only: TypeNames | None = field(default=None, metadata=LATER)  # output types, None for all
    elsewhere: Expression | None = field(default=None, metadata=LATER)  # for other outputs
    exact: bool = field(default=False, metadata=LATER)  # it has no rounding
    #: the operand is rounded to it (to odd), by default to the arithmetic's type
    taken_as: DType | None = field(default=None, metadata=LATER)
    through: tuple[Hop, ...] = field(default=(), metadata=LATER)  # set by a cause
    conversions: tuple[DType, ...] = field(default=(), metadata=LATER)
    branches: tuple[Branch, ...] = field(default=(), metadata=LATER)  # first to hold replaces `be`

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All its expressions, with those of conditions."""
        found = [self.be, self.otherwise, self.elsewhere]
        for branch in self.branches:
            found += [branch.condition.left, branch.condition.right, branch.be]
        return tuple(one for one in found if one)

    def for_output(self, output: DType, *, given: bool) -> "StepsLine":
        """Return it for an output type, with or without its optional input."""
        if self.be is None or (self.only is None and not self.needs):
            return self
        if self.only is not None and output.name not in self.only:
            return replace(self, be=self.elsewhere, needs="", exact=False, only=None)
        return replace(self, be=self.be if given else self.otherwise, needs="", only=None)


@dataclass(frozen=True)
class StepsReading:
    """A reading: where results are rounded."""

    name: str
    within: tuple[tuple[str, DType], ...]  # type of the first input -> type of operations
    once: frozenset[str]  # lines rounded once at the end
    narrow: frozenset[str]  # lines rounded to the first input's type
    cite: Cite
    place: Place
    fixed: DType | None = field(default=None, metadata=LATER)  # of operations, for any input
    exact: bool = field(default=False, metadata=LATER)
    of: str = field(default="", metadata=LATER)  # input or output with that type, '' for the first
    by: str = field(default="", metadata=LATER)  # the attribute that names it
    named: tuple[tuple[str, DType], ...] = field(default=(), metadata=LATER)  # its values -> types
    operands: tuple[str, ...] = field(default=(), metadata=LATER)  # inputs rounded first
    whole: str = field(default=NEAREST, metadata=LATER)  # the mode of ``round(x)``
    #: wider values within an ulp of a tie of ``round(x)`` are undefined
    open_near_ties: bool = field(default=False, metadata=LATER)
    taken_as: DType | None = field(default=None, metadata=LATER)  # source of exact values

    def type_for(self, case: Case, types: Mapping[str, DType]) -> DType | None:
        """Return the type of operations, None for exact. `types`: of inputs and output, by name."""
        value = case.attribute(self.by) if self.by else None
        if value is not None and value != DEFAULT:
            return dict(self.named)[str(value)]
        if self.exact or self.fixed:
            return self.fixed
        data = types[self.of] if self.of else case.inputs[0]
        return dict(self.within).get(data.name, data)


@dataclass(frozen=True)
class OpenElements:
    """Elements left undefined, by the value of an input."""

    name: str
    input: str
    condition: str  # one of CONDITIONS
    where: tuple[tuple[str, TypeNames], ...]  # input or output -> types
    cite: Cite
    place: Place
    sign_only: bool = field(default=False, metadata=LATER)  # only the sign of a zero output is free

    def is_said_of(self, types: Mapping[str, DType]) -> bool:
        """Return whether it applies to types of inputs and output."""
        return self.input in types and all(
            name in types and types[name].name in known for name, known in self.where
        )


@dataclass(frozen=True)
class ValuesOf:
    """The values that the output may have for certain inputs."""

    line: str  # that converts to their type
    where: Words
    cite: Cite
    place: Place


@dataclass(frozen=True)
class Along:
    """The attributes of how other inputs broadcast to the first."""

    axis: str  # the attribute for an axis of the first input
    default: int
    block: str  # the attribute for the block size, or ''

    def of(self, attributes: Attributes) -> tuple[int, int]:
        """Return axis and block size, 0 for no blocks."""
        said = {name: value for name, value in attributes if value != DEFAULT}
        return int(said.get(self.axis, self.default)), int(said.get(self.block, 0))


@dataclass(frozen=True)
class Outside:
    """Excluded layouts, first input types and attribute values."""

    name: str
    layouts: frozenset[str]
    types: TypeNames
    values: tuple[tuple[str, frozenset[str]], ...]  # attribute -> values as written
    cite: Cite
    place: Place

    def has(self, layout: Layout, case: Case) -> bool:
        """Return whether it excludes a case."""
        said = dict(case.attributes)
        return (
            layout.name in self.layouts
            or case.inputs[0].name in self.types
            or any(str(said.get(name)) in values for name, values in self.values)
        )


@dataclass(frozen=True)
class StepsExample:
    """An example: inputs and outputs as words, or their shapes."""

    types: tuple[str, ...]  # of the inputs, or the first if it implies the others
    layout: str
    attributes: Attributes
    shapes: tuple[tuple[str, Sizes], ...]
    values: tuple[tuple[str, tuple[str, ...]], ...]  # input -> its elements as words, in C order
    gives: tuple[str, ...]  # elements as words, or dimensions
    place: Place
    to: str = ""  # the output's type, '' if implied


@dataclass(frozen=True)
class Steps(Body):
    """A steps body."""

    name = "steps"
    lines: tuple[StepsLine, ...]  # the last is the output
    readings: tuple[StepsReading, ...]
    level: Level  # if all is exact
    agreed: Level  # if something is rounded and readings agree
    cite: Cite
    free_zero: bool  # a zero output may have either sign
    free_rest: bool  # a non-finite output is undefined
    outside: tuple[Outside, ...]  # excluded cases, tested nevertheless
    ask: tuple[Words, ...]  # sets of other inputs, each tested with all data
    ask_little: tuple[Words, ...]  # sets that leave most undefined, tested with little data
    examples: tuple[StepsExample, ...]  # of the text, or computed by hand
    place: Place
    undefined: tuple[OpenElements, ...] = field(default=(), metadata=LATER)
    along: Along | None = field(default=None, metadata=LATER)  # None if inputs broadcast
    back: Expression | None = field(default=None, metadata=LATER)  # an inverse, if not derived
    back_of: str = field(default="", metadata=LATER)  # that line, '' for the last
    numbers: tuple[str, ...] = field(default=(), metadata=LATER)  # attributes in lines
    undone_by: tuple[str, tuple[tuple[str, str], ...]] = ("", ())  # operator, its inputs -> ours
    others: tuple[str, ...] = field(default=(), metadata=LATER)  # scalar outputs after the first
    extremes: tuple[str, ...] = field(default=(), metadata=LATER)  # inputs to test at type ends
    ends: tuple[tuple[str, str], ...] = field(default=(), metadata=LATER)  # of the test tensors
    #: None for all
    values: ValuesOf | None = field(default=None, metadata=LATER)

    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check for numeric lines, one output, and layouts that broadcast."""
        check_layouts(spec, node, {line.needs for line in self.lines})
        body = node.need("steps")
        same = constant_lines(self.lines)
        for name in self.others:
            if name not in same:
                said = f"{name} is no line that is the same for all elements"
                hint = "a line of largest(x) and smallest(x)"
                raise node.need("outputs").need(name).error(said, hint)
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


def constant_lines(lines: Sequence[StepsLine]) -> frozenset[str]:
    """Return the lines that only reduce the first input."""
    found: set[str] = set()
    for line in lines:
        names = (names_in(expression, varying=True) for expression in line.expressions)
        needed = frozenset().union(*names) if line.be else {line.source}
        if needed <= found and line.only is None and not line.needs:
            found.add(line.name)
    return frozenset(found)


def _meets(layout: Layout, at: Node, along: Along | None) -> None:
    (first, shape), *others = layout.shapes
    if along is None:
        for name, dims in others:
            ends = zip(reversed(dims), reversed(shape), strict=False)
            if len(dims) > len(shape) or any(d not in ("1", wanted) for d, wanted in ends):
                said = f"{name} does not broadcast to the shape of {first}"
                hint = "its last dimensions, or 1; else list it under `outside`"
                raise at.need(name).error(said, hint)
        return
    axis, block = along.of(layout.attributes)
    for name, dims in others:
        wanted: tuple[str, ...] = ()
        if block and len(dims) == len(shape):
            size = shape[axis]  # a letter is not allowed here
            blocks = str(-(-int(size) // block)) if size.isdigit() else "?"
            wanted = (*shape[:axis], blocks, *shape[axis % len(shape) + 1 :])
        elif len(dims) == 1 and -len(shape) <= axis < len(shape):
            wanted = (shape[axis],)
        if dims != wanted:
            said = f"{name} does not meet {first} along axis {axis}"
            raise at.need(name).error(said, f"[{', '.join(wanted)}]")


def read_steps(node: Node, context: Context) -> Steps:
    """Return a spec's steps."""
    inputs = list(node.need("inputs").items())
    body = node.need("steps")
    body.only(
        "lines", "readings", "level", "agreed", "cite", "zero", "not-finite", "outside", "ask",
        "ask-a-little", "along", "undefined", "back", "ends", "undone-by", "extremes", "values",
    )  # fmt: skip
    level, agreed = body.need("level"), body.get("agreed")
    own = {name: words for name, words in context.attributes.items() if name not in inputs}
    numbers = [name for name, words in own.items() if words and all(map(str.isdecimal, words))]
    lines = _lines(body.need("lines"), inputs, numbers, context)
    names = [line.name for line in lines]
    ends = [*inputs, *node.need("outputs").items()]
    others = tuple(node.need("outputs").items())[1:]
    invertible = [*inputs[1:], *others, *numbers]
    back_of, back = body.read("back", lambda e: _back(e, invertible, names), ("", None))
    expressions = [*(one for line in lines for one in line.expressions), *([back] if back else [])]
    used = frozenset().union(*map(names_in, expressions))
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
        along=body.read("along", lambda e: _along(e, node), None),
        back=back,
        back_of=back_of,
        numbers=tuple(name for name in numbers if name in used),
        undone_by=body.read("undone-by", lambda e: _undone_by(e, inputs[1:]), ("", ())),
        others=others,
        ends=tuple(map(_end, body.listed("ends"))),
        extremes=tuple(e.word(tuple(inputs[1:]), "input") for e in body.listed("extremes")),
        values=body.read("values", lambda e: _values(e, lines, inputs[1:], context), None),
    )


def _back(node: Node, known: Sequence[str], lines: Sequence[str]) -> tuple[str, Expression | None]:
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
    if where:
        where.only(*ends)
    name, _, condition = when.text().partition(" ")
    if name not in inputs or condition not in CONDITIONS:
        said = f"unknown condition {when.text()!r}"
        raise when.error(said, f"INPUT, then one of {', '.join(CONDITIONS)}")
    types = {k: TypeNames(context.types.names(known)) for k, known in node.entries("where").items()}
    return OpenElements(
        node.need("name").text(),
        name,
        condition,
        tuple(types.items()),
        read_cite(node.need("cite"), context),
        node.place,
        node.says("only", "sign"),
    )


def _values(
    node: Node, lines: Sequence[StepsLine], inputs: Sequence[str], context: Context
) -> ValuesOf:
    node.only("of", "where", "cite")
    known, where = tuple(line.name for line in lines if line.be is None), node.need("where")
    where.only(*inputs)
    return ValuesOf(
        node.need("of").word(known, "conversion"),
        tuple((name, word.text()) for name, word in where.items().items()),
        read_cite(node.need("cite"), context),
        node.place,
    )


def _undone_by(node: Node, inputs: Sequence[str]) -> tuple[str, Words]:
    node.only("op", "inputs")
    pairs = node.need("inputs").items().items()
    words = tuple((name, e.word(tuple(inputs), "input")) for name, e in pairs)
    return node.need("op").text(), words


def _end(node: Node) -> tuple[str, str]:
    if len(words := _texts(node)) != 2:
        raise node.error(f"{plural(len(words), 'number')} instead of 2", "[SMALLEST, LARGEST]")
    return words[0], words[1]


def _along(node: Node, root: Node) -> Along:
    node.only("axis", "block")
    attributes = root.need("attributes", "attributes: {AXIS: {type: int, by: layout, default: 0}}")
    known = tuple(attributes.items())
    axis = node.need("axis").word(known, "attribute")
    default = attributes.need(axis).need("default", "the axis where the attribute is left out")
    block = node.read("block", lambda name: name.word(known, "attribute"), "")
    return Along(axis, default.integer(), block)


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
    for one, other, words in (
        ("for", "else", "for: TYPES, else: EXPRESSION"),
        ("with", "without", "with: INPUT, without: EXPRESSION"),
    ):
        if (node.get(one) is None) != (node.get(other) is None):
            raise node.error(f"`{one}` and `{other}` go together", words)
    needs = node.read("with", lambda e: e.word(tuple(inputs), "input"), "")

    def optional(key: str) -> Expression | None:
        return node.read(key, lambda e: parse_expression(e, known), None)

    return StepsLine(
        name,
        parse_expression(node.need("be"), [*known, *([needs] if needs else [])]),
        needs,
        optional("without"),
        place=node.place,
        only=node.read("for", lambda types: TypeNames(context.types.names(types)), None),
        elsewhere=optional("else"),
        exact=node.says("exact", "yes"),
        branches=tuple(read_branch(e, known) for e in node.listed("branches")),
    )


def read_branch(node: Node, known: Sequence[str] | None) -> Branch:
    """Return a branch over `known` names, None for any."""
    node.only("if", "be")
    condition = parse_condition(node.need("if", "EXPRESSION <= EXPRESSION"), known)
    return Branch(condition, parse_expression(node.need("be"), known))


def _conversion(node: Node, name: str, known: Sequence[str], context: Context) -> StepsLine:
    node.only("let", "convert", "by", "to", "as")
    to = node.need("to", _TO)
    attribute, targets = ("", ()) if to.value == OUTPUT else _named(to, context)
    if attribute:
        to.only(*context.attributes)
        to.need(attribute).only(*context.attributes[attribute])
    return StepsLine(
        name,
        source=node.need("convert").word(tuple(known), "name"),
        rule=node.read("by", Node.text, ""),
        to=attribute,
        targets=targets,
        place=node.place,
        taken_as=node.read("as", lambda e: _type(e, context), None),
    )


def _named(node: Node, context: Context) -> tuple[str, tuple[tuple[str, DType], ...]]:
    if len(node.items()) != 1:
        raise node.error("one attribute names the type", _TO)
    [(attribute, types)] = node.items().items()
    return attribute, _types(types, context)


def _types(node: Node, context: Context) -> tuple[tuple[str, DType], ...]:
    return tuple((name, _type(dtype, context)) for name, dtype in node.items().items())


def _type(node: Node, context: Context) -> DType:
    return context.types.types[node.word(tuple(context.types.types), "type")]


def _reading(
    node: Node, lines: Sequence[str], ends: Sequence[str], context: Context
) -> StepsReading:
    node.only(
        "name", "in", "of", "by", "operands", "once", "narrow", "round", "near-ties", "as", "cite"
    )
    within = node.get("in")
    word = within.value if within and isinstance(within.value, str) else ""
    if within and not word:
        within.only(*context.types.types)
    attribute, named = node.read("by", lambda e: _named(e, context), ("", ()))
    return StepsReading(
        node.need("name").text(),
        _types(within, context) if within and not word else (),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("once")),
        frozenset(e.word(tuple(lines), "line") for e in node.listed("narrow")),
        read_cite(node.need("cite", "the sentence that the reading rests on"), context),
        node.place,
        fixed=_type(within, context) if within and word and word != EXACTLY else None,
        exact=word == EXACTLY,
        of=node.read("of", lambda e: e.word(tuple(ends), "input or output"), ""),
        by=attribute,
        named=named,
        operands=tuple(e.word(tuple(ends[:-1]), "input") for e in node.listed("operands")),
        whole=node.read("round", lambda e: e.word(tuple(MODES), "rounding mode"), NEAREST),
        open_near_ties=node.says("near-ties", "open"),
        taken_as=node.read("as", lambda e: _type(e, context), None),
    )


def _outside(node: Node, context: Context) -> Outside:
    node.only("name", "layouts", "types", "values", "cite")
    if values := node.get("values"):
        values.only(*context.attributes)
    return Outside(
        node.need("name").text(),
        frozenset(node.words("layouts")),
        TypeNames(node.read("types", context.types.names, ())),
        tuple((name, frozenset(_texts(e))) for name, e in node.entries("values").items()),
        read_cite(node.need("cite"), context),
        node.place,
    )


def _words(node: Node, inputs: Sequence[str]) -> Words:
    node.only(*inputs)
    return tuple((name, node.need(name, "a value").text()) for name in inputs)


def _example(node: Node, inputs: Sequence[str], context: Context) -> StepsExample:
    node.only("type", "to", "layout", "shapes", "values", "gives", *context.attributes)
    for key in ("shapes", "values"):
        node.read(key, lambda by_input: by_input.only(*inputs), None)
    attributes = (
        (name, said.word(values, f"value of {name}"))
        for name, values in context.attributes.items()
        if (said := node.get(name))
    )
    shapes = node.entries("shapes").items()
    return StepsExample(
        tuple(_type(e, context).name for e in node.need("type").elements()),
        node.need("layout").text(),
        tuple(attributes),
        tuple((name, tuple(d.integer() for d in dims.elements())) for name, dims in shapes),
        tuple((name, _texts(e)) for name, e in node.entries("values").items()),
        _texts(node.need("gives")),
        node.place,
        node.read("to", lambda e: _type(e, context).name, ""),
    )


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(e.text() for e in node.elements())
