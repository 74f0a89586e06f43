"""Planted bugs that are causes of the catalogue, too."""

from __future__ import annotations

_MODES = {
    "CAST_RINT": "ties-to-even",
    "CAST_ROUND": "ties-away",
    "CAST_FLOOR": "rounds-down",
    "CAST_CEIL": "rounds-up",
    "CAST_TRUNC": "truncates",
    "CAST_ODD": "rounds-to-odd",
}
# The name of a bug -> the causes one of which does the same in each case.
SUBSUMED: dict[str, tuple[str, ...]] = {
    "truncation": ("truncates",),
    "ties away": ("ties-away",),
    "ties toward zero": ("ties-toward-zero",),
    "round up": ("rounds-up",),
    "round down": ("rounds-down",),
    "round away from zero": ("rounds-away",),
    "round to odd": ("rounds-to-odd",),
    "nearest where toward zero is right": ("ties-to-even",),
    "flush of subnormal results": ("flushes-results-with-sign",),
    "flush of subnormal inputs": ("flushes-inputs-with-sign", "flushes-inputs"),
    "-0 lost": ("loses-negative-zero", "loses-sign-of-zeros"),
    "overflow tested on x instead of [x]": (
        "compares-x-saturates", "compares-x-infinity", "compares-x-nan",
    ),
    "overflow to max instead of inf": ("saturates-numbers",),
    **{
        f"overflow to {what} beyond {times} max only": tuple(f"{c}-beyond-{times}-max" for c in of)
        for what, of in (("max", ("saturates",)), ("inf", ("infinity", "nan")))
        for times in (4, 1024)
    },
    "saturate ignored, always 1": ("saturate-is-1",),
    "saturate ignored, always 0": ("saturate-is-0",),
    "saturate inverted": ("saturate-is-0", "saturate-is-1"),
    "NaN to max": ("nan-is-+max",),
    "NaN to 0": ("nan-is-+0", "nan-is-min"),
    "NaN to False": ("nan-is-false",),
    "Inf to NaN": ("inf-is-nan",),
    "Inf to 0": ("inf-is-+0", "inf-is-false"),
    "double rounding through float64": ("through-float64",),
    "double rounding through float32": ("through-float32",),
    "double rounding through float16": ("through-float16",),
    "double rounding through bfloat16": ("through-bfloat16",),
    "FNUZ bias one too low": ("halves", "doubles"),
    "FNUZ bias one too high": ("doubles", "halves"),
    "double rounding within float16's normal range": ("rounds-twice-within-float16",),
    "integer clamp instead of wrap": ("clamps",),
    "wrap of one bit too few": ("wraps-one-bit-short",),
    "sign lost on wrap": ("wraps-without-sign",),
    "wrap of the absolute value": ("wraps-the-magnitude",),
    "zero-extended int4": ("reads-as-uint4", "reads-as-uint2"),
    "bool not normalised": ("bool-is-the-low-byte",),
    "INF and NaN in one case only": ("knows-INF-and-NaN-in-one-case",),
    "exponent sign of a literal ignored": ("ignores-the-sign-of-an-exponent",),
    "sign of a literal ignored": ("ignores-the-sign-of-a-text",),
    "printed with the wrong sign": ("prints-the-other-sign",),
    "NaN and INF printed as 0": ("prints-special-values-as-0",),
    "texts cut where they are not ASCII": ("cuts-texts-at-what-is-not-ascii",),
    "wrap instead of clamp": ("wraps",),
    "integers printed through float32": ("prints-through-float32",),
    "integers printed through float64": ("prints-through-float64",),
    "halves up instead of away from zero": ("ties-up",),
    "FLOOR and CEIL away from zero": ("rounds-away",),
    "rounded to a whole number": tuple(
        f"whole-{mode}" for mode in ("nearest-even", "nearest-away", "toward-zero", "floor", "ceil")
    ),
    **{
        f"{mode} as {other}": (cause,)
        for mode in _MODES for other, cause in _MODES.items() if other != mode
    },
    **{f"default is {other}": (cause,) for other, cause in _MODES.items()},
}  # fmt: skip
