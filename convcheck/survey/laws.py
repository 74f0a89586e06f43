"""Simple laws that a runtime's answers may follow where no standard tells it what to answer.

A law fits answers that are all as it predicts, every NaN counting as the same answer. Where no law
fits, finite inputs, infinities and NaNs may each have one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Bits, Text
from convcheck.numerics.number import FINITE, INFINITY, NAN, Numbers
from convcheck.semantics.vocabulary import Points
from convcheck.survey.law_words import (
    Law,
    bits_of_code,
    by_sign,
    constant,
    integer_code,
    nonzero,
    rounding_law,
    spelling,
    text_itself,
    through,
    truth,
    wrapped,
)

Laws = tuple[str, ...]
Fits = tuple[tuple[str, Laws], ...]  # kinds of input ('' for all) with the laws that fit each
_KINDS = (("finite", FINITE), ("infinite", INFINITY), ("NaN", NAN))


def fits_of(points: Points, got: Bits) -> Fits:
    """Return the laws that fit all answers by name; where none does, those of each kind of input.

    `got` of shape (n,) is settled. Laws come the plainest first, none where none fits.
    """
    whole = fitting(points, got)
    masks = {name: points.x.kind == kind for name, kind in _KINDS}
    present = [name for name, mask in masks.items() if mask.any()]
    if whole or len(present) < 2 or isinstance(points.source, Text):
        return (("", whole),)
    found = tuple((name, fitting(_some(points, masks[name]), got[masks[name]])) for name in present)
    return found if any(laws for _, laws in found) else (("", ()),)


def kind_of(points: Points, kind: str) -> NDArray[np.bool_]:
    """Return which inputs are of a kind of `Fits`."""
    kinds = dict(_KINDS)
    return np.asarray(points.x.kind == kinds[kind] if kind else np.ones(len(points.bits), bool))


def fitting(points: Points, got: Bits) -> Laws:
    """Return the names of the laws that fit all answers, the plainest first."""
    predicted = ((name, law(points)) for name, law in LAWS.items())
    return tuple(name for name, codes in predicted if codes is not None and (codes == got).all())


def _some(points: Points, mask: NDArray[np.bool_]) -> Points:
    x = points.x
    sticky = None if x.sticky is None else x.sticky[mask]
    part = Numbers(x.kind[mask], x.sign[mask], x.exponent[mask], x.significand[mask], sticky)
    return Points(points.source, points.target, points.bits[mask], part)


_MODES = {
    "": "toward-zero",
    "to nearest even, ": "nearest-even",
    "half away from zero, ": "nearest-away",
}


def _integers() -> dict[str, Law]:
    """Laws of a conversion by way of a machine's integer, by rounding mode and by width."""
    laws: dict[str, Law] = {}
    for clamped, end in ((False, "INT_MIN beyond"), (True, "clamped")):
        for said, mode in _MODES.items():
            for bits in (32, 64):
                laws[f"{said}through int{bits}, {end}"] = through(bits, mode, clamped=clamped)
    return laws


def _floats() -> dict[str, Law]:
    """Laws of rounding, by mode and by what becomes of numbers beyond the largest."""
    modes = {
        "to nearest even": "nearest-even",
        "toward zero": "toward-zero",
        "half away from zero": "nearest-away",
        "away from zero": "away",
    }
    ends = {"saturates": "+max", "infinity beyond max": "+inf", "NaN beyond max": "nan"}
    return {
        f"{drops}rounds {said}, {end}": rounding_law(mode, word, sign=not drops)
        for drops in ("", "drops the sign, ")
        for said, mode in modes.items()
        for end, word in ends.items()
    }


# In the order of preference where several fit.
LAWS: Mapping[str, Law] = {
    "true": constant("true"),
    "false": constant("false"),
    "NaN": constant("nan"),
    "clamps": by_sign("+max", "min"),
    "infinity, sign kept": by_sign("+inf", "-inf"),
    "INT_MIN": integer_code(lambda t: 1 << (t.bits - 1), signed=True),
    "0": constant("+0"),
    "the same bits": bits_of_code(same=True),
    "wraps": wrapped("toward-zero"),
    "to nearest even, wraps": wrapped("nearest-even"),
    "half away from zero, wraps": wrapped("nearest-away"),
    **_integers(),
    "0, sign kept": by_sign("+0", "-0"),
    "max": constant("+max"),
    "-max": constant("-max"),
    "only the top bit set": integer_code(lambda t: 1 << (t.bits - 1), signed=False),
    "-1": integer_code(lambda t: t.mask, signed=True),
    "+infinity": constant("+inf"),
    **_floats(),
    "low bits of the code": bits_of_code(),
    "high bits of the code": bits_of_code(high=True),
    "true unless 0": nonzero,
    "true unless empty": truth(bool),
    "prints 1 and 0": spelling("0", "1"),
    "prints True and False": spelling("False", "True"),
    "prints true and false": spelling("false", "true"),
    "the text itself": text_itself,
}
# What the words of laws mean, where they do not say it themselves.
MEANINGS: Mapping[str, str] = {
    "clamps": "the largest or smallest value, whichever is nearer",
    "wraps": "the low bits of the number without its fraction",
    "through int32": "converted to int32, then to the low bits of that, its sign extended",
    "through int64": "converted to int64, then to the low bits of that",
    "INT_MIN beyond": "what that cannot hold, and NaN, gives its smallest value",
    "clamped": "what that cannot hold gives its nearest value, NaN 0",
    "saturates": "the largest value beyond it",
}
