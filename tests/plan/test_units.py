import json
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from planted.swept import Swept, Unbound
from report_json import held_to_schema
from sweeps import HALF, SPAN, case_of, swept

from convcheck.ask.elements import ask
from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Declined, Outputs
from convcheck.documents.journal import open_journal
from convcheck.errors import UsageError
from convcheck.judge.answers import Avoid, Fault
from convcheck.judge.calls import judge
from convcheck.judge.elements import tally_of
from convcheck.judge.result import BackendInfo, CaseResult, Group, Part, RunResult, Tally
from convcheck.judge.tally import MAIN, finish
from convcheck.numerics.format import Int
from convcheck.plan.units import Gathering, Unit, joined, part_of, result_of
from convcheck.records import replace
from convcheck.vectors.corpus import CHUNK, Span, open_corpus, spans
from convcheck.vectors.generate import vector_set

CORPUS = open_corpus(CATALOG, "exhaustive", 0, Path("none"))
CASE = case_of("float8e4m3fn", "saturate=1")
SHORT = 1000


def edge(case=CASE):
    return vector_set(CATALOG.specs[case.spec], case, "edge")


def answers(backend, vectors):
    return ask(backend, vectors, lambda *call: None, {}, Avoid())


def tallied(backend, case=CASE, main=MAIN):
    vectors = edge(case)
    return tally_of(vectors, answers(backend, vectors), main, ())


def gathered(*found, case=CASE, codes=1 << 24):
    plan = [Unit(case, None, codes)]
    plan += [Unit(case, Span(n << 24, 1 << 24), codes) for n in range(len(found) - 1)]
    parts = [part_of(unit, result) for unit, result in zip(plan, found, strict=True)]
    results = {repr(result_of(joined(order), CORPUS.conversion)) for order in permutations(parts)}
    assert len(results) == 1
    gathering = Gathering(plan, CORPUS.conversion)
    for part in parts:
        gathering.add(part)
    (result,) = gathering.results()
    return result


def failing(result):
    return [g for g in result.groups if g.verdict not in ("pass", "undefined", "tolerated")]


RIGHT = Swept(compiled(CASE))


def bent(codes, out):
    out[codes == 0x3F800000] ^= 1


def changed(change):
    return Swept(compiled(CASE), change)


def in_short(change):
    return changed(lambda codes, out: change(codes, out) if len(codes) <= SHORT else None)


def test_all_right_passes():
    result = gathered(tallied(RIGHT), swept(RIGHT, CASE), codes=SPAN.count)
    assert (result.verdict, result.checked) == ("pass", SPAN.count)
    assert result.coverage == "exhaustive"


def test_a_span_that_raised_makes_an_error_of_the_case_and_keeps_what_was_found():
    error = CaseResult(CASE, "error", 0, "edge", (), "it raised")
    wrong = swept(changed(bent), CASE)
    result = gathered(tallied(RIGHT), error, wrong)
    assert (result.verdict, result.message, result.coverage) == ("error", "it raised", "partial")
    assert result.gates("normative")
    assert [group.count for group in failing(result)] == [1]
    assert gathered(tallied(RIGHT), error).gates("normative")
    assert gathered(error, swept(RIGHT, CASE)).gates("normative")


def test_of_two_that_went_wrong_the_graver_is_told():
    died = CaseResult(CASE, "crashed", 0, "edge", (), "died of SIGSEGV")
    raised = CaseResult(CASE, "error", 0, "edge", (), "it raised")
    result = gathered(tallied(RIGHT), died, raised, swept(RIGHT, CASE))
    assert (result.verdict, result.message) == ("error", "it raised")
    assert result.gates("normative")


def test_a_span_that_is_declined_where_others_are_answered_is_refused():
    declined = swept(Unbound(compiled(CASE), lambda codes: Declined("no")), CASE)
    assert declined.declined == SPAN.count
    for others in ((tallied(RIGHT), swept(RIGHT, CASE)), (tallied(RIGHT),)):
        result = gathered(*others, declined)
        assert (result.verdict, result.coverage) == ("refused", "partial")
        (group,) = failing(result)
        assert group.kind == f"declined {SPAN.count:,} inputs, and answered others of the case"


def test_vectors_that_are_declined_where_codes_are_answered_are_refused():
    unsupported = CaseResult(CASE, "unsupported", 0, "edge", (), "no")
    result = gathered(unsupported, swept(RIGHT, CASE))
    assert result.verdict == "refused"
    assert "the case's vectors" in failing(result)[0].kind


def test_what_is_declined_throughout_is_unsupported():
    unsupported = CaseResult(CASE, "unsupported", 0, "edge", (), "no")
    declined = swept(Unbound(compiled(CASE), lambda codes: Declined("no")), CASE)
    result = gathered(unsupported, declined)
    assert (result.verdict, result.message) == ("unsupported", "no")
    assert gathered(declined).verdict == "unsupported"


def test_a_refusal_that_is_accepted_is_no_failure():
    case = replace(CASE, refusal=True)
    declined = swept(Unbound(compiled(CASE), lambda codes: Declined("no")), CASE)
    result = gathered(tallied(RIGHT, case), declined, case=case, codes=SPAN.count)
    assert (result.verdict, result.coverage) == ("pass", "partial")


def test_codes_that_nobody_accounts_for_make_an_error():
    for lost in (Tally({}, ()), swept(RIGHT, CASE, Span(SPAN.first, CHUNK))):
        result = gathered(tallied(RIGHT), lost, codes=SPAN.count)
        assert (result.verdict, result.coverage) == ("error", "partial")
        assert "of 262,144 inputs are unaccounted for" in result.message


def test_what_is_wrong_in_short_calls_only_is_found():
    result = gathered(tallied(in_short(bent)), swept(in_short(bent), CASE))
    (group,) = failing(result)
    assert (group.verdict, group.placement, group.count) == ("fail", MAIN, 1)
    assert group.examples[0].inputs == (0x3F800000,)


def test_what_a_sweep_finds_too_is_said_once():
    result = gathered(tallied(changed(bent)), swept(changed(bent), CASE))
    (group,) = failing(result)
    assert (group.placement, group.count) == ("", 1)


def test_what_is_wrong_in_one_placement_only_is_found():
    def change(codes, out):
        if len(codes) == 1:
            out ^= 1

    result = gathered(tallied(changed(change)), swept(changed(change), CASE))
    assert {(g.verdict, g.placement) for g in failing(result)} == {("fail", "alone")}


def test_a_death_between_calls_is_kept_once():
    vectors = edge()
    found = answers(RIGHT, vectors)
    died = [Fault("crashed", place, "died of SIGKILL", 0) for place in ("", "support", "")]
    tally = tally_of(vectors, replace(found, faults=tuple(died)), MAIN, ())
    result = gathered(tally, swept(RIGHT, CASE))
    places = [(g.verdict, g.placement) for g in failing(result)]
    assert places == [("crashed", ""), ("crashed", "support")]


def test_inconsistent_groups_of_several_decisions_are_kept():
    vectors = edge()
    ones = vectors.expected.decisions[:2]
    groups = tuple(Group(d, "inconsistent", "position-dependent", 1, 1, "") for d in ones)
    tally = tally_of(vectors, answers(RIGHT, vectors), MAIN, groups)
    assert len(failing(gathered(tally, swept(RIGHT, CASE)))) == 2


def test_coverage_is_exhaustive_only_where_every_code_was_judged():
    class Malformed(Swept):
        def answer(self, case, inputs):
            if inputs[0].flat[-1] == SPAN.first + SPAN.count - 1:
                return Outputs((np.zeros(3, np.uint8),), (case.outputs[0].name,))
            return super().answer(case, inputs)

        def bind(self, case, codes, out):
            return None

    tally = swept(Malformed(compiled(CASE)), CASE)
    result = gathered(tallied(RIGHT), tally, codes=SPAN.count)
    assert result.checked == SPAN.count - CHUNK
    assert (result.verdict, result.coverage) == ("fail", "partial")


def test_a_shard_with_vectors_alone_has_their_result():
    unit = Unit(CASE, None, 1 << 32)
    result = result_of(part_of(unit, tallied(RIGHT)), CORPUS.conversion)
    assert (result.verdict, result.checked) == ("pass", len(edge()))
    assert result.coverage == "partial"
    wrong = result_of(part_of(unit, tallied(changed(bent))), CORPUS.conversion)
    assert [(g.placement, g.count) for g in failing(wrong)] == [("", 1)]


def test_a_part_that_fails_is_known_at_once():
    unit = Unit(CASE, SPAN, 1 << 32)
    error = CaseResult(CASE, "error", 0, "edge", (), "it raised")
    assert part_of(unit, error).failing
    assert part_of(unit, tallied(in_short(bent))).failing
    assert not part_of(unit, tallied(RIGHT)).failing
    assert not Part(CASE).failing


@pytest.mark.parametrize("bits", [17, 20, 24, 25, 32])
def test_spans_have_every_code_once_and_one_sign_each(bits):
    source = replace(CASE.inputs[0], format=Int(bits, signed=True))
    case = replace(CASE, inputs=(source,))
    parts = spans(case)
    assert [part.first for part in parts] == list(Part(case, 1 << bits).firsts)
    covered = sorted(pair for part in parts for pair in part.positions(case))
    assert (covered[0][0], covered[-1][1]) == (0, (1 << bits) - 1)
    assert all(a[1] + 1 == b[0] for a, b in pairwise(covered))
    assert sum(part.count for part in parts) == 1 << bits


def judged(result):
    """Remove fields that a tally lacks: ranges, and digests of passes."""
    kept = [replace(group, ranges=(), more_ranges=0) for group in result.groups]
    kept = [replace(g, digest="") if g.verdict == "pass" else g for g in kept]
    examples = [g.examples[:1] if g.verdict == "undefined" else g.examples for g in kept]
    groups = [replace(g, examples=e) for g, e in zip(kept, examples, strict=True)]
    return sorted(groups, key=repr)


def held_against_judging(backend, cases):
    verdicts = set()
    for case in cases:
        vectors = edge(case)
        found = answers(backend, vectors)
        if found.declined is not None:
            continue
        tally = finish(case, tally_of(vectors, found, "", ()), vectors.coverage)
        direct = judge(vectors, found)
        assert judged(tally) == judged(direct), case.id
        assert (tally.verdict, tally.checked) == (direct.verdict, direct.checked)
        verdicts.add(direct.verdict)
    return verdicts


def test_a_tally_of_vectors_is_as_judged():
    assert held_against_judging(MlDtypes(), HALF) == {"pass", "tolerated"}


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_tally_of_vectors_is_as_judged_where_placements_differ(length):
    class Bent(MlDtypes):
        def answer(self, case, inputs):
            found = super().answer(case, inputs)
            if isinstance(found, Outputs) and inputs[0].size % length == 0:
                array = found.arrays[0]
                array[inputs[0] % 3 == 1] ^= 1
            return found

    assert "fail" in held_against_judging(Bent(), HALF[:12])


OTHER = Span(0x42000000, CHUNK)
PLAN = [Unit(CASE, None, 1 << 32), Unit(CASE, SPAN, 1 << 32), Unit(CASE, OTHER, 1 << 32)]


def journal(path):
    run = RunResult(BackendInfo("mine", "1", "mine"), "edge", "disputed", (), ())
    made = open_journal(str(path), run, CATALOG.types.types, PLAN)
    made.name(run.backend)
    return made


def test_a_journal_gives_back_what_was_found(tmp_path):
    with_journal = journal(tmp_path / "j")
    parts = [part_of(PLAN[0], tallied(RIGHT)), part_of(PLAN[1], swept(RIGHT, CASE))]
    error = CaseResult(CASE, "error", 0, "edge", (), "it raised")
    parts.append(part_of(PLAN[2], error))
    for unit, part in zip(PLAN, parts, strict=True):
        with_journal.add(unit, part)
    with_journal.file.close()
    lines = (tmp_path / "j").read_text().splitlines()[1:]
    held = [held_to_schema("run-line", json.loads(line)) for line in lines]
    assert [line["unit"] for line in held if "unit" in line] == [unit.id for unit in PLAN]
    again = journal(tmp_path / "j")
    assert [again.done[unit.id].tally for unit in PLAN] == [part.tally for part in parts]
    assert again.done[PLAN[2].id].lost is not None
    again.file.close()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_journal_with_the_line_of_another_unit_is_refused(tmp_path, number):
    of_another_case = CaseResult(case_of("bool"), "pass", 9, "edge", ())
    of_vectors, of_another_span = tallied(RIGHT, main=""), swept(RIGHT, CASE, OTHER)
    found = [of_another_case, of_vectors, of_another_span][number]
    unit = PLAN[min(number, 1)]
    path = tmp_path / "j"
    written = journal(path)
    written.add(unit, part_of(unit, found))
    written.file.close()
    with pytest.raises(UsageError, match="not a line of this run") as error:
        journal(path)
    assert str(error.value).startswith(str(path))
