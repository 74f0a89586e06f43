"""Evaluate terms of an SMT solver on many inputs, with numpy."""

from typing import Any

import numpy as np
import z3

Array = Any
_FLOATS = {(5, 11): np.float16, (8, 24): np.float32, (11, 53): np.float64}


def unsigned(width):
    return {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[width]


class Terms:
    """Values of terms, given those of variables. `nan` marks inputs with a NaN of any bits."""

    def __init__(self, known, facts, count):
        self.known, self.count, self.memo = known, count, dict[int, Array]()
        self.nan = np.zeros(count, bool)
        self.defined = {}
        for fact in facts:
            if fact.decl().kind() in (z3.Z3_OP_EQ, z3.Z3_OP_FPA_EQ):
                self.defined[fact.arg(0).arg(0).decl().name()] = fact.arg(1)

    def of(self, term):
        todo = [term]
        while todo:
            one = todo[-1]
            if one.get_id() in self.memo:
                todo.pop()
                continue
            name = one.decl().name() if z3.is_const(one) else ""
            needs = [self.defined[name]] if name in self.defined else one.children()
            left = [child for child in needs if child.get_id() not in self.memo]
            if left:
                todo += left
                continue
            todo.pop()
            self.memo[one.get_id()] = self._of(one, name)
        return self.memo[term.get_id()]

    def _of(self, one, name):
        if name in self.known:
            return self.known[name]
        if name in self.defined:
            number = self.memo[self.defined[name].get_id()]
            self.nan |= np.isnan(number)
            return number.view(unsigned(8 * number.itemsize)).astype(object)
        given = [self.memo[child.get_id()] for child in one.children()]
        kind = one.decl().kind()
        with np.errstate(all="ignore"):
            return _OPERATIONS[kind](self, one, *given)

    def full(self, value):
        return np.full(self.count, value, object)


def _signed(term, x):
    size = term.size()
    return np.where(x >= 1 << size - 1, x - (1 << size), x)


def _masked(made):
    def of(terms, one, *given):
        found = given[0]
        for other in given[1:]:
            found = made(found, other)
        return np.asarray(found & ((1 << one.size()) - 1), object)

    return of


def _shift(left, signed=False):
    def of(terms, one, x, by):
        size = one.size()
        count = np.minimum(by, size)
        if left:
            return np.asarray((x << count) & ((1 << size) - 1), object)
        value = _signed(one, x) if signed else x
        return np.asarray((value >> count) & ((1 << size) - 1), object)

    return of


def _compare(made, signed=False):
    def of(terms, one, *given):
        pair = [_signed(one.arg(i), x) if signed else x for i, x in enumerate(given)]
        return np.asarray(made(*pair), bool)

    return of


def _float(kind):
    return _FLOATS[kind.ebits(), kind.sbits()]


def _mode(one):
    return int(one.arg(0).decl().kind())


def _to_float(terms, one, *given):
    made, source = _float(one.sort()), given[-1]
    last = one.arg(one.num_args() - 1)
    if one.num_args() == 1:  # bits
        return source.astype(unsigned(last.size())).view(made)
    if z3.is_fp(last):
        return source.astype(made)
    value = _signed(last, source)  # an integer
    return np.array([made(int(x)) if made is np.float64 else _rounded(made, int(x)) for x in value])


def _to_float_unsigned(terms, one, mode, x):
    made = _float(one.sort())
    return np.array([made(int(v)) if made is np.float64 else _rounded(made, int(v)) for v in x])


def _rounded(made, x):
    """Round an integer once: floats of numpy go through float64."""
    size = abs(x).bit_length()
    keep = {np.float32: 24, np.float16: 11}[made] + 2
    if size > keep:
        cut = size - keep
        low = abs(x) & ((1 << cut) - 1)
        x = ((abs(x) >> cut | bool(low)) << cut) * (1 if x > 0 else -1)
    with np.errstate(all="ignore"):
        return made(float(x))


def _to_integer(terms, one, mode, x):
    size = one.size()
    found = [0 if np.isnan(v) or np.isinf(v) else int(v) & ((1 << size) - 1) for v in x]
    return np.array(found, object)


def _integral(terms, one, mode, x):
    away = np.copysign(np.floor(np.abs(x.astype(np.longdouble)) + 0.5), x).astype(x.dtype)
    return {
        z3.Z3_OP_FPA_RM_NEAREST_TIES_TO_EVEN: np.rint, z3.Z3_OP_FPA_RM_TOWARD_ZERO: np.trunc,
        z3.Z3_OP_FPA_RM_TOWARD_NEGATIVE: np.floor, z3.Z3_OP_FPA_RM_TOWARD_POSITIVE: np.ceil,
        z3.Z3_OP_FPA_RM_NEAREST_TIES_TO_AWAY: lambda _: away,
    }[_mode(one)](x)  # fmt: skip


def _arithmetic(made):
    return lambda terms, one, mode, *given: made(*given)


def _constant(terms, one):
    return terms.full(one.as_long())


def _float_constant(value):
    return lambda terms, one: np.full(terms.count, value, _float(one.sort()))


def _choice(terms, one, on, a, b):
    return np.where(on, a, b)


def _division(signed, rest):
    def of(terms, one, a, b):
        size = one.size()
        pairs = zip(_signed(one, a) if signed else a, _signed(one, b) if signed else b, strict=True)
        found = []
        for x, y in pairs:
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0
            found.append((x - quotient * y if rest else quotient) & ((1 << size) - 1))
        return np.array(found, object)

    return of


def _extract(terms, one, x):
    high, low = one.params()
    return np.asarray((x >> low) & ((1 << high - low + 1) - 1), object)


def _concat(terms, one, *given):
    found = given[0]
    for child, x in zip(one.children()[1:], given[1:], strict=True):
        found = found << child.size() | x
    return np.asarray(found, object)


def _extended(signed):
    def of(terms, one, x):
        return np.asarray(
            (_signed(one.arg(0), x) if signed else x) & ((1 << one.size()) - 1), object
        )

    return of


def _small(x):
    return np.abs(x) < np.finfo(x.dtype).tiny


_OPERATIONS = {
    z3.Z3_OP_TRUE: lambda terms, one: np.ones(terms.count, bool),
    z3.Z3_OP_FALSE: lambda terms, one: np.zeros(terms.count, bool),
    z3.Z3_OP_AND: lambda terms, one, *given: np.logical_and.reduce(given),
    z3.Z3_OP_OR: lambda terms, one, *given: np.logical_or.reduce(given),
    z3.Z3_OP_NOT: lambda terms, one, x: ~x,
    z3.Z3_OP_ITE: _choice,
    z3.Z3_OP_EQ: _compare(lambda a, b: a == b),
    z3.Z3_OP_DISTINCT: _compare(lambda a, b: a != b),
    z3.Z3_OP_BNUM: _constant,
    z3.Z3_OP_BADD: _masked(lambda a, b: a + b),
    z3.Z3_OP_BSUB: _masked(lambda a, b: a - b),
    z3.Z3_OP_BMUL: _masked(lambda a, b: a * b),
    z3.Z3_OP_BNEG: lambda terms, one, x: np.asarray(-x & ((1 << one.size()) - 1), object),
    z3.Z3_OP_BNOT: lambda terms, one, x: np.asarray(~x & ((1 << one.size()) - 1), object),
    z3.Z3_OP_BAND: _masked(lambda a, b: a & b),
    z3.Z3_OP_BOR: _masked(lambda a, b: a | b),
    z3.Z3_OP_BXOR: _masked(lambda a, b: a ^ b),
    z3.Z3_OP_BSHL: _shift(left=True),
    z3.Z3_OP_BLSHR: _shift(left=False),
    z3.Z3_OP_BASHR: _shift(left=False, signed=True),
    z3.Z3_OP_BUDIV: _division(signed=False, rest=False),
    z3.Z3_OP_BUDIV_I: _division(signed=False, rest=False),
    z3.Z3_OP_BSDIV: _division(signed=True, rest=False),
    z3.Z3_OP_BSDIV_I: _division(signed=True, rest=False),
    z3.Z3_OP_BUREM: _division(signed=False, rest=True),
    z3.Z3_OP_BUREM_I: _division(signed=False, rest=True),
    z3.Z3_OP_BSREM: _division(signed=True, rest=True),
    z3.Z3_OP_BSREM_I: _division(signed=True, rest=True),
    z3.Z3_OP_ULT: _compare(lambda a, b: a < b),
    z3.Z3_OP_ULEQ: _compare(lambda a, b: a <= b),
    z3.Z3_OP_UGT: _compare(lambda a, b: a > b),
    z3.Z3_OP_UGEQ: _compare(lambda a, b: a >= b),
    z3.Z3_OP_SLT: _compare(lambda a, b: a < b, signed=True),
    z3.Z3_OP_SLEQ: _compare(lambda a, b: a <= b, signed=True),
    z3.Z3_OP_SGT: _compare(lambda a, b: a > b, signed=True),
    z3.Z3_OP_SGEQ: _compare(lambda a, b: a >= b, signed=True),
    z3.Z3_OP_EXTRACT: _extract,
    z3.Z3_OP_CONCAT: _concat,
    z3.Z3_OP_ZERO_EXT: _extended(signed=False),
    z3.Z3_OP_SIGN_EXT: _extended(signed=True),
    z3.Z3_OP_FPA_TO_FP: _to_float,
    z3.Z3_OP_FPA_TO_FP_UNSIGNED: _to_float_unsigned,
    z3.Z3_OP_FPA_TO_SBV: _to_integer,
    z3.Z3_OP_FPA_TO_UBV: _to_integer,
    z3.Z3_OP_FPA_ADD: _arithmetic(np.add),
    z3.Z3_OP_FPA_SUB: _arithmetic(np.subtract),
    z3.Z3_OP_FPA_MUL: _arithmetic(np.multiply),
    z3.Z3_OP_FPA_DIV: _arithmetic(np.divide),
    z3.Z3_OP_FPA_SQRT: _arithmetic(np.sqrt),
    z3.Z3_OP_FPA_ROUND_TO_INTEGRAL: _integral,
    z3.Z3_OP_FPA_LT: _compare(lambda a, b: a < b),
    z3.Z3_OP_FPA_LE: _compare(lambda a, b: a <= b),
    z3.Z3_OP_FPA_GT: _compare(lambda a, b: a > b),
    z3.Z3_OP_FPA_GE: _compare(lambda a, b: a >= b),
    z3.Z3_OP_FPA_EQ: _compare(lambda a, b: a == b),
    z3.Z3_OP_FPA_IS_NAN: lambda terms, one, x: np.isnan(x),
    z3.Z3_OP_FPA_IS_INF: lambda terms, one, x: np.isinf(x),
    z3.Z3_OP_FPA_IS_ZERO: lambda terms, one, x: x == 0,
    z3.Z3_OP_FPA_IS_NORMAL: lambda terms, one, x: np.isfinite(x) & ~_small(x),
    z3.Z3_OP_FPA_IS_SUBNORMAL: lambda terms, one, x: (x != 0) & _small(x),
    z3.Z3_OP_FPA_NEG: lambda terms, one, x: -x,
    z3.Z3_OP_FPA_ABS: lambda terms, one, x: np.abs(x),
    z3.Z3_OP_FPA_IS_NEGATIVE: lambda terms, one, x: np.signbit(x) & ~np.isnan(x),
    z3.Z3_OP_FPA_IS_POSITIVE: lambda terms, one, x: ~np.signbit(x) & ~np.isnan(x),
    z3.Z3_OP_FPA_NUM: lambda terms, one: np.full(terms.count, _number(one)),
    z3.Z3_OP_FPA_PLUS_INF: _float_constant(np.inf),
    z3.Z3_OP_FPA_MINUS_INF: _float_constant(-np.inf),
    z3.Z3_OP_FPA_NAN: _float_constant(np.nan),
    z3.Z3_OP_FPA_PLUS_ZERO: _float_constant(0.0),
    z3.Z3_OP_FPA_MINUS_ZERO: _float_constant(-0.0),
    **{
        kind: lambda terms, one: np.zeros(0)
        for kind in (
            z3.Z3_OP_FPA_RM_NEAREST_TIES_TO_EVEN, z3.Z3_OP_FPA_RM_NEAREST_TIES_TO_AWAY,
            z3.Z3_OP_FPA_RM_TOWARD_ZERO, z3.Z3_OP_FPA_RM_TOWARD_NEGATIVE,
            z3.Z3_OP_FPA_RM_TOWARD_POSITIVE,
        )
    },
}  # fmt: skip


def _number(one):
    made = _float(one.sort())
    return made(float(z3.simplify(z3.fpToReal(one)).as_fraction()))
