import numpy as np
import pytest
from catalogue import CATALOG
from planted.swept import Swept
from sweeps import SPAN

from convcheck.ask.stream import Sweep
from convcheck.judge.tally import finish, merge
from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Float, Text
from convcheck.numerics.modes import nearest_even
from convcheck.numerics.number import FINITE
from convcheck.numerics.rounding import round_to
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.semantics import vocabulary
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.vocabulary import CASES, CaseWord, Points, case_word, possible, sees_codes
from convcheck.vectors.generate import form_decision, vectors_of
from specs import write_spec

SOURCES = ["float8e5m2", "float8e4m3fnuz", "float6e2m3", "bfloat16", "int8", "uint8"]
MODES = ["nearest-even", "toward-zero", "away"]
TARGETS = [t for t in CATALOG.types.types.values() if not isinstance(t.format, Text)]
WORDS = [*CASES, "x < 2^-126", "x < 2^3", "x >= 2^3", "x < -2^3", "x <= -2^3", "x > 2^-3"]
STEP = 0x57EF


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


def odd(codes):
    wide = codes.astype(np.int64)
    return (wide % STEP == 0) & (wide // STEP % 2 == 1)


def odd_multiple(p, mode):
    return odd(p.bits) & p.number


@pytest.mark.parametrize("nature", ["special", "threshold", "grid"])
def test_a_word_that_declares_another_nature_is_found_out(nature):
    p = points("float16", CATALOG.types.types["int8"].format)
    assert not as_declared(CaseWord(nature, odd_multiple), p, "toward-zero")


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


SPEC = """\
op: acme.Odd
version: 1
sources:
  text: {title: Acme manual, section: Odd, url: "https://example.org"}
inputs: {x: T}
outputs: {y: U}
shape: {cite: "The shape of y is that of x."}
types: {T: [float16, float32], U: [int8]}
rules:
  - name: odd
    level: normative
    cite: "An odd multiple gives the least value."
    when: {to: int8}
    round: toward-zero
    table:
      nan: {gives: undefined, level: undefined}
      "x is odd": min
      "x > max": +max
      "x < min": min
      else: "[x]"
"""


def planted(nature, folder, monkeypatch):
    words = {**CASES, "x is odd": CaseWord(nature, odd_multiple)}
    monkeypatch.setattr(vocabulary, "CASES", words)
    return load([write_spec(folder / "own", SPEC)])


@pytest.fixture
def own(tmp_path, monkeypatch):
    return planted("isolated", tmp_path, monkeypatch)


def question(catalog, source):
    case = find_case(catalog, "acme.Odd-1", source, "int8", ())
    return case, compile_case(catalog.specs["acme.Odd-1"], case)


@pytest.mark.parametrize("tier", ["edge", "boundary", "exhaustive"])
def test_vectors_have_it_right(tier, own):
    case, _ = question(own, "float16")
    vectors = vectors_of(own.specs[case.spec], case, tier)
    codes = vectors.inputs[0].astype(np.int64)
    assert STEP in codes
    held = np.array(
        [vectors.expected.decisions[r].row == "x is odd" for r in vectors.expected.rows]
    )
    assert (held == (codes == STEP)).all()
    assert (vectors.expected.readings[0].codes[held] == 0x80).all()


def forgotten(codes, out):
    """Answer as if the word did not exist: [x] near 1 is 1."""
    out[odd(codes)] = 1


def swept_rows(backend, catalog):
    case, program = question(catalog, "float32")
    tally = Sweep(
        backend, case, program, form_decision(catalog.specs[case.spec]), SPAN, lambda *call: None
    ).tally()
    groups = finish(case, merge([tally]), "exhaustive").groups
    return {(g.decision.row, g.verdict): g.count for g in groups}


def test_a_sweep_of_a_32_bit_source_judges_every_code(own):
    _, program = question(own, "float32")
    count = np.count_nonzero(odd(np.arange(SPAN.first, SPAN.first + SPAN.count)))
    rest = SPAN.count - count
    assert swept_rows(Swept(program), own) == {("x is odd", "pass"): count, ("else", "pass"): rest}
    assert swept_rows(Swept(program, forgotten), own) == {
        ("x is odd", "fail"): count, ("else", "pass"): rest
    }  # fmt: skip
