"""An independent, slow oracle for pypto.cast, from its text and on `fractions.Fraction` alone.

The text describes a mode by what becomes of the bits: with S the sign bit and M the mantissa,
whether one is carried into M, by the last bit of M and by the part that is to be rounded off
("待舍入部分"), its first bit and whether the later ones are all zero. Here the two neighbours of
a value in the destination take M's place, and where the value lies between them that part's.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from .formats import ABOVE, BELOW, EXACT, FLOATS, INTEGERS, SIGNED, TIE, Value, decode, locate, span
from .question import IMPLIED, NAN, NORMATIVE, UNDEFINED, Want, bits

TYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64")

# "支持以下转化", 1 to 8.
SUPPORTED = {
    "float16": ("float32", "int32", "int16", "int8", "uint8"),
    "bfloat16": ("float32", "int32"),
    "int32": ("float32", "int16", "int64"),
    "float32": ("bfloat16", "float16", "int16", "int32", "int64"),
    "uint8": ("float16",),
    "int8": ("float16",),
    "int16": ("float32", "float16"),
    "int64": ("float32", "int32"),
}

# "默认处理模式如下", 1 to 5; where it says "与 Torch 对齐" alone, that is to nearest even.
DEFAULTS = {
    ("float32", "float16"): "CAST_RINT",
    ("float32", "bfloat16"): "CAST_RINT",
    ("float16", "float32"): "CAST_RINT",
    ("bfloat16", "float32"): "CAST_RINT",
    ("int32", "float32"): "CAST_RINT",
    ("float32", "int32"): "CAST_TRUNC",
    ("float16", "int8"): "CAST_TRUNC",
    ("int32", "float16"): "CAST_RINT",
}

Carry = Callable[[bool, bool, bool, bool], bool]
# S is set; M's last bit is; the first bit rounded off is; any later one is.
CARRIES: dict[str, Carry] = {
    "CAST_RINT": lambda s, m, first, later: first and (later or m),
    "CAST_FLOOR": lambda s, m, first, later: s and (first or later),
    "CAST_CEIL": lambda s, m, first, later: not s and (first or later),
    "CAST_ROUND": lambda s, m, first, later: first,
    "CAST_TRUNC": lambda s, m, first, later: False,
    "CAST_ODD": lambda s, m, first, later: (first or later) and not m,
}
MODES = ("CAST_NONE", *CARRIES)
TO_NEAREST = ("CAST_RINT", "CAST_ROUND")


def expect(source: str, destination: str, mode: str, code: int) -> Want:
    """What is demanded of the cast of a code."""
    pair = (source, destination)
    if destination not in SUPPORTED[source] and (pair, mode) != (
        ("int32", "float16"),  # it has a default, but is not in the list
        "CAST_NONE",
    ):
        return UNDEFINED
    level, carries, to_nearest = _mode(source, destination, mode)
    if destination in INTEGERS:
        return _to_integer(source, destination, level, carries, code)
    return _to_float(source, destination, level, carries, code, to_nearest)


@cache
def _mode(source: str, destination: str, mode: str) -> tuple[str, Carry, bool]:
    """A mode's level and carry, and whether it is to nearest; the default is another mode."""
    if mode != "CAST_NONE":
        # "S", "M": the modes are told of floats.
        level = NORMATIVE if source in FLOATS else IMPLIED
    elif (source, destination) in DEFAULTS:
        mode, level = DEFAULTS[source, destination], NORMATIVE
    else:
        # "常见类型之间的转换，框架会自动转换，与torch对齐": Torch drops fractions of floats.
        drops = source in FLOATS and destination in INTEGERS
        mode, level = "CAST_TRUNC" if drops else "CAST_RINT", IMPLIED
    return level, CARRIES[mode], mode in TO_NEAREST


@lru_cache(maxsize=1 << 19)
def _placed(source: str, destination: str, code: int) -> tuple[Value, int, int]:
    """A value; the greatest magnitude of the destination not above its own; where it lies then."""
    value = decode(source, code)
    if isinstance(value, str):
        return value, 0, EXACT
    if destination in FLOATS:
        return value, *locate(destination, value)
    whole, rest = divmod(abs(value.numerator), value.denominator)
    if rest == 0:
        return value, whole, EXACT
    one = value.denominator
    return value, whole, TIE if 2 * rest == one else ABOVE if 2 * rest > one else BELOW


def _carried(carries: Carry, negative: bool, kept: int, side: int) -> int:
    first = side in (TIE, ABOVE)
    later = side not in (EXACT, TIE)
    return kept + carries(negative, kept % 2 == 1, first, later)


def _to_integer(source: str, destination: str, level: str, carries: Carry, code: int) -> Want:
    value, kept, side = _placed(source, destination, code)
    low, high = span(destination)
    if isinstance(value, str):
        if value in ("nan", "-nan"):
            return UNDEFINED
        if value == "-0":
            return _integer(level, destination, 0)
        return _integer(IMPLIED, destination, high if value == "inf" else low)
    # "如果目的操作数是整型且源操作数的数值超过整型的数据表示范围": the value, not what is rounded.
    negative = value.numerator < 0
    if not low * value.denominator <= value.numerator <= high * value.denominator:
        return _integer(NORMATIVE, destination, low if negative else high)
    if source in INTEGERS:
        return _integer(IMPLIED, destination, int(value))
    magnitude = _carried(carries, negative, kept, side)
    return _integer(level, destination, -magnitude if negative else magnitude)


def _integer(level: str, destination: str, value: int) -> Want:
    low, high = span(destination)
    assert low <= value <= high
    return bits(level, value + 2 ** SIGNED[destination] if value < 0 else value)


def _to_float(
    source: str, destination: str, level: str, carries: Carry, code: int, to_nearest: bool
) -> Want:
    float_ = FLOATS[destination]
    value, kept, side = _placed(source, destination, code)
    if isinstance(value, str):
        if value in ("nan", "-nan"):
            return Want(IMPLIED, (NAN,))
        magnitude = 0 if value == "-0" else float_.largest + 1
        return bits(IMPLIED, magnitude + (float_.sign if value[0] == "-" else 0))
    negative = value.numerator < 0
    if not to_nearest and (kept, side) > (float_.largest, EXACT):
        return UNDEFINED
    magnitude = _carried(carries, negative, kept, side)
    if magnitude > float_.largest:
        magnitude, level = float_.largest + 1, IMPLIED
    if magnitude == 0 and negative:
        level = IMPLIED  # no text says that a result of zero keeps its sign
    return bits(level, magnitude + (float_.sign if negative else 0))
