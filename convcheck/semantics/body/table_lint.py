"""Check that tables are complete, reachable and cited, and that examples hold.

The ends of segments, on which all case words are constant, values at the ends of the destination
and special values represent all inputs. Samples and thresholds in decimal represent texts.
"""

import re
from collections.abc import Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from convcheck.errors import Place, SpecError
from convcheck.numerics.format import Float, Format, Text
from convcheck.numerics.number import Bits, Texts, from_fractions
from convcheck.numerics.order import around, each_once, special_codes
from convcheck.numerics.words import code_of, spell_fraction
from convcheck.rules.cases import defaults, make_case, pairs_outside
from convcheck.rules.model import Case, Spec, TableExample
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.semantics.program import Program
from convcheck.semantics.segments import segments
from convcheck.semantics.vocabulary import DIGITS

# of segments of conversions, which most versions of an operator share
_ENDS: dict[Hashable, list[int]] = {}


@dataclass(frozen=True)
class Diagnostic:
    """An error in a spec file."""

    place: Place
    message: str
    hint: str = ""

    @staticmethod
    def of_error(error: SpecError, spec: Spec) -> "Diagnostic":
        """Return the diagnostic of an error that a spec raises."""
        return Diagnostic(error.place or spec.place, error.message, error.hint)

    def of(self, specs: Sequence[str]) -> str:
        """Return the diagnostic in words."""
        more = f" and {len(specs) - 1} more" if len(specs) > 1 else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.place}: {specs[0]}{more}: {self.message}{hint}"


@dataclass
class Proof:
    """The result of linting a spec."""

    spec: str
    cases: int = 0
    compiled: dict[Case, Any] = field(default_factory=dict)
    #: pairs of a case and a representative input
    points: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)


def check(spec: Spec, proof: Proof) -> list[Diagnostic]:
    """Check levels, spellings, attributes and what is left out."""
    return [*_levels(spec), *_spellings(spec), *_attributes(spec), *_outside(spec)]


def prove(spec: Spec, proof: Proof) -> Iterator[Diagnostic]:
    """Yield the rules and rows that no input reaches."""
    reached: set[tuple[str, str]] = set()
    for case, program in proof.compiled.items():
        bits = representatives(spec, case, program)
        proof.points += len(bits)
        reached |= rows_reached(program, case, bits)
    for rule in spec.rules:
        rows = [row for row in rule.rows if (rule.name, row.label) not in reached]
        if len(rows) == len(rule.rows):
            hint = "an earlier rule decides everything that it applies to, or it applies to nothing"
            yield Diagnostic(rule.place, f"rule {rule.name} is unreachable", hint)
        else:
            for row in rows:
                hint = "rows above it match everything that it would"
                yield Diagnostic(row.place, f"row {row.label!r} is unreachable", hint)


def representatives(spec: Spec, case: Case, program: Program) -> Bits:
    """Return inputs that represent all of a case."""
    source, target = case.inputs[0].format, case.outputs[0].format
    thresholds = _thresholds(spec, target)
    if isinstance(source, Text):
        return _texts(spec, thresholds)
    near = around(source, from_fractions(sorted({abs(one) for one in thresholds})))
    codes = [near, special_codes(source)]
    if not isinstance(target, Text):
        key = program.meaning, source, target
        if key not in _ENDS:
            parts = segments(program, source, target)
            _ENDS[key] = [end for part in parts for end in (part.first, part.last)]
        codes.append(np.array(_ENDS[key], source.storage))
    return each_once(np.concatenate(codes))


def _thresholds(spec: Spec, target: Format) -> list[Fraction]:
    labels = [row.label for rule in spec.rules for row in rule.rows]
    powers = sorted({m for label in labels for m in re.findall(r"2\^(-?\d+)", label)})
    found = [Fraction(0), *(Fraction(2) ** int(p) for p in powers)]
    if isinstance(target, Text):
        return found
    low, after = Fraction(1), target.max + 1
    if isinstance(target, Float):
        low, after = target.value(1), target.value(target.max_magnitude + 1)
    top = [target.max, (target.max + after) / 2, after]
    return [*found, *top, low / 2, low, target.min, target.min - Fraction(1, 2), target.min - 1]


def _texts(spec: Spec, thresholds: list[Fraction]) -> Texts:
    texts = ["", "?", "0", "-0"]
    for literal in spec.literals.values():
        texts += literal.samples
    for value in sorted({abs(t) for t in thresholds}):
        for factor in (Fraction(1), Fraction(99, 100), Fraction(101, 100)):
            word = spell_fraction(value * factor, 15).lstrip("~")
            texts += [word, f"-{word}"]
        whole = int(value)
        texts += [str(whole), str(whole + 1), str(-whole), str(-whole - 1)]
    labels = {row.label for rule in spec.rules for row in rule.rows}
    limits = {each.removeprefix(DIGITS) for each in labels if each.startswith(DIGITS)}
    texts += ["1" * (int(n) + 1) for n in limits]
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def rows_reached(program: Program, case: Case, bits: Bits) -> set[tuple[str, str]]:
    """Return rule and label of each row that decides an input."""
    rows = np.unique(run_program(program, case, bits).rows)
    return {step for row in rows for step in program.decisions[row].trail}


def rows_unreached(
    spec: Spec, reached: Container[tuple[str, str]], hint: str
) -> Iterator[Diagnostic]:
    """Yield each row that no conversion reaches."""
    for rule in spec.rules:
        for row in (row for row in rule.rows if (rule.name, row.label) not in reached):
            message = f"row {row.label!r} of {rule.name} is unreachable"
            yield Diagnostic(row.place, message, hint)


def _levels(spec: Spec) -> Iterator[Diagnostic]:
    for rule in spec.rules:
        for cell in (cell for row in rule.rows for cell in row.cells):
            free = all(outcome.word == "undefined" for outcome in cell.outcomes)
            if free != (cell.level == "undefined"):
                message = f"outcome {cell.text!r} at level {cell.level}"
                hint = "`undefined` is an outcome of that level only"
                yield Diagnostic(cell.place, message, hint)
            names = [outcome.reading for outcome in cell.outcomes]
            if len(set(names)) != len(names):
                yield Diagnostic(cell.place, "two readings have the same name")


def _spellings(spec: Spec) -> Iterator[Diagnostic]:
    for name, literal in spec.literals.items():
        for sample in literal.samples:
            if re.fullmatch(literal.matches, sample) is None:
                yield Diagnostic(literal.place, f"{sample!r} is no {name}: it does not match")


def _attributes(spec: Spec) -> Iterator[Diagnostic]:
    for attribute in spec.attributes:
        if not attribute.carries and attribute.default not in attribute.values:
            message = f"the default {attribute.default!r} is not among the values"
            yield Diagnostic(attribute.place, message)
        if attribute.carries and attribute.carries not in spec.types:
            yield Diagnostic(attribute.place, f"no type variable {attribute.carries!r}")


def _outside(spec: Spec) -> Iterator[Diagnostic]:
    for entry in spec.outside:
        if entry.rule.place.file == spec.place.file and not any(pairs_outside(spec, entry)):
            message = f"{entry.rule.name} asks nothing: the lists of types have all of its pairs"
            yield Diagnostic(entry.rule.place, message, "remove it")


def replay(spec: Spec, example: TableExample, proof: Proof) -> Iterator[Diagnostic]:
    """Yield what an example contradicts."""
    case = _case_of(spec, example)
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text):
        bits: Bits = np.array([example.x], object)
    else:
        bits = np.array([code_of(source, example.x)[0]], source.storage)
    [reading, *_] = run_program(compile_case(spec, case), case, bits).readings
    code, pattern = reading.codes[0], reading.patterns[0]
    got = PATTERNS[pattern] if pattern != EXACT else code if isinstance(code, str) else f"{code:#x}"
    due = {example.gives}
    if not isinstance(target, Text) and example.gives not in PATTERNS:
        due.add(f"{code_of(target, example.gives)[0]:#x}")
    if got not in due:
        message = f"example: {example.x} gives {got}, not {example.gives}"
        yield Diagnostic(example.place, message, "the rules, or the example, are wrong")


def _case_of(spec: Spec, example: TableExample) -> Case:
    known = {a.name: a for a in spec.attributes}
    own = {name: known[name].value_of(str(value)) for name, value in example.attributes}
    said = dict(defaults(spec, example.target)) | own
    return make_case(spec, example.source, example.target, tuple(said.items()))
