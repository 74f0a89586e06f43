"""Bugs of integers, booleans and texts, and of places in a tensor.

Each gives the answers with the bug in them; None where it has nothing to do with the case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from planted.float_bugs import rounded_through
from planted.problem import Bugged, Problem, put

from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Bool, Float, Int, Text
from convcheck.numerics.modes import toward_zero
from convcheck.numerics.number import below, exceeds
from convcheck.numerics.rounding import round_to
from convcheck.semantics.vocabulary import Mask

# Integers -----------------------------------------------------------------------------------------


def wrapped(p: Problem) -> Mask | None:
    """Tell which integers do not fit the destination; None where there is nothing to wrap."""
    if not isinstance(p.target, Int) or not isinstance(p.source, Int):
        return None
    above = exceeds(p.x, p.target.max) & ~p.x.sign
    return np.asarray(above | below(p.x, p.target.min))


def clamp(p: Problem) -> Bits | None:
    """What does not fit becomes the end of the range that it is beyond."""
    here = wrapped(p)
    if here is None:
        return None
    lowest, highest = int(p.target.min) & p.target.mask, int(p.target.max)
    return put(p, here, np.where(p.x.sign, lowest, highest).astype(p.target.storage))


def bit_too_few(p: Problem) -> Bits | None:
    """What does not fit keeps one bit too few."""
    here = wrapped(p)
    if here is None:
        return None
    kind, bits = p.target.storage.type, p.target.bits
    kept = p.right & kind(p.target.mask >> 1)
    if p.target.signed:
        kept |= (kept >> kind(bits - 2)) << kind(bits - 1)
    return put(p, here, kept)


def wrap_loses_sign(p: Problem) -> Bits | None:
    """What wraps to a negative number loses the sign bit."""
    here = wrapped(p)
    if here is None or not p.target.signed:
        return None
    return put(p, here, p.right & p.target.storage.type(p.target.mask >> 1))


def wrap_of_magnitude(p: Problem) -> Bits | None:
    """A negative number that does not fit is wrapped as its absolute value."""
    here = wrapped(p)
    if here is None:
        return None
    magnitude = round_to(p.x, p.target, toward_zero).magnitude & np.uint64(p.target.mask)
    return put(p, here & p.x.sign, magnitude)


def zero_extended(p: Problem) -> Bits | None:
    """A signed integer of at most four bits is read as unsigned."""
    fmt = p.source
    narrow = isinstance(fmt, Int) and fmt.signed and fmt.bits <= 4
    return p.seen(p.bits, source=replace(fmt, signed=False)) if narrow else None


def swapped(p: Problem) -> Bits | None:
    """Elements that share a byte are packed or unpacked in the wrong order."""
    sizes = [f.bits for f in (p.target, p.source) if not isinstance(f, Text | Bool)]
    narrow = [size for size in sizes if size <= 4]
    if not narrow:
        return None
    return _reversed_in_bytes(p.right, 8 // narrow[0])


def _reversed_in_bytes(codes: Bits, each: int) -> Bits:
    filled = np.full(-(-len(codes) // each) * each, codes.dtype.type(), codes.dtype)
    filled[: len(codes)] = codes
    return filled.reshape(-1, each)[:, ::-1].reshape(-1)[: len(codes)]


# Booleans -----------------------------------------------------------------------------------------


def not_normalised(p: Problem) -> Bits | None:
    """A bool is the low byte of the input."""
    if not isinstance(p.target, Bool) or isinstance(p.source, Text):
        return None
    return (p.bits & p.bits.dtype.type(255)).astype(p.target.storage)


# Texts --------------------------------------------------------------------------------------------


def retold(change: Callable[[str], str], texts: Bits) -> Bits:
    """The same texts, each changed."""
    other = np.empty(len(texts), object)
    other[:] = [change(text) for text in texts]
    return other


def case_matters(p: Problem) -> Bits | None:
    """INF and NaN are known in one case only; other spellings give zero."""
    if not isinstance(p.source, Text) or not isinstance(p.target, Float):
        return None
    known = ("INF", "+INF", "-INF", "NaN")
    special = re.compile("[+-]?inf|nan", re.IGNORECASE)
    strange = [t not in known and special.fullmatch(t) is not None for t in p.bits]
    return put(p, np.array(strange, bool), 0)


def exponent_sign_ignored(p: Problem) -> Bits | None:
    """1e-5 is read as 1e5."""
    numeric = isinstance(p.source, Text) and not isinstance(p.target, Text)
    return p.seen(retold(lambda t: re.sub("[eE]-", "e", t), p.bits)) if numeric else None


def literal_sign_lost(p: Problem) -> Bits | None:
    """A minus before a literal is ignored."""
    numeric = isinstance(p.source, Text) and not isinstance(p.target, Text)
    return p.seen(retold(lambda t: t.removeprefix("-"), p.bits)) if numeric else None


def printed(change: Callable[[str], str]) -> Bugged:
    """Numbers are printed in another way."""
    return lambda p: (
        retold(change, p.right)
        if isinstance(p.target, Text) and not isinstance(p.source, Text)
        else None
    )


def other_sign(text: str) -> str:
    """The text with the other sign."""
    return text.removeprefix("-") if text.startswith("-") else f"-{text}"


def printed_through(fmt: Float) -> Bugged:
    """Integers are printed as the float that is nearest to them."""

    def bug(p: Problem) -> Bits | None:
        if not isinstance(p.target, Text) or not isinstance(p.source, Int):
            return None
        magnitudes = round_to(rounded_through(p.x, fmt), Int(64, False), toward_zero).magnitude
        texts = np.empty(len(p.bits), object)
        texts[:] = ["-" * int(s) + str(m) for s, m in zip(p.x.sign, magnitudes, strict=True)]
        return texts

    return bug


def unchanged_text(p: Problem) -> Bits | None:
    """A text is cut at its first character that is not ASCII."""
    both = isinstance(p.target, Text) and isinstance(p.source, Text)
    return retold(lambda t: re.split(r"[^\x00-\x7f]", t)[0], p.bits) if both else None


# Positions and shapes -----------------------------------------------------------------------------


def spoiled(p: Problem) -> Bits:
    """Wrong answers everywhere: the lowest bit flipped, or another text."""
    if isinstance(p.target, Text):
        return retold(lambda t: f"{t}?", p.right)
    return p.right ^ p.right.dtype.type(1)


def last_of_odd(p: Problem) -> Bits:
    """The last element of a tensor of odd length is wrong."""
    last = np.arange(len(p.bits)) == len(p.bits) - 1
    return put(p, last & (len(p.bits) % 2 == 1), spoiled(p))


def short(p: Problem) -> Bits:
    """Tensors of fewer than eight elements are wrong."""
    return spoiled(p) if len(p.bits) < 8 else p.right
