"""The planted bugs: each a small function that gives a conversion's answers with one bug in them.

A bug gives None where it has nothing to do with the case. `right` are the answers without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from planted.problem import Problem, reworked, rounding_by

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Bits, Bool, Float, Int, Text
from convcheck.numerics.number import FINITE, INFINITY, NAN, Numbers, below, exceeds
from convcheck.numerics.rounding import MODES, Mask, nearest_even, round_to, toward_zero
from convcheck.run.answers import PLACEMENTS
from convcheck.semantics.program import Entry, Program
from convcheck.semantics.vocabulary import CASES

Bugged = Callable[[Problem], Bits | None]

FLOAT16 = Float(5, 10, 15, "ieee", infinity=True)
BFLOAT16 = Float(8, 7, 127, "ieee", infinity=True)
FLOAT32 = Float(8, 23, 127, "ieee", infinity=True)
FLOAT64 = Float(11, 52, 1023, "ieee", infinity=True)


def put(p: Problem, here: Mask, codes: Bits | int | str) -> Bits:
    """The right answers, but for other codes in some places."""
    answers = p.right.copy()
    np.copyto(answers, codes, where=here, casting="unsafe")
    return answers


# Rounding ---------------------------------------------------------------------------------------


def modes_of(program: Program) -> set[str]:
    """The rounding modes that a program uses."""
    steps = [s for e in program.entries for s in e.steps]
    inner = [modes_of(s.program) for s in steps if s.program]
    return {s.mode for s in steps}.union({e.mode for e in program.entries}, *inner)


def rounding(p: Problem, modes: dict[str, str]) -> Bits | None:
    """Rounding modes exchanged."""
    if not modes_of(p.program) & modes.keys():
        return None
    return p.tried(rounding_by(p.program, modes))


def always(mode: str) -> Bugged:
    """One rounding mode for everything."""
    return partial(rounding, modes={name: mode for name in MODES if name != mode})


def ties(mode: str) -> Bugged:
    """Ties rounded in another way; other numbers are not affected."""
    return partial(rounding, modes=dict.fromkeys(("nearest-even", "nearest-up"), mode))


def rounded_through(x: Numbers, fmt: Float) -> Numbers:
    """Numbers rounded to an IEEE format, which overflows to its infinity."""
    magnitude = np.minimum(round_to(x, fmt, nearest_even).magnitude, np.uint64(fmt.infinity_code))
    magnitude[x.kind == INFINITY] = fmt.infinity_code
    magnitude[x.kind == NAN] = fmt.nan_code
    return decode(fmt, encode(fmt, magnitude, x.sign))


def through(fmt: Float) -> Bugged:
    """Rounded twice: to a format on the way first."""
    return lambda p: None if isinstance(p.target, Text) else p.denoting(rounded_through(p.x, fmt))


def within(fmt: Float) -> Bugged:
    """Rounded twice, but only where the number is in the normal range of the format on the way."""

    def bug(p: Problem) -> Bits | None:
        if isinstance(p.target, Text):
            return None
        twice = rounded_through(p.x, fmt)
        there = (p.x.kind == FINITE) & (twice.kind == FINITE)
        there &= p.x.exponent >= 1 - fmt.bias
        fields = [np.where(there, getattr(twice, f), getattr(p.x, f)) for f in _FIELDS]
        sticky = None if p.x.sticky is None else p.x.sticky & ~there
        return p.denoting(Numbers(*fields, sticky))

    return bug


_FIELDS = ("kind", "sign", "exponent", "significand")


# Small numbers ------------------------------------------------------------------------------------


def tiny(fmt: Float, codes: Bits) -> Mask:
    """Tell which codes are subnormal."""
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    return np.asarray((magnitude > 0) & (magnitude >> codes.dtype.type(fmt.mantissa) == 0))


def flushed(fmt: Float, codes: Bits) -> Bits:
    """The same codes with zeros for subnormals, the sign kept where there is a -0."""
    sign = fmt.sign_bit if fmt.negative_zero else 0
    return np.where(tiny(fmt, codes), codes & codes.dtype.type(sign), codes)


def flush_results(p: Problem) -> Bits | None:
    """Subnormal results come out as zeros."""
    fmt = p.target
    return flushed(fmt, p.right) if isinstance(fmt, Float) and fmt.zero else None


def flush_inputs(p: Problem) -> Bits | None:
    """Subnormal inputs are taken for zeros."""
    fmt = p.source
    return p.seen(flushed(fmt, p.bits)) if isinstance(fmt, Float) and fmt.zero else None


def negative_zero_lost(p: Problem) -> Bits | None:
    """-0 comes out as +0."""
    fmt = p.target
    if not isinstance(fmt, Float) or not fmt.negative_zero:
        return None
    return put(p, p.right == fmt.sign_bit, 0)


# Large numbers ------------------------------------------------------------------------------------


def overflow_of_x(p: Problem) -> Bits | None:
    """x itself is compared with max where [x] should be."""

    def change(entry: Entry) -> Entry:
        label = entry.row.label
        bounded = label.startswith(("[x] >", "[x] <"))
        return replace(entry, test=CASES[label.replace("[x]", "x")]) if bounded else entry

    return p.tried(reworked(p.program, change)) if isinstance(p.target, Float) else None


def far(p: Problem, fmt: Float, factor: int) -> Mask:
    """Tell which inputs are finite, and beyond the destination's max times a factor."""
    return (p.x.kind == FINITE) & exceeds(p.x, fmt.max * factor)


def to_max(p: Problem, factor: int = 1) -> Bits | None:
    """Overflow gives max where infinity or NaN is right, beyond so many times max."""
    fmt = p.target
    if not isinstance(fmt, Float):
        return None
    finite = (p.right & fmt.magnitude_mask) <= fmt.max_magnitude
    if fmt.nan == "sign-only":
        finite = p.right != fmt.nan_code
    return put(p, far(p, fmt, factor) & ~finite, encoded(fmt, fmt.max_magnitude, p.x.sign))


def to_infinity(p: Problem, factor: int = 1) -> Bits | None:
    """Overflow gives infinity, or NaN where there is none, where max is right."""
    fmt = p.target
    if not isinstance(fmt, Float) or (fmt.nan == "none" and not fmt.infinity):
        return None
    beyond = p.points.rounded("nearest-even").magnitude > fmt.max_magnitude
    if fmt.infinity:
        return put(p, far(p, fmt, factor) & beyond, encoded(fmt, fmt.infinity_code, p.x.sign))
    return put(p, far(p, fmt, factor) & beyond, fmt.nan_code)


def encoded(fmt: Float, magnitude: int, sign: Mask) -> Bits:
    """Codes of one magnitude with signs."""
    return encode(fmt, np.full(len(sign), magnitude, np.uint64), sign)


def saturate(choose: Callable[[int], int]) -> Bugged:
    """The attribute `saturate` is taken for another value."""

    def bug(p: Problem) -> Bits | None:
        value = p.case.attribute("saturate")
        if value not in (0, 1) or choose(value) == value:
            return None
        attributes = dict(p.case.attributes) | {"saturate": choose(value)}
        return p.tried(p.compiled(replace(p.case, attributes=tuple(attributes.items()))))

    return bug


# Infinities and NaN -------------------------------------------------------------------------------


def nan_to_max(p: Problem) -> Bits | None:
    """NaN comes out as the largest value."""
    if isinstance(p.target, Text | Bool):
        return None
    fmt = p.target
    return put(p, p.x.kind == NAN, fmt.max_magnitude if isinstance(fmt, Float) else int(fmt.max))


def nan_to_zero(p: Problem) -> Bits | None:
    """NaN comes out as zero (as the lowest code in a format without)."""
    return None if isinstance(p.target, Text | Bool) else put(p, p.x.kind == NAN, 0)


def nan_to_false(p: Problem) -> Bits | None:
    """NaN is taken for False."""
    return put(p, p.x.kind == NAN, 0) if isinstance(p.target, Bool) else None


def infinity_to_nan(p: Problem) -> Bits | None:
    """Infinities come out as NaN."""
    fmt = p.target
    if not isinstance(fmt, Float) or fmt.nan == "none":
        return None
    return put(p, p.x.kind == INFINITY, fmt.nan_code)


def fnuz_bias(off: int) -> Bugged:
    """A FNUZ type has a wrong bias."""

    def bug(p: Problem) -> Bits | None:
        for fmt, side in ((p.target, "target"), (p.source, "source")):
            if isinstance(fmt, Float) and fmt.nan == "sign-only":
                return p.seen(p.bits, **{side: replace(fmt, bias=fmt.bias + off)})
        return None

    return bug


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


# All of them --------------------------------------------------------------------------------------

_BULK = frozenset(PLACEMENTS) - {"", "support", "bulk"}


@dataclass(frozen=True)
class Bug:
    """A bug and how it shows: `shows` gives the answers of an element that it hits.

    A bug of single elements shows in the bulk, so it is asked in no other placement.
    """

    name: str
    answers: Bugged
    shows: Bugged | None = None
    flat: bool = False

    @property
    def avoided(self) -> frozenset[str]:
        """The placements that need not be asked."""
        return frozenset() if self.shows or self.flat else _BULK

    def where_hit(self, p: Problem) -> Bits | None:
        """The answers of elements that are all in a place where the bug is."""
        return (self.shows or self.answers)(p)


def right(p: Problem) -> Bits:
    """No bug at all."""
    return p.right


NEAREST = {"toward-zero": "nearest-even"}
BUGS = (
    Bug("truncation", always("toward-zero")),
    Bug("ties away", ties("nearest-away")),
    Bug("ties toward zero", ties("nearest-toward-zero")),
    Bug("round up", always("ceil")),
    Bug("round down", always("floor")),
    Bug("round away from zero", always("away")),
    Bug("round to odd", always("odd")),
    Bug("nearest where toward zero is right", partial(rounding, modes=NEAREST)),
    Bug("flush of subnormal results", flush_results),
    Bug("flush of subnormal inputs", flush_inputs),
    Bug("-0 lost", negative_zero_lost),
    Bug("overflow tested on x instead of [x]", overflow_of_x),
    Bug("overflow to max instead of inf", to_max),
    Bug("overflow to inf instead of max", to_infinity),
    Bug("overflow to max beyond 4 max only", partial(to_max, factor=4)),
    Bug("overflow to inf beyond 4 max only", partial(to_infinity, factor=4)),
    Bug("overflow to max beyond 1024 max only", partial(to_max, factor=1024)),
    Bug("overflow to inf beyond 1024 max only", partial(to_infinity, factor=1024)),
    Bug("saturate ignored, always 1", saturate(lambda value: 1)),
    Bug("saturate ignored, always 0", saturate(lambda value: 0)),
    Bug("saturate inverted", saturate(lambda value: 1 - value)),
    Bug("NaN to max", nan_to_max),
    Bug("NaN to 0", nan_to_zero),
    Bug("Inf to NaN", infinity_to_nan),
    Bug("FNUZ bias one too low", fnuz_bias(-1)),
    Bug("FNUZ bias one too high", fnuz_bias(1)),
    Bug("double rounding through float64", through(FLOAT64)),
    Bug("double rounding through float32", through(FLOAT32)),
    Bug("double rounding through float16", through(FLOAT16)),
    Bug("double rounding through bfloat16", through(BFLOAT16)),
    Bug("double rounding within float64's normal range", within(FLOAT64)),
    Bug("double rounding within float32's normal range", within(FLOAT32)),
    Bug("double rounding within float16's normal range", within(FLOAT16)),
    Bug("double rounding within bfloat16's normal range", within(BFLOAT16)),
    Bug("integer clamp instead of wrap", clamp),
    Bug("wrap of one bit too few", bit_too_few),
    Bug("sign lost on wrap", wrap_loses_sign),
    Bug("wrap of the absolute value", wrap_of_magnitude),
    Bug("zero-extended int4", zero_extended),
    Bug("nibbles swapped", swapped),
    Bug("bool not normalised", not_normalised),
    Bug("NaN to False", nan_to_false),
    Bug("INF and NaN in one case only", case_matters),
    Bug("exponent sign of a literal ignored", exponent_sign_ignored),
    Bug("sign of a literal ignored", literal_sign_lost),
    Bug("printed with the wrong sign", printed(other_sign)),
    Bug("printed as garbage", printed(lambda text: "?")),
    Bug("NaN and INF printed as 0", printed(lambda text: re.sub("-?(NaN|INF)", "0", text))),
    Bug("integers printed through float32", printed_through(FLOAT32)),
    Bug("integers printed through float64", printed_through(FLOAT64)),
    Bug("texts cut where they are not ASCII", unchanged_text),
    Bug("wrong only on the last element of an odd length", last_of_odd, spoiled),
    Bug("wrong only for lengths below 8", short, spoiled),
    Bug("output shape flattened", right, spoiled, flat=True),
)  # fmt: skip

# Those that look at what the tables of versions before 24 say otherwise: Inf to a FNUZ type.
OF_OLD_TABLES = tuple(bug for bug in BUGS if re.match("overflow|saturate|NaN|Inf", bug.name))
