import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Float, Text
from convcheck.numerics.modes import nearest_even
from convcheck.numerics.number import FINITE
from convcheck.numerics.rounding import round_to
from convcheck.semantics.vocabulary import CASES, CaseWord, Points, case_word, possible, sees_codes

SOURCES = ["float8e5m2", "float8e4m3fnuz", "float6e2m3", "int8", "uint8"]
MODES = ["nearest-even", "toward-zero", "away"]
TARGETS = [t for t in CATALOG.types.types.values() if not isinstance(t.format, Text)]
WORDS = [*CASES, "x < 2^-126", "x < 2^3", "x >= 2^3", "x < -2^3", "x <= -2^3", "x > 2^-3"]


def points(source, target):
    fmt = CATALOG.types.types[source].format
    codes = np.arange(1 << fmt.bits).astype(fmt.storage)
    x = decode(fmt, codes)
    codes = codes[(x.kind == FINITE) & (x.significand != 0)]
    return Points(fmt, target, codes, decode(fmt, codes))


def apart(p, held):
    """Split answers by the sign of x, each in order of magnitude."""
    for sign in (False, True):
        here = held[p.x.sign == sign]
        yield here[::-1] if sign and not isinstance(p.source, Float) else here


def on_a_grid(p, held):
    """Return whether in each binade none holds, or all multiples of some power of two."""
    binades = np.stack([p.x.sign, p.x.exponent + np.frexp(p.x.significand.astype(float))[1]])
    for binade in np.unique(binades, axis=1).T:
        here = (binades == binade[:, None]).all(axis=0)
        codes, holds = p.bits[here].astype(np.int64), held[here]
        if holds.any():
            step = np.gcd.reduce(codes[holds]) or 1
            step &= -step
            if not (holds == (codes % step == 0)).all():
                return False
    return True


def as_declared(word, p, mode):
    held = word(p, mode)
    if word.nature == "special":
        return not held.any()
    if word.nature == "threshold":
        return all(np.count_nonzero(np.diff(part)) <= 1 for part in apart(p, held))
    return word.nature == "isolated" or on_a_grid(p, held)


@pytest.mark.parametrize("source", SOURCES)
def test_every_word_is_as_it_declares(source):
    for dtype in TARGETS:
        target = dtype.format
        p = points(source, target)
        for label in WORDS:
            word = case_word(label, {})
            assert word
            for mode in MODES if possible(label, p.source, target) else ():
                assert as_declared(word, p, mode), (label, mode, dtype.name)


def test_a_band_is_no_threshold():
    eight, one = (case_word(f"x < 2^{n}", {}) for n in (3, 0))
    assert eight
    assert one
    band = CaseWord("threshold", lambda p, mode: eight(p, mode) & ~one(p, mode))
    p = points("float16", CATALOG.types.types["int8"].format)
    assert not as_declared(band, p, "toward-zero")


PAIRS = [("float8e5m2", "float16"), ("bfloat16", "float32"), ("int8", "int16"), ("uint8", "int16")]


@pytest.mark.parametrize("pair", PAIRS)
def test_words_of_numbers_say_the_same_of_them_in_any_type(pair):
    source, wider = (CATALOG.types.types[name].format for name in pair)
    for dtype in TARGETS:
        target = dtype.format
        p = points(pair[0], target)
        codes = encode(wider, round_to(p.x, wider, nearest_even).magnitude, p.x.sign)
        other = Points(wider, target, codes, decode(wider, codes))
        for label in (word for word in CASES if not sees_codes(word) and word != "-0"):
            for mode in MODES if possible(label, source, target) else ():
                word = CASES[label]
                assert (word(p, mode) == word(other, mode)).all(), (label, mode, dtype.name)
    assert all(map(sees_codes, ("x is subnormal", "signalling nan", "same", "code", "payload")))
