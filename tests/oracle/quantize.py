"""An independent, slow oracle for ONNX QuantizeLinear and DequantizeLinear.

"y = saturate((x / y_scale) + y_zero_point)", with "(x / y_scale)" rounded "to the nearest even",
and "y = (x - x_zero_point) * x_scale". From version 23 on "the type of `y_scale` determines the
precision of the division", unless `precision` is given. Each way to read an open point gives one
result.
"""

from fractions import Fraction

from .formats import FLOATS, INTEGERS, Value, decode, nearest_even, span
from .narrow import to_float8, to_saturating
from .question import Ask

NAN, ZERO, UNDEFINED = "nan", "zero", "undefined"
Result = int | str
NARROW = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
          "float4e2m1", "float6e2m3", "float6e3m2")  # fmt: skip
PRECISIONS = {1: "float32", 10: "float16", 16: "bfloat16"}


def quantize(
    version: int,
    types: tuple[str, str, str],
    codes: tuple[int, int, int | None],
    precision: int | None = None,
    *,
    saturate: bool = True,
) -> set[Result]:
    """Return the allowed y for `types` of x, y_scale and y, and `codes` of x, y_scale and
    y_zero_point.
    """
    (of_x, of_scale, of_y), (x, scale, zero) = types, codes
    scaled = decode(of_scale, scale)
    value = decode(of_x, x)
    if isinstance(scaled, str) or scaled <= 0:
        return {UNDEFINED}
    shift = Fraction(0) if zero is None else decode(of_y, zero)
    if of_y in NARROW and shift not in (0, "-0"):
        return {UNDEFINED}
    quotients = {_quotient(work, before, types, value, scaled)
                 for work, before in _ways(version, types, precision)}  # fmt: skip
    if of_y in INTEGERS:
        assert isinstance(shift, Fraction)
        return {_to_integer(of_y, each, shift) for each in quotients}
    return {_either_zero(of_y, _to_float(of_y, each, saturate=saturate)) for each in quotients}


def _ways(
    version: int, types: tuple[str, str, str], precision: int | None
) -> list[tuple[str, bool]]:
    """Return the types of the division, '' for exact; whether operands are rounded first."""
    of_x, of_scale, _ = types
    if version >= 23:
        least = of_scale if precision is None else PRECISIONS[precision]
        return [(least, False), (least, True), ("", False), ("float32", False)]
    return [("", False), (of_scale, of_x == "int32"), ("float32", of_x == "int32")]


def _quotient(
    work: str, before: bool, types: tuple[str, str, str], x: Value, scale: Fraction
) -> Value:
    if before:
        x = rounded(work, x)
        below = rounded(work, scale)
        if isinstance(below, str):
            return "nan" if isinstance(x, str) and x != "-0" else Fraction(0)
        scale = below
    if scale == 0 and x in (0, "-0"):
        return "nan"
    if isinstance(x, str):
        return x
    if scale == 0:
        return "inf" if x > 0 else "-inf"
    result = x / scale
    return rounded(work, result) if work else result


def rounded(name: str, x: Value) -> Value:
    if isinstance(x, str):
        return x
    code = nearest_even(name, x)
    if code > FLOATS[name].largest:
        return "-inf" if x < 0 else "inf"
    if code == 0:
        return "-0" if x < 0 else Fraction(0)
    magnitude = FLOATS[name].magnitude(code)
    return -magnitude if x < 0 else magnitude


def _to_integer(name: str, quotient: Value, shift: Fraction) -> Result:
    """ "it saturates", after rounding and after the zero point."""
    low, high = span(name)
    if quotient in ("nan", "-nan"):
        return UNDEFINED
    if quotient in ("inf", "-inf"):
        result = high if quotient == "inf" else low
    else:
        whole = 0 if isinstance(quotient, str) else round(quotient)  # to even
        result = min(max(whole + int(shift), low), high)
    return int(result % 2 ** INTEGERS[name])


def _either_zero(name: str, code: Result) -> Result:
    """Adding a zero point of 0 to -0 gives +0. Without zero point, -0 stays."""
    float_ = FLOATS[name]
    return ZERO if float_.negative_zero and code in (0, float_.negative_zero) else code


def _to_float(name: str, quotient: Value, *, saturate: bool) -> Result:
    """Use Cast's two tables for float8. The notes on float4 and float6 always saturate."""
    ask = Ask(19, "float32", name, saturate, "")
    if not name.startswith("float8"):
        word, *code = to_saturating(ask, quotient).readings[0]
    elif saturate and FLOATS[name].specials == "fnuz" and quotient in ("inf", "-inf"):
        return UNDEFINED
    else:
        word, *code = to_float8(ask, quotient).readings[0]
    return code[0] if word == "bits" else word


# Dequantising --------------------------------------------------------------------------------


def dequantize(
    version: int, types: tuple[str, str, str], codes: tuple[int, int, int | None]
) -> set[Result]:
    """Return the allowed y for `types` of x, x_scale and y, and `codes` of x, x_scale and
    x_zero_point.
    """
    (of_x, of_scale, of_y), (x, scale, zero) = types, codes
    by, value = decode(of_scale, scale), decode(of_x, x)
    if isinstance(by, str) or by <= 0:
        return {UNDEFINED}
    shift = Fraction(0) if zero is None else decode(of_x, zero)
    # for int32 "there's no zero point (zero point is supposed to be 0)"
    if of_x in (*NARROW, "int32") and shift not in (0, "-0"):
        return {UNDEFINED}
    difference: Value = value
    if isinstance(value, Fraction) and isinstance(shift, Fraction):
        difference = value - shift
    elif value == "-0" and shift == "-0":
        difference = Fraction(0)
    ways = [(difference, by, ""), (rounded(of_y, difference), by, of_y)]
    if version >= 19:
        ways.append((rounded("float32", difference), by, "float32"))
    if version >= 23:
        ways.append((rounded(of_y, difference), rounded(of_y, by), of_y))
    if version == 23:
        ways.append((rounded(of_scale, difference), by, of_scale))
    found = {_product(of_y, *way) for way in ways}
    # "does not necessarily preserve the sign for specific values such as `-0`" (note on float8)
    free = value == "-0" and not of_x.startswith("float6")
    return {ZERO if free and code in (0, FLOATS[of_y].sign) else code for code in found}


def _product(name: str, left: Value, right: Value, work: str) -> Result:
    if left in ("nan", "-nan") or (isinstance(right, str) and left in (0, "-0")):
        return NAN
    if isinstance(right, str) and right != "-0":
        negative = left == "-inf" or (isinstance(left, Fraction) and left < 0)
        return _code(name, "-inf" if negative else "inf")
    if left == "-0" or isinstance(left, str):
        return _code(name, left if right != 0 or left == "-0" else "nan")
    product: Value = left * Fraction(0 if right == "-0" else right)
    if work:
        product = rounded(work, product)
    if product == 0 and left < 0:
        product = "-0"
    return _code(name, rounded(name, product))


def _code(name: str, value: Value) -> Result:
    float_ = FLOATS[name]
    if value == "-0":
        return float_.sign
    if value in ("inf", "-inf"):
        return float_.largest + 1 + (float_.sign if value == "-inf" else 0)
    if isinstance(value, str):
        return NAN
    return nearest_even(name, value) + (float_.sign if value < 0 else 0)


Dynamic = tuple[tuple[int, ...], int, int]


def quantize_dynamically(codes: list[int]) -> set[Dynamic] | None:
    """Return DynamicQuantizeLinear-11's allowed results for float32, or None if undefined.

    "y_scale = (maximum(0, max(x)) - minimum(0, min(x))) / (qmax - qmin)", "intermediate_zero_point
    = qmin - min(x)/y_scale", "data range is adjusted to include 0". y_scale is a float32. The
    function body has "Min_Scaled = Div (X_Min_Adjusted, Scale)" in float32, and leaves the
    quotients to "QuantizeLinear (x, Scale, Zeropoint)".
    """
    values = [decode("float32", code) for code in codes]
    numbers = [Fraction(0) if value == "-0" else value for value in values]
    if not numbers or any(isinstance(value, str) for value in numbers):
        return None
    high, low = (end(Fraction(0), *numbers) for end in (max, min))  # type: ignore[type-var]
    assert isinstance(high, Fraction)
    assert isinstance(low, Fraction)
    ways = ((1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 1, 1), (0, 0, 0))
    found = [_scaled(numbers, low, high, *way) for way in ways]
    known = {one for one in found if one is not None}
    return known if len(known) and None not in found else None


def _scaled(
    numbers: list[Value], low: Fraction, high: Fraction, range_: int, offset: int, quotients: int
) -> Dynamic | None:
    """Compute one way: whether the range, the quotient of low, and those of x round to float32."""
    between = rounded("float32", high - low) if range_ else high - low
    if isinstance(between, str):
        return None
    scale = rounded("float32", between / 255)
    if isinstance(scale, str) or scale == 0:
        return None

    def divided(x: Fraction, rounds: int) -> Fraction:
        result = rounded("float32", x / scale) if rounds else x / scale
        return Fraction(0) if isinstance(result, str) else result

    zero = _saturated(-divided(low, offset))
    whole = (round(divided(x, quotients)) for x in numbers if isinstance(x, Fraction))
    y = (_saturated(Fraction(each + zero)) for each in whole)
    return tuple(y), nearest_even("float32", scale), zero


def _saturated(x: Fraction) -> int:
    return min(max(round(x), 0), 255)
