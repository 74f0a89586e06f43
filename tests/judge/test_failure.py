"""One key of a failure, and what its users take of it."""

from __future__ import annotations

from known_runs import ELSE, HERE
from report_runs import group, passed

from convcheck.judge.failure import (
    FailureKey,
    fails_whole,
    failure_key,
    failure_key_of_cause,
)
from convcheck.judge.result import Example, Group
from convcheck.records import replace
from convcheck.semantics.expected import Decision


def decision(**changes: object) -> Decision:
    return replace(ELSE, **changes)  # type: ignore[arg-type]


def refused(words: str, by: Decision) -> Group:
    made = group(by, "refused", "refused", (1, 9))
    return replace(made, examples=(Example((1,), 2, None, words),))


def test_the_whole_key_has_all_that_tells_failures_apart() -> None:
    made = replace(group(decision(), "fail", "zero", (1, 9)), placement="alone", reading="down")
    key = failure_key(made.verdict, made)
    changed = [
        replace(made, kind="one"), replace(made, placement=""), replace(made, reading="up"),
        replace(made, decision=decision(row="other")),
        replace(made, decision=decision(rule="other")),
        replace(made, decision=decision(level="implementation")),
    ]  # fmt: skip
    assert len({failure_key(each.verdict, each) for each in changed} - {key}) == len(changed)
    assert failure_key(made.verdict, replace(made, count=7, digest="f")) == key
    assert key.name == decision().name


def test_fields_that_are_not_taken_are_blank() -> None:
    key = FailureKey("fail", "rule", "row", "normative", "kind", "alone", "down", "said")
    assert key.only("verdict", "row") == FailureKey("fail", row="row")
    assert key.without("level", "words") == replace(key, level="", words="")
    assert failure_key("error", None, "gone") == FailureKey("error", kind="gone")


def test_a_refusal_is_one_in_the_same_words() -> None:
    there, here = (refused("no\nkernel", decision(row=row)) for row in ("one", "two"))
    case = HERE[0]
    keys = {failure_key_of_cause(g, case) for g in (there, here)}
    assert keys == {
        FailureKey("refused", level=decision().level, words="no kernel", operator=case.op)
    }
    other = failure_key_of_cause(refused("no", decision()), case)
    assert other not in keys
    silent = group(decision(), "refused", "refused", (1, 9))
    silent = replace(silent, examples=())
    assert failure_key_of_cause(silent, case).row == decision().row


def test_a_case_that_fails_as_a_whole() -> None:
    result = passed(HERE[0])
    assert not fails_whole(result)
    assert fails_whole(replace(result, verdict="error"))
    wrong = replace(result, verdict="fail", groups=(group(decision(), "fail", "zero", (1, 9)),))
    assert not fails_whole(wrong)
    assert fails_whole(replace(wrong, verdict="error"))
