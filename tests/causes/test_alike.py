import numpy as np
import pytest
from catalogue import CATALOG
from planted.causes import EVERY, answering, case_of, converting, vectors_of

from convcheck.causes.search import Search, diagnose
from convcheck.causes.trial import applies
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at, rules_key

SEARCH = Search(EVERY, CATALOG)
VERSIONS = (19, 21, 23, 24, 25, 28)
TYPES = ("float64-to-float8e5m2/saturate=0", "float16-to-float8e4m3fn/saturate=1",
         "float32-to-int8", "bfloat16-to-float32", "string-to-float32")  # fmt: skip


def key_of(case):
    spec = CATALOG.specs[case.spec]
    return rules_key(spec, case.inputs[0], case.outputs[0], SEARCH.between)


@pytest.mark.parametrize("question", TYPES)
def test_causes_say_the_same_in_versions_with_equal_rules(question):
    alike = {}
    for version in VERSIONS:
        case = case_of(f"onnx.Cast-{version}/{question}")
        alike.setdefault(key_of(case), []).append(case)
    assert len(alike) < len(VERSIONS)
    one, *_, other = max(alike.values(), key=len)
    for cause in SEARCH.causes:
        if not cause.version and applies(cause, one):
            assert _said(one, cause) == _said(other, cause), cause.name


def _said(case, cause):
    program = compile_wrong(CATALOG.specs[case.spec], case, [cause])
    points = points_of(case, vectors_of(case.id).inputs[0])
    made = readings_at(program, points) if program else []
    return [(r.codes.tolist(), r.patterns.tolist()) for r in made]


def test_another_version_has_another_key_where_a_row_differs():
    question = "float16-to-float8e4m3fn/saturate=0"
    one, other = (key_of(case_of(f"onnx.Cast-{version}/{question}")) for version in (21, 23))
    assert one != other


def test_a_version_that_answers_further_inputs_otherwise_is_searched_again():
    def answers(version, ask_right):
        vectors = vectors_of(f"onnx.Cast-{version}/float64-to-float8e5m2/saturate=1")
        wrong = converting(vectors.case, "through-float32")

        def ask(inputs):
            return wrong(inputs) if ask_right else np.zeros_like(wrong(inputs))

        found = diagnose(SEARCH, vectors, answering(vectors, wrong(vectors.inputs[0])), ask)
        assert found
        return found.fits

    assert ("through-float32",) in answers(24, True)
    assert ("through-float32",) in answers(25, True)
    assert ("through-float32",) not in answers(25, False)
