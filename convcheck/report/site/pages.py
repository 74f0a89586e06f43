"""Build the files of a site.

Pages work without scripts and network. Templates escape the texts of specs and runtimes, and pages
forbid scripts and styles other than the site's files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from convcheck import __version__
from convcheck.history.matrix import CauseHistory, RuleKey
from convcheck.history.releases import Release
from convcheck.judge.result import Names
from convcheck.report.causes import said_of
from convcheck.report.findings import cited_lines
from convcheck.report.html import with_colours
from convcheck.report.site.cells import (
    Drawn,
    badge_of,
    bar_parts,
    cause_cells,
    cause_states,
    heat_cells,
    with_mark,
)
from convcheck.report.site.model import Site, SiteRuntime
from convcheck.report.site.names import (
    file_name,
    page_of_finding,
    page_of_rule,
    page_of_runtime,
    rule_of_row,
)
from convcheck.report.site.runs import CASES, RANGES, RuleFacts, SiteRun, all_statuses
from convcheck.wording import number, plural

TEMPLATES = Path(__file__).with_name("templates")
_FEW = 6  # specs named in a remark
_UNEXPLAINED = "no cause is known"

SiteFile = tuple[str, bytes]  # path with slashes, and content


@dataclass(frozen=True)
class Pages:
    """The pages of a site."""

    site: Site

    @cached_property
    def made_from(self) -> str:
        """Return the number of reports in words."""
        return plural(sum(len(r.files) for one in self.site.runtimes for r in one.runs), "report")

    @cached_property
    def _cells(self) -> Mapping[tuple[str, RuleKey], list[Drawn]]:
        """Return the heat map of each broken rule, by runtime and rule."""
        runtimes = self.site.runtimes
        return {
            (one.name, rule): heat_cells(one, rule)
            for one in runtimes
            for rule in rules_broken(one)
        }

    @cached_property
    def _environment(self) -> Environment:
        return Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        )  # fmt: skip

    def files(self) -> Iterator[SiteFile]:
        """Yield all files."""
        yield self._index()
        for one in self.site.runtimes:
            yield self._runtime(one)
            for run in one.runs:
                yield from (self._finding(one, run, rule) for rule in run.findings)
            for badge in badges(one):
                yield badge["url"], self._filled("badge.svg", badge=badge)
        for rule in self.site.rules:
            yield self._rule(rule)
        yield "site.js", (TEMPLATES / "site.js").read_bytes()
        yield "site.css", with_colours((TEMPLATES / "site.css").read_text("utf-8")).encode()

    @property
    def count(self) -> int:
        """Return the approximate number of files."""
        runs = [run for one in self.site.runtimes for run in one.runs]
        return sum(len(run.findings) for run in runs) + len(self.site.rules) + len(runs)

    def _filled(self, template: str, /, **content: Any) -> bytes:
        text = self._environment.get_template(template).render(convcheck=__version__, **content)
        return text.encode("utf-8", "backslashreplace")

    def _page(self, url: str, template: str, title: str, /, **content: Any) -> SiteFile:
        given = {"trail": (), "root": "../" * url.count("/"), "title": title}
        return url, self._filled(template, **(given | content), made_from=self.made_from)

    # The overview ----------------------------------------------------------------------------

    def _index(self) -> SiteFile:
        homes = [(home, [self._rule_line(rule) for rule in rules])
                 for home, rules in groupby(self.site.rules, lambda rule: rule.place)]  # fmt: skip
        return self._page(
            "index.html", "index.html", "convcheck",
            standards=self.site.standards, runtimes=[self._overview(r) for r in self.site.runtimes],
            causes=[self._cause_line(names) for names in self.site.causes],
            homes=homes, names=[str(one.newest.name) for one in self.site.runtimes],
        )  # fmt: skip

    def _overview(self, one: SiteRuntime) -> Drawn:
        cells = []
        for standard in self.site.standards:
            specs = [f for spec, f in one.newest.specs.items() if spec.startswith(f"{standard}.")]
            statuses = all_statuses(specs)
            total = plural(sum(statuses.values()), "case")
            parts = bar_parts(statuses)
            cells.append({"standard": standard, "parts": parts, "total": total})
        return {
            "name": one.name, "release": one.newest.name.release, "releases": len(one.runs),
            "url": page_of_runtime(one.name), "cells": cells,
        }  # fmt: skip

    def _rule_line(self, rule: RuleKey) -> Drawn:
        cells = [_newest_cell(one.newest, rule) for one in self.site.runtimes]
        return {"name": rule.rule, "url": page_of_rule(rule), "cells": cells}

    def _cause_line(self, names: Names) -> dict[str, str]:
        sides = self.site.causes[names]
        now = [
            f"{self.site.runtime(runtime).newest.name}: {plural(count, 'case')}"
            for runtime, cause in sides.items()
            if (count := _failing_now(self.site.runtime(runtime), cause))
        ]
        return {"says": _said(next(iter(sides.values()))), "now": ", ".join(now),
                "ever": ", ".join(sides)}  # fmt: skip

    # Runtimes --------------------------------------------------------------------------------

    def _runtime(self, one: SiteRuntime) -> SiteFile:
        rows = [
            {"name": rule.rule, "url": page_of_rule(rule), "cells": self._cells[one.name, rule]}
            for rule in sorted(rules_broken(one), key=lambda rule: (rule.place, rule.rule))
        ]
        decided = {rule for run in one.runs for rule, facts in run.rules.items() if facts.judged}
        kept = sorted(decided - rules_broken(one), key=lambda rule: (rule.place, rule.rule))
        return self._page(
            page_of_runtime(one.name), "runtime.html", one.name,
            trail=[("Overview", "index.html")], name=one.name, newest=str(one.newest.name),
            version=one.newest.version, remarks=list(_remarks(one)),
            releases=[run.name.release or "?" for run in one.runs], specs=_specs(one.newest),
            rows=rows,
            kept=[{"name": r.rule, "home": r.place, "url": page_of_rule(r)} for r in kept],
            causes=[_cause_of_runtime(one, cause) for cause in one.history.causes],
            badges=list(badges(one)),
        )  # fmt: skip

    # Findings --------------------------------------------------------------------------------

    def _finding(self, one: SiteRuntime, run: SiteRun, rule: RuleKey) -> SiteFile:
        url = page_of_finding(run.name, rule)
        return self._page(
            url, "finding.html", f"{rule.rule}, {run.name}",
            trail=[("Overview", "index.html"), (one.name, page_of_runtime(one.name))],
            name=rule.rule, home=rule.place, rule_url=page_of_rule(rule), run=str(run.name),
            runtime=one.name, runtime_url=page_of_runtime(one.name),
            id=url.rpartition("/")[2].removesuffix(".html"), findings=run.findings[rule],
            most_cases=CASES, most_ranges=RANGES,
            cells=with_mark(self._cells[one.name, rule], one.runs.index(run)),
            story=one.stories.get(rule, ()),
            causes=list(_causes_of_finding(one, run, rule)),
        )  # fmt: skip

    # Rules -----------------------------------------------------------------------------------

    def _rule(self, rule: RuleKey) -> SiteFile:
        breakers = [one for one in self.site.runtimes if rule in rules_broken(one)]
        facts = [run.rules[rule] for one in self.site.runtimes for run in one.runs[::-1]
                 if rule in run.rules]  # fmt: skip
        others = [one for one in self.site.runtimes if one not in breakers]
        keepers = [
            {"name": str(one.newest.name), "url": page_of_runtime(one.name), "said": said}
            for one in others if (said := _kept(one.newest, rule))
        ]  # fmt: skip
        return self._page(
            page_of_rule(rule), "rule.html", f"{rule.rule}, {rule.place}",
            trail=[("Overview", "index.html")], name=rule.rule,
            lead=_lead(rule, [one.newest for one in self.site.runtimes]),
            breakers=[_breaker(one, rule, self._cells[one.name, rule]) for one in breakers],
            keepers=keepers,
            articles=list(_articles(facts, partial(_broken_by, self.site, rule))),
        )  # fmt: skip


def badges(one: SiteRuntime) -> Iterator[Drawn]:
    """Yield the badges of a runtime's newest release, in total and per standard."""
    run, name = one.newest, file_name(one.name)
    yield badge_of(f"badges/{name}.svg", str(run.name), all_statuses([*run.specs.values()]))
    for standard in dict.fromkeys(spec.partition(".")[0] for spec in run.specs):
        specs = [facts for spec, facts in run.specs.items() if spec.startswith(f"{standard}.")]
        url = f"badges/{name}_{file_name(standard)}.svg"
        yield badge_of(url, f"{run.name}, {standard}", all_statuses(specs))


def rules_broken(one: SiteRuntime) -> set[RuleKey]:
    """Return the rules that any release breaks."""
    return {rule for run in one.runs for rule in run.findings}


def _said(cause: CauseHistory) -> str:
    return said_of(cause.causes) or _UNEXPLAINED


def _failing_now(one: SiteRuntime, cause: CauseHistory) -> int:
    return [*cause_states(cause, one.newest.name.release).values()].count("fails")


def _newest_cell(run: SiteRun, rule: RuleKey) -> dict[str, str]:
    """Return how many cases of a rule fail in the newest release: 7 of 90."""
    facts = run.rules.get(rule)
    if facts is None:
        return {"said": "–", "key": "soft", "url": ""}
    if facts.failing:
        of = f" of {number(len(facts.judged))}" if facts.judged else ""
        said = f"{number(len(facts.failing))}{of}"
        return {"said": said, "key": "bad", "url": page_of_finding(run.name, rule)}
    if facts.judged:
        return {"said": number(len(facts.judged)), "key": "good", "url": ""}
    return {"said": "free", "key": "free", "url": ""}


def _specs(run: SiteRun) -> list[Drawn]:
    return [
        {
            "name": spec, "tier": facts.vectors[0], "parts": bar_parts(facts.statuses),
            "total": plural(sum(facts.statuses.values()), "case"),
        }
        for spec, facts in run.specs.items()
    ]  # fmt: skip


def _remarks(one: SiteRuntime) -> Iterator[str]:
    yield from (f"{run.name.release}: {said}" for run in one.runs for said in run.remarks)
    if one.apart:
        few = ", ".join(one.apart[:_FEW]) + (" …" if len(one.apart) > _FEW else "")
        yield f"asked with other inputs than the newest release, and so not compared: {few}"


def _cause_of_runtime(one: SiteRuntime, cause: CauseHistory) -> Drawn:
    count, newest = _failing_now(one, cause), one.newest.name.release
    now = f"{plural(count, 'case')} in {newest}" if count else f"not in {newest}"
    return {"says": _said(cause), "cells": cause_cells(one, cause), "now": now}


def _causes_of_finding(one: SiteRuntime, run: SiteRun, rule: RuleKey) -> Iterator[dict[str, str]]:
    """Yield the causes of a rule's failures in a release, with case counts."""
    mine, release = run.rules[rule].failing, Release(run.name.release)
    for cause in one.history.causes:
        cases: set[str] = set()
        for row in cause.rows:
            told = rule_of_row(row.key)
            if told.rule == rule.rule and told.place in (rule.place, ""):
                states = row.states.get(release, {})
                cases |= {name for name, state in states.items() if state == "fails"} & mine
        if cases:
            yield {"count": plural(len(cases), "case"), "says": _said(cause)}


# Parts of a rule's page ----------------------------------------------------------------------


def _lead(rule: RuleKey, newest: Iterable[SiteRun]) -> str:
    """Return which newest releases break a rule."""
    runs = [run for run in newest if rule in run.rules]
    bad = [str(run.name) for run in runs if run.rules[rule].failing]
    good = [run for run in runs if run.rules[rule].judged and not run.rules[rule].failing]
    if not bad and not good:
        free = any(run.rules[rule].undefined for run in runs)
        said = "nothing is due under it in the cases that were asked" if free else \
            "no newest release was judged by it"  # fmt: skip
        return f"{rule.place}; {said}"
    said = f"broken by {', '.join(bad)}" if bad else "broken by no newest release"
    return f"{rule.place}; {said}" + (f", kept by {number(len(good))}" if good else "")


def _kept(run: SiteRun, rule: RuleKey) -> str:
    facts = run.rules.get(rule)
    return plural(len(facts.judged), "case") if facts and facts.judged else ""


def _breaker(one: SiteRuntime, rule: RuleKey, cells: Sequence[Drawn]) -> Drawn:
    facts, newest = one.newest.rules.get(rule), one.newest.name
    now = f"not in {newest.release}"
    if facts and facts.failing:
        now = f"{plural(len(facts.failing), 'case')} in {newest.release}"
    return {
        "name": one.name, "url": page_of_runtime(one.name), "now": now,
        "cells": cells, "story": one.stories.get(rule, ()),
    }  # fmt: skip


def _articles(facts: Iterable[RuleFacts], broken_by: Callable[[str], str]) -> Iterator[Drawn]:
    """Yield the rows of a rule, grouped by quoted sentences."""
    found: dict[tuple[str, ...], Drawn] = {}
    seen: set[str] = set()
    for one in facts:
        for row, by in one.rows.items():
            if row not in seen:
                seen.add(row)
                told = {"row": row, "level": by.level, "place": str(by.place)}
                cited = cited_lines(by)
                article = found.setdefault(cited, {"rows": [], "cited": cited})
                article["rows"].append(told | {"broken": broken_by(row)})
    yield from found.values()


def _broken_by(site: Site, rule: RuleKey, row: str) -> str:
    counts = {
        str(one.newest.name): len(one.newest.rules[rule].broken.get(row, ()))
        for one in site.runtimes if rule in one.newest.rules
    }  # fmt: skip
    return ", ".join(f"{name}: {plural(n, 'case')}" for name, n in counts.items() if n)
