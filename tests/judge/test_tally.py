from catalogue import compiled
from planted.swept import Swept
from sweeps import case_of, finished, swept

from convcheck.judge.answers import CHUNK
from convcheck.semantics.answers_at import run_program
from convcheck.vectors.corpus import Span

LOW, HIGH = Span(0x3F000000, CHUNK), Span(0x3F400000, CHUNK)  # from 0.5, from 0.75


def of_reading(case, reading):
    def answer(codes, out):
        out[:] = run_program(compiled(case), case, codes).readings[reading].codes

    return Swept(compiled(case), answer)


def test_a_reading_is_taken_when_all_parts_are_there():
    case = case_of("int4")
    low, high = (swept(of_reading(case, r), case, s) for r, s in ((0, LOW), (1, HIGH)))
    assert finished(case, low).verdict in ("pass", "tolerated")
    assert finished(case, high).verdict == "tolerated"
    higher = swept(of_reading(case, 1), case, Span(0x3F600000, CHUNK // 2))
    both = finished(case, swept(of_reading(case, 0), case, HIGH), higher)
    assert both.verdict == "fail"
    assert {g.reading for g in both.groups} == {"nearest-even"}


def test_what_is_tolerated_has_examples_and_ranges():
    case = case_of("int4")
    [group] = finished(case, swept(of_reading(case, 1), case, HIGH)).groups
    assert (group.verdict, group.reading, group.count) == ("tolerated", "toward-zero", CHUNK)
    assert group.ranges == ((HIGH.first, HIGH.first + CHUNK - 1),)
    assert group.examples
    assert group.digest
