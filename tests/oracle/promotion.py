"""ConvertPromoteTypes-14 by its text. If the text has two readings, both answers are given."""

from typing import NamedTuple

from .formats import FLOATS, INTEGERS, SIGNED, WIDTHS, decode, nearest_even, span

REFUSED = "refused"
VOCABULARY = (
    *("bool", "int4", "int8", "int16", "int32", "int64"),
    *("uint4", "uint8", "uint16", "uint32", "uint64"),
    *("float8e4m3fn", "float8e5m2", "float16", "bfloat16", "float32", "float64"),
)
NORMATIVE, IMPLIED, DISPUTED, UNDEFINED = "normative", "implied", "disputed", "undefined"


class Question(NamedTuple):
    left: str
    right: str
    ranks: tuple[int, int]
    unsafe: bool = False
    scalars: bool = False
    target: str = "float32"


class Wanted(NamedTuple):
    """A level, and every answer of some reading: type names, or REFUSED."""

    level: str
    answers: frozenset[str]


def priority(name: str) -> int:
    """ "floating-point types have higher priority than integer, and integer … than boolean"."""
    return 2 if name in FLOATS else 1 if name in INTEGERS else 0


def answer(question: Question) -> Wanted:
    left, right, ranks, unsafe, scalars, _ = question
    one_scalar = (ranks[0] == 0) != (ranks[1] == 0)
    if scalars and one_scalar and priority(left) == priority(right) > 0:
        dimensioned, scalar = (right, left) if ranks[0] == 0 else (left, right)
        return _of_scalar(dimensioned, scalar, unsafe)
    result = common(left, right, question.target)
    if unsafe:
        return Wanted(NORMATIVE, frozenset({result}))
    if "bool" in (left, right):  # no sentence says that it is never refused
        return Wanted(IMPLIED, frozenset({result}))
    given = REFUSED if is_refused(left, right, result) else result
    return Wanted(NORMATIVE, frozenset({given}))


def common(left: str, right: str, target: str) -> str:
    if left == right:
        return left
    if priority(left) != priority(right):
        return max(left, right, key=priority)
    if left in FLOATS:
        return _common_float(left, right)
    return _common_integer(left, right, target)


def _common_float(left: str, right: str) -> str:
    """ "lowest bit-width of mantissa and exponential to fit mantissa and exponential"."""
    fitting = [t for t in VOCABULARY if t in FLOATS and holds(t, left) and holds(t, right)]
    least = [t for t in fitting if WIDTHS[t] == min(WIDTHS[f] for f in fitting)]
    if len(least) == 1:
        return least[0]
    assert {left, right} == {"float8e4m3fn", "float8e5m2"}
    return "float16"  # "a special case where conversion result was manually set to f16"


def _common_integer(left: str, right: str, target: str) -> str:
    """ "signed when any of inputs is signed and with minimal bit-width to hold all"."""
    if is_u64_and_signed(left, right):
        return target
    signed = left in SIGNED or right in SIGNED
    fitting = [
        t
        for t in VOCABULARY
        if t in INTEGERS and (t in SIGNED) == signed and holds(t, left) and holds(t, right)
    ]
    return min(fitting, key=lambda t: WIDTHS[t])


def is_u64_and_signed(left: str, right: str) -> bool:
    """Return whether i128 is needed."""
    return (left == "uint64" and right in SIGNED) or (right == "uint64" and left in SIGNED)


def holds(wide: str, narrow: str) -> bool:
    if wide in FLOATS:
        return exponent(wide) >= exponent(narrow) and (
            FLOATS[wide].mantissa >= FLOATS[narrow].mantissa
        )
    (low, high), (least, most) = span(wide), span(narrow)
    return low <= least and most <= high


def exponent(name: str) -> int:
    return WIDTHS[name] - 1 - FLOATS[name].mantissa


def is_refused(left: str, right: str, result: str) -> bool:
    if priority(left) != priority(right):
        low, high = sorted((left, right), key=priority)
        return WIDTHS[high] < 2 * WIDTHS[low]
    widens = WIDTHS[result] > max(WIDTHS[left], WIDTHS[right])
    return widens or is_u64_and_signed(left, right)


def _of_scalar(dimensioned: str, scalar: str, unsafe: bool) -> Wanted:
    """ "datatype of the dimensioned tensor would be selected", unless it is refused."""
    if unsafe:
        return Wanted(NORMATIVE, frozenset({dimensioned}))
    if is_u64_and_signed(dimensioned, scalar):
        return Wanted(NORMATIVE, frozenset({REFUSED}))
    if holds(dimensioned, scalar):
        return Wanted(NORMATIVE, frozenset({dimensioned}))
    if WIDTHS[dimensioned] < WIDTHS[scalar] or _lower_range(dimensioned, scalar):
        return Wanted(NORMATIVE, frozenset({REFUSED}))
    return Wanted(DISPUTED, frozenset({dimensioned, REFUSED}))


def _lower_range(one: str, other: str) -> bool:
    return one in FLOATS and _largest(one) < _largest(other)


def _largest(name: str) -> object:
    return FLOATS[name].magnitude(FLOATS[name].largest)


# Values --------------------------------------------------------------------------------------


class Became(NamedTuple):
    """A level, and a code; 'nan' for any NaN, '' for anything."""

    level: str
    code: int | str


def convert(source: str, target: str, code: int) -> Became:
    value = decode(source, code)
    if isinstance(value, str):
        return _special(source, target, value)
    if target in INTEGERS or target == "bool":
        low, high = (0, 1) if target == "bool" else span(target)
        if not low <= value <= high:
            return Became(UNDEFINED, "")
        return Became(NORMATIVE, int(value) % 2 ** WIDTHS[target])
    float_ = FLOATS[target]
    if abs(value) > float_.magnitude(float_.largest):
        return Became(UNDEFINED, "")
    magnitude = nearest_even(target, value)
    exact = float_.magnitude(magnitude) == abs(value)
    return Became(NORMATIVE if exact else IMPLIED, magnitude | (float_.sign if value < 0 else 0))


def _special(source: str, target: str, word: str) -> Became:
    """Convert NaN, infinities and -0 as in IEEE 754, since the text leaves them open."""
    float_ = FLOATS[target]
    sign = float_.sign if word.startswith("-") else 0
    if word.endswith("nan"):
        return Became(IMPLIED, "nan")
    if word == "-0":
        return Became(NORMATIVE if source == target else IMPLIED, sign)
    if float_.specials != "ieee":
        return Became(UNDEFINED, "")
    return Became(NORMATIVE if source == target else IMPLIED, sign | (float_.largest + 1))
