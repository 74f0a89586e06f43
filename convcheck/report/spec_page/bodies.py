"""The bodies of specs whose question is a whole call: formulas and steps as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from convcheck.errors import Place
from convcheck.report.draw.styled import StyledText
from convcheck.report.spec_page import matrix as body_matrix
from convcheck.report.spec_page.fields import field, fields, quoted
from convcheck.rules.body.formula import Formula, FormulaRule, FormulaWay, Undefined
from convcheck.rules.body.formula_calls import When
from convcheck.rules.body.steps import NEAREST, Steps, StepsLine, StepsReading
from convcheck.rules.expression import FUNCTIONS, Expression, compute
from convcheck.rules.model import Spec
from convcheck.rules.types import Types
from convcheck.wording import GLUE

_Said = tuple[str, int]  # an expression, and how strongly it holds together
_SUM, _TERM, _ATOM = range(3)
_CONDITIONS = {
    "not scalar": "an argument is no scalar",
    "not finite": "an argument is no finite number",
    "-0": "an argument is -0",
    "overflow": "an argument or a computation, under any reading, leaves its type",
}


def body_lines(spec: Spec, types: Types, width: int) -> Iterator[StyledText]:
    """Return the lines of a body; none for a table, which is the spec's rules."""
    return _SHOWN[spec.body.name](spec, types, width)


# Expressions ---------------------------------------------------------------------------------


def expression_text(expression: Expression) -> str:
    """Write an expression with no more parentheses than it needs."""
    names = _Names()
    return compute(expression, names, _OPERATIONS)[0]


class _Names(dict[str, _Said]):
    """Every name is written as it is."""

    def __missing__(self, name: str) -> _Said:
        return name, _ATOM


def _operation(sign: str, strength: int) -> Callable[..., _Said]:
    """Write a binary operation: what is on its right holds together more strongly."""

    def write(left: _Said, right: _Said) -> _Said:
        tighter = strength + (sign in "-/")
        return f"{_held(left, strength)} {sign} {_held(right, tighter)}", strength

    return write


def _held(said: _Said, strength: int) -> str:
    return said[0] if said[1] >= strength else f"({said[0]})"


def _call(name: str) -> Callable[..., _Said]:
    return lambda *parts: (f"{name}({', '.join(part[0] for part in parts)})", _ATOM)


_OPERATIONS: Mapping[str, Callable[..., _Said]] = {
    "number": lambda number: (str(number), _ATOM),
    "convert": lambda name, part: (f"{name}({part[0]})", _ATOM),
    "add": _operation("+", _SUM),
    "subtract": _operation("-", _SUM),
    "multiply": _operation("*", _TERM),
    "divide": _operation("/", _TERM),
    "negate": lambda part: (f"-{_held(part, _ATOM)}", _TERM),
    **{name: _call(name) for name in FUNCTIONS},
}


# Formulas ------------------------------------------------------------------------------------


def _formula(spec: Spec, types: Types, width: int) -> Iterator[StyledText]:
    formula = spec.body_as(Formula)
    yield StyledText()
    yield from _titled("formula", formula.place, width)
    yield from field("  length", expression_text(formula.length), width)
    yield from field("  element", f"{expression_text(formula.element)}   (i from 0)", width, 1)
    if formula.next:
        first = f"by a running sum; {formula.arguments[0]} is the first"
        said = f"{expression_text(formula.next)}   ({first})"
        yield from field("  next", said, width)
    modes = " or ".join(formula.to_float)
    said = f"to a float {modes}; to an integer {formula.to_integer}"
    yield from field("  convert", said, width, 1)
    yield from field("", quoted(spec, formula.convert_cite), width)
    if interval := formula.interval:
        said = f"no element reaches {interval.limit}; where one does once rounded, disputed"
        yield from field("  interval", said, width)
        yield from field("", quoted(spec, interval.cite), width)
    for undefined in formula.undefined:
        yield from _undefined(spec, undefined, width)
    for rule in formula.rules:
        yield from _formula_rule(spec, rule, types, width)


def _titled(name: str, place: Place, width: int) -> Iterator[StyledText]:
    """Yield a heading and its place, on the next line where there is no room."""
    said = StyledText(str(place), "dim")
    if len(name) + 3 + said.cell_len <= width:
        yield StyledText.assemble((name, "bold"), "   ", said)
    else:
        yield from (StyledText(name, "bold"), StyledText.assemble("  ", said))


def _undefined(spec: Spec, one: Undefined, width: int) -> Iterator[StyledText]:
    when = _CONDITIONS.get(one.when, f"{one.argument} is 0 in the output's type")
    yield StyledText()
    yield from _titled(one.name, one.place, width)
    yield from field("  when", when, width)
    yield from field("  gives", one.level, width)
    yield from field("  cite", quoted(spec, one.cite), width)


def _formula_rule(spec: Spec, rule: FormulaRule, types: Types, width: int) -> Iterator[StyledText]:
    yield StyledText()
    yield from _titled(rule.name, rule.place, width)
    yield from field("  when", _when(rule.when, types), width)
    exact = f"{rule.level}, where no element is rounded: {quoted(spec, rule.cite)}"
    yield from field("  cite", exact, width)
    rounded = f"{rule.agreed}, where all readings round to the same; disputed, where they differ"
    yield from field("", f"{rounded}: {quoted(spec, rule.differing)}", width)
    if rule.between:
        said = "what lies between the readings at every index, an ulp more to either side"
        yield from field("  allows", f"{said}, is tolerated", width)
    for lengths, elements in products(rule.readings):
        yield StyledText()
        yield from fields("  length", [_way(w, "length") for w in lengths], width)
        yield from fields("  element", [_way(w, "element") for w in elements], width, 1)
        cites = dict.fromkeys((w.cite.source, w.cite.text) for w in (*lengths, *elements))
        found = {(w.cite.source, w.cite.text): w.cite for w in (*lengths, *elements)}
        yield from fields("  cite", [quoted(spec, found[key]) for key in cites], width)


def _when(when: When, types: Types) -> str:
    said = {
        "to": when.to,
        "all inputs": when.all,
        "any input": when.any,
    }
    parts = (f"{k} {', '.join(types.folded(v))}" for k, v in said.items() if v is not None)
    return "; ".join(parts) or "always"


def products(
    readings: Sequence[tuple[FormulaWay, FormulaWay]],
) -> Iterator[tuple[tuple[FormulaWay, ...], tuple[FormulaWay, ...]]]:
    """Yield lists of lengths and elements of which every combination is a reading."""
    elements: dict[int, list[FormulaWay]] = {}
    lengths = {id(length): length for length, _ in readings}
    for length, element in readings:
        elements.setdefault(id(length), []).append(element)
    found: dict[tuple[int, ...], list[FormulaWay]] = {}
    for key, ways in elements.items():
        found.setdefault(tuple(map(id, ways)), []).append(lengths[key])
    by_id = {id(element): element for _, element in readings}
    for ids, group in found.items():
        yield tuple(group), tuple(by_id[i] for i in ids)


def _way(way: FormulaWay, of: str) -> str:
    form = "" if of == "length" else ", by a running sum" if way.running else ", by index"
    stated = f": {expression_text(way.expression)}" if way.conversions else ""
    return f"{way}{form}{stated}"


# Steps ---------------------------------------------------------------------------------------


def _steps(spec: Spec, types: Types, width: int) -> Iterator[StyledText]:
    steps = spec.body_as(Steps)
    yield StyledText()
    yield from _titled("steps", steps.place, width)
    for line in steps.lines:
        yield from _line(line, width)
    for name in steps.others:
        yield from field("", f"{name} is an output, too, of one element", width)
    yield StyledText()
    yield from field("  cite", f"{steps.level}: {quoted(spec, steps.cite)}", width)
    if steps.agreed != steps.level:
        yield from field("", f"{steps.agreed}, where readings round and agree", width)
    if steps.along:
        block = f", each element repeated as {steps.along.block} says" if steps.along.block else ""
        yield from field("  along", f"a vector goes along {steps.along.axis}{block}", width)
    for one in steps.undefined:
        what = "zero, either sign" if one.sign_only else "undefined"
        yield from field(f"  {what}", f"{one.input} {one.condition}: {one.name}", width)
        yield from field("", quoted(spec, one.cite), width)
    if steps.free_zero:
        yield from field("  zero", "an output that is zero has either sign", width)
    if steps.free_rest:
        yield from field("  other", "an output that is no finite number is undefined", width)
    if said := steps.values:
        where = " and ".join(f"{name} is {word}" for name, word in said.where)
        yield from field("  values", f"those of {said.line}, where {where}", width)
        yield from field("", f"{steps.level}: {quoted(spec, said.cite)}", width)
    yield StyledText()
    yield StyledText("readings, of which one has to hold for the whole tensor", "bold")
    for reading in steps.readings:
        yield from _reading(spec, reading, width)
    for entry in steps.outside:
        yield StyledText()
        yield from _titled(f"outside: {entry.name}", entry.place, width)
        values = (f"{name}={'|'.join(sorted(words))}" for name, words in entry.values)
        named = [*sorted(entry.layouts), *types.folded(entry.types), *values]
        yield from field("  when", ", ".join(named), width)
        yield from field("  cite", f"undefined: {quoted(spec, entry.cite)}", width)


def _line(line: StepsLine, width: int) -> Iterator[StyledText]:
    if line.be is None:
        by = f"by rule {line.rule}" if line.rule else "by the rules"
        to = ", ".join(f"{value}{GLUE}is{GLUE}{target}" for value, target in line.targets)
        named = f"to what {line.to} names: {to}" if line.to else "to the type of the output"
        said = f"{line.source} converted {by}, {named}"
    else:
        said = expression_text(line.be) + (", and nothing of it is rounded" if line.exact else "")
    yield from field(f"  {line.name}", said, width)
    for branch in line.branches:
        left, right = (expression_text(e) for e in (branch.condition.left, branch.condition.right))
        condition = f"{left} {branch.condition.relation} {right}"
        yield from field("", f"where {condition}: {expression_text(branch.be)}", width)
    if line.elsewhere:
        other = expression_text(line.elsewhere)
        yield from field("", f"where the output is none of {_listed(line)}: {other}", width)
    if line.needs:
        other = expression_text(line.otherwise) if line.otherwise else "nothing"
        yield from field("", f"without {line.needs}: {other}", width)


def _listed(line: StepsLine) -> str:
    """Name the outputs that an expression is for."""
    return ", ".join(sorted(line.only or ()))


def _reading(spec: Spec, reading: StepsReading, width: int) -> Iterator[StyledText]:
    yield from field("  reading", reading.name, width, 1)
    for said in _rounded(reading):
        yield from field("", said, width)
    yield from field("", quoted(spec, reading.cite), width)


def _rounded(reading: StepsReading) -> Iterator[str]:
    if reading.within:
        pairs = ", ".join(f"{source}:{GLUE}{target}" for source, target in reading.within)
        yield f"operations in a wider type ({pairs})"
    if reading.exact or reading.fixed or reading.of:
        of = f"in the type of {reading.of}" if reading.of else ""
        yield of or (f"in {reading.fixed}" if reading.fixed else "exactly")
    if reading.by:
        types = ", ".join(f"{value}:{GLUE}{target}" for value, target in reading.named)
        yield f"where {reading.by} is given, in the type that it names ({types})"
    if reading.operands:
        yield f"rounded to that type first: {', '.join(reading.operands)}"
    if reading.once:
        yield f"rounded once as a whole: {', '.join(sorted(reading.once))}"
    if reading.whole != NEAREST:
        yield f"round(x) is {reading.whole}"
    if reading.open_near_ties:
        yield "in a wider type, what was rounded to within one ulp of a tie is left open"
    if reading.narrow:
        yield f"rounded to the type of the first input: {', '.join(sorted(reading.narrow))}"


# Body -> its lines.
_SHOWN: Mapping[str, Callable[[Spec, Types, int], Iterator[StyledText]]] = {
    "table": lambda *_: iter(()),
    "matrix": body_matrix.matrix_body_lines,
    "formula": _formula,
    "steps": _steps,
}
