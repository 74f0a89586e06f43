from itertools import permutations

from catalogue import compiled
from planted.swept import Swept
from sweeps import case_of, finished, swept

from convcheck.judge.answers import CHUNK
from convcheck.judge.tally import merge
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


def test_the_order_of_parts_makes_no_difference():
    case = case_of("bool")

    def change(codes, out):
        out[codes % 1000 == 7] = 2
        out[codes % 1000 == 8] = 0

    spans = [Span(first, CHUNK) for first in (0, CHUNK, 0x80000000, 0xFFFF0000)]
    parts = [swept(Swept(compiled(case), change), case, span) for span in spans]
    merged = {repr(merge(order)) for order in permutations(parts)}
    assert len(merged) == 1
    nested = merge([merge(parts[:2]), merge(parts[2:])])
    assert repr(nested) in merged
    [fault] = nested.faults
    assert fault.examples[0].inputs == (7,)
    assert nested.failing


def test_right_answers_do_not_fail():
    for target in ("float16", "int4"):
        case = case_of(target)
        assert not swept(of_reading(case, 0), case, HIGH).failing
        assert not merge([]).failing
