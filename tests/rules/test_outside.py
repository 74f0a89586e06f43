import numpy as np
import pytest
from catalogue import CATALOG
from oracle.question import TYPES_ADDED
from planted.asking import Scripted

from convcheck.ask.elements import ask
from convcheck.backends.onnx.model import build
from convcheck.backends.protocol import Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.judge.calls import judge
from convcheck.numerics.format import Opaque, Text
from convcheck.numerics.words import spell
from convcheck.rules.cases import cases, uncovered_by
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.find import find_case
from convcheck.rules.load import load
from convcheck.semantics.evaluate import compile_case
from convcheck.vectors.corpus import is_sampled, is_swept
from convcheck.vectors.generate import vectors_of
from specs import GOOD, findings, slip, write_spec

CAST = [s for s in CATALOG.specs.values() if s.op == "onnx.Cast"]
LIKE = [s for s in CATALOG.specs.values() if s.op == "onnx.CastLike"]
LATER = "  - {name: later, from: [float32, int16], to: [int16, int8], cite: Not yet.}\n"


def outside(spec):
    return [case for case in cases(spec) if case.outside]


def vectors(spec, case):
    return vectors_of(spec, case, "edge", 0)


@pytest.mark.parametrize("spec", [*CAST, *LIKE], ids=lambda spec: spec.id)
def test_every_type_of_a_later_version_is_asked(spec):
    later = {name for since, names in TYPES_ADDED.items() if since > spec.version for name in names}
    asked = {(c.inputs[0].name, c.outputs[0].name) for c in outside(spec)}
    assert asked >= {("float32", name) for name in later} | {(name, "float32") for name in later}


@pytest.mark.parametrize("spec", [*CAST, *LIKE], ids=lambda spec: spec.id)
def test_nothing_is_expected_and_a_sentence_says_why(spec):
    for case in outside(spec):
        asked = vectors(spec, case)
        (decision,) = asked.expected.decisions
        assert (decision.level, decision.row) == ("undefined", "else")
        assert decision.cite
        assert case.refusal
        assert 2 <= len(asked) <= 40
        assert not is_swept(case)
        assert not is_sampled(case)


@pytest.mark.parametrize("spec", [*CAST, *LIKE], ids=lambda spec: spec.id)
def test_an_entry_covers_the_cases_that_it_asks_and_no_other(spec):
    assert all((uncovered_by(spec, case) is not None) == case.outside for case in cases(spec))


@pytest.mark.parametrize("spec", CAST, ids=lambda spec: spec.id)
def test_casting_from_and_to_complex_is_not_supported_in_any_version(spec):
    for word, name in (("from", "complex64-to-float32"), ("to", "float32-to-complex64")):
        case = next(c for c in outside(spec) if c.name == name)
        (decision,) = vectors(spec, case).expected.decisions
        assert decision.rule == f"{word} complex"


def test_a_complex_code_is_no_number_and_is_shown_by_its_bits():
    fmt = CATALOG.types.types["complex64"].format
    assert isinstance(fmt, Opaque)
    assert (fmt.bits, fmt.storage) == (64, np.dtype("u8"))
    assert spell(fmt, 0x3F80000040000000) == "bits 0x3f80000040000000"


def test_a_missing_or_unknown_type_is_what_the_node_says():
    """In version 1, `to` is a string. CastLike has none."""
    for spec in CAST:
        words = {c.attribute("to"): c for c in outside(spec) if c.attribute("to") is not None}
        assert len(words) == 3
        for word, case in words.items():
            there = [a for a in build(case).graph.node[0].attribute if a.name == "to"]
            assert len(there) == (word != "default")
            for attribute in there:
                assert (attribute.s.decode() if spec.version == 1 else attribute.i) == word
    assert not [c for spec in LIKE for c in outside(spec) if c.attribute("to") is not None]


def zeros(case, inputs):
    fmt = case.outputs[0].format
    blank = "" if isinstance(fmt, Text) else 0
    return Outputs((np.full(inputs[0].shape, blank, fmt.storage),), (case.outputs[0].name,))


def other_type(case, inputs):
    return Outputs((np.zeros(inputs[0].shape, np.uint8),), ("float64",))


def other_shape(case, inputs):
    return Outputs((np.zeros((3, 3), np.uint32),), ("float32",))


def nothing_at_all(case, inputs):
    return Outputs((), ())


REPLIES = {
    "zeros": zeros,
    "another type": other_type,
    "another shape": other_shape,
    "no output": nothing_at_all,
    "too large": lambda case, inputs: Oversized(((1 << 40,),), ("float32",)),
    "refused": lambda case, inputs: Refused("no"),
    "declined": lambda case, inputs: Declined("no", missing=False),
    "has no kernel": lambda case, inputs: Declined("no", missing=True),
}
NAMES = (
    "onnx.Cast-6/string-to-float32",
    "onnx.Cast-6/float32-to-string",
    "onnx.Cast-9/float32-to-bfloat16",
    "onnx.Cast-13/float8e4m3fn-to-float32",
    "onnx.Cast-13/float32-to-float32/to=99",
    "onnx.CastLike-21/float32-float8e8m0",
    "onnx.Cast-9/complex64-to-float32",
    "onnx.Cast-28/float32-to-complex64",
)


def verdict(reply, name, *, inside):
    spec = CATALOG.specs[name.partition("/")[0]]
    case = find_case(CATALOG, name, None, None, ())
    assert case.outside != inside
    asked = vectors(spec, case)
    return judge(asked, ask(Scripted(reply), asked, lambda *call: False, {})).verdict


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_no_answer_is_a_failure(reply, name):
    due = "unsupported" if reply is REPLIES["has no kernel"] else "undefined"
    assert verdict(reply, name, inside=False) == due


@pytest.mark.parametrize("reply", [*REPLIES.values()][:-2], ids=[*REPLIES][:-2])
def test_inside_the_contract_the_same_answers_are_failures(reply):
    assert verdict(reply, "onnx.Cast-13/float32-to-bfloat16", inside=True) in ("fail", "refused")


def test_every_case_is_found_by_the_id_that_it_is_listed_under():
    for name in ("onnx.Cast-13", "onnx.CastLike-23", "pypto.cast-0.2", "openvino.FakeConvert-13"):
        for case in [*cases(CATALOG.specs[name])][::17]:
            assert find_case(CATALOG, case.id, None, None, ()) == case


def test_a_case_outside_is_found_by_its_types_too_and_no_other_pair_is():
    found = find_case(CATALOG, "onnx.Cast-13", "float32", "int4", ())
    assert (found.name, found.outside, found.refusal) == ("float32-to-int4", True, True)
    with pytest.raises(UsageError, match=r"onnx\.Cast-13 has no case from int64 to int4"):
        find_case(CATALOG, "onnx.Cast-13", "int64", "int4", ())


def spec_with(tmp_path, entries, name="own"):
    return write_spec(tmp_path / name, GOOD.replace("rules:\n", f"outside:\n{entries}rules:\n", 1))


def test_pairs_that_the_lists_have_are_not_asked_again(tmp_path):
    spec = load([spec_with(tmp_path, LATER)]).specs["acme.Convert-1"]
    assert [c.name for c in outside(spec)] == [
        "float32-to-int16",
        "int16-to-int16",
        "int16-to-int8/clamp=1",
    ]
    assert {compile_case(spec, c).decisions[0].rule for c in outside(spec)} == {"later"}
    assert findings(tmp_path / "own") == []


def test_what_is_asked_is_in_the_digest_and_other_digests_know_nothing_of_it(tmp_path):
    plain = digest_of_spec(load([write_spec(tmp_path / "plain")]).specs["acme.Convert-1"])
    fewer = LATER.replace("[float32, int16]", "int16")
    digests = [
        digest_of_spec(load([spec_with(tmp_path, entries, name)]).specs["acme.Convert-1"])
        for name, entries in (("a", LATER), ("b", fewer), ("c", LATER.replace("Not yet", "No")))
    ]
    assert plain != digests[0] != digests[1]
    assert digests[0] == digests[2]


def test_an_entry_that_asks_nothing_is_found(tmp_path):
    listed = "  - {name: later, from: float32, to: int8, cite: Not yet.}\n"
    (finding,) = findings(spec_with(tmp_path, listed))
    assert "later asks nothing" in finding.message


@pytest.mark.parametrize(("entry", "words"), [
    ("{name: later, from: float32, to: int17, cite: No.}", "unknown type 'int17'"),
    ("{name: later, from: float32, to: int16}", "cite"),
    ("{name: to-int8, from: float32, to: int16, cite: No.}", "two rules are named 'to-int8'"),
    ("{name: later, from: float32, to: int8, values: {clam: [2]}, cite: No.}", "clam"),
    ("{name: later, from: float32, to: int8, values: {clamp: [x]}, cite: No.}", "whole number"),
])  # fmt: skip
def test_a_slip_is_an_error_with_its_line(tmp_path, entry, words):
    assert words in str(slip(spec_with(tmp_path, f"  - {entry}\n")))
