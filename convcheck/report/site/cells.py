"""Draw counts and states for the site: bars, heat maps, badges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from convcheck.history.matrix import CauseHistory, RuleKey
from convcheck.history.releases import Release
from convcheck.judge.result import FAILURES
from convcheck.report.site.data import RuleFacts, SiteRun, SiteRuntime, cause_states
from convcheck.report.site.names import file_name, page_of_finding
from convcheck.report.status import BELOW, KNOWN, STATUSES, WAIVED, Status
from convcheck.streams import number, plural

_WHOLE, _LEAST = 1000, 5  # a bar's length, and its shortest part's
_HEATS = 5
_FAILING = {*FAILURES, *(one.word for one in (KNOWN, BELOW, WAIVED))} - {"error"}
_LETTER = 6.4  # pixels of a badge per letter


Drawn = dict[str, Any]  # the data of a template


def bar_parts(statuses: Mapping[Status, int]) -> list[Drawn]:
    """Return the parts of a bar, the worst first. Small parts stay visible."""
    counts = {one: statuses[one] for one in STATUSES if statuses.get(one)}
    total = sum(counts.values())
    room = _WHOLE - _LEAST * len(counts)
    parts, x = list[Drawn](), 0
    for status, count in counts.items():
        width = _LEAST + round(room * count / total)
        part = {"word": status.word, "count": number(count), "key": status.word.split()[0]}
        parts.append({**part, "x": x, "width": width})
        x += width
    return parts


@cache
def heat_cells(one: SiteRuntime, rule: RuleKey) -> list[Drawn]:
    """Return a cell per release for the cases of a rule that any release breaks."""
    row, cells = one.rules.get(rule), []
    for run in one.runs:
        facts, release = run.rules.get(rule, RuleFacts()), run.name.release
        states = row.states.get(Release(release), {}) if row else {}
        url = page_of_finding(run.name, rule) if facts.findings else ""
        if states or not url:
            cells.append(_state_cell(release, states, url, len(facts.judged)))
        else:
            failing = plural(len(facts.failing), "case")
            other = "of other inputs than the newest release was asked"
            cells.append(_cell("≠", "none", f"{release}: {failing} fail, {other}", url))
    return cells


def with_mark(cells: Sequence[Drawn], at: int) -> list[Drawn]:
    """Mark the cell of the current page."""
    return [c | {"key": f"{c['key']} here"} if i == at else c for i, c in enumerate(cells)]


def _cell(sign: str, key: str, title: str, url: str = "") -> Drawn:
    return {"sign": sign, "key": key, "title": title, "url": url}


def _state_cell(release: str, states: Mapping[str, str], url: str = "", judged: int = 0) -> Drawn:
    """Return a cell for a release's cases, given their states.

    The heat is the share of failing cases among `judged`, which can include other cases.
    """
    counts = Counter(states.values())
    if not states:
        return _cell("", "none", f"{release}: not asked, or with other inputs")
    said = ", ".join(
        f"{number(counts[state])} {words}" for state, words in _STATES.items() if counts[state]
    )
    title = f"{release}: of {plural(len(states), 'case')}, {said}"
    if failing := counts["fails"]:
        heat = -(-_HEATS * failing // max(judged, len(states)))
        return _cell(_short(failing), f"h{heat}", title, url)
    sign, key = next(_SIGNS[state] for state in _SIGNS if counts[state])
    return _cell(sign, key, title, url)


_STATES = {
    "fails": "fail", "otherwise": "fail otherwise or died", "passes": "pass",
    "lacks": "are lacking, or nothing is due",
}  # fmt: skip
_SIGNS = {"otherwise": ("~", "other"), "passes": ("·", "pass"), "lacks": ("–", "lacks")}


def _short(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.1f}k"


def cause_cells(one: SiteRuntime, cause: CauseHistory) -> list[Drawn]:
    """Return a cell per release with the number of cases that show a cause."""
    told = {run.name.release: cause_states(cause, run.name.release) for run in one.runs}
    return [_state_cell(name, states, judged=2 * len(states)) for name, states in told.items()]


def newest_cell(run: SiteRun, rule: RuleKey) -> Drawn:
    """Return how many cases of a rule fail in a release: 7 of 90."""
    facts = run.rules.get(rule)
    if facts is None:
        return {"said": "–", "key": "soft"}
    if facts.failing:
        of = f" of {number(len(facts.judged))}" if facts.judged else ""
        url = page_of_finding(run.name, rule)
        return {"said": f"{number(len(facts.failing))}{of}", "key": "bad", "url": url}
    if facts.judged:
        return {"said": number(len(facts.judged)), "key": "good"}
    return {"said": "free", "key": "free"}


# Badges --------------------------------------------------------------------------------------


def badges(run: SiteRun) -> Iterator[Drawn]:
    """Yield the badges of a release, in total and per standard."""
    name = file_name(run.name.runtime)
    yield _badge(f"badges/{name}.svg", str(run.name), run.total())
    for standard in run.standards:
        url = f"badges/{name}_{file_name(standard)}.svg"
        yield _badge(url, f"{run.name}, {standard}", run.total(standard))


def _badge(url: str, left: str, statuses: Mapping[Status, int]) -> Drawn:
    """Return a badge with failing, judged and unsupported cases.

    It shows no percentage, which would hide unsupported cases.
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
    split = round(len(left) * _LETTER) + 14  # start of the right part
    return {
        "url": url, "left": left, "right": said, "alt": f"{left}: {said}", "split": split,
        "width": split + round(len(said) * _LETTER) + 14,
        "colour": "#7a828b" if not judged else "#b3423a" if failing else "#3f7d52",
    }  # fmt: skip
