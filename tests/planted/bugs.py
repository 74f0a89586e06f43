"""The planted bugs, each with a name. See float_bugs and other_bugs for what they do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from planted.float_bugs import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    always,
    flush_inputs,
    flush_results,
    fnuz_bias,
    infinity_to_nan,
    nan_to_false,
    nan_to_max,
    nan_to_zero,
    negative_zero_lost,
    overflow_of_x,
    rounding,
    saturate,
    through,
    ties,
    to_infinity,
    to_max,
    within,
)
from planted.other_bugs import (
    bit_too_few,
    case_matters,
    clamp,
    exponent_sign_ignored,
    last_of_odd,
    literal_sign_lost,
    not_normalised,
    other_sign,
    printed,
    printed_through,
    short,
    spoiled,
    swapped,
    unchanged_text,
    wrap_loses_sign,
    wrap_of_magnitude,
    zero_extended,
)
from planted.problem import Bugged, Problem

from convcheck.judge.answers import EVERYWHERE
from convcheck.numerics.codes import Bits

_BULK = EVERYWHERE - {"", "support", "bulk", "sweep"}


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
