"""`convcheck-diff/2`: what changed between two runs, a finding for each case."""

from __future__ import annotations

from typing import Final, Literal

from convcheck import __version__
from convcheck.judge.result import BackendInfo, CauseInWords, RunResult, Verdict
from convcheck.plan import diff
from convcheck.plan.cause_changes import CauseChange, CauseWay
from convcheck.plan.diff import Change, RunDifference
from convcheck.report.json.causes import explained_cases
from convcheck.report.json.codec import Count, Shape, json_text
from convcheck.report.json.report import ExplainedCase
from convcheck.rules.model import Case

FORMAT: Final = "convcheck-diff/2"


class RunJson(Shape, frozen=True, kw_only=True):
    """One of the two runs."""

    backend: BackendInfo
    #: How many inputs were asked: edge, boundary or exhaustive.
    tier: str
    #: A hash of the vectors of each spec.
    corpora: tuple[tuple[str, str], ...]
    #: Whether it was stopped, and has what was finished.
    interrupted: bool


class DiffSummaryJson(Shape, frozen=True, kw_only=True):
    """How many findings there are of each sort, and how many cases."""

    #: Causes that do not explain the same cases in both runs.
    changed_cause: Count
    #: Cases that fail in both runs, and of which the cause is another.
    other_cause: Count
    #: Failures of the new run only.
    new: Count
    #: Failures with other values, or another count of them.
    changed: Count
    #: Failures of the old run only.
    fixed: Count
    #: Failures of the old run for which the new one did not ask as much.
    not_asked: Count
    #: Cases that fail in neither run, with another verdict.
    other_verdict: Count
    #: Cases that answer otherwise where more than one answer is allowed.
    other_answer: Count
    #: Cases of the new run only.
    added: Count
    #: Cases of the old run only.
    removed: Count


class CauseChangeJson(Shape, frozen=True, kw_only=True):
    """A cause that does not explain the same cases in both runs."""

    #: `gone` where it explains none any more; `not asked` where all that it explained hides that.
    change: CauseWay
    #: What is at work together, mostly one.
    together: tuple[CauseInWords, ...]
    #: What it explains in the old run.
    before: tuple[ExplainedCase, ...]
    #: What it explains in the new run.
    after: tuple[ExplainedCase, ...]
    #: What the cases that are explained only now did before, and how many of them: a verdict,
    #: `other cause`, or `not explained` of a failure.
    came: dict[str, Count]
    #: What the cases that are explained no more do now, likewise.
    left: dict[str, Count]


class OtherCauseJson(Shape, frozen=True, kw_only=True):
    """A case that fails in both runs, and of which the cause is another."""

    #: Its id.
    case: str
    #: The names of the causes in the old run; empty where nothing explains it.
    before: tuple[str, ...]
    #: The names of the causes in the new run; empty where nothing explains it.
    after: tuple[str, ...]


class FailureJson(Shape, frozen=True, kw_only=True):
    """A failure in one of the runs."""

    #: The id of the finding that it is of.
    finding: str
    verdict: Verdict
    #: Empty, as is the row, for a case that failed as a whole.
    rule: str
    #: The row of the rule.
    row: str
    #: In what way it is wrong, or the runtime's words.
    kind: str
    #: Where it shows, if not everywhere; empty for everywhere.
    placement: str
    #: The reading taken as the backend's; empty where there is one only.
    reading: str
    count: Count
    of: Count
    #: A hash of the inputs and answers; equal for the same failure.
    digest: str
    #: `known` or `waived`; empty where the failure counts.
    excuse: str


class FindingJson(Shape, frozen=True, kw_only=True):
    """A failure that is not the same in both runs."""

    change: Change
    #: Its id.
    case: str
    #: In the old run; null where it has none.
    before: FailureJson | None
    #: In the new run; null where it has none.
    after: FailureJson | None


class OtherVerdictJson(Shape, frozen=True, kw_only=True):
    """A case that fails in neither run, and whose verdict is another."""

    #: Its id.
    case: str
    #: In the old run.
    before: Verdict
    #: In the new run.
    after: Verdict


class OneSidedJson(Shape, frozen=True, kw_only=True):
    """A case of one run only."""

    #: Its id.
    case: str
    verdict: Verdict


class DiffJson(Shape, frozen=True, kw_only=True):
    """What changed between two runs."""

    format: Literal["convcheck-diff/2"]
    #: The version of convcheck.
    convcheck: str
    #: The run before.
    old: RunJson
    #: The run after.
    new: RunJson
    #: Cases that both runs asked.
    compared: Count
    #: Specs whose vectors differ: of their failures neither counts nor inputs are compared.
    other_vectors: tuple[str, ...]
    #: Counts of all that follows.
    summary: DiffSummaryJson
    #: By cause, in the cases that both runs asked; empty where a run tried none.
    causes: tuple[CauseChangeJson, ...]
    #: Cases that fail in both runs, and of which the cause is another.
    other_causes: tuple[OtherCauseJson, ...]
    findings: tuple[FindingJson, ...]
    #: Cases that fail in neither run, with another verdict.
    verdicts: tuple[OtherVerdictJson, ...]
    #: Cases that answer otherwise where more than one answer is allowed.
    answers: tuple[str, ...]
    #: Cases of the new run only.
    added: tuple[OneSidedJson, ...]
    #: Cases of the old run only.
    removed: tuple[OneSidedJson, ...]


def diff_text(found: RunDifference) -> str:
    """Return the difference as JSON text."""
    return json_text(encoded_diff(found))


def encoded_diff(found: RunDifference) -> DiffJson:
    """Return the difference as structs: nothing is put together."""
    return DiffJson(
        format=FORMAT,
        convcheck=__version__,
        old=_run(found.old),
        new=_run(found.new),
        compared=found.compared,
        other_vectors=found.loose,
        summary=DiffSummaryJson(**{name.replace(" ", "_"): n for name, n in found.counts.items()}),
        causes=tuple(map(_cause, found.causes.changes)),
        other_causes=tuple(
            OtherCauseJson(
                case=one.case.id,
                before=tuple(cause.name for cause in one.before),
                after=tuple(cause.name for cause in one.after),
            )
            for one in found.causes.others
        ),
        findings=tuple(
            FindingJson(
                change=f.change,
                case=f.case.id,
                before=_failure(f.before, f.case),
                after=_failure(f.after, f.case),
            )
            for f in found.findings
        ),
        verdicts=tuple(
            OtherVerdictJson(case=t.case.id, before=t.before, after=t.after) for t in found.turned
        ),
        answers=tuple(case.id for case in found.free),
        added=tuple(OneSidedJson(case=c.case.id, verdict=c.verdict) for c in found.added),
        removed=tuple(OneSidedJson(case=c.case.id, verdict=c.verdict) for c in found.removed),
    )


def _run(run: RunResult) -> RunJson:
    return RunJson(
        backend=run.backend,
        tier=run.tier,
        corpora=run.corpora,
        interrupted=run.interrupted,
    )


def _cause(one: CauseChange) -> CauseChangeJson:
    return CauseChangeJson(
        change=one.change,
        together=one.causes,
        before=explained_cases(one.before),
        after=explained_cases(one.after),
        came=dict(one.came),
        left=dict(one.left),
    )


def _failure(failure: diff.ComparedFailure | None, case: Case) -> FailureJson | None:
    if failure is None:
        return None
    rule, row = failure.row
    group = failure.group
    return FailureJson(
        finding=failure.finding(case),
        verdict=failure.verdict,
        rule=rule,
        row=row,
        kind=failure.kind,
        placement=group.placement if group else "",
        reading=group.reading if group else "",
        count=group.count if group else 0,
        of=group.of if group else 0,
        digest=group.digest if group else "",
        excuse=failure.excuse.kind if failure.excuse else "",
    )
