"""The words of tables as vectorised functions of numbers and formats.

x is the exact input, [x] is x rounded to the destination's grid.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import encode
from convcheck.numerics.format import Bool, Float, Format, Int, Numeric, Text
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import (
    FINITE,
    INFINITY,
    NAN,
    Bits,
    Codes,
    Numbers,
    Texts,
    below,
    exceeds,
    normalised,
    take,
)
from convcheck.numerics.rounding import Rounded, round_to
from convcheck.numerics.words import end_code, plain_text, significant_digits
from convcheck.rules.model import Spelling
from convcheck.rules.rule import ELSE
from convcheck.semantics.expected import (
    ANY_NAN,
    EXACT,
    NEGATIVE_NAN,
    PARSES,
    PARSES_TO_X,
    PLAIN,
    PLAIN_TO_X,
    REFUSED,
    UNDEFINED,
)

Mask = NDArray[np.bool_]
T = TypeVar("T")
OneFormat = TypeVar("OneFormat", Bool, Float, Int)


@dataclass
class Points:
    """A chunk of inputs, with memoised results."""

    source: Format
    target: Format
    bits: Bits
    x: Numbers
    _rounded: dict[str, Rounded] = field(default_factory=dict)
    _matching: dict[str, Mask] = field(default_factory=dict)
    _kept: dict[Hashable, Any] | None = None
    #: the points that these are selected from, with indices
    part_of: "tuple[Points, NDArray[np.intp]] | None" = None

    def at(self, index: NDArray[np.intp]) -> "Points":
        """Return some of the points."""
        bits, x, part = self.bits[index], take(self.x, index), (self, index)
        return Points(self.source, self.target, bits, x, _kept={}, part_of=part)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return `make()`, memoised if many programs run over the points."""
        if self._kept is None:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        return cast(T, self._kept[key])

    def rounded(self, mode: str) -> Rounded:
        """[x] by a rounding mode."""
        if mode not in self._rounded:
            self._rounded[mode] = round_to(self.x, cast(Numeric, self.target), MODES[mode])
        return self._rounded[mode]

    def matching(self, pattern: str) -> Mask:
        """Return a mask of texts that match a regular expression."""
        if pattern not in self._matching:
            matches = re.compile(pattern).fullmatch
            found = (matches(text) is not None for text in cast(Texts, self.bits))
            self._matching[pattern] = np.fromiter(found, bool, len(self.bits))
        return self._matching[pattern]

    def with_numbers(self, x: Numbers) -> "Points":
        """Return the same inputs with other numbers."""
        kept: dict[Hashable, Any] | None = None if self._kept is None else {}
        return Points(self.source, self.target, self.bits, x, _matching=self._matching, _kept=kept)

    @cached_property
    def number(self) -> Mask:
        """Everything but NaN."""
        return np.asarray(self.x.kind != NAN)

    @cached_property
    def spelled(self) -> Texts:
        """The inputs in plain notation."""
        texts = np.empty(len(self.bits), object)
        texts[:] = [plain_text(cast(Numeric, self.source), int(code)) for code in self.bits]
        return texts


Test = Callable[[Points, str], Mask]
Nature = Literal["special", "threshold", "grid", "isolated", "level"]


@dataclass(frozen=True)
class CaseWord:
    """A test, and how its result varies with the input."""

    #: `special`: depends on zero, infinity or NaN only. `threshold`: changes at most once among
    #: nonzero numbers of one sign. `grid`: holds at equally spaced values within a binade, a power
    #: of two of codes apart. `isolated`: anything else, so every code is tested. `level`: likewise,
    #: but only level and rule change, not the answer: between two boundaries of the destination in
    #: a binade, at the same distance from both, a power of two of codes.
    nature: Nature
    test: Test
    english: str = ""
    #: not of codes
    of_numbers: bool = False
    between: Float | None = None

    def __call__(self, points: Points, mode: str) -> Mask:
        """Return a mask, shape (n,)."""
        return self.test(points, mode)


def _positive(p: Points) -> Mask:
    return ~p.x.sign & p.number


def _negative(p: Points) -> Mask:
    return p.x.sign & p.number


def _zero(p: Points) -> Mask:
    return np.asarray(p.x.significand == 0) & p.number


def _max(p: Points) -> Fraction:
    return cast(Numeric, p.target).max


def _beyond(p: Points, mode: str, past: int = 0, side: str = "max") -> Mask:
    rounded, target = p.rounded(mode), p.target
    if isinstance(target, Float):
        # underflow in a format without zero wraps to a huge magnitude
        below_zero = np.uint64(0 if target.zero else 1 << target.mantissa)
        bound = np.uint64(target.max_magnitude + past) + below_zero
        return np.asarray(rounded.magnitude + below_zero > bound)
    limit = int(abs(getattr(target, side))) + past
    far = rounded.magnitude > np.uint64(min(limit, 2**64 - 1))
    return far if rounded.beyond is None else far | rounded.beyond


def _rounds_to_negative_zero(p: Points, mode: str) -> Mask:
    zero = np.asarray(p.rounded(mode).magnitude == 0)
    return np.asarray(zero & _negative(p) & (p.x.significand != 0))


def _exact(p: Points, mode: str) -> Mask:
    low, high = p.rounded("toward-zero"), p.rounded("away")
    return np.asarray(low.magnitude == high.magnitude) & p.number


def _subnormal(p: Points, mode: str) -> Mask:
    if not isinstance(p.source, Float) or not p.source.zero:
        return np.zeros(len(p.bits), bool)
    kind = p.source.storage.type
    magnitude = cast(Codes, p.bits) & kind(p.source.magnitude_mask)
    return np.asarray((magnitude > 0) & (magnitude >> kind(p.source.mantissa) == 0))


def _rounds_to_subnormal(p: Points, mode: str) -> Mask:
    if not isinstance(p.target, Float) or not p.target.zero:
        return np.zeros(len(p.bits), bool)
    magnitude = p.rounded(mode).magnitude
    small = (magnitude > 0) & (magnitude >> np.uint64(p.target.mantissa) == 0)
    return np.asarray(small & (p.x.kind == FINITE))


def _small(p: Points, mode: str, *, normal: bool) -> Mask:
    if not isinstance(p.target, Float) or not p.target.zero:
        return np.zeros(len(p.bits), bool)
    least = p.target.lowest_exponent + (p.target.mantissa if normal else 0)
    return np.asarray((p.x.exponent < least) & (p.x.significand != 0) & (p.x.kind == FINITE))


def _carries(p: Points, mode: str) -> Mask:
    """Whether rounding raises the exponent of a normal number."""
    if not isinstance(p.target, Float):
        return np.zeros(len(p.bits), bool)
    width = np.uint64(p.target.mantissa)
    before = p.rounded("toward-zero").magnitude >> width
    raised = p.rounded(mode).magnitude >> width > before
    return np.asarray(raised & (before > 0) & (p.x.kind == FINITE))


def _top(p: Points, mode: str) -> Mask:
    if not isinstance(p.target, Float):
        return np.zeros(len(p.bits), bool)
    last_below = (p.target.max_magnitude >> p.target.mantissa << p.target.mantissa) - 1
    return _beyond(p, mode, last_below - p.target.max_magnitude) & p.number


def _signalling(p: Points, mode: str) -> Mask:
    """The quiet bit is 0."""
    if not has_payload(p.source):
        return np.zeros(len(p.bits), bool)
    quiet = np.uint64(1 << (cast(Float, p.source).mantissa - 1))
    return np.asarray((cast(Codes, p.bits).astype(np.uint64) & quiet == 0) & ~p.number)


_DOUBLE = Float(11, 52, 1023, "ieee", infinity=True)


def _out_of_range(p: Points, mode: str) -> Mask:
    """C's strtod sets ERANGE: overflow, or inexact and tiny."""
    modes = "toward-zero", "nearest-even", "away"
    low, near, high = (round_to(p.x, _DOUBLE, MODES[m]).magnitude for m in modes)
    twice = round_to(replace(p.x, exponent=p.x.exponent + 1), _DOUBLE, MODES["nearest-even"])
    tiny = (twice.magnitude < np.uint64(2 << _DOUBLE.mantissa)) & (low != high)
    return np.asarray((tiny | (near > np.uint64(_DOUBLE.max_magnitude))) & (p.x.kind == FINITE))


EMPTY = "empty text"
_on_numbers = partial(CaseWord, of_numbers=True)
CASES: Mapping[str, CaseWord] = {
    "[x] is subnormal": _on_numbers(
        "isolated", _rounds_to_subnormal, "x, once rounded, is a subnormal",
    ),
    "[x] carries": _on_numbers("isolated", _carries, "rounding raises the exponent of x"),
    "signalling nan": CaseWord("isolated", _signalling, "x is a signalling NaN"),
    "ERANGE": _on_numbers("isolated", _out_of_range, "C's strtod reports a range error"),
    EMPTY: CaseWord(
        "isolated", lambda p, mode: np.asarray(p.bits == "", bool), "the text is empty",
    ),
    "[x] = x": _on_numbers("grid", _exact, "x is a value of the destination"),
    "nan": _on_numbers("special", lambda p, mode: p.x.kind == NAN, "x is a NaN"),
    "-nan": _on_numbers(
        "special", lambda p, mode: (p.x.kind == NAN) & p.x.sign, "x is a NaN with the sign bit set",
    ),
    "+inf": _on_numbers(
        "special", lambda p, mode: (p.x.kind == INFINITY) & ~p.x.sign, "x is +infinity",
    ),
    "-inf": _on_numbers(
        "special", lambda p, mode: (p.x.kind == INFINITY) & p.x.sign, "x is -infinity",
    ),
    "+0": _on_numbers("special", lambda p, mode: _zero(p) & ~p.x.sign, "x is +0"),
    "-0": _on_numbers("special", lambda p, mode: _zero(p) & p.x.sign, "x is -0"),
    "x < 0": _on_numbers(
        "threshold", lambda p, mode: _negative(p) & (p.x.significand != 0), "x is negative",
    ),
    "x > max": _on_numbers(
        "threshold", lambda p, mode: exceeds(p.x, _max(p)) & _positive(p),
        "x is above the largest finite value",
    ),
    "x < -max": _on_numbers(
        "threshold", lambda p, mode: exceeds(p.x, _max(p)) & _negative(p),
        "x is below the negative of the largest finite value",
    ),
    "x < min": _on_numbers(
        "threshold", lambda p, mode: below(p.x, cast(Numeric, p.target).min) & p.number,
        "x is below the lowest finite value",
    ),
    "[x] > max": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, mode) & _positive(p),
        "x, once rounded, is above the largest finite value",
    ),
    "[x] < -max": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, mode) & _negative(p),
        "x, once rounded, is below the negative of the largest finite value",
    ),
    "[x] < min": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, mode, side="min") & _negative(p),
        "x, once rounded, is below the lowest finite value",
    ),
    "x >= next": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, "toward-zero") & _positive(p),
        "x is at or beyond the first value past the largest",
    ),
    "x <= -next": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, "toward-zero") & _negative(p),
        "x is at or below the negative of the first value past the largest",
    ),
    "[x] > next": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, mode, 1) & _positive(p),
        "x, once rounded, is beyond the first value past the largest",
    ),
    "[x] < -next": _on_numbers(
        "threshold", lambda p, mode: _beyond(p, mode, 1) & _negative(p),
        "x, once rounded, is below the negative of the first value past the largest",
    ),
    "[x] = -0": _on_numbers(
        "threshold", _rounds_to_negative_zero, "x is negative and rounds to zero",
    ),
    "x is subnormal": CaseWord("threshold", _subnormal, "x is a subnormal"),
    "x is tiny": _on_numbers(
        "threshold", partial(_small, normal=True), "x is closer to zero than the least normal",
    ),
    "x is below least": _on_numbers(
        "threshold", partial(_small, normal=False), "x is closer to zero than the least value",
    ),
    "[x] is top": _on_numbers(
        "threshold", _top, "x, once rounded, has the largest exponent, or a larger one",
    ),
}  # fmt: skip
THROUGH = "differs through "  # "differs through float32"
TEXT_IS, DIGITS = "text is ", "digits > "  # "text is decimal", "digits > 20"
_POWER = re.compile(r"x (<|>=|<=|>) (-?)2\^(-?[0-9]{1,4})")  # "x < 2^-126", "x >= 2^31"
_MULTIPLE = re.compile(r"x (>|< -) ?([0-9]{1,4}) max")  # "x > 4 max", "x < -4 max"


def case_word(label: str, literals: Mapping[str, Spelling]) -> CaseWord | None:
    """Return the function of a row's label, if known."""
    if label.startswith(TEXT_IS):
        literal = literals.get(label.removeprefix(TEXT_IS))
        return _spelled(literal.matches) if literal else None
    if label.startswith(DIGITS) and label.removeprefix(DIGITS).isdigit():
        return _longer(int(label.removeprefix(DIGITS)))
    return CASES.get(label) or _power(label) or _multiple(label)


@cache
def _power(label: str) -> CaseWord | None:
    power = _POWER.fullmatch(label)
    if power is None:
        return None
    relation, bound = power[1], Fraction(2) ** int(power[3]) * (-1 if power[2] else 1)

    def holds(p: Points, mode: str) -> Mask:
        if relation in ("<", ">="):
            return (below(p.x, bound) ^ (relation == ">=")) & p.number
        mirrored = replace(p.x, sign=~p.x.sign)
        return (below(mirrored, -bound) ^ (relation == "<=")) & p.number

    return CaseWord("threshold", holds, of_numbers=True)


@cache
def _multiple(label: str) -> CaseWord | None:
    multiple = _MULTIPLE.fullmatch(label)
    if multiple is None:
        return None
    side, times = (_negative if multiple[1] == "< -" else _positive), int(multiple[2])

    def holds(p: Points, mode: str) -> Mask:
        return exceeds(p.x, times * _max(p)) & side(p)

    return CaseWord("threshold", holds, of_numbers=True)


@cache
def _spelled(pattern: str) -> CaseWord:
    return CaseWord("isolated", lambda p, mode: p.matching(pattern))


@cache
def _longer(digits: int) -> CaseWord:
    def holds(p: Points, mode: str) -> Mask:
        found = (significant_digits(text) > digits for text in cast(Texts, p.bits))
        return np.fromiter(found, bool, len(p.bits))

    return CaseWord("isolated", holds)


def possible(label: str, source: Format, target: Format) -> bool:
    """Whether a word on special values can match for these formats."""
    no_zero = isinstance(target, Int) or (isinstance(target, Float) and not target.zero)
    if (label == "[x] = -0" and no_zero) or (label == EMPTY and not isinstance(source, Text)):
        return False
    if isinstance(source, Text) or label not in ("nan", "-nan", "+inf", "-inf", "-0"):
        return True
    if not isinstance(source, Float):
        return False
    if label.endswith("nan"):
        return source.nan != "none"
    return source.negative_zero if label == "-0" else source.infinity


def known_cases(literals: Mapping[str, Spelling]) -> list[str]:
    """Return the names of the case words, for messages."""
    of_text = (*(TEXT_IS + name for name in literals), DIGITS + "N")
    powers = (f"x {relation} 2^N" for relation in ("<", "<=", ">", ">="))
    return [*CASES, ELSE, *of_text, *powers, "x > N max", "x < -N max", THROUGH + "TYPE"]


Computation = Callable[[Points, str], Bits]


class ConstantWord(NamedTuple):
    """One code of the destination."""

    code: Callable[[Format], int]
    english: str
    pattern: int = EXACT


class ComputedWord(NamedTuple):
    """Codes computed from the inputs."""

    compute: Computation
    english: str
    pattern: int = EXACT
    rounds: bool = False
    #: not of codes
    of_numbers: bool = False


class NotInFormatError(Exception):
    """An outcome that the destination lacks."""


def _as(target: Format, kind: type[OneFormat], has: str = "") -> OneFormat:
    """Raises NotInFormatError."""
    if not isinstance(target, kind) or (has and not getattr(target, has)):
        raise NotInFormatError
    return target


def _nan(target: Format) -> int:
    if (fmt := _as(target, Float)).nan == "none":
        raise NotInFormatError
    return fmt.nan_code


def _negative_nan(target: Format) -> int:
    code, fmt = _nan(target), _as(target, Float)
    if fmt.nan == "sign-only" or not fmt.signed:
        raise NotInFormatError
    return code | fmt.sign_bit


def _end(target: Format, word: str) -> int:
    if isinstance(target, Text | Bool):
        raise NotInFormatError
    return end_code(target, word)


def _zero_code(target: Format) -> int:
    if isinstance(target, Text | Bool) or (isinstance(target, Float) and not target.zero):
        raise NotInFormatError
    return 0


CONSTANTS: Mapping[str, ConstantWord] = {
    "+0": ConstantWord(_zero_code, "+0"),
    "-0": ConstantWord(lambda t: _as(t, Float, "negative_zero").sign_bit, "-0"),
    "nan": ConstantWord(_nan, "any NaN", ANY_NAN),
    "-nan": ConstantWord(_negative_nan, "any NaN with the sign bit set", NEGATIVE_NAN),
    "+inf": ConstantWord(lambda t: _as(t, Float, "infinity").infinity_code, "+infinity"),
    "-inf": ConstantWord(
        lambda t: _as(t, Float, "infinity").infinity_code | _as(t, Float).sign_bit, "-infinity"
    ),
    "+max": ConstantWord(lambda t: _end(t, "max"), "the largest finite value"),
    "-max": ConstantWord(
        lambda t: _end(t, "max") | _as(t, Float).sign_bit,
        "the negative of the largest finite value",
    ),
    "min": ConstantWord(lambda t: _end(t, "min"), "the lowest finite value"),
    "true": ConstantWord(lambda t: int(_as(t, Bool).max), "True"),
    "false": ConstantWord(lambda t: int(_as(t, Bool).min), "False"),
    "all-ones": ConstantWord(lambda t: _as(t, Int).mask, "the code with all bits set"),
    "top-bit": ConstantWord(
        lambda t: 1 << (_as(t, Int).bits - 1), "the code with its highest bit alone set"
    ),
    "undefined": ConstantWord(lambda t: 0, "open", UNDEFINED),
    "refused": ConstantWord(lambda t: 0, "a refusal", REFUSED),
}


def _rounded_codes(p: Points, mode: str) -> Codes:
    """Only meaningful in range."""
    return encode(cast(Numeric, p.target), p.rounded(mode).magnitude, p.x.sign)


def _low_bits(p: Points, mode: str) -> Codes:
    source, target = cast(Int | Bool, p.source), cast(Int | Bool, p.target)
    wide = cast(Codes, p.bits).astype(np.uint64)
    if source.signed:
        wide -= np.where(p.x.sign, np.uint64((source.mask + 1) & (2**64 - 1)), np.uint64(0))
    return (wide & np.uint64(target.mask)).astype(target.storage)


def _code_bits(p: Points, *, high: bool = False) -> Codes:
    source, target = cast(Numeric, p.source), cast(Numeric, p.target)
    drop = max(source.bits - target.bits, 0) if high else 0
    codes = cast(Codes, p.bits).astype(np.uint64) >> np.uint64(drop)
    return (codes & np.uint64((1 << target.bits) - 1)).astype(target.storage)


def _wrapped(p: Points, mode: str) -> Codes:
    """[x] in two's complement, for any size."""
    magnitude, past = p.rounded(mode).magnitude, p.x.exponent - 63
    shifted = p.x.significand << np.clip(past, 0, 63).view(np.uint64)
    magnitude = np.where(past > 63, np.uint64(0), np.where(past > 0, shifted, magnitude))
    wide = np.where(p.x.sign, np.uint64(0) - magnitude, magnitude)
    return (wide & np.uint64(cast(Int, p.target).mask)).astype(p.target.storage)


def _wrapped_magnitude(p: Points, mode: str) -> Codes:
    return _wrapped(p.with_numbers(replace(p.x, sign=np.zeros_like(p.x.sign))), mode)


def _wrapped_unsigned(p: Points, mode: str) -> Codes:
    """[x] wrapped to one bit less than the destination."""
    return np.asarray(_wrapped(p, mode) & p.target.storage.type(cast(Int, p.target).mask >> 1))


def _wrapped_short(p: Points, mode: str) -> Codes:
    """The same, sign-extended."""
    kept, target = _wrapped_unsigned(p, mode), cast(Int, p.target)
    if not target.signed:
        return kept
    kind = target.storage.type
    return np.asarray(kept | (kept >> kind(target.bits - 2)) << kind(target.bits - 1))


def _most(p: Points, mode: str) -> Codes:
    low, high = CONSTANTS["min"][0](p.target), CONSTANTS["+max"][0](p.target)
    return np.where(p.x.sign, low, high).astype(p.target.storage)


def _leading_bit(p: Points, mode: str) -> Codes:
    target = cast(Float, p.target)
    magnitude = p.rounded("toward-zero").magnitude >> np.uint64(target.mantissa)
    return encode(target, magnitude << np.uint64(target.mantissa), p.x.sign)


def _infinity_with_mantissa(p: Points, mode: str) -> Codes:
    target = cast(Float, p.target)
    low = p.rounded(mode).magnitude & np.uint64((1 << target.mantissa) - 1)
    return encode(target, low | np.uint64(target.infinity_code), p.x.sign)


def _digits(p: Points, mode: str) -> Texts:
    magnitudes = round_to(p.x, Int(64, signed=False), MODES[mode]).magnitude
    texts = np.empty(len(p.bits), object)
    texts[:] = ["-" * int(s) + str(m) for s, m in zip(p.x.sign, magnitudes, strict=True)]
    return texts


def _signed_zero(p: Points, mode: str) -> Codes:
    """Code 0 if the destination has no signed zero."""
    signed = isinstance(p.target, Float) and p.target.zero and p.target.negative_zero
    sign = p.x.sign if signed else np.zeros(len(p.bits), bool)
    return encode(cast(Numeric, p.target), np.zeros(len(sign), np.uint64), sign)


def has_payload(fmt: Format) -> bool:
    """Whether the NaNs of a format have a payload."""
    return isinstance(fmt, Float) and fmt.nan == "ieee"


def is_computable(word: str, source: Format, target: Format) -> bool:
    """Whether a computation has a meaning between two formats."""
    if word == ZERO:
        return not isinstance(target, Text)
    return word != PAYLOAD or (has_payload(source) and has_payload(target))


def _payload(p: Points, mode: str) -> Codes:
    """A zero payload is infinity, a carry reaches the sign."""
    source, target = cast(Float, p.source), cast(Float, p.target)
    bits = cast(Codes, p.bits).astype(np.uint64) & np.uint64((1 << source.mantissa) - 1)
    exponent, significand = normalised(bits, target.mantissa - source.mantissa)
    fraction = Numbers(np.zeros(len(bits), np.uint8), p.x.sign, exponent, significand)
    kept = round_to(fraction, Int(64, signed=False), MODES[mode]).magnitude
    sign = np.where(p.x.sign, np.uint64(target.sign_bit), np.uint64(0))
    codes = sign + np.uint64(target.infinity_code) + kept
    return (codes & np.uint64((1 << target.bits) - 1)).astype(target.storage)


def _spelling(p: Points, mode: str) -> Texts:
    return p.spelled


PAYLOAD, ZERO = "payload", "zero"
_computes = partial(ComputedWord, of_numbers=True)
_rounds = partial(ComputedWord, rounds=True, of_numbers=True)
COMPUTATIONS: Mapping[str, ComputedWord] = {
    "[x]": _rounds(_rounded_codes, "x rounded"),
    "same": ComputedWord(lambda p, mode: p.bits, "the bits of x"),
    "low-bits": _computes(_low_bits, "the low bits of x"),
    "wrapped": _rounds(_wrapped, "the low bits of x rounded"),
    "wrapped-magnitude": _rounds(_wrapped_magnitude, "the low bits of the magnitude of x rounded"),
    "wrapped-unsigned": _rounds(
        _wrapped_unsigned, "the low bits of x rounded but the highest of them"
    ),
    "wrapped-short": _rounds(_wrapped_short, "the low bits of x rounded, one too few"),
    "low-byte": ComputedWord(
        lambda p, mode: cast(Codes, p.bits).astype(np.uint8), "the low byte of the code of x"
    ),
    "most": _computes(_most, "the largest value with the sign of x"),
    "leading-bit": _computes(_leading_bit, "the power of two that x has reached"),
    "infinity-with-mantissa": _rounds(
        _infinity_with_mantissa, "the exponent of infinity with the low bits of x rounded"
    ),
    "digits": _rounds(_digits, "the digits of x rounded"),
    "code": ComputedWord(lambda p, mode: _code_bits(p), "the low bits of the code of x"),
    "high-code": ComputedWord(
        lambda p, mode: _code_bits(p, high=True), "the high bits of the code of x"
    ),
    PAYLOAD: ComputedWord(
        _payload, "a NaN with what the destination has room for of its payload", rounds=True
    ),
    ZERO: _computes(_signed_zero, "a zero with the sign of x"),
    "plain-to-x": _computes(_spelling, "plain notation that reads back as x", PLAIN_TO_X),
    "plain": _computes(_spelling, "plain notation", PLAIN),
    "parses-to-x": _computes(_spelling, "a text that reads back as x", PARSES_TO_X),
    "parses": _computes(_spelling, "a text that reads as a number", PARSES),
}
AS_REAL, BY = "as-real", "by"  # continue as a real; delegate to a rule
AS_BELOW = "as-below"  # delegate to the rules below
TEXT = "text"  # a fixed text: "text True"
AS = "as"  # match again with another attribute value: "as mode=CAST_RINT"
ROUNDING_WORDS = frozenset(
    (
        *(word for word in CASES if word.startswith("[x]") and word != "[x] = x"),
        *(word for word, one in COMPUTATIONS.items() if one.rounds),
    )
)


def sees_codes(word: str) -> bool:
    """Whether a word may depend on codes, not only on numbers."""
    known = CASES.get(word) or _power(word) or _multiple(word) or COMPUTATIONS.get(word)
    if known:
        return not known.of_numbers
    return word not in (ELSE, TEXT) and not word.startswith((TEXT_IS, DIGITS, THROUGH))


def known_outcomes() -> list[str]:
    """Return the names of the outcome words, for messages."""
    own = (AS_REAL, AS_BELOW, f"{BY} RULE", f"{AS} ATTRIBUTE=VALUE", f"{TEXT} WORDS")
    return [*CONSTANTS, *COMPUTATIONS, *own]


@cache
def saying(words: str) -> Computation:
    """Return a computation that always gives `words`."""
    return lambda p, mode: np.full(len(p.bits), words, object)
