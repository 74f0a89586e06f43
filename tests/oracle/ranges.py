"""An independent, slow oracle for the two Range operators, on `fractions.Fraction`.

It follows the texts: OpenVINO Range-4 ("val[i+1]=val[i]+step", "max(ceil((end − start) / step), 0)"
in a floating-point type, after a cast to a type at least as precise as the output's, casts "rounded
to zero"), and ONNX Range-11 and -27 with their function bodies. For every open point all ways are
tried, and the answer is the set of resulting sequences.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil

from .formats import FLOATS, INTEGERS, SilentError, decode, locate, nearest_even, number, span

EVEN, ZERO = "to nearest even", "toward zero"
EXACTLY = "exactly"
STASHED = ("float16", "bfloat16")
Sequence = tuple[int, ...]
Three = tuple[Fraction, Fraction, Fraction]


def within(name: str, b: Fraction, c: Fraction, found: set[Sequence]) -> set[Sequence]:
    both = set(found)
    for sequence in found:
        values = [Fraction(0) if v == "-0" else v for v in (decode(name, x) for x in sequence)]
        reached = [v >= b if c > 0 else v <= b for v in values if isinstance(v, Fraction)]
        if any(reached):
            both.add(sequence[: reached.index(True)])
    return both


def pattern(name: str, x: Fraction, direction: str) -> int:
    if name in INTEGERS:
        low, high = span(name)
        whole = int(x)
        if not low <= whole <= high:
            raise SilentError
        return int(whole % 2 ** INTEGERS[name])
    code = nearest_even(name, x) if direction == EVEN else locate(name, x)[0]
    if code > FLOATS[name].largest:
        raise SilentError
    return code + FLOATS[name].sign if x < 0 else code


@cache
def cast(name: str, x: Fraction, direction: str) -> Fraction:
    if name == EXACTLY:
        return x
    value = decode(name, pattern(name, x, direction))
    return Fraction(0) if isinstance(value, str) else value


def count(name: str, a: Fraction, b: Fraction, c: Fraction) -> int:
    return quotient(name, cast(name, b - a, EVEN), c)


def quotient(name: str, over: Fraction, under: Fraction) -> int:
    if under == 0:
        raise SilentError
    return max(ceil(cast(name, over / under, EVEN)), 0)


@cache
def summed(name: str, a: Fraction, c: Fraction, n: int) -> tuple[Fraction, ...]:
    values = [a]
    while len(values) < n:
        values.append(cast(name, values[-1] + c, EVEN))
    return tuple(values[:n])


@cache
def indexed(name: str, a: Fraction, c: Fraction, n: int) -> tuple[Fraction, ...]:
    steps = (cast(name, cast(name, Fraction(i), EVEN) * c, EVEN) for i in range(n))
    return tuple(cast(name, a + step, EVEN) for step in steps)


Elements = Callable[[str, Fraction, Fraction, int], tuple[Fraction, ...]]
FORMS: tuple[Elements, ...] = (summed, indexed)


def openvino(types: tuple[str, str, str], output: str, codes: Sequence) -> set[Sequence] | None:
    """Return Range-4's allowed sequences, None if the text leaves them open."""
    try:
        given = [number(name, code) for name, code in zip(types, codes, strict=True)]
        found = {s for way in (EVEN, ZERO) for s in _openvino(types, output, given, way)}
        return within(output, given[1], given[2], found)
    except SilentError:
        return None


def _openvino(
    types: tuple[str, str, str], output: str, given: list[Fraction], way: str
) -> Iterator[Sequence]:
    now = _three(output, given, way)
    if now[2] == 0:
        raise SilentError
    if output in FLOATS:
        yield from _floats(output, given, way)
    elif all(name in INTEGERS for name in types):
        yield from _integers(output, given, way)
    else:
        enough = {EXACTLY, "float64"} | _narrow(output)
        long = [_length(name, given, way) for name in sorted(enough)]
        short = [_length(name, list(now), way) for name in (EXACTLY, "float64")]
        ways = product({EXACTLY, "float64"} | _narrow(output), FORMS, long)
        for name, form, n in ways:
            yield _cast_all(output, _elements(name, form, given, way, n), way)
        for n in long + short:
            yield _cast_all(output, indexed(EXACTLY, now[0], now[2], n), way)


def _three(name: str, given: list[Fraction], way: str) -> Three:
    a, b, c = (cast(name, x, way) for x in given)
    return a, b, c


def _elements(
    name: str, form: Elements, given: list[Fraction], way: str, n: int
) -> tuple[Fraction, ...]:
    if n == 0:
        return ()
    a, _, c = _three(name, given, way)
    return form(name, a, c, n)


def _length(name: str, given: list[Fraction], way: str) -> int:
    return count(name, *_three(name, given, way))


def _cast_all(output: str, values: tuple[Fraction, ...], way: str) -> Sequence:
    return tuple(pattern(output, value, way) for value in values)


def _floats(output: str, given: list[Fraction], way: str) -> Iterator[Sequence]:
    names = {EXACTLY, "float64", output}
    lengths = {_length(name, given, way) for name in names | _narrow(output)}
    for name, form, n in product(names | _narrow(output), FORMS, lengths):
        yield _cast_all(output, _elements(name, form, given, way, n), way)


def _narrow(output: str) -> set[str]:
    if output.startswith("float8"):
        return {"float32", "float16", "bfloat16"}
    short = ("float16", "bfloat16", "int4", "uint4", "int8", "uint8", "int16", "uint16")
    return {"float32"} if output in short else set()


def _integers(output: str, given: list[Fraction], way: str) -> Iterator[Sequence]:
    a, b, c = given
    divided = quotient("float64", cast("float64", b - a, EVEN), cast("float64", c, EVEN))
    for n in {_length(EXACTLY, given, way), _length("float64", given, way), divided}:
        yield _cast_all(output, indexed(EXACTLY, a, c, n), way)


def onnx(name: str, codes: Sequence) -> set[Sequence] | None:
    """Return Range's allowed sequences for inputs and output of one type, or None.

    float16 and bfloat16 are of version 27, which computes in float32 and casts back once: "Setting
    `stash_type` to `1` (float) causes `start`, `limit`, and `delta` to be cast to 32-bit float
    before the loop, with the output cast back to the original type."
    """
    try:
        a, b, c = (number(name, code) for code in codes)
        if c == 0:
            raise SilentError
        ways = _stashed(name, a, b, c) if name in STASHED else _onnx(name, a, b, c)
        return within(name, b, c, set(ways))
    except SilentError:
        return None


def _onnx(name: str, a: Fraction, b: Fraction, c: Fraction) -> Iterator[Sequence]:
    """Divide in float32 (function body) and in float64 (shape inference, "1.0 *")."""
    difference = cast(name, b - a, EVEN)
    divided = {
        quotient(wide, cast(wide, difference, EVEN), cast(wide, c, EVEN))
        for wide in ("float32", "float64")
    }
    for n in {count(EXACTLY, a, b, c), *divided}:
        yield _cast_all(name, indexed(EXACTLY, a, c, n), EVEN)
        if name in FLOATS:
            for form in FORMS:
                yield _cast_all(name, form(name, a, c, n), EVEN)


def _stashed(name: str, a: Fraction, b: Fraction, c: Fraction) -> Iterator[Sequence]:
    for n in {count(EXACTLY, a, b, c), count("float32", a, b, c)}:
        yield _cast_all(name, indexed(EXACTLY, a, c, n), EVEN)
        for form in FORMS:
            yield _cast_all(name, form("float32", a, c, n), EVEN)
