"""Compare two runs.

A failure of a case is identified by rule row, kind, placement and reading. It is `new` if the row
had no failure before, `fixed` if the row has none now although all inputs were tested, and
`changed` if inputs, answers or kind differ. Excused failures and those below the gate count.

Often several causes fit a case. Both runs use the same few, and a case that fails in both uses one
that explains both, if possible, so that another choice does not look like a change.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from convcheck import __version__
from convcheck.causes.gather import chosen_causes
from convcheck.errors import UsageError
from convcheck.judge.failure import (
    FailureKey,
    fails_whole,
    failure_key,
    failure_key_of_case,
    finding_id,
    finding_of,
    sort_of,
)
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CaseResult,
    CauseInWords,
    Excuse,
    ExplainedCase,
    Group,
    Names,
    RunResult,
    Shard,
    Verdict,
    gates,
)
from convcheck.records import Count, Record
from convcheck.rules.model import Level

FORMAT: Final = "convcheck-diff/3"
Change = Literal["new", "changed", "fixed", "not asked"]
CHANGES: tuple[Change, ...] = ("new", "changed", "fixed", "not asked")
CauseWay = Literal["new", "grown", "moved", "shrunk", "gone", "not asked"]
CAUSE_WAYS: tuple[CauseWay, ...] = ("new", "grown", "moved", "shrunk", "gone", "not asked")
Untried = Literal["", "old", "new"]
OTHER, UNEXPLAINED = "other cause", "not explained"
_UNASKED = {"unsupported", "crashed", "error"}  # verdicts that hide a cause
_EXPLAINABLE = {"fail", "refused"}
_Told = Mapping[tuple[int, str], Names]  # (run 0 or 1, case id) -> causes
_Compared = tuple[CaseResult, CaseResult, bool]  # whether nothing changed


class ComparedRun(Record, frozen=True, kw_only=True):
    """One of the two runs."""

    backend: BackendInfo
    #: The test tier: edge, boundary or exhaustive.
    tier: str
    #: (spec, hash of its vectors).
    corpora: tuple[tuple[str, str], ...]
    interrupted: bool = False
    #: Its part of the plan; absent for a whole run.
    shard: Shard | None = None


class Failure(Record, frozen=True, kw_only=True):
    """A failure of a case in one of the runs."""

    #: The id of its finding.
    finding: str
    verdict: Verdict
    #: Absent, like the row, if the case failed as a whole.
    rule: str = ""
    row: str = ""
    #: The kind of failure, or the runtime's message.
    kind: str = ""
    #: The sort of a wrong type or refusal.
    sort: str = ""
    #: The placement, unless it fails in all.
    placement: str = ""
    #: The reading assumed for the backend; absent if there is only one.
    reading: str = ""
    count: Count = 0
    of: Count = 0
    #: A hash of inputs and answers; equal for equal failures.
    digest: str = ""
    #: The runtime's message for the first refused input.
    message: str = ""
    #: Absent if the failure counts.
    excuse: Excuse | None = None
    #: Whether it is below the gate of its run.
    below: bool = False


class FailureChange(Record, frozen=True, kw_only=True):
    """A failure that differs between the runs."""

    change: Change
    case: str
    #: The failure in the old run, if any.
    before: Failure | None = None
    #: The failure in the new run, if any.
    after: Failure | None = None

    @property
    def finding(self) -> str:
        """The id of its finding."""
        failure = self.after or self.before
        return failure.finding if failure else ""


class OtherVerdict(Record, frozen=True, kw_only=True):
    """A case that fails in neither run and has another verdict."""

    case: str
    #: The verdict in the old run.
    before: Verdict
    #: The verdict in the new run.
    after: Verdict


class OneSided(Record, frozen=True, kw_only=True):
    """A case of one run only."""

    case: str
    verdict: Verdict


class CauseChange(Record, frozen=True, kw_only=True):
    """A cause that explains other cases in the new run."""

    #: `gone` if it explains no case any more; `not asked` if all its cases are now unsupported,
    #: crashed or in error.
    change: CauseWay
    #: The causes that act together, mostly one.
    together: tuple[CauseInWords, ...]
    #: The cases that it explains in the old run.
    before: tuple[ExplainedCase, ...] = ()
    #: The cases that it explains in the new run.
    after: tuple[ExplainedCase, ...] = ()
    #: The previous states of the cases gained, counted: a verdict, `other cause`, or `not
    #: explained`.
    came: dict[str, Count]
    #: The present states of the cases lost, counted.
    left: dict[str, Count]


class OtherCause(Record, frozen=True, kw_only=True):
    """A case that fails in both runs for different causes."""

    case: str
    #: Its causes in the old run; empty if unexplained.
    before: tuple[CauseInWords, ...] = ()
    #: Its causes in the new run; empty if unexplained.
    after: tuple[CauseInWords, ...] = ()


class RunDifference(Record, frozen=True, kw_only=True):
    """The changes between two runs, in plan order."""

    format: Literal["convcheck-diff/3"]
    #: The version of convcheck.
    convcheck: str
    #: The run before.
    old: ComparedRun
    #: The run after.
    new: ComparedRun
    #: The number of cases in both runs.
    compared: Count
    #: The number of changes of each kind.
    summary: dict[str, Count]
    #: Specs with different vectors: their counts and inputs are not compared.
    other_vectors: tuple[str, ...] = ()
    #: Changed causes, in the cases of both runs; empty if a run searched for none.
    causes: tuple[CauseChange, ...] = ()
    #: Cases that fail in both runs for different causes.
    other_causes: tuple[OtherCause, ...] = ()
    #: The run without a search for causes, if the other has one. Causes are not compared.
    untried: Untried = ""
    #: Failures that are new, changed, fixed or no longer tested.
    findings: tuple[FailureChange, ...] = ()
    #: Cases that fail in neither run and have another verdict.
    verdicts: tuple[OtherVerdict, ...] = ()
    #: Cases with other answers among those allowed.
    answers: tuple[str, ...] = ()
    #: Cases of the new run only.
    added: tuple[OneSided, ...] = ()
    #: Cases of the old run only.
    removed: tuple[OneSided, ...] = ()

    def of(self, change: Change) -> tuple[FailureChange, ...]:
        """Return the findings with this change."""
        return tuple(f for f in self.findings if f.change == change)

    @property
    def worse(self) -> bool:
        """Whether anything fails that did not, or fails differently."""
        added = any(case.verdict in FAILURES for case in self.added)
        return added or any(f.change in ("new", "changed") for f in self.findings)


def check_comparable(old: RunResult, new: RunResult, names: tuple[str, str]) -> None:
    """Raise UsageError if the runs from the files `names` used different vectors."""
    said = []
    if old.tier != new.tier:
        said.append(f"the {old.tier} tier in {names[0]}, the {new.tier} tier in {names[1]}")
    elif specs := loose(old, new):
        said.append(f"other vectors of {', '.join(specs)}")
    if said:
        hint = "repeat one of them with the same specs, tier, seed and inputs"
        raise UsageError(f"the runs tested different inputs: {said[0]}", hint=hint)


def loose(old: RunResult, new: RunResult) -> tuple[str, ...]:
    """Return ids of common specs whose vectors differ."""
    before = dict(old.corpora)
    other = old.tier != new.tier
    both = (pair for pair in new.corpora if pair[0] in before)
    return tuple(name for name, sha in both if other or before[name] != sha)


def diff_runs(old: RunResult, new: RunResult) -> RunDifference:
    """Compare two runs. If a spec's vectors differ, only its kinds of failures are compared."""
    before = {case.case.id: case for case in old.cases}
    after = {case.case.id: case for case in new.cases}
    both = [(before[name], after[name]) for name in after if name in before]
    specs = loose(old, new)
    found = [
        tuple(_changes(failures(a, old.level), failures(b, new.level), a, b, specs))
        for a, b in both
    ]
    compared = [
        (a, b, not changes and b.case.spec not in specs)
        for (a, b), changes in zip(both, found, strict=True)
    ]
    untried = _untried(old, new)
    words = {cause.name: cause for cause in (*old.causes, *new.causes)}
    told = {} if untried else _told(compared, words)
    causes = tuple(_cause_changes(compared, told, words))
    others = tuple(_other_causes(compared, told, words))
    findings = tuple(change for changes in found for change in changes)
    changes = [one.change for one in findings]
    verdicts, answers = [], []
    for a, b in both:
        if a.verdict == b.verdict:
            if b.case.spec not in specs and _allowed(a.groups) != _allowed(b.groups):
                answers.append(b.case.id)
        elif not {a.verdict, b.verdict} & FAILURES:
            change = OtherVerdict(case=b.case.id, before=a.verdict, after=b.verdict)
            verdicts.append(change)
    added, removed = _one_sided(after, before), _one_sided(before, after)
    summary = {
        "changed_cause": len(causes),
        "other_cause": len(others),
        **{change.replace(" ", "_"): changes.count(change) for change in CHANGES},
        "other_verdict": len(verdicts),
        "other_answer": len(answers),
        "added": len(added),
        "removed": len(removed),
    }
    return RunDifference(
        format=FORMAT, convcheck=__version__, old=_run(old), new=_run(new), compared=len(both),
        summary=summary, other_vectors=specs, causes=causes, other_causes=others,
        untried=untried, findings=findings, verdicts=tuple(verdicts), answers=tuple(answers),
        added=added, removed=removed,
    )  # fmt: skip


def _run(run: RunResult) -> ComparedRun:
    return ComparedRun(
        backend=run.backend, tier=run.tier, corpora=run.corpora, interrupted=run.interrupted,
        shard=run.shard,
    )  # fmt: skip


def _one_sided(cases: dict[str, CaseResult], others: dict[str, CaseResult]) -> tuple[OneSided, ...]:
    alone = (case for name, case in cases.items() if name not in others)
    return tuple(OneSided(case=case.case.id, verdict=case.verdict) for case in alone)


_Keyed = tuple[FailureKey, Failure]  # with its identity across runs


def failures(case: CaseResult, level: Level) -> list[_Keyed]:
    """Return a case's failures, in a run gated at a level."""
    found = []
    for group in case.groups:
        if group.verdict in FAILURES:
            key = failure_key(group.verdict, group, "").without("level", "words")
            below = not group.excuse and not gates(group, level)
            refused = group.verdict == "refused" and group.examples
            failure = Failure(
                finding=finding_of(group, case.case), verdict=group.verdict,
                rule=group.decision.rule, row=group.decision.row, kind=group.kind,
                sort=sort_of(group), placement=group.placement, reading=group.reading,
                count=group.count, of=group.of, digest=group.digest,
                message=group.examples[0].message if refused else "",
                excuse=group.excuse, below=below,
            )  # fmt: skip
            found.append((key, failure))
    if fails_whole(case):
        key = failure_key(case.verdict, None, case.message).without("level", "words")
        finding = finding_id(failure_key_of_case(case))
        verdict, kind = case.verdict, case.message
        failure = Failure(finding=finding, verdict=verdict, kind=kind, excuse=case.excuse)
        found.append((key, failure))
    return found


def _changes(
    before: list[_Keyed], after: list[_Keyed], old: CaseResult, new: CaseResult,
    loose: tuple[str, ...],
) -> Iterator[FailureChange]:  # fmt: skip
    """Compare a case's failures: equal keys first, then equal rows, then the rest."""
    name, exactly = new.case.id, new.case.spec not in loose
    for a, b in [*_pairs(before, after, same_row=False), *_pairs(before, after, same_row=True)]:
        one, other = a[1], b[1]
        same = (one.count, one.digest) == (other.count, other.digest)
        if a[0] != b[0] or (exactly and not same):
            yield FailureChange(change="changed", case=name, before=one, after=other)
    rows = {(g.decision.rule, g.decision.row) for g in new.groups}
    asked_again = new.checked >= max(old.checked if exactly else 1, 1)
    for _, gone in before:
        if asked_again or _row(gone) in rows:
            yield FailureChange(change="fixed", case=name, before=gone)
        elif after:  # another failure may hide it
            yield FailureChange(change="changed", case=name, before=gone, after=after.pop(0)[1])
        else:
            yield FailureChange(change="not asked", case=name, before=gone)
    yield from (FailureChange(change="new", case=name, after=come) for _, come in after)


def _pairs(
    before: list[_Keyed], after: list[_Keyed], *, same_row: bool
) -> Iterator[tuple[_Keyed, _Keyed]]:
    for a in list(before):
        same = (b for b in after if (_row(a[1]) == _row(b[1]) if same_row else a[0] == b[0]))
        if b := next(same, None):
            before.remove(a)
            after.remove(b)
            yield a, b


def _row(failure: Failure) -> tuple[str, str]:
    return failure.rule, failure.row


def _allowed(groups: Iterable[Group]) -> list[tuple[str, str, str, str]]:
    free = (g for g in groups if g.verdict in ("tolerated", "undefined"))
    return sorted((g.decision.rule, g.decision.row, g.reading, g.digest) for g in free)


def _untried(old: RunResult, new: RunResult) -> Untried:
    """Return the run that failed and searched for no causes, if the other did."""
    if _diagnosed(old) == _diagnosed(new):
        return ""
    which: Untried = "old" if _diagnosed(new) else "new"
    cases = old.cases if which == "old" else new.cases
    fails = any(case.verdict in _EXPLAINABLE and not case.case.whole_calls for case in cases)
    return which if fails else ""


def _diagnosed(run: RunResult) -> bool:
    return any(case.diagnosis for case in run.cases)


def _told(cases: Sequence[_Compared], words: Mapping[str, CauseInWords]) -> _Told:
    fits: dict[tuple[int, str], Sequence[Names]] = {}
    for old, new, same in cases:
        before, after = _fits(old), _fits(new)
        both = [names for names in after if names in before]
        if both or same:
            before = after = both or after
        for run, found in enumerate((before, after)):
            if found:
                fits[run, new.case.id] = found
    return {key: names for names, keys in chosen_causes(fits, words) for key in keys}


def _fits(case: CaseResult) -> Sequence[Names]:
    return case.diagnosis.fits if case.diagnosis and case.verdict in FAILURES else ()


def _cause_changes(
    cases: Sequence[_Compared], told: _Told, words: Mapping[str, CauseInWords]
) -> list[CauseChange]:
    found = []
    for names in dict.fromkeys(told.values()):
        had, has = (
            {n for (run, n), some in told.items() if run == which and some == names}
            for which in (0, 1)
        )
        if had == has:
            continue
        gained = (_state(0, old, told) for old, _, _ in cases if old.case.id in has - had)
        lost = (_state(1, new, told) for _, new, _ in cases if new.case.id in had - has)
        came, left = Counter(gained), Counter(lost)
        found.append(CauseChange(
            change=_way(len(had), len(has), left), together=tuple(words[name] for name in names),
            before=explained_cases(old for old, _, _ in cases if old.case.id in had),
            after=explained_cases(new for _, new, _ in cases if new.case.id in has),
            came=dict(came), left=dict(left),
        ))  # fmt: skip
    return sorted(found, key=lambda one: CAUSE_WAYS.index(one.change))


def explained_cases(cases: Iterable[CaseResult]) -> tuple[ExplainedCase, ...]:
    """Return the cases with a diagnosis."""
    return tuple(
        ExplainedCase(case=each.case.id, answers=found.answers, wrong=found.wrong)
        for each in cases
        if (found := each.diagnosis)
    )


def _way(before: int, after: int, left: Mapping[str, int]) -> CauseWay:
    if not before:
        return "new"
    if not after:
        return "gone" if left.keys() - _UNASKED else "not asked"
    if before == after:
        return "moved"
    return "grown" if after > before else "shrunk"


def _state(run: int, case: CaseResult, told: _Told) -> str:
    if (run, case.case.id) in told:
        return OTHER
    return UNEXPLAINED if case.verdict in _EXPLAINABLE else case.verdict


def _other_causes(
    cases: Sequence[_Compared], told: _Told, words: Mapping[str, CauseInWords]
) -> Iterator[OtherCause]:
    for old, new, _ in cases:
        before, after = (told.get((run, new.case.id), ()) for run in (0, 1))
        if {old.verdict, new.verdict} <= FAILURES and before != after:
            said = [tuple(words[name] for name in names) for names in (before, after)]
            yield OtherCause(case=new.case.id, before=said[0], after=said[1])
