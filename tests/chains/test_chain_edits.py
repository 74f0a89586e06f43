import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.onnx.runtime import OPTIONS
from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import diagnose_chain
from convcheck.chains.asked import ChainCorpus, chain_of, made
from convcheck.chains.type_chain import CompiledCasts
from convcheck.errors import SpecError
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.plan.chains import asked_chain
from convcheck.rules import load
from convcheck.rules.causes import CauseFile, read_causes
from convcheck.rules.load import promises_of
from convcheck.semantics.expected import EXACT

SPEC = CATALOG.specs["onnx.Cast-21"]
CASTS = CompiledCasts(CATALOG, SPEC)
CAUSES = causes_of(CATALOG)


def fits(names, instead):
    asked = asked_chain(CASTS, names.split())
    assert asked is not None
    corpus = ChainCorpus(CATALOG, "edge", 0, (), codes={asked.case.id: asked.codes})
    vectors = corpus.vectors(asked.case)
    if isinstance(instead, str):
        got = chain_of(made(CASTS, instead.split())).results(asked.codes).codes
    else:
        got = instead(asked.codes).astype(np.uint64)
    state = np.full(len(got), ANSWERED, np.uint8)
    answers = Answers(got.astype(vectors.inputs[0].dtype), state, {})
    found = diagnose_chain(CAUSES, CASTS, vectors, answers)
    return found.fits if found else ()


@pytest.mark.parametrize(("names", "instead", "cause"), [
    ("float64 float32 float16", "float64 float16", ("leaves-out-middles",)),
    ("float32 float16 float32", "float32 float32", ("leaves-out-middles",)),
    ("float64 float32 float16 bfloat16", "float64 float32 bfloat16", ("leaves-out-middles",)),
    ("float64 float32 bfloat16", "float64 float32 float16 bfloat16", ("adds-float16",)),
    ("int64 bool int8 float64", "int64 int8 bool float64", ("reorders",)),
    ("float64 float16 int8", "float64 float32 int8", ("leaves-out-middles", "adds-float32")),
])  # fmt: skip
def test_what_became_of_a_chain_is_named(names, instead, cause):
    assert fits(names, instead) == (cause,)


def half_of_last(codes):
    wide = codes.astype(np.uint32).view(np.int32).astype(np.float32).view(np.uint32)
    kept = wide >> np.uint32(16)
    return kept + (kept & (wide >> np.uint32(15)) & np.uint32(1))


def low_half(codes):
    return codes.astype(np.uint32).view(np.int32).astype(np.int64).view(np.uint64)


@pytest.mark.parametrize(("names", "instead", "cause"), [
    ("int32 float32 bfloat16", half_of_last, "to-bfloat16-half-of-last"),
    ("int64 uint16 int64", low_half, "holds-uint16-as-int32"),
    ("int64 uint32 int64", low_half, "holds-uint32-as-int32"),
])  # fmt: skip
def test_what_a_cast_is_held_as_instead_is_named(names, instead, cause):
    assert (cause,) in fits(names, instead)


def test_one_answer_that_is_another_refutes_what_a_cast_is_held_as():
    def spoiled(codes):
        return low_half(codes) ^ (np.arange(len(codes)) == 0).astype(np.uint64)

    assert fits("int64 uint16 int64", spoiled) == ()


def test_what_no_edit_gives_has_no_cause():
    asked = asked_chain(CASTS, ("float64", "float32", "int8"))
    assert asked is not None
    corpus = ChainCorpus(CATALOG, "edge", 0, (), codes={asked.case.id: asked.codes})
    vectors = corpus.vectors(asked.case)
    got = chain_of(made(CASTS, ("float64", "int8"))).results(asked.codes).codes
    got[0] ^= np.uint64(1)
    answers = Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
    found = diagnose_chain(CAUSES, CASTS, vectors, answers)
    assert found is not None
    assert found.fits == ()
    assert "leaves-out-middles" in {near.name for near in found.near}


def test_where_an_input_was_refused_nothing_is_explained():
    asked = asked_chain(CASTS, ("float64", "float32", "int8"))
    assert asked is not None
    vectors = ChainCorpus(CATALOG, "edge", 0, (), codes={asked.case.id: asked.codes}).vectors(
        asked.case
    )
    got = chain_of(made(CASTS, ("float64", "int8"))).results(asked.codes).codes
    state = np.full(len(got), ANSWERED, np.uint8)
    assert diagnose_chain(CAUSES, CASTS, vectors, Answers(got, state, {})) is not None
    state[np.flatnonzero(vectors.expected.readings[0].patterns == EXACT)[0]] = REFUSED
    assert diagnose_chain(CAUSES, CASTS, vectors, Answers(got, state, {})) is None


def test_promises_are_of_options_that_there_are():
    for backend in ("ort", "openvino"):
        found = promises_of(backend, CATALOG.types)
        assert found
        for promise in found:
            assert all(OPTIONS[name] and set(values) <= {*OPTIONS[name]}
                       for name, values in promise.when)  # fmt: skip


@pytest.mark.parametrize(("entry", "said"), [
    ("{when: {}, cite: a, leaves-out: nodes}", "unknown word 'nodes'"),
    ("{when: {}, cite: a, floats-as: float33}", "unknown type 'float33'"),
    ("{when: {}, exact: yes, cite: a}", "unknown key `exact`"),
    ("{cite: a}", "missing `when`"),
])  # fmt: skip
def test_a_promise_that_cannot_be_read_has_its_line(entry, said, tmp_path, monkeypatch):
    (tmp_path / "graphs").mkdir()
    text = (
        f"backend: b\nsources: {{text: {{title: a, section: b, url: c}}}}\nsettings:\n  - {entry}\n"
    )
    (tmp_path / "graphs" / "b.yaml").write_text(text)
    monkeypatch.setattr(load, "data_dir", lambda name: tmp_path)
    with pytest.raises(SpecError, match=said) as error:
        promises_of("b", CATALOG.types)
    assert error.value.place is not None
    assert error.value.place.line == 4


@pytest.mark.parametrize(
    ("chain", "said"),
    [("sideways", "unknown word"), ("{without: float33}", "unknown type"),
     ("{without: bool, with: bool}", "edited in one way"),
     ("{of: bool}", "missing `through`"), ("{of: bool, through: whole}", "goes through types")],
)  # fmt: skip
def test_an_edit_that_cannot_be_read_is_said(chain, said):
    file = CauseFile("a.yaml", f"causes:\n  - {{name: a, says: b, chain: {chain}}}\n")
    with pytest.raises(SpecError, match=said):
        read_causes([file], CATALOG.types)
