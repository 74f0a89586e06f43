"""Read a cause's hop: a type, or a word for another change."""

import re
from dataclasses import dataclass

from convcheck.numerics.format import Bool, Float, Format, Opaque, Text
from convcheck.numerics.modes import MODES
from convcheck.rules.model import DType, Outcome
from convcheck.rules.source import Node
from convcheck.rules.types import Types

BEYOND = ("infinity", "clamp", "least", "wrap")
HIDDEN_BIT, CARRIED_TWICE, UNBOUNDED = SUBNORMALS = ("normal", "carried-twice", "unbounded")
NEAREST = "nearest-even"
WHOLE = "whole"  # goes through the whole numbers
MAGNITUDE = "magnitude"  # goes on without its sign
NEGATED = "negated"  # goes on with the other sign
ALIGNED = "aligned"  # loses what is shifted out before it is rounded
IEEE = "ieee-specials"  # the largest exponent is read as infinity or NaN
POWER = "integer-times-power"  # a text is an integer times a rounded power of ten
# words with a number
SCALE, MODULO, BITS, LEAST = "scale", "modulo", "bits", "least"
TEXTS, CODE = "texts", "code"  # another text; a code of another type
_BARE = (WHOLE, MAGNITUDE, NEGATED, ALIGNED, IEEE, POWER)
_NUMBERED = (SCALE, MODULO, BITS, LEAST)
_OF_A_TYPE = ("type", "round", "beyond", "subnormals", "specials", "only")


@dataclass(frozen=True)
class Hop:
    """A stage of a number on its way to the destination."""

    type: DType | str  # a type, or a word
    round: str = NEAREST
    beyond: str = BEYOND[0]  # of a number that the type cannot hold, one of BEYOND
    subnormals: str = ""  # one of SUBNORMALS, or ''
    no_specials: bool = False  # infinities and NaNs are numbers past the largest
    normal_only: bool = False  # numbers outside the normal range stay
    by_code: bool = False  # the code is read as the type's
    number: int = 0  # of a word
    texts: tuple[tuple[str, str], ...] = ()  # pattern -> its replacement


@dataclass(frozen=True, kw_only=True)
class Through(Outcome):
    """The outcome of the rules below, after a cause's hop."""

    hop: Hop


def code_width(fmt: Format) -> int:
    """Return the bits of a numeric code, else 0."""
    return 0 if isinstance(fmt, Text | Bool | Opaque) else fmt.bits


def read_hop(node: Node, types: Types) -> Hop:
    """Return a hop."""
    if isinstance(node.value, str):
        if node.value in _BARE:
            return Hop(node.value)
        return _typed(Node({"type": node}, node.place), types)
    entries = node.items()
    for word in _NUMBERED:
        if entries.keys() == {word}:
            return Hop(word, number=entries[word].integer())
    if entries.keys() == {CODE}:
        return Hop(types.types[entries[CODE].word(tuple(types.types), "type")], by_code=True)
    if entries.keys() == {TEXTS}:
        texts = entries[TEXTS]
        for pattern in texts.items():
            try:
                re.compile(pattern)
            except re.error as error:
                said = f"{pattern!r} is no pattern: {error}"
                raise texts.error(said, "a regular expression") from None
        return Hop(TEXTS, texts=tuple((k, v.text()) for k, v in texts.items().items()))
    if "type" not in entries or entries.keys() - {*_OF_A_TYPE}:
        known = ", ".join(f"`{key}`" for key in _OF_A_TYPE[1:])
        words = ", ".join((*_BARE, *_NUMBERED, CODE, TEXTS))
        said = f"`through` has a type, with {known}; or one of {words}"
        raise node.error(said, "through: float32")
    return _typed(node, types)


def _typed(node: Node, types: Types) -> Hop:
    mode = node.read("round", lambda e: e.word(tuple(MODES), "rounding mode"), NEAREST)
    name = node.need("type").word((*types.types, *_BARE), "type")
    if name in _BARE:
        return Hop(name, mode)
    fmt = types.types[name].format
    holds = isinstance(fmt, Float) and fmt.infinity
    if isinstance(fmt, Text | Bool) or not (node.get("beyond") or holds):
        hint = "a float with infinities, or {type: int32, round: toward-zero, beyond: least}"
        raise node.error(f"what becomes of numbers that {name} cannot hold?", hint)
    return Hop(
        types.types[name],
        mode,
        node.read("beyond", lambda e: e.word(BEYOND, "word"), BEYOND[0]),
        node.read("subnormals", lambda e: e.word(SUBNORMALS, "word"), ""),
        no_specials=node.says("specials", "normal"),
        normal_only=node.says("only", "normal"),
    )
