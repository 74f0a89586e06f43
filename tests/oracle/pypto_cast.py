"""An independent, slow oracle for pypto.cast, from its texts and on `fractions.Fraction` alone.

The texts describe a mode by bits: S is the sign bit and M the mantissa. A carry into M depends
on S, on M's last bit, and on the first and later bits of the rounded part ("待舍入部分"). Here
M is one of a value's two neighbours in the destination, and the rounded part the position
between them.

There are three texts: of releases 0.1 and 0.2, and the documentation of 9.2.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from .formats import ABOVE, BELOW, EXACT, FLOATS, INTEGERS, SIGNED, TIE, Value, decode, locate, span
from .question import DISPUTED, IMPLIED, NAN, NORMATIVE, UNDEFINED, Want, bits

VERSIONS = ("0.1", "0.2", "9.2")
TYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64")
# "支持以下转化", 1 to 8.
SUPPORTED: dict[str, tuple[str, ...]] = {
    "float16": ("float32", "int32", "int16", "int8", "uint8"),
    "bfloat16": ("float32", "int32"),
    "int32": ("float32", "int16", "int64"),
    "float32": ("bfloat16", "float16", "int16", "int32", "int64"),
    "uint8": ("float16",),
    "int8": ("float16",),
    "int16": ("float32", "float16"),
    "int64": ("float32", "int32"),
}
# "默认处理模式如下", 1 to 5; "与 Torch 对齐" alone means to nearest even.
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
# 0.2, constraint 5.1: only these may be switched to OFF.
SWITCHED = {
    ("float16", "uint8"), ("float16", "int8"), ("float32", "int16"), ("float16", "int16"),
    ("int64", "int32"), ("int32", "int16"),
}  # fmt: skip
# 9.2, the two tables: destinations with the number of supported modes. The sixth is CAST_ODD.
# "DT_HF8" and "DT_FP4_E1M2X2" are left out.
TABLES = {
    "A3": {
        "float32": "float16 6, bfloat16 5, int64 5, int32 5, int16 5",
        "float16": "float32 0, int32 5, int16 5, int8 5, uint8 5, int4 5",
        "bfloat16": "float32 0, int32 5",
        "int32": "float32 5, int64 0, int16 0, float16 0",
        "int16": "float32 5, float16 5",
        "int64": "float32 5, int32 0",
        "uint8": "float16 0",
        "int8": "float16 0",
        "int4": "float16 0",
    },
    "950": {
        "float32": "float16 6, bfloat16 5, int64 5, int32 5, int16 5, float8e4m3fn 5, float8e5m2 5",
        "float16": "float32 0, int32 5, int16 5, int8 5, uint8 5",
        "bfloat16": "float32 0, int32 5, float16 5, float4e2m1 0",
        "uint8": "float16 0, uint16 0",
        "int8": "float16 0, int16 0, int32 0",
        "int16": "uint8 0, float16 5, float32 0, uint32 0, int32 0",
        "int32": "float32 5, int16 0, uint16 0, int64 0, uint8 0, float16 0",
        "uint32": "uint8 0, uint16 0, int16 0",
        "int64": "float32 5, int32 0",
        "float8e4m3fn": "float32 0",
        "float8e5m2": "float32 0",
        "float4e2m1": "bfloat16 0",
    },
}
NARROW = ("float8e4m3fn", "float8e5m2", "float4e2m1")

Carry = Callable[[bool, bool, bool, bool], bool]
# S; M's last bit; the first rounded bit; any later one.
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


class Way(NamedTuple):
    """A pair's conversion: the level, the carry, and the result out of range.

    To an integer `beyond` is CLAMP or WRAP (the low bits, or else clamped: two sentences), or TORCH
    (also the low bits within INT32, as in PyTorch). To a float it is INF, or SILENT for numbers.
    OPEN also covers infinities.
    """

    level: str
    carries: Carry
    beyond: str


CLAMP, WRAP, TORCH, INF, SILENT, OPEN = "clamp", "wrap", "torch", "inf", "silent", "open"


def expect(
    version: str, source: str, destination: str, said: Mapping[str, object], code: int
) -> Want:
    return answer(source, destination, question(version, source, destination, said), code)


def question(version: str, source: str, destination: str, said: Mapping[str, object]) -> Way | None:
    """Return the conversion for all codes, None if the text leaves it open."""
    words = tuple(str(said.get(name, "")) for name in ("mode", "satmode", "product"))
    if words[0] == "default":
        words = (MODES[0], *words[1:])
    return _way(version, source, destination, *words)


def answer(source: str, destination: str, way: Way | None, code: int) -> Want:
    if way is None:
        return UNDEFINED
    to = _to_integer if destination in INTEGERS else _to_float
    return to(source, destination, way, code)


@cache
def _way(
    version: str, source: str, destination: str, mode: str, satmode: str, product: str
) -> Way | None:
    table = _table(version, product)
    pair = (source, destination)
    default_alone = version != "9.2" and pair == ("int32", "float16") and mode == MODES[0]
    if (destination not in table.get(source, {}) and not default_alone) or source == destination:
        return None  # INT32 to FP16 has a default, but is not in the list
    level, word = _mode(version, pair, mode, table.get(source, {}).get(destination, 0))
    beyond = _beyond(version, pair, satmode)
    if beyond == INF and word not in TO_NEAREST:
        beyond = SILENT
    if beyond == OPEN and destination in INTEGERS:
        return None  # "OFF模式不支持"
    return Way(level, CARRIES[word], beyond)


@cache
def _table(version: str, product: str) -> dict[str, dict[str, int]]:
    if version != "9.2":
        return {source: dict.fromkeys(found, 6) for source, found in SUPPORTED.items()}
    rows = {source: row.split(", ") for source, row in TABLES[product].items()}
    return {s: {e.split()[0]: int(e.split()[1]) for e in row} for s, row in rows.items()}


def _mode(version: str, pair: tuple[str, str], mode: str, taken: int) -> tuple[str, str]:
    floats, drops = pair[0] in FLOATS, pair[0] in FLOATS and pair[1] in INTEGERS
    if mode in MODES[1:] and (taken == 6 or (taken == 5 and mode != "CAST_ODD")):
        return NORMATIVE if floats else IMPLIED, mode  # "S", "M" are about floats
    # "常见类型之间的转换，框架会自动转换，与torch对齐": Torch drops fractions of floats. 9.2
    # has "浮点数转整数" and "其他转换场景" for every unsupported mode of a pair.
    word = "CAST_TRUNC" if drops else "CAST_RINT"
    if version == "9.2":
        return NORMATIVE if floats else IMPLIED, word
    return (NORMATIVE, DEFAULTS[pair]) if pair in DEFAULTS else (IMPLIED, word)


def _beyond(version: str, pair: tuple[str, str], satmode: str) -> str:
    if pair[1] not in INTEGERS:
        # "先饱和后舍入" is all of 9.2's text on BF16 to FP16
        open_ = pair[1] in NARROW or (version == "9.2" and pair == ("bfloat16", "float16"))
        return OPEN if open_ else INF
    # 5.2: "其他转换默认使用 ON模式"
    if version == "0.1" or satmode == "ON":
        return CLAMP
    if version == "0.2" and satmode == "default" and pair not in SWITCHED:
        return CLAMP
    if version == "0.2" and pair == ("float32", "int16"):
        return TORCH  # "以保持PyTorch兼容性"
    return WRAP if version == "9.2" or pair in SWITCHED else OPEN


@lru_cache(maxsize=1 << 19)
def _placed(source: str, destination: str, code: int) -> tuple[Value, int, int]:
    """Return a value, the destination's greatest magnitude not above it, and its position."""
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


def _to_integer(source: str, destination: str, way: Way, code: int) -> Want:
    value, kept, side = _placed(source, destination, code)
    low, high = span(destination)
    if isinstance(value, str):
        if value == "-0":
            return _integer(way.level, destination, 0)
        if value in ("nan", "-nan") or way.beyond != CLAMP:
            return UNDEFINED
        return _integer(IMPLIED, destination, high if value == "inf" else low)
    negative = value.numerator < 0
    magnitude = _carried(way.carries, negative, kept, side)
    # "如果目的操作数是整型且源操作数的数值超过整型的数据表示范围": the value before rounding.
    if not low * value.denominator <= value.numerator <= high * value.denominator:
        clamped = _integer(NORMATIVE, destination, low if negative else high)
        if way.beyond == CLAMP:
            return clamped
        # "截断/回绕", with 300.0 to 44 as an example; or `clamped` by constraint 1.
        wrapped = ("bits", (-magnitude if negative else magnitude) % 2 ** INTEGERS[destination])
        if way.beyond == WRAP:
            return Want(DISPUTED, (wrapped, *clamped.readings))
        in_torch = wrapped if -(2**31) <= value < 2**31 else ("undefined",)
        return Want(DISPUTED, (wrapped, in_torch, *clamped.readings))
    if source in INTEGERS:
        return _integer(IMPLIED, destination, int(value))
    return _integer(way.level, destination, -magnitude if negative else magnitude)


def _integer(level: str, destination: str, value: int) -> Want:
    low, high = span(destination)
    assert low <= value <= high
    return bits(level, value + 2 ** SIGNED[destination] if value < 0 else value)


def _to_float(source: str, destination: str, way: Way, code: int) -> Want:
    float_ = FLOATS[destination]
    value, kept, side = _placed(source, destination, code)
    if isinstance(value, str):
        if value in ("nan", "-nan"):
            return UNDEFINED if destination in NARROW else Want(IMPLIED, (NAN,))
        if value != "-0" and way.beyond == OPEN:
            return UNDEFINED
        magnitude = 0 if value == "-0" else float_.largest + 1
        return bits(IMPLIED, magnitude + (float_.sign if value[0] == "-" else 0))
    negative, level = value.numerator < 0, way.level
    magnitude = _carried(way.carries, negative, kept, side)
    if magnitude > float_.largest:
        if way.beyond != INF:
            return UNDEFINED
        magnitude, level = float_.largest + 1, IMPLIED
    if magnitude == 0 and negative:
        level = IMPLIED
    return bits(level, magnitude + (float_.sign if negative else 0))
