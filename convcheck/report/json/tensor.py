"""The one spelling of a tensor in JSON formats."""

from __future__ import annotations

from collections.abc import Mapping

from convcheck.judge.result import Strip, Word
from convcheck.judge.words import code_text, value
from convcheck.report.json.codec import Count, Shape, word_of
from convcheck.rules.model import DType


class TensorJson(Shape, frozen=True, kw_only=True):
    """A tensor, or the part of it that is shown, or a single element."""

    #: The name of the type: the spec's, or of another type the backend's.
    type: str
    #: The lengths of the dimensions; null for a single element.
    shape: tuple[Count, ...] | None
    #: The index of the first element shown, in row-major order.
    first: Count
    #: Codes, as 0x and hexadecimal digits; of a string the text; or patterns in <>.
    bits: tuple[str, ...]
    #: The values in decimal; null for a pattern, or for a type that no spec has.
    values: tuple[str | None, ...]


def tensor(strip: Strip) -> TensorJson:
    """Return the part of a tensor that is shown; of a type that no spec has, raw codes."""
    fmt = strip.format
    return TensorJson(
        type=strip.type,
        shape=strip.shape,
        first=strip.first,
        bits=tuple(hex(int(w)) if fmt is None else code_text(fmt, w) for w in strip.words),
        values=tuple(None if fmt is None else value(fmt, w) for w in strip.words),
    )


def element(dtype: DType, word: Word) -> TensorJson:
    """Return a single element."""
    fmt = dtype.format
    bits, values = (code_text(fmt, word),), (value(fmt, word),)
    return TensorJson(type=dtype.name, shape=None, first=0, bits=bits, values=values)


def strip_of(one: TensorJson, types: Mapping[str, DType]) -> Strip:
    """Return what was written by `tensor`. Raises ValueError for what is no code of its type."""
    dtype = types.get(one.type)
    fmt = dtype.format if dtype else None
    words = tuple(word_of(word, fmt) for word in one.bits)
    return Strip(one.type, fmt, one.shape or (), one.first, words)
