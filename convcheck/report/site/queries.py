"""Questions that are asked of all runtimes at once, each answered by a table.

What is compared was asked with the same vectors; what a runtime lacks is neither right nor wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.history.matrix import RuleKey
from convcheck.report.site.model import RuleTurn, Site
from convcheck.report.site.names import (
    RunName,
    page_of_finding,
    page_of_rule,
    page_of_runtime,
)
from convcheck.report.site.runs import SiteRun
from convcheck.wording import number


@dataclass(frozen=True)
class Linked:
    """Words of a table, with a link where they have one."""

    #: What is said.
    said: str
    #: The page; '' for none.
    url: str = ""
    #: Whether it is said by the way.
    soft: bool = False


Cell = tuple[Linked, ...]


@dataclass(frozen=True)
class Query:
    """A question with its answer."""

    name: str
    #: The same in a word or two.
    short: str
    #: Where its page is.
    url: str
    #: The question in a sentence.
    says: str
    #: The heads of the columns.
    heads: tuple[str, ...]
    #: A cell a column; the last one is a number.
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def count(self) -> str:
        """How many rows the answer has."""
        return number(len(self.rows))


def queries_of(site: Site) -> list[Query]:
    """Return the four questions, answered."""
    newest = [one.newest for one in site.runtimes]
    split = list(_split(site, newest))
    rule = ("rule", "fails in", "passes in", "cases")
    return [
        Query("differ", "Differ", "differ.html",
              "Cases that fail in one runtime and pass in another, in the newest release of each.",
              rule, tuple(_differ(split))),
        Query("only this one", "Only one", "only.html",
              "Cases that fail in one runtime alone, while at least one other passes them.",
              rule, tuple(_only(split))),
        Query("regressed", "Regressed", "regressed.html",
              "Cases that passed in one release and fail in the next that was asked.",
              ("rule", "broken in", "now", "cases"), tuple(_regressed(site))),
        Query("undefined and different", "Undefined", "undefined.html",
              "Cases in which nothing is due, and that runtimes answer differently.",
              ("rule and row", "who answers alike, a line each", "cases"),
              tuple(_undefined(newest))),
    ]  # fmt: skip


# One fails and another passes ----------------------------------------------------------------


Split = tuple[RuleKey, tuple[SiteRun, ...], tuple[SiteRun, ...], int]


def _split(site: Site, runs: Sequence[SiteRun]) -> Iterator[Split]:
    """Yield the rules that some break in cases that others pass: who does which, and the cases."""
    for rule in site.rules:
        counts: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
        told = [run.rules[rule].failing if rule in run.rules else set() for run in runs]
        for case in sorted(set().union(*told)):
            for some in _alike(runs, case).values():
                bad = tuple(i for i in some if case in told[i])
                good = tuple(i for i in some if i not in bad and _passes(runs[i], rule, case))
                if bad and good:
                    counts[bad, good] += 1
        for (bad, good), count in counts.items():
            yield rule, tuple(runs[i] for i in bad), tuple(runs[i] for i in good), count


def _alike(runs: Sequence[SiteRun], case: str) -> Mapping[tuple[str, str], list[int]]:
    """Sort the runs that were asked a case by its vectors."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, run in enumerate(runs):
        if case in run.results:
            found.setdefault(run.vectors_of(case), []).append(i)
    return found


def _passes(run: SiteRun, rule: RuleKey, case: str) -> bool:
    """Return whether the rule judged the case, and nothing of it is wrong by that."""
    return rule in run.rules and case in run.rules[rule].judged


def _differ(split: Sequence[Split]) -> Iterator[tuple[Cell, ...]]:
    for rule, bad, good, count in split:
        yield _rule(rule), _who(bad, rule), _who(good), (Linked(number(count)),)


def _only(split: Sequence[Split]) -> Iterator[tuple[Cell, ...]]:
    found: dict[tuple[RuleKey, str], tuple[SiteRun, dict[str, SiteRun], int]] = {}
    for rule, bad, good, count in split:
        if len(bad) == 1:
            key = (rule, bad[0].name.runtime)
            _, others, before = found.get(key, (bad[0], {}, 0))
            others |= {one.name.runtime: one for one in good}
            found[key] = (bad[0], others, before + count)
    for (rule, _), (bad_one, others, count) in found.items():
        yield (_rule(rule), _who([bad_one], rule), _who([*others.values()]),
               (Linked(number(count)),))  # fmt: skip


def _rule(rule: RuleKey, row: str = "") -> Cell:
    name = f"{rule.rule} / {row}" if row else rule.rule
    return Linked(name, page_of_rule(rule)), Linked(rule.place, soft=True)


def _who(runs: Sequence[SiteRun], rule: RuleKey | None = None) -> Cell:
    """Name runs, with links to what they do against a rule, or to their pages."""
    pages = [
        page_of_finding(run.name, rule) if rule else page_of_runtime(run.name.runtime)
        for run in runs
    ]
    return tuple(Linked(str(run.name), page) for run, page in zip(runs, pages, strict=True))


# Regressed -----------------------------------------------------------------------------------


def _regressed(site: Site) -> Iterator[tuple[Cell, ...]]:
    """Yield what passed and then failed, the newest release of each runtime first."""
    for one in site.runtimes:
        for turn in reversed([turn for turn in one.turns if turn.broken]):
            name = RunName(one.name, turn.turn.after.version)
            broken = (
                Linked(str(name), page_of_finding(name, turn.rule)),
                Linked(f"after {turn.turn.before.version}", soft=True),
            )
            yield (_rule(turn.rule), broken, (_now(site, turn),), (Linked(number(turn.broken)),))


def _now(site: Site, turn: RuleTurn) -> Linked:
    """Say what has become of the cases that broke."""
    one = site.runtime(turn.runtime)
    cases = [name for name, states in turn.turn.cases.items() if states == ("passes", "fails")]
    newest = one.newest.name
    states = one.state(turn.rule, newest.release)
    left = sum(states.get(name) == "fails" for name in cases)
    if left:
        return Linked(f"still so in {newest.release}", page_of_finding(newest, turn.rule))
    passing = sum(states.get(name) == "passes" for name in cases)
    said = "pass" if passing == len(cases) else "do not fail so"
    return Linked(f"{said} in {newest.release}", soft=True)


# Undefined -----------------------------------------------------------------------------------


def _undefined(runs: Sequence[SiteRun]) -> Iterator[tuple[Cell, ...]]:
    keys = dict.fromkeys(key for run in runs for key in run.free)
    for rule, row in sorted(keys, key=lambda key: (key[0].place, key[0].rule, key[1])):
        told = [run.free.get((rule, row), {}) for run in runs]
        counts: Counter[tuple[tuple[str, ...], ...]] = Counter()
        for case in sorted(set().union(*told)):
            for some in _alike(runs, case).values():
                sides: dict[str, list[str]] = {}
                for i in some:
                    if case in told[i]:
                        sides.setdefault(told[i][case], []).append(str(runs[i].name))
                if len(sides) > 1:
                    counts[tuple(map(tuple, sides.values()))] += 1
        for sides_of, count in counts.items():
            who = tuple(Linked(", ".join(side)) for side in sides_of)
            yield _rule(rule, row), who, (Linked(number(count)),)
