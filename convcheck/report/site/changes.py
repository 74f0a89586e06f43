"""What changed from release to release, as pages tell it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from convcheck.report.site.model import RuleTurn, SiteRuntime
from convcheck.report.site.names import RunName, page_of_finding, page_of_rule, page_of_runtime
from convcheck.wording import plural

Way = Literal["broken", "new", "fixed", "gone"]


@dataclass(frozen=True)
class RuleChange:
    """What became of the cases of a rule."""

    #: broken: passed before; new: lacked before; fixed: passes now; gone: is lacking now.
    way: Way
    #: The name of the rule.
    rule: str
    #: The standard and the spec file: onnx/cast.
    home: str
    #: The page that tells more.
    url: str
    #: How many cases.
    count: str


@dataclass(frozen=True)
class ReleaseChanges:
    """What changed with a release, after one that was asked before."""

    name: RunName
    #: The version before.
    before: str
    #: The page of the runtime.
    url: str
    #: The broken ones first.
    entries: tuple[RuleChange, ...]


def changes_of(one: SiteRuntime) -> list[ReleaseChanges]:
    """Return what changed with each release of a runtime, the newest first."""
    found: dict[tuple[str, str], list[RuleChange]] = {}
    for turn in one.turns:
        key = (turn.turn.after.version, turn.turn.before.version)
        found.setdefault(key, []).extend(_changes(turn))
    order = {run.name.release: i for i, run in enumerate(one.runs)}
    ways: tuple[Way, ...] = ("broken", "new", "fixed", "gone")
    return [
        ReleaseChanges(
            RunName(one.name, after), before, page_of_runtime(one.name),
            tuple(sorted(found[after, before], key=lambda e: (ways.index(e.way), e.home, e.rule))),
        )
        for after, before in sorted(found, key=lambda key: (-order[key[0]], -order[key[1]]))
        if found[after, before]
    ]  # fmt: skip


def _changes(one: RuleTurn) -> Iterator[RuleChange]:
    name = RunName(one.runtime, one.turn.after.version)
    finding, rule = page_of_finding(name, one.rule), page_of_rule(one.rule)
    counts: Sequence[tuple[Way, int, str]] = (
        ("broken", one.broken, finding), ("new", one.came, finding),
        ("fixed", one.fixed, rule), ("gone", one.turn.count("fails", "lacks"), rule),
    )  # fmt: skip
    for way, count, url in counts:
        if count:
            yield RuleChange(way, one.rule.rule, one.rule.place, url, plural(count, "case"))
