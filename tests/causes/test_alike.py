from collections.abc import Hashable

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.causes.trial import applies
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.numerics.number import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at, rules_key
from convcheck.vectors.corpus import Corpus

SEARCH = Search(causes_of(CATALOG), CATALOG)
CORPUS = Corpus(CATALOG, "edge", 0, ())
VERSIONS = (19, 21, 23, 24, 25, 28)
TYPES = ("float64-to-float8e5m2/saturate=0", "float16-to-float8e4m3fn/saturate=1",
         "float32-to-int8", "bfloat16-to-float32", "string-to-float32")  # fmt: skip


@pytest.mark.parametrize("question", TYPES)
def test_causes_say_the_same_in_versions_with_equal_rules(question: str) -> None:
    alike: dict[Hashable, list[Case]] = {}
    for version in VERSIONS:
        case = find_case(CATALOG, f"onnx.Cast-{version}/{question}", None, None, ())
        types = case.inputs[0], case.outputs[0], SEARCH.between
        alike.setdefault(rules_key(CATALOG.specs[case.spec], *types), []).append(case)
    assert len(alike) < len(VERSIONS)
    one, *_, other = max(alike.values(), key=len)
    for cause in SEARCH.causes:
        if not cause.version and applies(cause, one):
            assert _said(one, cause) == _said(other, cause), cause.name


def _said(case: Case, cause: Cause) -> list[tuple[list[int], list[int]]]:
    program = compile_wrong(CATALOG.specs[case.spec], case, [cause])
    points = points_of(case, CORPUS.vectors(case).inputs[0])
    made = readings_at(program, points) if program else []
    return [(r.codes.tolist(), r.patterns.tolist()) for r in made]


def test_another_version_has_another_key_where_a_row_differs() -> None:
    keys = {
        rules_key(CATALOG.specs[case.spec], case.inputs[0], case.outputs[0], SEARCH.between)
        for version in (21, 23)
        if (
            case := find_case(
                CATALOG, f"onnx.Cast-{version}/float16-to-float8e4m3fn/saturate=0", None, None, ()
            )
        )
    }
    assert len(keys) == 2


def test_a_version_that_answers_further_inputs_otherwise_is_searched_again() -> None:
    def answers(version: int, ask_right: bool) -> tuple[tuple[str, ...], ...]:
        case = find_case(
            CATALOG, f"onnx.Cast-{version}/float64-to-float8e5m2/saturate=1", None, None, ()
        )
        spec, vectors = CATALOG.specs[case.spec], CORPUS.vectors(case)
        cause = SEARCH.named(("through-float32",))
        program = compile_wrong(spec, case, cause)
        assert program

        def given(inputs: Bits) -> Bits:
            return readings_at(program, points_of(case, inputs))[0].codes

        def ask(inputs: Bits) -> Bits:
            return given(inputs) if ask_right else np.zeros_like(given(inputs))

        got = given(vectors.inputs[0])
        state = np.full(len(got), ANSWERED, np.uint8)
        found = diagnose(SEARCH, vectors, Answers(got, state, {}), ask)
        assert found
        return found.fits

    assert ("through-float32",) in answers(24, True)
    assert ("through-float32",) in answers(25, True)
    assert ("through-float32",) not in answers(25, False)
