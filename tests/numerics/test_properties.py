"""Properties on inputs that hypothesis picks; the same ones in every run."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from catalogue import CATALOG
from comparing import VERSIONS, array, cast, held_against_the_oracle, numeric, type_names
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import decode as value_of_code
from oracle.formats import FLOATS, locate

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.decimal import numbers_of_texts, parse_decimal, plain_text, spell
from convcheck.numerics.format import Float, Int, Numeric, Text
from convcheck.numerics.number import FINITE, from_fractions
from convcheck.numerics.rounding import MODES, nearest_even, round_to
from convcheck.rules.cases import cases, make_case
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, PLAIN_TO_X
from convcheck.semantics.spelling import satisfies
from convcheck.vectors.inputs import order_key

STABLE = settings(deadline=None, derandomize=True, max_examples=400)
CASES = [case for version in VERSIONS for case in cases(cast(version))]
NUMERIC = [case for case in CASES if not isinstance(case.inputs[0].format, Text)]
OF_TEXT = [case for case in CASES if isinstance(case.inputs[0].format, Text)]
NEWEST = [case for case in NUMERIC if case.version == 28]
NAMES = type_names(28)
FLOAT_NAMES = [name for name in NAMES if name in FLOATS]
WIDE = type_names(28, 17, 64)

modes = st.sampled_from(sorted(MODES))


# What to draw --------------------------------------------------------------------------------


@st.composite
def fields(draw: st.DrawFn, bits: int) -> int:
    """Bit patterns that matter: few bits, all but few, a run of ones, anything."""
    top = (1 << bits) - 1
    if draw(st.booleans()):
        return draw(st.integers(0, top))
    run = (1 << draw(st.integers(0, bits))) - 1
    shift = draw(st.integers(0, bits))
    return ((run << shift) + draw(st.integers(-1, 1))) & top


@st.composite
def codes(draw: st.DrawFn, name: str) -> int:
    """A code of a type; of a float, sign, exponent and mantissa are drawn each by itself."""
    fmt = numeric(name)
    if not isinstance(fmt, Float):
        return draw(fields(fmt.bits))
    parts = [draw(fields(width)) for width in (fmt.signed, fmt.exponent, fmt.mantissa)]
    return (parts[0] << fmt.exponent | parts[1]) << fmt.mantissa | parts[2]


@st.composite
def reals(draw: st.DrawFn, name: str) -> Fraction:
    """A finite number at or very near a boundary of a format, in its range or a bit beyond."""
    fmt = numeric(name)
    if not isinstance(fmt, Float):
        value = Fraction(draw(st.integers(2 * int(fmt.min) - 9, 2 * int(fmt.max) + 9)), 2)
    else:
        magnitude = draw(codes(name)) & fmt.magnitude_mask
        magnitude = min(magnitude, fmt.max_magnitude + (1 << fmt.mantissa))
        low, high = fmt.value(magnitude), fmt.value(magnitude + 1)
        value = draw(st.sampled_from([low, (low + high) / 2, (low + 2 * high) / 3]))
        value *= draw(st.sampled_from([1, -1])) if fmt.signed else 1
    off = Fraction(draw(st.integers(-1, 1)), 1 << draw(st.integers(1, 200)))
    return value * (1 + off) if fmt.signed or value > fmt.min else value


@st.composite
def near_a_boundary(draw: st.DrawFn, case: Case) -> int:
    """The code of a source value next to a boundary of the destination."""
    source, target = case.inputs[0], case.outputs[0]
    fmt = source.format
    if isinstance(fmt, Text) or isinstance(target.format, Text):
        return draw(codes(source.name))
    x = draw(reals(target.name))
    offset = draw(st.integers(-1, 2))
    if not isinstance(fmt, Float):
        return (int(x) + offset) & fmt.mask
    if source.name not in FLOATS:
        return draw(codes(source.name))
    magnitude = min(max(locate(source.name, abs(x))[0] + offset, 0), fmt.magnitude_mask)
    return magnitude | (fmt.sign_bit if x < 0 else 0)


@st.composite
def questions(draw: st.DrawFn, among: list[Case]) -> tuple[Case, list[int]]:
    case = draw(st.sampled_from(among))
    one = st.one_of(codes(case.inputs[0].name), near_a_boundary(case))
    return case, draw(st.lists(one, min_size=1, max_size=40))


literals = st.from_regex(
    r"[+-]?([0-9]{1,22}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,5})?", fullmatch=True
)
integer_literals = st.from_regex(r"[+-]?[0-9]{1,21}", fullmatch=True)
words = st.sampled_from(["inf", "+inf", "-inf", "nan", "+nan", "-nan", "infinity"]).flatmap(
    lambda word: st.tuples(*(st.sampled_from([c, c.upper()]) for c in word)).map("".join)
)


@st.composite
def boundary_literals(draw: st.DrawFn, name: str) -> str:
    """At most 20 digits next to a boundary of a format."""
    x = draw(reals(name))
    digits = draw(st.sampled_from([20, 20, 17, 9, 5]))
    with localcontext(Context(prec=digits, Emax=99999, Emin=-99999)):
        return str(Decimal(x.numerator) / Decimal(x.denominator))


@st.composite
def questions_of_text(draw: st.DrawFn) -> tuple[Case, list[str]]:
    case = draw(st.sampled_from(OF_TEXT))
    texts = [literals, integer_literals, words, st.text(max_size=6)]
    if not isinstance(case.outputs[0].format, Text):
        texts.append(boundary_literals(case.outputs[0].name))
    return case, draw(st.lists(st.one_of(texts), min_size=1, max_size=40))


# Evaluator and oracle ------------------------------------------------------------------------


@settings(STABLE, max_examples=600)
@given(questions(NUMERIC))
def test_the_evaluator_is_the_oracle(question: tuple[Case, list[int]]) -> None:
    held_against_the_oracle(question[0], array(*question))


@settings(STABLE, max_examples=800)
@given(questions(NEWEST))
def test_the_evaluator_is_the_oracle_in_the_newest_version(
    question: tuple[Case, list[int]],
) -> None:
    held_against_the_oracle(question[0], array(*question))


@settings(STABLE, max_examples=500)
@given(questions_of_text())
def test_the_evaluator_is_the_oracle_on_texts(question: tuple[Case, list[str]]) -> None:
    held_against_the_oracle(question[0], array(*question))


@STABLE
@given(st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), codes(name))))
def test_a_cast_to_the_same_type_changes_nothing(drawn: tuple[str, int]) -> None:
    """Where the type's own number is meant: NaN is any NaN, whatever its code."""
    name, code = drawn
    dtype = CATALOG.types.types[name]
    spec = cast(28)
    case = make_case(spec, dtype, dtype, ())
    if any(a.applies_to(dtype) and not a.carries for a in spec.attributes):
        case = next(c for c in NEWEST if c.inputs == c.outputs == (dtype,))
    last = evaluate(spec, case, array(case, [code])).readings[-1]
    if decode(numeric(name), array(case, [code])).kind[0] == FINITE:  # type: ignore[arg-type]
        assert (last.patterns[0], last.codes[0]) == (EXACT, code)


# Rounding ------------------------------------------------------------------------------------


def rounded(x: Fraction, fmt: Numeric, mode: str) -> int:
    return int(round_to(from_fractions([x]), fmt, MODES[mode]).magnitude[0])


def on_grid(fmt: Numeric, magnitude: int) -> Fraction:
    return fmt.value(magnitude) if isinstance(fmt, Float) else Fraction(magnitude)


def candidates(name: str, x: Fraction) -> dict[int, Fraction]:
    """The grid's neighbours of x, magnitude to value with x's sign; one where x is on the grid."""
    below = locate(name, abs(x))[0] if isinstance(numeric(name), Float) else int(abs(x))
    sign = -1 if x < 0 else 1
    found = {m: sign * on_grid(numeric(name), m) for m in (below, below + 1)}
    return {below: found[below]} if found[below] == x else found


def chosen(mode: str, x: Fraction, name: str) -> int:
    """What the definition of a mode picks among x and its neighbours on a grid.

    Even and odd are of the last digit. Without a mantissa that is the leading one, always odd:
    of two such "the one larger in magnitude shall be delivered" (IEEE 754-2019, 4.3.1).
    """
    fmt, found = numeric(name), candidates(name, x)
    digit = {m: 1 if isinstance(fmt, Float) and fmt.mantissa == 0 else m % 2 for m in found}
    order: dict[str, Callable[[int], object]] = {
        "nearest-even": lambda m: (abs(found[m] - x), digit[m], -m),
        "nearest-away": lambda m: (abs(found[m] - x), -m),
        "nearest-up": lambda m: (abs(found[m] - x), -found[m]),
        "toward-zero": lambda m: m,
        "away": lambda m: -m,
        "floor": lambda m: found[m],
        "ceil": lambda m: -found[m],
        "odd": lambda m: (-digit[m], m),
    }
    return min(found, key=order[mode])


grid_points = st.sampled_from(NAMES).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(reals(name), min_size=1, max_size=8))
)


@settings(STABLE, max_examples=600)
@given(grid_points, modes)
def test_every_mode_does_what_defines_it(drawn: tuple[str, list[Fraction]], mode: str) -> None:
    """Up to 2^63 for integers, where 64 bits hold a half."""
    name, values = drawn
    for x in values:
        if isinstance(numeric(name), Float) or abs(x) < 2**63:
            assert rounded(x, numeric(name), mode) == chosen(mode, x, name)


@STABLE
@given(grid_points, modes)
def test_rounding_is_monotone(drawn: tuple[str, list[Fraction]], mode: str) -> None:
    name, values = drawn
    fmt = numeric(name)
    values = sorted(x for x in values if isinstance(fmt, Float) or abs(x) < 2**63)
    results = [on_grid(fmt, rounded(x, fmt, mode)) * (-1 if x < 0 else 1) for x in values]
    assert results == sorted(results)


@STABLE
@given(grid_points, st.sampled_from(["nearest-even", "nearest-away", "nearest-up"]))
def test_nearest_is_within_half_an_ulp(drawn: tuple[str, list[Fraction]], mode: str) -> None:
    name, values = drawn
    fmt = numeric(name)
    for x in values:
        if isinstance(fmt, Float) or abs(x) < 2**63:
            below = min(candidates(name, x))
            ulp = on_grid(fmt, below + 1) - on_grid(fmt, below)
            assert abs(on_grid(fmt, rounded(x, fmt, mode)) - abs(x)) <= ulp / 2


@STABLE
@given(grid_points, modes, modes)
def test_what_is_rounded_stays(drawn: tuple[str, list[Fraction]], mode: str, other: str) -> None:
    name, values = drawn
    fmt = numeric(name)
    for x in values:
        if isinstance(fmt, Float) or abs(x) < 2**63:
            once = rounded(x, fmt, mode)
            assert rounded(on_grid(fmt, once), fmt, other) == once


# Codes and texts -----------------------------------------------------------------------------

wide_codes = st.sampled_from(WIDE).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(codes(name), min_size=2, max_size=20))
)


@STABLE
@given(wide_codes, modes)
def test_wide_codes_survive_decoding_and_encoding(drawn: tuple[str, list[int]], mode: str) -> None:
    fmt, given_codes = numeric(drawn[0]), np.array(drawn[1], numeric(drawn[0]).storage)
    x = decode(fmt, given_codes)
    finite = x.kind == FINITE
    back = encode(fmt, round_to(x, fmt, MODES[mode]).magnitude, x.sign)
    assert back[finite].tolist() == given_codes[finite].tolist()


@STABLE
@given(wide_codes)
def test_keys_order_as_values_do(drawn: tuple[str, list[int]]) -> None:
    name, given_codes = drawn
    values = {code: value_of_code(name, code) for code in given_codes}
    numbers = [c for c, v in values.items() if isinstance(v, Fraction)]
    keys = order_key(numeric(name), np.array(numbers, numeric(name).storage)).tolist()
    by_key = [values[code] for _, code in sorted(zip(keys, numbers, strict=True))]
    assert by_key == sorted(by_key)


@STABLE
@given(wide_codes)
def test_wide_spellings_read_back(drawn: tuple[str, list[int]]) -> None:
    name, given_codes = drawn
    fmt = numeric(name)
    for code in given_codes:
        if value_of_code(name, code) in ("inf", "-inf", "nan", "-nan"):
            continue
        x = numbers_of_texts(np.array([spell(fmt, code)], object))
        assert encode(fmt, round_to(x, fmt, nearest_even).magnitude, x.sign).tolist() == [code]
        assert satisfies(PLAIN_TO_X, plain_text(fmt, code), fmt, code)


@STABLE
@given(literals)
def test_decimals_are_read_as_fractions_are(text: str) -> None:
    mine, exponent = parse_decimal(text), int((text.lower() + "e0").split("e")[1])
    if abs(exponent) < 5900:
        assert mine == Fraction(text)
    elif mine:
        assert (
            abs(mine) > Fraction(10) ** 5800 if exponent > 0 else abs(mine) < Fraction(1, 10**5800)
        )


@STABLE
@given(st.integers(-(2**70), 2**70))
def test_integers_print_and_read_as_themselves(value: int) -> None:
    assert parse_decimal(str(value)) == value
    int64 = numeric("int64")
    assert isinstance(int64, Int)
    assert spell(int64, value & int64.mask) == str((value + 2**63) % 2**64 - 2**63)
