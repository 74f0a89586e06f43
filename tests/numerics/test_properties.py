from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, partial
from random import Random

import numpy as np
import pytest
from bit_patterns import field
from comparing import VERSIONS, array, cast, held_against_the_oracle, numeric, type_names
from oracle import decode as value_of_code
from oracle.formats import FLOATS, locate

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Float, Text
from convcheck.numerics.modes import MODES, nearest_even
from convcheck.numerics.number import FINITE, from_fractions, numbers_of_texts
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import parse_decimal, plain_text, spell
from convcheck.rules.cases import cases
from convcheck.semantics.expected import PLAIN_TO_X, satisfies

CASES = [case for version in VERSIONS for case in cases(cast(version))]
NUMERIC = [case for case in CASES if not isinstance(case.inputs[0].format, Text)]
OF_TEXT = [case for case in CASES if isinstance(case.inputs[0].format, Text)]
NAMES = type_names(28)


def codes(draw, name):
    fmt = numeric(name)
    if not isinstance(fmt, Float):
        return field(draw, fmt.bits)
    sign, exponent, mantissa = (field(draw, n) for n in (fmt.signed, fmt.exponent, fmt.mantissa))
    return (sign << fmt.exponent | exponent) << fmt.mantissa | mantissa


def real(draw, name):
    fmt = numeric(name)
    if not isinstance(fmt, Float):
        value = Fraction(draw.randint(2 * int(fmt.min) - 9, 2 * int(fmt.max) + 9), 2)
    else:
        magnitude = codes(draw, name) & fmt.magnitude_mask
        magnitude = min(magnitude, fmt.max_magnitude + (1 << fmt.mantissa))
        low, high = fmt.value(magnitude), fmt.value(magnitude + 1)
        value = draw.choice([low, (low + high) / 2, (low + 2 * high) / 3])
        value *= draw.choice([1, -1]) if fmt.signed else 1
    off = Fraction(draw.randint(-1, 1), 1 << draw.randint(1, 200))
    return value * (1 + off) if fmt.signed or value > fmt.min else value


def near_a_boundary(draw, case):
    source, target = case.inputs[0], case.outputs[0]
    fmt = source.format
    if isinstance(fmt, Text) or isinstance(target.format, Text):
        return codes(draw, source.name)
    x = real(draw, target.name)
    offset = draw.randint(-1, 2)
    if not isinstance(fmt, Float):
        return (int(x) + offset) & fmt.mask
    if source.name not in FLOATS:
        return codes(draw, source.name)
    magnitude = min(max(locate(source.name, abs(x))[0] + offset, 0), fmt.magnitude_mask)
    return magnitude | (fmt.sign_bit if x < 0 else 0)


def inputs(draw, case, count):
    name = case.inputs[0].name
    return [near_a_boundary(draw, case) if i % 2 else codes(draw, name) for i in range(count)]


def digits(draw, least, most):
    return "".join(draw.choices("0123456789", k=draw.randint(least, most)))


def integer_literal(draw):
    return draw.choice(["", "+", "-"]) + digits(draw, 1, 21)


def literal(draw):
    whole = draw.choice(["", digits(draw, 1, 22)])
    part = "." + digits(draw, 0 if whole else 1, 22) if not whole or draw.random() < 0.7 else ""
    sign, sign_of_exponent = draw.choices(["", "+", "-"], k=2)
    exponent = draw.choice("eE") + sign_of_exponent + digits(draw, 1, 5)
    return sign + whole + part + draw.choice(["", exponent])


def word(draw):
    chosen = draw.choice(["inf", "+inf", "-inf", "nan", "+nan", "-nan", "infinity"])
    return "".join(draw.choice([c, c.upper()]) for c in chosen)


def any_text(draw):
    some = ["+-.0123456789eEinfaINFNA_xX ", [chr(i) for i in range(128)]]
    high = [chr(draw.choice([draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)]))]
    return "".join(draw.choice(draw.choice([*some, high])) for _ in range(draw.randint(0, 6)))


def boundary_literal(draw, name):
    x = real(draw, name)
    with localcontext(Context(prec=draw.choice([20, 20, 17, 9, 5]), Emax=99999, Emin=-99999)):
        return str(Decimal(x.numerator) / Decimal(x.denominator))


def texts(draw, case, count):
    sorts = [literal, integer_literal, word, any_text]
    target = case.outputs[0]
    if not isinstance(target.format, Text):
        sorts.append(partial(boundary_literal, name=target.name))
    return [sorts[i % len(sorts)](draw) for i in range(count)]


@pytest.mark.parametrize("part", range(4))
def test_the_evaluator_is_the_oracle(part):
    """In every case of every version, and some more of the newest."""
    draw = Random(part)
    for case in NUMERIC[part::4]:
        count = 20 if case.version == 28 else 6
        assert held_against_the_oracle(case, array(case, inputs(draw, case, count))) == count


def test_the_evaluator_is_the_oracle_on_texts():
    draw = Random("texts")
    for case in OF_TEXT:
        held_against_the_oracle(case, array(case, texts(draw, case, 40)))


def candidates(name, x):
    """Return the grid's neighbours of x, magnitude to signed value; one if x is on the grid."""
    fmt = numeric(name)
    below = locate(name, abs(x))[0] if isinstance(fmt, Float) else int(abs(x))
    sign = -1 if x < 0 else 1
    value = fmt.value if isinstance(fmt, Float) else Fraction
    found = {m: sign * value(m) for m in (below, below + 1)}
    return {below: found[below]} if found[below] == x else found


def chosen(mode, x, name):
    """Pick among x and its neighbours by a mode's definition.

    Parity is that of the last digit. Without a mantissa that is the leading one, always odd: of two
    such "the one larger in magnitude shall be delivered" (IEEE 754-2019, 4.3.1).
    """
    fmt, found = numeric(name), candidates(name, x)
    digit = {m: 1 if isinstance(fmt, Float) and fmt.mantissa == 0 else m % 2 for m in found}
    low = min(found)
    step = abs(found[max(found)] - found[low])
    order = {
        "nearest-even": lambda m: (abs(found[m] - x), digit[m], -m),
        "nearest-away": lambda m: (abs(found[m] - x), -m),
        "nearest-up": lambda m: (abs(found[m] - x), -found[m]),
        "nearest-toward-zero": lambda m: (abs(found[m] - x), m),
        "toward-zero": lambda m: m,
        "away": lambda m: -m,
        "floor": lambda m: found[m],
        "ceil": lambda m: -found[m],
        "odd": lambda m: (-digit[m], m),
        "half-of-last": lambda m: (m - low) != (2 * abs(x - found[low]) >= step and digit[low]),
    }
    return min(found, key=order[mode])


def grid_points(name):
    """Draw numbers near boundaries; up to 2^63 for integers, where 64 bits hold a half."""
    draw, fmt = Random(name), numeric(name)
    drawn = (real(draw, name) for _ in range(60))
    return [x for x in drawn if isinstance(fmt, Float) or abs(x) < 2**63]


EACH = pytest.mark.parametrize("name", NAMES)


@EACH
def test_every_mode_does_what_defines_it(name):
    values = grid_points(name)
    for mode in MODES:
        due = [chosen(mode, x, name) for x in values]
        got = round_to(from_fractions(values), numeric(name), MODES[mode]).magnitude.tolist()
        assert dict(zip(values, got, strict=True)) == dict(zip(values, due, strict=True)), mode


@cache
def some_codes(name):
    """Return all codes of up to 16 bits, or drawn ones with neighbours."""
    draw, bits = Random(name), numeric(name).bits
    if bits <= 16:
        return list(range(1 << bits))
    drawn = [codes(draw, name) for _ in range(400)]
    return list(dict.fromkeys(code ^ last for code in drawn for last in (0, 1)))


@EACH
def test_codes_survive_decoding_rounding_and_encoding(name):
    fmt = numeric(name)
    given_codes = np.array(some_codes(name), fmt.storage)
    x = decode(fmt, given_codes)
    finite = x.kind == FINITE
    for mode in MODES:
        back = encode(fmt, round_to(x, fmt, MODES[mode]).magnitude, x.sign)
        assert back.dtype == fmt.storage
        assert np.array_equal(back[finite], given_codes[finite]), mode


@EACH
def test_spellings_read_back(name):
    fmt = numeric(name)
    special = ("inf", "-inf", "nan", "-nan")
    some = some_codes(name)[:: 13 if fmt.bits > 8 else 1]
    given_codes = [code for code in some if value_of_code(name, code) not in special]
    texts = [{"True": "1", "False": "0"}.get(t, t) for t in (spell(fmt, c) for c in given_codes)]
    x = numbers_of_texts(np.array(texts, object))
    back = encode(fmt, round_to(x, fmt, nearest_even).magnitude, x.sign)
    assert back.tolist() == given_codes
    for code in given_codes:
        assert name == "bool" or satisfies(PLAIN_TO_X, plain_text(fmt, code), fmt, code)


def test_integers_print_and_read_as_themselves():
    draw, int64 = Random("integers"), numeric("int64")
    for value in ((-1) ** i * draw.getrandbits(i % 71) for i in range(1000)):
        assert parse_decimal(str(value)) == value
        assert spell(int64, value & int64.mask) == str((value + 2**63) % 2**64 - 2**63)
