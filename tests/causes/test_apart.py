"""Causes that fit alike are told apart by further inputs; what these do costs the case nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from places import ROOT

from convcheck.causes.apart import telling_inputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.numerics.format import Codes
from convcheck.rules.find import find_case
from convcheck.semantics.program import Program
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import VectorSet

CAUSES = {cause.name: cause for cause in causes_of(CATALOG)}
TO_BOOL = "onnx.Cast-21/int64-to-bool"
ALIKE = ("through-int32-wrap", "through-int32-least-is-false")


def inputs_for(name: str, *causes: str) -> list[int]:
    case = find_case(CATALOG, name, None, None, ())
    spec = CATALOG.specs[case.spec]
    programs = [compile_wrong(spec, case, (CAUSES[cause],)) for cause in causes]
    return telling_inputs(spec, case, [p for p in programs if isinstance(p, Program)]).tolist()


def test_inputs_are_worked_out_on_which_causes_differ() -> None:
    assert set(inputs_for(TO_BOOL, *ALIKE)) == {2**31, 2**64 - 2**31}
    [found, *_] = inputs_for("onnx.Cast-21/float16-to-float8e5m2/saturate=1", "truncates",
                             "cut-to-bfloat16")  # fmt: skip
    assert 0 < found < 1 << 16


def test_what_nothing_tells_apart_has_no_such_input() -> None:
    assert inputs_for("onnx.Cast-21/float16-to-float8e5m2/saturate=1", "truncates") == []
    same = ("through-float16", "through-float16-saturating")
    assert inputs_for("openvino.Convert-1/float32-to-float8e4m3fn", *same) == []
    assert inputs_for("onnx.Cast-21/string-to-float32", "through-float16", "through-float64") == []


@pytest.mark.parametrize(("false", "left"), [(True, ALIKE[1]), (False, ALIKE[0])])
def test_a_cause_that_misses_a_further_answer_is_none(false: bool, left: str) -> None:
    vectors = Corpus(CATALOG, "edge", 0, ()).vectors(find_case(CATALOG, TO_BOOL, None, None, ()))
    assert isinstance(vectors, VectorSet)

    def converted(codes: Codes) -> Codes:
        low = codes & codes.dtype.type(2**32 - 1)
        return ((low != 0) & ((low != 2**31) | (not false))).astype(np.uint8)

    inputs = vectors.inputs[0]
    state = np.full(len(inputs), ANSWERED, np.uint8)
    answers = Answers(converted(cast(Codes, inputs)), state, {})
    search = Search(tuple(CAUSES.values()), CATALOG)
    alike = diagnose(search, vectors, answers)
    assert alike is not None
    assert {(name,) for name in ALIKE} <= set(alike.fits)
    search.found.clear()
    found = diagnose(search, vectors, answers, converted)
    assert found is not None
    assert (left,) in found.fits
    assert not {(name,) for name in ALIKE if name != left} & set(found.fits)
    search.found.clear()
    assert diagnose(search, vectors, answers, lambda codes: None) == alike


@pytest.mark.parametrize(
    ("backend", "causes"),
    [("ThroughInt32", 1), ("Dies", 2), ("Raises", 2)],
)
def test_a_run_tells_causes_apart_and_goes_on_where_that_is_deadly(
    backend: str, causes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "r.json"
    address = f"tests.planted.told_apart:{backend}"
    done = convcheck("diagnose", "--backend", address, "--case", TO_BOOL, "--json", out)
    assert done.returncode == 0, done.stderr
    [cause] = json.loads(out.read_text())["causes"]
    told = [each["name"] for one in (cause["together"], *cause["others"]) for each in one]
    assert (ALIKE[0] in told, ALIKE[1] in told) == (causes == 2, True)
