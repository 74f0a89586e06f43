from contextlib import closing

import pytest
from planted import inconsistent
from planted.asking import Log
from planted.counting import LONG, Corpus, case

from convcheck.ask.again import CallsAgain
from convcheck.ask.elements import ask_calls
from convcheck.ask.jobs import Job
from convcheck.backends.protocol import LIMIT_VARIABLE
from convcheck.judge.answers import AGAIN, EVERYWHERE, Avoid, Fault
from convcheck.judge.result import BackendInfo, case_verdict, gates
from convcheck.judge.tally import finish_whole
from convcheck.pool.lane import Reported
from convcheck.pool.local import locally
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.semantics.expected import UNDEFINED, CallReading

LUCK = "differs from call to call"


def calls(shape=()):
    """The lengths 0 to 11. Each expects as many elements."""
    found = Corpus().vectors(case(1))
    return replace(found, calls=tuple((call[0].reshape(shape),) for call in found.calls))


def undefined():
    found = calls()
    free = (CallReading("", pattern=UNDEFINED),)
    return replace(found, expected=tuple(replace(e, readings=free) for e in found.expected))


def found(backend, of=None, avoid=None, log=None):
    of = of or calls()
    answers = ask_calls(backend, of, Log(), {})
    return CallsAgain(of, answers, backend, log or Log(), avoid).groups()


def example(group):
    (shown,) = group.examples
    return shown


def test_what_is_always_the_same_has_no_finding():
    log = Log()
    assert found(inconsistent.SteadyCaller(), log=log) == ()
    backwards = [[i] for i in range(LONG - 1, -1, -1)]
    assert [index.tolist() for index in log.of("again")] == backwards
    assert {name for name, _ in log.calls} == {"again", "other options"}
    assert len(log.of("other options")) == 3 * LONG
    assert found(inconsistent.SteadyCaller(), calls((1,)), log=log) == ()
    assert set(AGAIN) == {name for name, _ in log.calls}


@pytest.mark.parametrize("of", [calls(), undefined()], ids=["normative", "undefined"])
def test_what_the_last_call_left_is_found_with_both_answers(of):
    (group,) = found(inconsistent.Leftover(), of)
    assert (group.verdict, group.kind, group.placement) == (
        "inconsistent", "order-dependent", "in reverse order",
    )  # fmt: skip
    assert (group.count, group.of) == (7, LONG)
    shown = example(group)
    assert shown.message == "in order gives 0x02 in element 2, in reverse order gives 0x0b"
    assert (shown.difference, shown.wrong, shown.arguments) == ((0, 2), 1, (10,))
    assert shown.expected[0].words == (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert shown.got[0].words == (0, 1, 11, 3, 4, 5, 6, 7, 8, 9)
    assert gates(group, "normative")
    assert case_verdict((group,)) == "inconsistent"


REVERSED, SINGLE = "order-dependent", calls((1,))


@pytest.mark.parametrize(("name", "of", "kind", "count", "message"), [
    ("KeepsTheLast", calls(), REVERSED, 1, "gives int8 [4], in reverse order gives int8 [6]"),
    ("CallsByThreads", calls(), "threads-dependent", 2, "0x0a in element 10, threads 4 gives"),
    ("CallsByAlignment", SINGLE, "alignment-dependent", LONG - 1, "1 element into it gives"),
    ("RefusesOptimised", calls(), "optimisation-dependent: refused", 1, "gives nothing: not"),
    ("RefusesAgain", calls(), f"{LUCK}: refused", 1, "asked again gives nothing"),
    ("HugeAgain", calls(), LUCK, 1, "asked again gives int8 [1099511627776]"),
])  # fmt: skip
def test_what_depends_on_something_is_found(name, of, kind, count, message):
    (group,) = found(getattr(inconsistent, name)(), of)
    assert (group.kind, group.count) == (kind, count)
    assert message in example(group).message
    assert (example(group).got is None) == kind.endswith("refused")


@pytest.mark.parametrize("name", ["CallsByLuck", "CallsByChance", "FirstOfAll"])
def test_what_is_not_the_same_twice_is_not_laid_to_the_order(name):
    groups = found(getattr(inconsistent, name)())
    assert {g.kind for g in groups if g.kind != LUCK} == set()
    assert groups


def test_one_call_has_no_order():
    of = calls()
    of = replace(of, calls=of.calls[3:4], expected=of.expected[3:4])
    (group,) = found(inconsistent.RefusesAgain(), of)
    assert group.kind == "differs from call to call: refused"


def test_only_what_was_answered_is_asked_again(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "8")
    monkeypatch.setattr(inconsistent.RefusesAlways, "asked", [])
    backend = inconsistent.RefusesAlways()
    of = calls()
    answers = ask_calls(backend, of, Log(), {})
    assert inconsistent.RefusesAlways.asked == list(range(9))
    inconsistent.RefusesAlways.asked.clear()
    assert CallsAgain(of, answers, backend, Log()).groups() == ()
    assert set(inconsistent.RefusesAlways.asked) == {0, 1, 2, 6, 7, 8}


def test_what_killed_a_worker_is_avoided():
    log, died = Log(), Fault("crashed", "again", "died", 7)
    assert found(inconsistent.SteadyCaller(), None, Avoid(faults=(died,)), log) == ()
    assert [7] not in [index.tolist() for _, index in log.calls]  # unknown whether it is steady
    assert len(log.of("again")) == LONG - 1
    log, died = Log(), Fault("crashed", "other options", "died", 7)
    assert found(inconsistent.SteadyCaller(), None, Avoid(faults=(died,)), log) == ()
    assert len(log.of("again")) == LONG
    assert len(log.of("other options")) == 3 * (LONG - 1)
    log = Log()
    for placements in (frozenset(("again",)), EVERYWHERE):
        assert found(inconsistent.Leftover(), None, Avoid(placements=placements), log) == ()
    assert not log.calls


def test_a_backend_that_asks_to_be_replaced_is_asked_no_more():
    backend, of = inconsistent.SpoilsCalls(), calls()
    answers = ask_calls(inconsistent.SteadyCaller(), of, Log(), {})
    assert CallsAgain(of, answers, backend, Log()).groups() == ()
    assert backend.calls == 4


def result(name):
    setup = Setup(f"tests.planted.inconsistent:{name}", Corpus(), None, consistency=True)
    with closing(locally(setup, [Job(0, case(1))], 1, 20.0)) as reports:
        heard = list(reports)
    (info,) = [report for report in heard if isinstance(report, BackendInfo)]
    (reported,) = [report for report in heard if isinstance(report, Reported)]
    return finish_whole(case(1), reported.result), info


def counts(of):
    return [(g.verdict, g.placement, g.kind, g.count) for g in of.groups]


def test_calls_that_kill_only_after_others_cost_themselves():
    lost = "died of SIGSEGV; not reproduced alone"
    one, _ = result("DiesAgain")
    assert counts(one) == [("pass", "", "", LONG), ("crashed", "again", lost, 1)]
    assert example(one.groups[1]).inputs[0].words == (7,)
    two, _ = result("DiesOfTwoAgain")
    assert counts(two) == [("pass", "", "", LONG), *[("crashed", "again", lost, 1)] * 2]
    assert [example(g).inputs[0].words for g in two.groups[1:]] == [(7,), (3,)]


def test_a_call_that_kills_under_an_option_hides_no_other_difference():
    one, _ = result("DiesOptimised")
    assert counts(one) == [
        ("pass", "", "", LONG),
        ("crashed", "other options", "died of SIGSEGV; not reproduced alone", 1),
        ("inconsistent", "threads 4", "threads-dependent", 2),
    ]
    assert one.verdict == "crashed"
