"""The oracle's question and answer."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, TypeAlias

from .formats import E8M0, FLOATS, decode

Pattern: TypeAlias = tuple[str] | tuple[str, int | str]

NORMATIVE, IMPLIED, DISPUTED = "normative", "implied", "disputed"
NAN: Pattern = ("nan",)
MINUS_NAN: Pattern = ("-nan",)

WIDE = ("float16", "float32", "float64", "bfloat16")
FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
FLOAT6 = ("float6e2m3", "float6e3m2")
NARROW_INTEGERS = ("int4", "uint4", "int2", "uint2")
TYPES_ADDED = {
    1: (
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "bool"),
    ),
    6: (),
    9: ("string",),
    13: ("bfloat16",),
    19: FLOAT8,
    21: ("uint4", "int4"),
    23: ("float4e2m1",),
    24: (E8M0,),
    25: ("uint2", "int2"),
    28: FLOAT6,
}


@dataclass(frozen=True)
class Want:
    """A level and the allowed patterns, one unless disputed."""

    level: str
    readings: tuple[Pattern, ...]


UNDEFINED = Want("undefined", (("undefined",),))


class Ask(NamedTuple):
    edition: int
    source: str
    destination: str
    saturate: bool
    round_mode: str


@cache
def edition(version: int, destination: str) -> int:
    first = (1, 13, 23, 24) if destination in FLOAT8 else (1, 13)
    return max(since for since in first if since <= version)


@cache
def types(version: int) -> tuple[str, ...]:
    if version not in TYPES_ADDED:
        raise ValueError(f"there is no Cast-{version}")
    return tuple(name for since, names in TYPES_ADDED.items() if since <= version for name in names)


def is_float(name: str) -> bool:
    return name in FLOATS or name == E8M0


def stated(ask: Ask) -> str:
    """Return the level of "In more detail, the conversion … should follow these rules", new in
    13.

    "the conversion among numerical types" excludes strings.
    """
    return NORMATIVE if ask.edition >= 13 and ask.source != "string" else IMPLIED


@lru_cache(maxsize=1 << 17)
def bits(level: str, *codes: int | str) -> Want:
    return Want(level, tuple([("bits", code) for code in codes]))


def fits(reading: Pattern, target: str, got: int | str) -> bool:
    if reading[0] == "bits":
        return bool(got == reading[1])
    if reading[0] in ("nan", "-nan"):
        return decode(target, got) in (("nan", "-nan") if reading[0] == "nan" else ("-nan",))
    return reading[0] == "undefined"
