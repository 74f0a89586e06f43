from dataclasses import replace
from importlib.metadata import version

import pytest
from catalogue import CATALOG
from command import convcheck, refused
from planted.causes import (
    EVERY,
    OWN,
    answered_calls,
    answering,
    as_answer,
    calls_of,
    converting,
    vectors_of,
    with_causes,
)
from report_json import parsed

from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.semantics.body import wrong_calls

CAUSES = {cause.name: cause for cause in EVERY}
TO_BOOL = "onnx.Cast-21/int64-to-bool"
ALIKE = ("through-int32-wrap", "through-int32-least-is-false")
TO_FLOAT8 = "onnx.Cast-21/float64-to-float8e5m2/saturate=0"


def of(*names, common=()):
    return tuple(
        replace(CAUSES[name], common=name in common, found_in=(), found_with=()) for name in names
    )


def fits(causes, vectors, answers, ask=None):
    found = diagnose(Search(tuple(causes), CATALOG), vectors, answers, ask)
    return found.fits if found else None


def told(causes, vectors, convert, ask=None):
    return fits(causes, vectors, answering(vectors, convert(vectors.inputs[0])), ask)


def test_where_a_cause_that_was_found_fits_no_other_is_tried():
    vectors = vectors_of(TO_BOOL)
    wrong = converting(vectors.case, ALIKE[1])
    for name in ALIKE:
        assert told(of(*ALIKE, common=(name,)), vectors, wrong) == ((name,),)


@pytest.mark.parametrize("true", ALIKE)
def test_where_a_further_answer_refutes_what_is_common_the_others_are_left(true):
    vectors = vectors_of(TO_BOOL)
    wrong = converting(vectors.case, true)
    for name in ALIKE:
        assert told(of(*ALIKE, common=(name,)), vectors, wrong, wrong) == ((true,),)


def test_two_are_tried_where_none_fits_alone_and_first_those_that_were_found_together():
    vectors, pair = vectors_of(TO_FLOAT8), ("through-float32", "carry-is-nan")
    both = converting(vectors.case, *pair)
    for causes in (of(*pair, "truncates"), of("truncates", *pair, common=pair[:1])):
        for names in (pair, ("truncates",), pair[:1]):
            assert told(causes, vectors, converting(vectors.case, *names)) == (names,)
        assert told(causes, vectors, converting(vectors.case)) is None
    first, other, *_ = of("through-float32", "carry-is-nan")
    known = (replace(first, found_with=(other.name, "none")), other)
    assert told(known, vectors, both) == (pair,)
    assert told(known, vectors, converting(vectors.case, other.name)) == ((other.name,),)


def test_of_whole_calls_what_was_found_is_tried_first():
    calls = calls_of("onnx.Range-11/int64-int64-int64")
    alike = ("sums-in-float32", "multiplies-in-float32")
    spec = CATALOG.specs[calls.case.spec]
    [candidate, *_] = wrong_calls(spec, calls.case, calls.calls)((CAUSES[alike[0]],))
    answers = answered_calls([as_answer(candidate.answer(i)) for i in range(len(calls))])
    first, other = of(*alike, common=alike[:1])
    together = (replace(first, found_with=(other.name,)), other)  # one of the two suffices
    for causes in ((first, other), together):
        assert fits(causes, calls, answers) == (alike[:1],)
    assert fits(of(*alike), calls, answers) == tuple((name,) for name in alike)


def test_what_is_listed_of_a_release_is_what_a_run_of_it_tells(tmp_path):
    release = f"ml_dtypes {version('ml_dtypes')}"
    listed = {cause.name for cause in CAUSES.values() if release in cause.found_in}
    out = tmp_path / "run.json"
    convcheck("run", "--backend", "ml_dtypes", "-q", "-o", out)
    causes = parsed(out.read_text())["causes"]
    told = {one["name"] for cause in causes for one in cause["together"]}
    assert listed in (told, set())


FOUND = """\
found-in:
  my kernels 1.2: [drops-the-sign-of-infinity, through-float64, [through-float64, reorders]]
  my kernels 1.3: through-float64
"""


def test_a_file_says_where_causes_were_found_those_of_others_too(tmp_path):
    causes = {cause.name: cause for cause in causes_of(with_causes(tmp_path, OWN + FOUND))}
    mine = ("my kernels 1.2", "my kernels 1.3")
    assert causes["through-float64"].found_in[-2:] == mine
    assert causes["drops-the-sign-of-infinity"].found_in == mine[:1]
    assert causes["through-float64"].found_with[-1:] == ("reorders",)
    assert causes["reorders"].found_in == mine[:1]
    assert not causes["reorders"].common


def test_ones_own_causes_are_common_wherever_they_were_found(tmp_path):
    causes = causes_of(with_causes(tmp_path, OWN))
    assert causes[-1].common
    known = {cause.name for cause in CAUSES.values() if cause.common}
    assert known < {cause.name for cause in CAUSES.values() if cause.found_in}
    assert {cause.name for cause in causes if cause.common} - known == {causes[-1].name}


@pytest.mark.parametrize(("old", "new", "said"), [
    ("1.3: through-float64", "1.3: through-float65", "own.yaml:8: no cause is named 'through-"),
    ("found-in:", "found:", "own.yaml:6: unknown key `found`"),
    ("1.3: through-float64", "1.3: [[a, b, c]]", "own.yaml:8: 3 causes together"),
    ("1.3: through-float64", "1.3: [[]]", "own.yaml:8: expected a cause, or two together"),
    ("1.3: through-float64", "1.3: [[ties-up, tie]]", "own.yaml:8: no cause is named 'tie'"),
    ("1.3: through-float64", "1.3: {a: b}", "own.yaml:8: expected a word, found a mapping"),
    (FOUND, "found-in: [a]\n", "own.yaml:6: expected a mapping"),
])  # fmt: skip
def test_a_wrong_place_has_file_line_and_hint(old, new, said, tmp_path):
    with_causes(tmp_path, OWN + FOUND.replace(old, new))
    told = refused("lint", "--specs", tmp_path)
    assert said in told
    assert "hint: " in told
