"""State what a case expects of a code, as terms of an SMT solver."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import z3

from convcheck.chains.segments import UnprovenError, outcome_of
from convcheck.chains.type_chain import Way, ways
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import MODES
from convcheck.prove.ir import Bits, Bool, UndecidedError
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import (
    ANY_NAN,
    ANY_ZERO,
    EXACT,
    NEGATIVE_NAN,
    PATTERNS,
    UNDEFINED,
)
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Constant, lookup, runs
from convcheck.semantics.segments import Segment, Segments
from convcheck.semantics.vocabulary import COMPUTATIONS

_ROUNDED, _SAME, _LOW, _WRAPPED = (
    COMPUTATIONS[word][0] for word in ("[x]", "same", "low-bits", "wrapped")
)
_EXPONENT = 16  # bits of exponents


@dataclass(frozen=True)
class Part:
    """Codes of a source with one rule: a pattern and code, or a computation."""

    first: int
    last: int
    pattern: int
    code: int
    compute: str = ""  # '', 'rounds', 'wraps', 'low bits' or 'same'
    mode: str = ""


@dataclass(frozen=True)
class Rule:
    """What a case expects under one reading: the parts of the source, in order."""

    source: Numeric
    target: Numeric
    name: str
    parts: tuple[Part, ...]
    before: "Rule | None" = None  # of the cast that gives `x`, in a chain
    tells_nans_apart: bool = False

    @property
    def first(self) -> "Rule":
        """The rule of the first cast."""
        return self.before.first if self.before else self

    def is_exact(self, code: int) -> bool:
        """Return whether a code has one right result."""
        x = z3.BitVecVal(code, self.first.source.storage.itemsize * 8)
        one = z3.And(self._is_among(self._middle(x), EXACT), z3.Not(self.is_open(x)))
        return bool(z3.is_true(z3.simplify(one)))

    def holds(self, x: Bits, y: Bits) -> Bool:
        """Return whether `y` is right for `x`, codes in the storage of their types."""
        middle = self._middle(x)
        right = self._among(middle, lambda part: self._of(part, middle, y))
        return z3.Or(self.is_open(x), right) if self.before else right

    def is_open(self, x: Bits) -> Bool:
        """Return whether anything is right for `x`."""
        known = [self._is_among(self._middle(x), UNDEFINED)]
        if self.before:
            known.append(self.before.is_open(x))
        if self.before and self.tells_nans_apart:
            known.append(self.before._is_among(self.before._middle(x), ANY_NAN, NEGATIVE_NAN))
        return z3.Or(*known)

    def _middle(self, x: Bits) -> Bits:
        """Return what the last cast is given: one NaN for any, 0 for anything."""
        if self.before is None:
            return x
        before, middle = self.before, self.before._middle(x)
        return before._among(middle, lambda part: before._gives(part, middle))

    def _is_among(self, x: Bits, *patterns: int) -> Bool:
        parts = [part for part in self.parts if part.pattern in patterns]
        return z3.Or(*(z3.And(z3.UGE(x, part.first), z3.ULE(x, part.last)) for part in parts))

    def _among(self, x: Bits, made: Callable[[Part], Any]) -> Any:
        def of(parts: Sequence[Part]) -> Any:
            if len(parts) == 1:
                return made(parts[0])
            half = len(parts) // 2
            first = z3.BitVecVal(parts[half].first, x.size())
            return z3.If(z3.ULT(x, first), of(parts[:half]), of(parts[half:]))

        return of(self.parts)

    def _gives(self, part: Part, x: Bits) -> Bits:
        width, target = self.target.storage.itemsize * 8, self.target
        if part.compute:
            return _COMPUTED[part.compute](self, part, x, width)
        code = part.code if part.pattern in (EXACT, UNDEFINED) else None
        if isinstance(target, Float) and part.pattern in (ANY_NAN, NEGATIVE_NAN):
            code = target.nan_code | (target.sign_bit if part.pattern == NEGATIVE_NAN else 0)
        if code is None:
            raise UndecidedError(f"a cast inside a chain that gives {PATTERNS[part.pattern]}")
        return z3.BitVecVal(code, width)

    def _of(self, part: Part, x: Bits, y: Bits) -> Bool:
        width, target = y.size(), self.target
        if part.compute:
            return y == _COMPUTED[part.compute](self, part, x, width)
        if part.pattern == EXACT:
            return y == z3.BitVecVal(part.code, width)
        if part.pattern == UNDEFINED:
            return z3.BoolVal(True)
        if isinstance(target, Float) and part.pattern in (ANY_ZERO, ANY_NAN, NEGATIVE_NAN):
            if part.pattern == ANY_ZERO:
                return z3.Or(y == 0, y == target.sign_bit)
            nan = _is_nan(target, y)
            return z3.And(nan, y & target.sign_bit != 0) if part.pattern == NEGATIVE_NAN else nan
        raise UndecidedError(f"a rule that asks for {PATTERNS[part.pattern]}")


def rules_of(spec: Spec, case: Case) -> list[Rule]:
    """Return the rule of a case under each reading. Raises UndecidedError."""
    if case.hops:
        return [_chain_rule(spec, case, way) for way in ways(spec, case)]
    source, target = case.inputs[0].format, case.outputs[0].format
    several = len(case.inputs) > 1 and not case.fixed
    if several or not isinstance(source, Numeric) or not isinstance(target, Numeric):
        raise UndecidedError("a case that does not convert one number to another")
    if case.fixed:
        return _computed_rules(compile_case(spec, case), source, target)
    by_code = lookup(compile_case(spec, case), source, target)
    firsts = by_code.expected(by_code.starts)
    names = _names(by_code.program)
    return [
        Rule(source, target, name, tuple(_parts(by_code, firsts, number)))
        for number, name in enumerate(names)
    ]


def _chain_rule(spec: Spec, case: Case, way: Way) -> Rule:
    found: Rule | None = None
    for hop, cast in zip(case.hops, way.chain.casts, strict=True):
        apart = cast.tells_nans_apart
        each = rules_of(spec, hop)[cast.reading]
        found = replace(each, before=found, tells_nans_apart=apart)
    assert found  # noqa: S101
    return replace(found, name=way.name)


def _computed_rules(program: Program, source: Numeric, target: Numeric) -> list[Rule]:
    found = runs(program, source, target, 0, 1 << source.bits)
    constants = [run for run in found if isinstance(run, Constant)]
    if len(constants) < len(found):
        raise UndecidedError("a rule with too many steps")
    return [
        Rule(source, target, name, tuple(_constant(run, number) for run in constants))
        for number, name in enumerate(_names(program))
    ]


def _constant(run: Constant, reading: int) -> Part:
    code, pattern = run.outcomes[min(reading, len(run.outcomes) - 1)]
    return Part(run.first, run.end - 1, pattern, 0 if pattern else code)


def _names(program: Program) -> tuple[str, ...]:
    """Return the names of the readings, in the order of outcomes: ('',) for a single one."""
    return max((by.readings for by in program.decisions), key=len)


def _parts(by_code: Segments, firsts: object, reading: int) -> list[Part]:
    found: list[Part] = []
    for part in by_code.parts:
        ends = np.array([part.first, part.last], by_code.source.storage)
        expected = by_code.expected(ends)
        of = expected.readings[min(reading, len(expected.readings) - 1)]
        pattern, code = int(of.patterns[0]), int(of.codes[0])
        new = Part(part.first, part.last, pattern, 0 if pattern else code)
        same = (pattern, code) == (int(of.patterns[1]), int(of.codes[1]))
        if not (part.constant or (same and part.formats is not None)):
            compute, mode = _computation(part, reading)
            new = replace(new, compute=compute, mode=mode)
        if (
            found
            and not new.compute
            and replace(found[-1], last=0, first=0) == replace(new, first=0, last=0)
        ):
            found[-1] = replace(found[-1], last=new.last)
        else:
            found.append(new)
    return found


def _computation(part: Segment, reading: int) -> tuple[str, str]:
    try:
        outcome = outcome_of(part.program, reading)
    except UnprovenError:
        raise UndecidedError("a row that depends on the digits of x") from None
    if outcome.compute is None:
        return "", ""
    names = {_ROUNDED: "rounds", _WRAPPED: "wraps", _LOW: "low bits", _SAME: "same"}
    if outcome.compute not in names:
        raise UndecidedError("an outcome that is no rounding")
    return names[outcome.compute], outcome.mode


def _is_nan(fmt: Float, y: Bits) -> Bool:
    magnitude = y & fmt.magnitude_mask
    if fmt.nan == "ieee":
        return z3.UGT(magnitude, (fmt.magnitude_mask >> fmt.mantissa) << fmt.mantissa)
    return magnitude == fmt.magnitude_mask if fmt.nan == "all-ones" else y == fmt.sign_bit


# Computations ------------------------------------------------------------------------------------


def _rounds(rule: Rule, part: Part, x: Bits, width: int) -> Bits:
    target = rule.target
    sign, digits, exponent = _number(rule.source, x, 2 + max(width, target.bits))
    size = digits.size()
    if isinstance(target, Float):
        lowest = z3.BitVecVal(target.lowest_exponent, _EXPONENT)
        top = _length(rule.source, digits) + exponent - 1 - target.mantissa
        unit = z3.If(top > lowest, top, lowest)
    else:
        unit = z3.BitVecVal(0, _EXPONENT)
    down = unit - exponent
    count = _resized(z3.If(down > size - 1, z3.BitVecVal(size - 1, _EXPONENT), down), size)
    up = _resized(z3.If(down < 1 - size, z3.BitVecVal(size - 1, _EXPONENT), -down), size)
    kept = z3.If(down > 0, z3.LShR(digits, count), digits << up)
    dropped = z3.If(down > 0, digits << (size - count), z3.BitVecVal(0, size))
    last = z3.Extract(0, 0, kept)
    first = z3.Extract(size - 1, size - 1, dropped)
    later = z3.If(dropped << 1 != 0, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
    found = kept + z3.ZeroExt(size - 1, MODES[part.mode](sign, last, first, later))
    if isinstance(target, Float):
        found = found + (_resized(unit - lowest, size) << target.mantissa)
        negative = z3.BitVecVal(target.sign_bit if target.signed else 0, size)
        return z3.Extract(width - 1, 0, z3.If(sign == 1, found | negative, found))
    return _masked(z3.If(sign == 1, -found, found), target, width)


def _low_bits(rule: Rule, part: Part, x: Bits, width: int) -> Bits:
    if isinstance(rule.source, Float):
        raise UndecidedError("the low bits of a float")
    sign, digits, _ = _number(rule.source, x, width)
    return _masked(z3.If(sign == 1, -digits, digits), rule.target, width)


def _same(rule: Rule, part: Part, x: Bits, width: int) -> Bits:
    return _masked(_resized(x, max(width, x.size())), rule.target, width)


_COMPUTED: dict[str, Callable[[Rule, Part, Bits, int], Bits]] = {
    "rounds": _rounds,
    "wraps": _rounds,
    "low bits": _low_bits,
    "same": _same,
}


def _masked(bits: Bits, target: Numeric, width: int) -> Bits:
    low = z3.Extract(target.bits - 1, 0, bits)
    return _resized(low, width)


def _resized(bits: Bits, size: int) -> Bits:
    if bits.size() >= size:
        return z3.Extract(size - 1, 0, bits)
    return z3.ZeroExt(size - bits.size(), bits)


def _number(source: Numeric, x: Bits, least: int) -> tuple[Bits, Bits, Bits]:
    """Return sign, digits and exponent of a finite number: digits * 2^exponent."""
    size = max(least, source.bits + 2)
    if not isinstance(source, Float):
        code = z3.Extract(source.bits - 1, 0, x)
        if not source.signed:
            return z3.BitVecVal(0, 1), _resized(code, size), z3.BitVecVal(0, _EXPONENT)
        sign = z3.Extract(source.bits - 1, source.bits - 1, code)
        wide = z3.SignExt(size - source.bits, code)
        return sign, z3.If(sign == 1, -wide, wide), z3.BitVecVal(0, _EXPONENT)
    place = source.bits - 1
    sign = z3.Extract(place, place, x) if source.signed else z3.BitVecVal(0, 1)
    field = z3.Extract(source.mantissa + source.exponent - 1, source.mantissa, x)
    normal = z3.BoolVal(True) if not source.zero else field != 0
    hidden = z3.If(normal, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))
    digits = hidden
    if source.mantissa:
        digits = z3.Concat(hidden, z3.Extract(source.mantissa - 1, 0, x))
    wide = _resized(field, _EXPONENT)
    scale = z3.If(normal, wide, z3.BitVecVal(1, _EXPONENT))
    return sign, _resized(digits, size), scale - (source.bias + source.mantissa)


def _length(source: Numeric, digits: Bits) -> Bits:
    """Return the number of digits up to the leading one."""
    found = z3.BitVecVal(0, _EXPONENT)
    most = source.mantissa + 1 if isinstance(source, Float) else source.bits
    for bit in range(most):
        found = z3.If(z3.Extract(bit, bit, digits) == 1, z3.BitVecVal(bit + 1, _EXPONENT), found)
    return found
