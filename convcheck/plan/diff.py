"""(RunResult, RunResult) -> what changed between two runs. Pure.

A failure of a case is told from others by its rule row, kind, placement and reading. It is `new`
where nothing failed by that row before, `fixed` where nothing does any more although all was asked,
and `changed` where other inputs fail, or with other answers, or in another way. Excused failures,
and those below the gate, are failures like others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from convcheck.errors import UsageError
from convcheck.judge.failure import (
    FailureKey,
    fails_whole,
    failure_key,
    failure_key_of_whole,
    finding_id,
    finding_of,
)
from convcheck.judge.result import FAILURES, CaseResult, Excuse, Group, RunResult, Verdict
from convcheck.plan.cause_changes import CauseDifference, ComparedCase, cause_changes
from convcheck.rules.model import Case

Change = Literal["new", "changed", "fixed", "not asked"]
CHANGES: tuple[Change, ...] = ("new", "changed", "fixed", "not asked")


@dataclass(frozen=True)
class ComparedFailure:
    """A failing group of a case; of a case that fails as a whole there is none."""

    verdict: Verdict
    group: Group | None
    #: The case's own, where there is no group.
    message: str = ""
    excuse: Excuse | None = None

    @property
    def row(self) -> tuple[str, str]:
        """The rule and the row that are broken, '' for a case that fails as a whole."""
        return (self.group.decision.rule, self.group.decision.row) if self.group else ("", "")

    @property
    def kind(self) -> str:
        """In what way it is wrong."""
        return self.group.kind if self.group else self.message

    @property
    def key(self) -> FailureKey:
        """What makes it the same failure in another run, whatever the level of its row."""
        return failure_key(self.verdict, self.group, self.message).without("level", "words")

    def finding(self, case: Case) -> str:
        """Return the id of the finding that it is of, as a failure of a case."""
        if self.group:
            return finding_of(self.group, case)
        return finding_id(failure_key_of_whole(self.verdict, self.message, case))


@dataclass(frozen=True)
class FailureChange:
    """One failure of a case in one run, the other, or both."""

    change: Change
    case: Case
    #: The failure in the old run.
    before: ComparedFailure | None
    #: The failure in the new run.
    after: ComparedFailure | None

    @property
    def finding(self) -> str:
        """The id of the finding that it is of, or was."""
        failure = self.after or self.before
        return failure.finding(self.case) if failure else ""


@dataclass(frozen=True)
class Turned:
    """A case that fails in neither run, and whose verdict is another."""

    case: Case
    #: The verdict in the old run.
    before: Verdict
    #: The verdict in the new run.
    after: Verdict


@dataclass(frozen=True)
class RunDifference:
    """What changed from a run to another, in the order of their plans.

    `added` and `removed` are cases of one run only: of the new one, of the old one. `free` are
    cases of the same verdict that answer otherwise where more than one answer is allowed. `loose`
    are specs whose vectors differ: of their failures neither counts nor inputs are compared.
    """

    old: RunResult
    new: RunResult
    compared: int
    #: Failures that are new, changed, fixed or not asked any more.
    findings: tuple[FailureChange, ...]
    #: Cases that fail in neither run, with another verdict.
    turned: tuple[Turned, ...]
    free: tuple[Case, ...]
    added: tuple[CaseResult, ...]
    removed: tuple[CaseResult, ...]
    #: What became of the causes.
    causes: CauseDifference
    loose: tuple[str, ...] = ()

    def of(self, change: Change) -> tuple[FailureChange, ...]:
        """Return the findings of one sort."""
        return tuple(f for f in self.findings if f.change == change)

    @property
    def counts(self) -> dict[str, int]:
        """Findings and cases by what became of them."""
        return {
            "changed cause": len(self.causes.changes),
            "other cause": len(self.causes.others),
            **{change: len(self.of(change)) for change in CHANGES},
            "other verdict": len(self.turned),
            "other answer": len(self.free),
            "added": len(self.added),
            "removed": len(self.removed),
        }

    @property
    def worse(self) -> bool:
        """Return whether anything fails that did not, or otherwise than it did, added cases too."""
        added = any(case.verdict in FAILURES for case in self.added)
        return added or any(f.change in ("new", "changed") for f in self.findings)

    @property
    def nothing(self) -> bool:
        """Return whether the runs are the same."""
        return not any(self.counts.values())


def check_comparable(
    old: RunResult,
    new: RunResult,
    names: tuple[str, str],
    instead: str = "; or compare them anyway with --any-corpus",
) -> None:
    """Raise UsageError where the runs, of the files `names`, asked other vectors; `instead` is what
    may be done beside making one of them again.
    """
    said = []
    if old.tier != new.tier:
        said.append(f"the {old.tier} tier in {names[0]}, the {new.tier} tier in {names[1]}")
    elif specs := loose(old, new):
        said.append(f"other vectors of {', '.join(specs)}")
    if said:
        hint = "make one of them again with the same specs, tier, seed and inputs" + instead
        raise UsageError(f"the runs did not ask the same questions: {said[0]}", hint=hint)


def loose(old: RunResult, new: RunResult) -> tuple[str, ...]:
    """Return the names of the specs that both runs ask, with other vectors."""
    before = dict(old.corpora)
    return tuple(name for name, sha in new.corpora if before.get(name, sha) != sha)


def diff_runs(old: RunResult, new: RunResult) -> RunDifference:
    """Compare two runs. Of specs with other vectors only the kinds of failures are compared."""
    before = {case.case.id: case for case in old.cases}
    after = {case.case.id: case for case in new.cases}
    both = [(before[name], after[name]) for name in after if name in before]
    specs = loose(old, new)
    found = [tuple(_findings(a, b, b.case.spec not in specs)) for a, b in both]
    compared = [
        ComparedCase(a, b, same=not changes and b.case.spec not in specs)
        for (a, b), changes in zip(both, found, strict=True)
    ]
    return RunDifference(
        old, new, len(both),
        tuple(change for changes in found for change in changes),
        tuple(Turned(b.case, a.verdict, b.verdict) for a, b in both if _turned(a, b)),
        tuple(b.case for a, b in both if b.case.spec not in specs and _free(a, b)),
        tuple(case for name, case in after.items() if name not in before),
        tuple(case for name, case in before.items() if name not in after),
        cause_changes(compared, old, new),
        specs,
    )  # fmt: skip


def failures(case: CaseResult) -> list[ComparedFailure]:
    """Return the failures of a case."""
    found = [
        ComparedFailure(g.verdict, g, excuse=g.excuse) for g in case.groups if g.verdict in FAILURES
    ]
    if fails_whole(case):
        found.append(ComparedFailure(case.verdict, None, case.message, case.excuse))
    return found


def _findings(old: CaseResult, new: CaseResult, exactly: bool) -> Iterator[FailureChange]:
    """Compare the failures of a case: the same ones, then those by the same row, then the rest."""
    before, after = failures(old), failures(new)
    for a, b in [*_pairs(before, after, same_row=False), *_pairs(before, after, same_row=True)]:
        if a.key != b.key or (exactly and _symptom(a) != _symptom(b)):
            yield FailureChange("changed", new.case, a, b)
    for a in before:
        if _asked(a, new, old.checked if exactly else 1):
            yield FailureChange("fixed", new.case, a, None)
        elif after:  # it hides behind what fails now
            yield FailureChange("changed", new.case, a, after.pop(0))
        else:
            yield FailureChange("not asked", new.case, a, None)
    yield from (FailureChange("new", new.case, None, b) for b in after)


def _pairs(
    before: list[ComparedFailure], after: list[ComparedFailure], *, same_row: bool
) -> Iterator[tuple[ComparedFailure, ComparedFailure]]:
    """Take out of both lists, pair by pair, what is the same failure, or breaks the same row."""
    for a in list(before):
        same = (b for b in after if (a.row == b.row if same_row else a.key == b.key))
        if b := next(same, None):
            before.remove(a)
            after.remove(b)
            yield a, b


def _symptom(failure: ComparedFailure) -> tuple[int, str]:
    """Return which inputs fail and with which answers."""
    return (failure.group.count, failure.group.digest) if failure.group else (0, "")


def _asked(failure: ComparedFailure, new: CaseResult, checked: int) -> bool:
    """Return whether a failure that is gone was looked for: a case that dies early hides others."""
    rows = {(g.decision.rule, g.decision.row) for g in new.groups}
    return failure.row in rows or new.checked >= max(checked, 1)


def _turned(old: CaseResult, new: CaseResult) -> bool:
    verdicts = {old.verdict, new.verdict}
    return len(verdicts) == 2 and not verdicts & FAILURES


def _free(old: CaseResult, new: CaseResult) -> bool:
    """Return whether answers differ where several are allowed."""
    return old.verdict == new.verdict and _allowed(old.groups) != _allowed(new.groups)


def _allowed(groups: Iterable[Group]) -> list[tuple[str, str, str, str]]:
    free = (g for g in groups if g.verdict in ("tolerated", "undefined"))
    return sorted((g.decision.rule, g.decision.row, g.reading, g.digest) for g in free)
