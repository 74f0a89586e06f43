"""The laws of the text hold the promotion matrix."""

from __future__ import annotations

from itertools import product

from catalogue import CATALOG
from oracle.promotion import VOCABULARY

from convcheck.numerics.format import Float, Int
from convcheck.rules.model import DType
from convcheck.semantics.body.matrix import find

SPEC = CATALOG.specs["openvino.ConvertPromoteTypes-14"]
TYPES = {t.name: t for t in SPEC.types["T1"]}
PAIRS = list(product(TYPES.values(), repeat=2))
FLOATS = [t for t in TYPES.values() if isinstance(t.format, Float)]
INTEGERS = [t for t in TYPES.values() if isinstance(t.format, Int)]
KINDS = (FLOATS, INTEGERS, [TYPES["bool"]])
UNSAFE, SCALARS, TARGET = (a.name for a in SPEC.attributes)


def attributes(unsafe: str = "true", scalars: str = "false", target: str = "f32") -> tuple:
    return ((UNSAFE, unsafe), (SCALARS, scalars), (TARGET, target))


def result(a: DType, b: DType, **said: str) -> DType:
    """What two tensors are promoted to where nothing is refused."""
    return find(SPEC, (a, b), (2, 1), attributes(**said)).target


def refused(a: DType, b: DType, **said: str) -> bool:
    """Whether two tensors are refused."""
    readings = find(SPEC, (a, b), (2, 1), attributes("false", **said)).answer.readings
    assert len(readings) == 1
    return readings[0].refused


def kind(t: DType) -> int:
    """The priority: floats, integers, the boolean."""
    return next(2 - i for i, members in enumerate(KINDS) if t in members)


def is_u64_and_signed(a: DType, b: DType) -> bool:
    signed = [t for t in INTEGERS if t.format.signed]
    return (a.name == "uint64" and b in signed) or (b.name == "uint64" and a in signed)


def holds(wide: DType, narrow: DType) -> bool:
    """Whether a type has the range and precision of another of its kind."""
    w, n = wide.format, narrow.format
    if isinstance(w, Float):
        return w.exponent >= n.exponent and w.mantissa >= n.mantissa
    return w.min <= n.min and n.max <= w.max


# Laws ------------------------------------------------------------------------------------------


def test_the_types_are_those_of_the_vocabulary() -> None:
    assert tuple(TYPES) == VOCABULARY
    assert SPEC.types["T1"] == SPEC.types["T2"]


def test_the_order_of_the_inputs_does_not_matter() -> None:
    for a, b in PAIRS:
        assert result(a, b) == result(b, a)
        assert refused(a, b) == refused(b, a)


def test_the_higher_kind_wins() -> None:
    for a, b in PAIRS:
        if kind(a) != kind(b):
            assert result(a, b) == max(a, b, key=kind)
        elif not is_u64_and_signed(a, b):
            assert kind(result(a, b)) == kind(a)


def test_a_type_with_itself_is_itself() -> None:
    for t in TYPES.values():
        assert result(t, t) == t
        assert not refused(t, t)


def test_a_result_of_one_kind_is_the_least_type_that_holds_both() -> None:
    for a, b in PAIRS:
        if kind(a) != kind(b) or is_u64_and_signed(a, b):
            continue
        members = next(m for m in KINDS if a in m)
        fitting = [t for t in members if holds(t, a) and holds(t, b)]
        assert result(a, b) in fitting
        least = min(t.format.bits for t in fitting)
        signed = [t for t in fitting if t.format.bits == least]
        if members is INTEGERS:  # signed when an input is
            want = a.format.signed or b.format.signed
            signed = [t for t in signed if t.format.signed == want]
        if {a.name, b.name} == {"float8e4m3fn", "float8e5m2"}:
            assert {t.name for t in signed} == {"float16", "bfloat16"}
            assert result(a, b).name == "float16"
        else:
            assert signed == [result(a, b)]


def test_u64_with_a_signed_integer_is_the_target_and_refused() -> None:
    signed = [t for t in INTEGERS if t.format.signed]
    assert len(signed) == 5
    for t, word in product(signed, ("f32", "i64", "f64")):
        assert result(TYPES["uint64"], t, target=word).name_in("openvino") == word
        assert refused(TYPES["uint64"], t, target=word)
    for a, b in PAIRS:
        if not is_u64_and_signed(a, b):
            assert result(a, b, target="f32") == result(a, b, target="i64")


def test_an_integer_with_a_float_is_safe_iff_the_float_has_twice_the_bits() -> None:
    for i, f in product(INTEGERS, FLOATS):
        assert refused(i, f) == (f.format.bits < 2 * i.format.bits)


def test_a_boolean_is_never_refused() -> None:
    for t in TYPES.values():
        assert result(TYPES["bool"], t) == t
        assert not refused(TYPES["bool"], t)


def test_of_one_kind_what_is_wider_than_both_is_refused_and_nothing_else() -> None:
    for a, b in PAIRS:
        if kind(a) == kind(b) > 0 and not is_u64_and_signed(a, b):
            wider = result(a, b).format.bits > max(a.format.bits, b.format.bits)
            assert refused(a, b) == wider


def test_scalars_matter_only_with_the_attribute_one_scalar_and_one_kind() -> None:
    for (a, b), ranks in product(PAIRS, product((0, 1, 3), repeat=2)):
        for scalars in ("false", "true"):
            table = find(SPEC, (a, b), ranks, attributes("true", scalars)).table
            special = scalars == "true" and ranks.count(0) == 1 and kind(a) == kind(b) > 0
            assert bool(table.ranks) == special


def test_the_dimensioned_type_is_taken_on_either_side() -> None:
    for a, b in PAIRS:
        if kind(a) == kind(b):
            said = attributes("true", "true")
            assert find(SPEC, (a, b), (3, 0), said).target == a
            assert find(SPEC, (a, b), (0, 3), said).target == b
            for unsafe in ("false", "true"):
                said = attributes(unsafe, "true")
                one, other = find(SPEC, (a, b), (1, 0), said), find(SPEC, (b, a), (0, 1), said)
                assert one.answer == other.answer


def test_a_dimensioned_type_that_holds_the_scalar_is_safe_and_a_narrower_one_is_not() -> None:
    for members in (INTEGERS, FLOATS):
        for d, s in product(members, repeat=2):
            found = find(SPEC, (d, s), (1, 0), attributes("false", "true"))
            answers = [r.refused for r in found.answer.readings]
            if holds(d, s):
                assert answers == [False]
            elif (
                d.format.bits < s.format.bits
                or is_u64_and_signed(d, s)
                or (d.format.max < s.format.max and d in FLOATS)
            ):
                assert answers == [True]
            else:
                assert answers == [False, True]
