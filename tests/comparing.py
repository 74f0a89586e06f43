"""Compare the evaluator with the independent oracle, element by element."""

import struct
from fractions import Fraction

import numpy as np
from catalogue import CATALOG
from oracle import Want, answer, decode, question

from convcheck.numerics.format import Text
from convcheck.rules.cases import cases
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, PATTERNS

SHOWN = 5
LAYOUTS = {"float32": ("<f", "<I", 31, 0x7F800000), "float64": ("<d", "<Q", 63, 0x7FF << 52)}
VERSIONS = (1, 6, 9, 13, 19, 21, 23, 24, 25, 28)


def cast(version):
    return CATALOG.specs[f"onnx.Cast-{version}"]


def questions(version, source, targets=()):
    """Return the cases of a source, with every attribute value."""
    wanted = set(targets)
    return [
        case
        for case in cases(cast(version))
        if case.inputs[0].name == source and (not wanted or case.outputs[0].name in wanted)
    ]


def type_names(version, narrowest=1, widest=64):
    return [
        t.name
        for t in cast(version).types[cast(version).inputs[0][1]]
        if not isinstance(t.format, Text) and narrowest <= t.format.bits <= widest
    ]


def numeric(name):
    """Return a format that is not the string's."""
    fmt = CATALOG.types.types[name].format
    assert not isinstance(fmt, Text)
    return fmt


def array(case, inputs):
    bits = np.empty(len(inputs), case.inputs[0].format.storage)
    bits[:] = inputs
    return bits


# Independent inputs ----------------------------------------------------------------------------


def pattern(source, x):
    real, integer, sign, infinity = LAYOUTS[source]
    exact = float(x)
    assert Fraction(exact) == x
    try:
        code = int(struct.unpack(integer, struct.pack(real, exact))[0])
    except OverflowError:
        return infinity | (x < 0) << sign
    assert decode(source, code) == x
    return code


def neighbours(source, code):
    sign = 1 << LAYOUTS[source][2]
    if code in (0, sign):
        return [sign | 1, sign, 0, 1]
    return [code - 1, code, code + 1]


# The comparison ------------------------------------------------------------------------------


def asked(case):
    source, target = case.inputs[0].name, case.outputs[0].name
    said = dict(case.given) | ({"to": None} if case.attribute("to") is not None else {})
    return question(case.version, source, target, said)


def wanted(ask, bits):
    return [ask if isinstance(ask, Want) else answer(ask, x) for x in bits.tolist()]


def held_against_the_oracle(case, bits, expected=None, wants=None):
    """Compare levels and readings with the oracle; return the number compared.

    `wants` reuses the oracle's answers to the same questions.
    """
    expected = expected or evaluate(CATALOG.specs[case.spec], case, bits)
    found = []
    wants = wanted(asked(case), bits) if wants is None else wants
    for number, difference in enumerate(_differences(bits, expected, wants)):
        if number < SHOWN:
            found.append(difference)
    assert not found, f"{case.id}: {number + 1} of {len(bits)} differ\n" + "\n".join(found)
    return len(bits)


def _differences(bits, expected, wants):
    levels = [decision.level for decision in expected.decisions]
    counts = [len(decision.readings) for decision in expected.decisions]
    assert len(bits) == len(expected.rows) == len(expected)
    each = zip(bits.tolist(), expected.rows.tolist(), readings_of(expected), wants, strict=True)
    for x, row, readings, want in each:
        mine = readings[: counts[row]]
        if mine != want.readings or levels[row] != want.level:
            ours, theirs = (levels[row], mine), (want.level, want.readings)
            if _collapsed(ours) != _collapsed(theirs):
                decision = expected.decisions[row]
                shown = x if isinstance(x, str) else f"{x:#x}"
                yield (
                    f"  {shown!r}: evaluator {ours}, oracle {theirs}"
                    f" by {decision.name} at {decision.place}"
                )


def readings_of(expected):
    words = [(word,) for word in PATTERNS]
    columns = [
        [
            ("bits", code) if pattern == EXACT else words[pattern]
            for code, pattern in zip(r.codes.tolist(), r.patterns.tolist(), strict=True)
        ]
        for r in expected.readings
    ]
    return zip(*columns, strict=True)


def _collapsed(said):
    level, readings = said
    return level, readings[:1] if len(set(readings)) == 1 else readings
