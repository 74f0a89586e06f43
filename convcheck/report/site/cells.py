"""Counts and states as the site draws them: bars, cells of heat maps, badges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from convcheck.history.matrix import CauseHistory, RuleKey
from convcheck.history.releases import Release
from convcheck.judge.result import FAILURES
from convcheck.records import replace
from convcheck.report.site.model import SiteRuntime
from convcheck.report.site.names import page_of_finding
from convcheck.report.site.runs import SiteRun
from convcheck.report.status import BELOW, KNOWN, STATUSES, WAIVED, Status
from convcheck.wording import number, plural

_WHOLE, _LEAST = 1000, 5  # of a bar: its length, and that of its shortest part
_HEATS = 5
_FAILING = {*FAILURES, *(one.word for one in (KNOWN, BELOW, WAIVED))} - {"error"}
_LETTER = 6.4  # of a badge, in pixels


@dataclass(frozen=True)
class BarPart:
    """A part of a bar: the cases of one status."""

    #: The word of the status.
    word: str
    #: How many cases.
    count: str
    #: The class of its colour.
    key: str
    #: Where it begins, of 1000.
    x: int
    #: How long it is.
    width: int


@dataclass(frozen=True)
class HeatCell:
    """What a release does, in a sign of a few letters."""

    #: A number of cases that fail, or · of what passes.
    sign: str
    #: The class of its colour.
    key: str
    #: The same in words.
    title: str
    #: The page that tells more, '' for none.
    url: str = ""


@dataclass(frozen=True)
class Badge:
    """A picture of a few words, for pages elsewhere."""

    #: Where it is.
    url: str
    #: Who.
    left: str
    #: How many cases fail.
    right: str
    #: Its colour.
    colour: str

    @property
    def split(self) -> int:
        """Where the right part begins, in pixels."""
        return round(len(self.left) * _LETTER) + 14

    @property
    def width(self) -> int:
        """How wide it is, in pixels."""
        return self.split + round(len(self.right) * _LETTER) + 14

    @property
    def alt(self) -> str:
        """What it says, for who does not see it."""
        return f"{self.left}: {self.right}"


def bar_parts(statuses: Mapping[Status, int]) -> list[BarPart]:
    """Return the parts of a bar, the gravest first; each can be seen, however small it is."""
    counts = {one: statuses[one] for one in STATUSES if statuses.get(one)}
    total = sum(counts.values())
    room = _WHOLE - _LEAST * len(counts)
    parts, x = list[BarPart](), 0
    for status, count in counts.items():
        width = _LEAST + round(room * count / total)
        parts.append(BarPart(status.word, number(count), status.word.split()[0], x, width))
        x += width
    return parts


def heat_cells(one: SiteRuntime, rule: RuleKey) -> list[HeatCell]:
    """Return what each release does with the cases of a rule that any of them breaks."""
    return [_heat_cell(one, run, rule) for run in one.runs]


def with_mark(cells: Sequence[HeatCell], at: int) -> list[HeatCell]:
    """Return cells of which one is that of the page that they are on."""
    here = replace(cells[at], key=f"{cells[at].key} here")
    return [*cells[:at], here, *cells[at + 1 :]]


def _heat_cell(one: SiteRuntime, run: SiteRun, rule: RuleKey) -> HeatCell:
    url = page_of_finding(run.name, rule) if rule in run.findings else ""
    states = one.state(rule, run.name.release)
    if states or not url:
        judged = len(run.rules[rule].judged) if rule in run.rules else 0
        return state_cell(run.name.release, states, url, judged)
    failing = plural(len(run.rules[rule].failing), "case")
    said = f"{run.name.release}: {failing} fail, of other inputs than the newest release was asked"
    return HeatCell("≠", "none", said, url)


def state_cell(release: str, states: Mapping[str, str], url: str = "", judged: int = 0) -> HeatCell:
    """Return what a release does with some cases, given the state of each. It is the hotter the
    more of the cases fail that were `judged`, which may be others as well.
    """
    counts = Counter(states.values())
    if not states:
        return HeatCell("", "none", f"{release}: not asked, or with other inputs")
    said = ", ".join(
        f"{number(counts[state])} {words}" for state, words in _STATES.items() if counts[state]
    )
    title = f"{release}: of {plural(len(states), 'case')}, {said}"
    if failing := counts["fails"]:
        heat = -(-_HEATS * failing // max(judged, len(states)))
        return HeatCell(_short(failing), f"h{heat}", title, url)
    sign, key = next(_SIGNS[state] for state in _SIGNS if counts[state])
    return HeatCell(sign, key, title, url)


_STATES = {
    "fails": "fail", "otherwise": "fail otherwise or died", "passes": "pass",
    "lacks": "are lacking, or nothing is due",
}  # fmt: skip
_SIGNS = {"otherwise": ("~", "other"), "passes": ("·", "pass"), "lacks": ("–", "lacks")}


def _short(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.1f}k"


def cause_cells(one: SiteRuntime, cause: CauseHistory) -> list[HeatCell]:
    """Return in how many cases each release has a cause; where it has all of them, it is warm."""
    told = {run.name.release: cause_states(cause, run.name.release) for run in one.runs}
    return [state_cell(name, states, judged=2 * len(states)) for name, states in told.items()]


def cause_states(cause: CauseHistory, release: str) -> dict[str, str]:
    """Return the state of each case that has a cause in any release: the gravest of its rows."""
    order = ("fails", "otherwise", "passes", "lacks")
    found: dict[str, str] = {}
    for row in cause.rows:
        for name, state in row.states.get(Release(release), {}).items():
            found[name] = min(found.get(name, state), state, key=order.index)
    return found


# Badges --------------------------------------------------------------------------------------


def badge_of(url: str, left: str, statuses: Mapping[Status, int]) -> Badge:
    """Return a badge of some cases: how many fail of those that were judged, and what is lacking;
    no share, which would hide what is lacking.
    """
    counts = {one.word: count for one, count in statuses.items()}
    failing = sum(counts.get(word, 0) for word in _FAILING)
    unjudged = ("unsupported", "undefined", "error")
    judged = sum(counts.values()) - sum(counts.get(word, 0) for word in unjudged)
    lacking = counts.get("unsupported", 0)
    verb = "fails" if failing == 1 else "fail"
    said = f"{number(failing)} of {plural(judged, 'case')} {verb}" if judged else "nothing judged"
    if lacking:
        said += f", {number(lacking)} unsupported"
    return Badge(url, left, said, "#7a828b" if not judged else "#b3423a" if failing else "#3f7d52")
