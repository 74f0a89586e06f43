"""Build the files of a site.

Pages work without scripts and network, escape foreign texts, and forbid foreign scripts and styles.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from convcheck import __version__
from convcheck.errors import SystemLimitError, UsageError
from convcheck.files import LIMITS, MOST_OF_REPORT, read_text
from convcheck.history.environments import Release
from convcheck.history.matrix import RuleKey
from convcheck.report.draw.history import cause_in_words
from convcheck.report.findings import cited_lines
from convcheck.report.html import with_colours
from convcheck.site.data import (
    Drawn,
    Site,
    SiteRun,
    SiteRuntime,
    badges,
    bar_parts,
    cause_cells,
    heat_cells,
    newest_cell,
    page_of_finding,
    page_of_rule,
    page_of_runtime,
    rule_of_row,
    with_mark,
)
from convcheck.streams import number, plural

TEMPLATES = Path(__file__).with_name("templates")
_FEW = 6  # specs named in a remark
_HOME = ("Overview", "index.html")

SiteFile = tuple[str, bytes]  # path with slashes, and content


def made_from(site: Site) -> str:
    """Return the number of reports in words."""
    return plural(sum(len(run.files) for run in site.runs), "report")


def site_files(site: Site) -> Iterator[SiteFile]:
    """Yield all files."""
    yield _page(site, "index.html", "index.html", "convcheck", causes=list(_causes(site)))
    for one in site.runtimes:
        yield _page(
            site, page_of_runtime(one.name), "runtime.html", one.name, _HOME,
            one=one, remarks=list(_remarks(one)),
            badges=list(badges(one.newest, site.requirements)),
        )  # fmt: skip
        for run in one.runs:
            for rule in one.broken:
                if rule in run.rules and run.rules[rule].findings:
                    yield _finding(site, one, run, rule)
        for badge in badges(one.newest, site.requirements):
            yield badge["url"], _filled("badge.svg", badge=badge)
    for rule in site.rules:
        yield _rule(site, rule)
    yield "site.js", (TEMPLATES / "site.js").read_bytes()
    yield "site.css", with_colours((TEMPLATES / "site.css").read_text("utf-8")).encode()


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.globals |= {
        "convcheck": __version__, "page_of_finding": page_of_finding, "page_of_rule": page_of_rule,
        "page_of_runtime": page_of_runtime, "bar_parts": bar_parts, "newest_cell": newest_cell,
        "heat_cells": heat_cells, "cause_cells": cause_cells, "plural": plural,
        "said": cause_in_words,
    }  # fmt: skip
    return made


def _filled(template: str, /, **content: Any) -> bytes:
    text = _environment().get_template(template).render(**content)
    return text.encode("utf-8", "backslashreplace")


def _page(
    site: Site, url: str, template: str, title: str, /, *trail: tuple[str, str], **content: Any
) -> SiteFile:
    about = {"site": site, "made_from": made_from(site), "root": "../" * url.count("/")}
    return url, _filled(template, **about, title=title, trail=trail, **content)


def _causes(site: Site) -> Iterator[tuple[str, str, str]]:
    for sides in site.causes:
        now = [
            f"{site.runtime(name).newest.name}: {plural(count, 'case')}"
            for name, cause in sides.items()
            if (count := site.runtime(name).failing_now(cause))
        ]
        yield cause_in_words(next(iter(sides.values()))), ", ".join(now), ", ".join(sides)


def _remarks(one: SiteRuntime) -> Iterator[str]:
    yield from (f"{run.name.release}: {said}" for run in one.runs for said in run.remarks)
    if one.apart:
        few = ", ".join(one.apart[:_FEW]) + (" …" if len(one.apart) > _FEW else "")
        yield f"asked with other inputs than the newest release, and so not compared: {few}"


def _finding(site: Site, one: SiteRuntime, run: SiteRun, rule: RuleKey) -> SiteFile:
    return _page(
        site, page_of_finding(run.name, rule), "finding.html", f"{rule.rule}, {run.name}", _HOME,
        (one.name, page_of_runtime(one.name)),
        one=one, run=run, rule=rule, causes=list(_causes_of_finding(one, run, rule)),
        cells=with_mark(heat_cells(one, rule), one.runs.index(run)),
    )  # fmt: skip


def _causes_of_finding(one: SiteRuntime, run: SiteRun, rule: RuleKey) -> Iterator[tuple[str, str]]:
    mine, release = run.rules[rule].failing, Release(run.name.release)
    for cause in one.history.causes:
        cases: set[str] = set()
        for row in cause.rows:
            told = rule_of_row(row.key)
            if told.rule == rule.rule and told.place in (rule.place, ""):
                states = row.states.get(release, {})
                cases |= {name for name, state in states.items() if state == "fails"} & mine
        if cases:
            yield plural(len(cases), "case"), cause_in_words(cause)


def _rule(site: Site, rule: RuleKey) -> SiteFile:
    breakers = [one for one in site.runtimes if rule in one.broken]
    newest = [one for one in site.runtimes if rule in one.newest.rules and one not in breakers]
    return _page(
        site, page_of_rule(rule), "rule.html", f"{rule.rule}, {rule.place}", _HOME,
        rule=rule, lead=_lead(site, rule), articles=list(_articles(site, rule)), breakers=breakers,
        keepers=[one for one in newest if one.newest.rules[rule].judged],
    )  # fmt: skip


def _lead(site: Site, rule: RuleKey) -> str:
    newest = [one.newest for one in site.runtimes if rule in one.newest.rules]
    bad = [str(run.name) for run in newest if run.rules[rule].failing]
    good = [run for run in newest if run.rules[rule].judged and not run.rules[rule].failing]
    if bad or good:
        said = f"broken by {', '.join(bad)}" if bad else "broken by no newest release"
        return f"{rule.place}; {said}" + (f", kept by {number(len(good))}" if good else "")
    if any(run.rules[rule].undefined for run in newest):
        return f"{rule.place}; nothing is due under it in the cases that were asked"
    return f"{rule.place}; no newest release was judged by it"


def _articles(site: Site, rule: RuleKey) -> Iterator[Drawn]:
    found: dict[tuple[str, ...], list[Drawn]] = {}
    seen: set[str] = set()
    newest = [one.newest for one in site.runtimes if rule in one.newest.rules]
    for run in (run for one in site.runtimes for run in one.runs[::-1] if rule in run.rules):
        for row, by in run.rules[rule].rows.items():
            if row not in seen:
                seen.add(row)
                rows = ((str(run.name), run.rules[rule].broken) for run in newest)
                counts = {name: len(having.get(row, ())) for name, having in rows}
                broken = [f"{name}: {plural(n, 'case')}" for name, n in counts.items() if n]
                told = {"by": by, "broken": ", ".join(broken)}
                found.setdefault(cited_lines(by), []).append(told)
    yield from ({"cited": cited, "rows": rows} for cited, rows in found.items())


MARK = "convcheck-site.json"
_HINT = "give a new or an empty folder, or that of an earlier site"


def check_folder(folder: Path) -> None:
    """Raise UsageError unless a folder is new, empty, or an earlier site."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint=_HINT)
    inside = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if not one.is_dir()}
    if MARK not in inside:
        if any(folder.iterdir()):
            said = f"{folder} is not empty, and holds no earlier site"
            raise UsageError(said, hint=_HINT)
        return
    if others := sorted(inside - _listed(folder) - {MARK}):
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        said = f"{folder} holds a file that is of no site of convcheck's: {others[0]}{more}"
        raise UsageError(said, hint="move it, or give another folder")


def _listed(folder: Path) -> set[str]:
    try:
        said = json.loads(read_text(folder / MARK, MOST_OF_REPORT))
        return set(map(str, said["files"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        hint = "remove the folder, or give another"
        raise UsageError(f"{folder / MARK} is damaged", hint=hint) from None


def write_site(files: Iterable[tuple[str, bytes]], folder: Path) -> tuple[int, int]:
    """Write (name, content) pairs atomically. Return the number of files and bytes.

    Raises UsageError if the folder cannot be written, and like `check_folder`.
    """
    target = folder.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.with_name(f".{target.name}-{secrets.token_hex(6)}")
        made.mkdir()
        try:
            sizes = _fill(made, files)
            check_folder(target)  # it could have changed
            _put(made, target)
            return len(sizes), sum(sizes)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        said = f"cannot write {folder}: {error.strerror or error}"
        if error.errno in LIMITS:
            raise SystemLimitError(said, hint="is the device full?") from error
        hint = "give a folder inside one that can be written to"
        raise UsageError(said, hint=hint) from error


def _fill(made: Path, files: Iterable[tuple[str, bytes]]) -> list[int]:
    sizes: dict[str, int] = {}
    for name, content in files:
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        sizes[name] = len(content)
    head = {"convcheck-site": 1, "files": sorted(sizes)}
    (made / MARK).write_text(json.dumps(head, indent=1) + "\n", "utf-8")
    return [*sizes.values()]


def _put(made: Path, target: Path) -> None:
    if not target.exists():
        os.rename(made, target)
        return
    before = target.with_name(f"{made.name}-before")
    os.rename(target, before)
    try:
        os.rename(made, target)
    except BaseException:
        os.rename(before, target)
        raise
    shutil.rmtree(before, ignore_errors=True)
