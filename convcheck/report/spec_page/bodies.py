"""Draw formulas and steps of specs of whole calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.report.spec_page import matrix as body_matrix
from convcheck.report.spec_page.fields import fields, quoted, titled
from convcheck.rules.body.formula import Formula, FormulaRule, FormulaWay, Undefined
from convcheck.rules.body.formula_calls import When
from convcheck.rules.body.steps import NEAREST, Steps, StepsLine, StepsReading
from convcheck.rules.expression import FUNCTIONS, Expression, compute
from convcheck.rules.model import Spec
from convcheck.rules.types import Types
from convcheck.wording import GLUE

_Said = tuple[str, int]  # an expression and its binding strength
_SUM, _TERM, _ATOM = range(3)
_CONDITIONS = {
    "not scalar": "an argument is no scalar",
    "not finite": "an argument is no finite number",
    "-0": "an argument is -0",
    "overflow": "an argument or a computation, under any reading, leaves its type",
}


def body_blocks(spec: Spec, types: Types) -> Iterator[Block]:
    """Yield a body; nothing for a table, whose rules are drawn elsewhere."""
    return _SHOWN[spec.body.name](spec, types)


# Expressions ---------------------------------------------------------------------------------


def expression_text(expression: Expression) -> str:
    """Write an expression with the fewest parentheses."""
    names = _Names()
    return compute(expression, names, _OPERATIONS)[0]


class _Names(dict[str, _Said]):
    """Maps each name to itself."""

    def __missing__(self, name: str) -> _Said:
        return name, _ATOM


def _operation(sign: str, strength: int) -> Callable[..., _Said]:
    """Write a left-associative binary operation."""

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


def _formula(spec: Spec, types: Types) -> Iterator[Block]:
    formula = spec.body_as(Formula)
    yield BLANK
    yield titled("formula", formula.place)
    yield field("  length", expression_text(formula.length))
    yield field("  element", f"{expression_text(formula.element)}   (i from 0)")
    if formula.next:
        first = f"by a running sum; {formula.arguments[0]} is the first"
        said = f"{expression_text(formula.next)}   ({first})"
        yield field("  next", said)
    modes = " or ".join(formula.to_float)
    said = f"to a float {modes}; to an integer {formula.to_integer}"
    yield field("  convert", said)
    yield field("", quoted(spec, formula.convert_cite))
    if interval := formula.interval:
        said = f"no element reaches {interval.limit}; where one does once rounded, disputed"
        yield field("  interval", said)
        yield field("", quoted(spec, interval.cite))
    for undefined in formula.undefined:
        yield from _undefined(spec, undefined)
    for rule in formula.rules:
        yield from _formula_rule(spec, rule, types)


def _undefined(spec: Spec, one: Undefined) -> Iterator[Block]:
    when = _CONDITIONS.get(one.when, f"{one.argument} is 0 in the output's type")
    yield BLANK
    yield titled(one.name, one.place)
    yield field("  when", when)
    yield field("  gives", one.level)
    yield field("  cite", quoted(spec, one.cite))


def _formula_rule(spec: Spec, rule: FormulaRule, types: Types) -> Iterator[Block]:
    yield BLANK
    yield titled(rule.name, rule.place)
    yield field("  when", _when(rule.when, types))
    exact = f"{rule.level}, where no element is rounded: {quoted(spec, rule.cite)}"
    yield field("  cite", exact)
    rounded = f"{rule.agreed}, where all readings round to the same; disputed, where they differ"
    yield field("", f"{rounded}: {quoted(spec, rule.differing)}")
    if rule.between:
        said = "what lies between the readings at every index, an ulp more to either side"
        yield field("  allows", f"{said}, is tolerated")
    for lengths, elements in products(rule.readings):
        yield BLANK
        yield from fields("  length", [_way(w, "length") for w in lengths])
        yield from fields("  element", [_way(w, "element") for w in elements])
        cites = dict.fromkeys((w.cite.source, w.cite.text) for w in (*lengths, *elements))
        found = {(w.cite.source, w.cite.text): w.cite for w in (*lengths, *elements)}
        yield from fields("  cite", [quoted(spec, found[key]) for key in cites])


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
    """Yield lists of lengths and elements whose combinations are all readings."""
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


def _steps(spec: Spec, types: Types) -> Iterator[Block]:
    steps = spec.body_as(Steps)
    yield BLANK
    yield titled("steps", steps.place)
    for line in steps.lines:
        yield from _line(line)
    for name in steps.others:
        yield field("", f"{name} is an output, too, of one element")
    yield BLANK
    yield field("  cite", f"{steps.level}: {quoted(spec, steps.cite)}")
    if steps.agreed != steps.level:
        yield field("", f"{steps.agreed}, where readings round and agree")
    if steps.along:
        block = f", each element repeated as {steps.along.block} says" if steps.along.block else ""
        yield field("  along", f"a vector goes along {steps.along.axis}{block}")
    for one in steps.undefined:
        what = "zero, either sign" if one.sign_only else "undefined"
        yield field(f"  {what}", f"{one.input} {one.condition}: {one.name}")
        yield field("", quoted(spec, one.cite))
    if steps.free_zero:
        yield field("  zero", "an output that is zero has either sign")
    if steps.free_rest:
        yield field("  other", "an output that is no finite number is undefined")
    if said := steps.values:
        where = " and ".join(f"{name} is {word}" for name, word in said.where)
        yield field("  values", f"those of {said.line}, where {where}")
        yield field("", f"{steps.level}: {quoted(spec, said.cite)}")
    yield BLANK
    yield Text("readings, of which one has to hold for the whole tensor", "bold")
    for reading in steps.readings:
        yield from _reading(spec, reading)
    for entry in steps.outside:
        yield BLANK
        yield titled(f"outside: {entry.name}", entry.place)
        values = (f"{name}={'|'.join(sorted(words))}" for name, words in entry.values)
        named = [*sorted(entry.layouts), *types.folded(entry.types), *values]
        yield field("  when", ", ".join(named))
        yield field("  cite", f"undefined: {quoted(spec, entry.cite)}")


def _line(line: StepsLine) -> Iterator[Block]:
    if line.be is None:
        by = f"by rule {line.rule}" if line.rule else "by the rules"
        to = ", ".join(f"{value}{GLUE}is{GLUE}{target}" for value, target in line.targets)
        named = f"to what {line.to} names: {to}" if line.to else "to the type of the output"
        said = f"{line.source} converted {by}, {named}"
    else:
        said = expression_text(line.be) + (", and nothing of it is rounded" if line.exact else "")
    yield field(f"  {line.name}", said)
    for branch in line.branches:
        left, right = (expression_text(e) for e in (branch.condition.left, branch.condition.right))
        condition = f"{left} {branch.condition.relation} {right}"
        yield field("", f"where {condition}: {expression_text(branch.be)}")
    if line.elsewhere:
        other = expression_text(line.elsewhere)
        yield field("", f"where the output is none of {_listed(line)}: {other}")
    if line.needs:
        other = expression_text(line.otherwise) if line.otherwise else "nothing"
        yield field("", f"without {line.needs}: {other}")


def _listed(line: StepsLine) -> str:
    return ", ".join(sorted(line.only or ()))


def _reading(spec: Spec, reading: StepsReading) -> Iterator[Block]:
    yield field("  reading", reading.name)
    for said in _rounded(reading):
        yield field("", said)
    yield field("", quoted(spec, reading.cite))


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


_SHOWN: Mapping[str, Callable[[Spec, Types], Iterator[Block]]] = {
    "table": lambda *_: iter(()),
    "matrix": body_matrix.matrix_body_blocks,
    "formula": _formula,
    "steps": _steps,
}
