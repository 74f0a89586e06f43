"""`convcheck diff`, `show`, `site` and `history`."""

import contextlib
import gc
import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path

from convcheck import __version__, signals
from convcheck.backends.process.environment import SERVER
from convcheck.backends.protocol import GROUP, backend_names
from convcheck.causes.catalogue import causes_of
from convcheck.cli.asking import Asking, corpus_of_run, selected
from convcheck.cli.options import RunOptions, catalog
from convcheck.cli.outputs import Output, check_outputs, named, show, tracked
from convcheck.documents.decode import read, read_each
from convcheck.documents.encode import text
from convcheck.documents.report import json_text
from convcheck.errors import ConvcheckError, UnavailableError, UsageError
from convcheck.files import write_whole
from convcheck.history.environments import (
    NotInstalledError,
    Release,
    environments_folder,
    find_releases,
    made_environment,
    parse_wanted,
)
from convcheck.history.matrix import AskedRelease, bisect, history_of
from convcheck.judge.words import clean
from convcheck.plan.diff import diff_runs
from convcheck.plan.select import select, select_specs
from convcheck.plan.selection import Selection
from convcheck.report.draw.console import put
from convcheck.report.draw.diff import diff_page
from convcheck.report.draw.history import bisected_page, history_page
from convcheck.report.draw.listing import columns, library_rows, name_rows, spec_rows, type_rows
from convcheck.rules.causes import cause_files
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.rules.requirements import requirements_of
from convcheck.site.data import SiteRun, add_report, site_of
from convcheck.site.names import RunName
from convcheck.site.pages import check_folder, made_from, site_files, write_site
from convcheck.streams import meant, plural, say
from convcheck.vectors.model import Tier

WORSE = 1


def diff(old: str, new: str, fail: bool, outputs: tuple[Output, ...], verbose: bool) -> int:
    """Show the changes between two runs."""
    check_outputs(named(outputs), {"OLD": old, "NEW": new})
    types = catalog().types.types
    found = diff_runs(read(old, types), read(new, types))
    # nothing is cut in files
    texts = ((one.path, partial(json_text, found)) for one in outputs)
    show(lambda whole: diff_page(found, verbose or whole), *texts)
    return WORSE if fail and found.worse else 0


def show_command(
    what: str, selection: Selection, count: bool, tier: Tier, diff: bool, reports: tuple[str, ...]
) -> int:
    """Print a list, specs, changes between two specs, or a sentence."""
    if "#" in what:
        return _sentence(catalog(), what, reports)
    if reports:
        hint = "as reports print it: `convcheck show onnx.Cast-21#b0053c --report run.jsonl`"
        raise UsageError("--report goes with a sentence", hint=hint)
    if what == "backends":
        return _say(columns([[name, _state(name)] for name in backend_names()]))
    loaded = catalog()
    if what == "cases":
        cases = select(loaded, selection, tier)
        return _count(loaded, cases, tier) if count else _say(case.id for case in cases)
    if any((selection.sources, selection.targets, selection.where, selection.globs)):
        raise UsageError(f"no options select cases of {what}", hint="`convcheck show cases`")
    if what == "types":
        _say(columns(type_rows(list(loaded.types.types.values())), frozenset((1, 3))))
        _say(["", *columns(name_rows(loaded.types))])
        return _say(["", *columns(library_rows(loaded.types))])
    if what == "specs":
        specs = select_specs(loaded, selection.specs)
        return _say(columns(spec_rows(specs), frozenset((2, 3, 4))))
    return _pages(loaded, (what, *selection.specs), diff)


def _sentence(loaded: Catalog, name: str, reports: tuple[str, ...]) -> int:
    from convcheck.report.draw.sentence import citing, sentence_page
    from convcheck.vectors.corpus import open_corpus

    spec, _, mark = name.partition("#")
    runs = [run for path in reports for run in read_each(path, loaded.types.types)]
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    every = select(loaded, Selection((spec,)))
    counts, cases = citing(map(corpus.vectors, tracked(every, "vectors")), f"#{mark}")
    if not counts:
        hint = "reports print the id behind each sentence"
        raise UsageError(f"{spec} cites no sentence #{mark}", hint=hint)
    put(sentence_page(spec, f"#{mark}", counts, cases, runs))
    return 0


def _count(loaded: Catalog, cases: Sequence[Case], tier: Tier) -> int:
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    counts = {case.id: corpus.count(case) for case in cases}
    total = f"{sum(counts.values()):>9}  in {plural(len(cases), 'case')}"
    return _say([*(f"{number:>9}  {name}" for name, number in counts.items()), total])


def _pages(loaded: Catalog, names: Sequence[str], diff: bool) -> int:
    from convcheck.report.spec_page import page
    from convcheck.rules.types import diff as changes_between

    if diff and len(names) != 2:
        hint = "convcheck show --diff onnx.Cast-23 onnx.Cast-24"
        raise UsageError("`show --diff` takes 2 specs", hint=hint)
    chosen = [spec for name in names for spec in select_specs(loaded, [name])]
    if diff:
        old, new = chosen
        put(page.changes(old, new, changes_between(old, new, loaded.types)))
        return 0
    for spec in chosen:
        put(page.spec_page(spec, loaded.types))
    return 0


def _state(name: str) -> str:
    from convcheck.pool.local import introduced

    available = None
    try:
        with contextlib.suppress(ImportError):  # opening it gives a better message
            available = getattr(entry_points(group=GROUP)[name].load(), "available", None)
        return clean(str(available() if available else introduced(name).version))
    except ConvcheckError as error:
        why = clean(error.message.removeprefix(f"backend {name!r} is not available: "))
        return f"not available: {why}" + (f"; {error.hint}" if error.hint else "")
    except Exception as error:  # other packages raise anything
        return f"not available: {type(error).__name__}: {clean(str(error))}"


def _say(lines: Iterable[str]) -> int:
    for line in lines:
        say(line)
    return 0


def site(folder: str, reports: Sequence[str]) -> int:
    """Write static pages from reports."""
    if not reports:
        hint = "make one with: convcheck run --backend ort -o ort.jsonl"
        raise UsageError("no report is named", hint=hint)
    gc.disable()  # reports have no cycles, and the search for them costs half of the time
    target = Path(folder)
    check_folder(target)
    loaded, runs = catalog(), dict[RunName, SiteRun]()
    for path in tracked(dict.fromkeys(reports), "read", "report"):
        add_report(runs, path, loaded.types.types)
    sets = {name: one.members for name, one in requirements_of(loaded).items()}
    site = site_of([*runs.values()], sets)
    pages = len(site.rules) + sum(len(run.rules) + 1 for run in site.runs)  # roughly
    count, size = write_site(tracked(site_files(site), "write", "page", pages), target)
    said = f"{plural(count, 'file')}, {size / 1e6:,.1f} MB"
    say(f"{target / 'index.html'}: {made_from(site)}, {said}", err=True)
    return 0


NOTHING, INTERRUPTED = 3, 130


def history(
    releases: str,
    selection: Selection,
    folder: str | None,
    cause: str | None,
    jobs: int | None,
    timeout: float,
    outputs: tuple[Output, ...],
) -> int:
    """Run every release, or bisect them."""
    check_outputs(named(outputs))
    wanted, loaded = parse_wanted(releases), catalog()
    known = [one.name for one in causes_of(loaded)] if cause is not None else []
    if cause is not None and cause not in known:
        hint = meant(cause, known, "the history without --bisect names those that it finds")
        raise UsageError(f"there is no cause {cause!r}", hint=hint)
    options, cases = RunOptions(jobs, timeout), selected(loaded, selection, [wanted.runtime])
    asking = Asking(cases, corpus_of_run(loaded, options, cases), options)
    kept = environments_folder(folder)
    reports = kept / "reports" / _digest(loaded, asking)

    def ask(release: Release) -> AskedRelease:
        path = reports / f"{wanted.package}-{release.version}.json"
        if path.is_file():
            return AskedRelease(release, read(str(path), loaded.types.types))
        say(f"{wanted.package} {release}", err=True)
        try:
            python = made_environment(wanted, release, kept)
            run = asking.ask(f"env:{python}:{wanted.runtime}")
        except (NotInstalledError, UnavailableError) as error:
            return AskedRelease(release, None, str(error).replace("\n", "; "))
        if run.interrupted:
            raise KeyboardInterrupt
        write_whole(path, text(run).encode(), folders=True)
        return AskedRelease(release, run)

    found = find_releases(wanted)
    try:
        if not cause:
            asked = [ask(release) for release in found]
            say(f"{wanted}: {plural(len(asked), 'release')}, {plural(len(cases), 'case')}, "
                "edge inputs")  # fmt: skip
            return _tell(asked, reports, outputs)
        bisected = bisect(found, ask, cause)
        put(bisected_page(bisected, cause))
        return 0 if bisected.between else NOTHING
    except KeyboardInterrupt:
        signals.handled()
        say(f"the same command goes on from {reports}", err=True)
        return INTERRUPTED


def _digest(loaded: Catalog, asking: Asking) -> str:
    asked = [*map(str, asking.corpus.digests(asking.cases)), *(case.id for case in asking.cases)]
    causes = [file.text for file in cause_files(loaded)]
    text = "\n".join((__version__, SERVER.read_text("utf-8"), *asked, *causes))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _tell(asked: Sequence[AskedRelease], reports: Path, outputs: tuple[Output, ...]) -> int:
    found = history_of(asked)
    if not any(one.release.date for one in asked):
        say("the package index has no dates")
    texts = ((one.path, lambda: json_text(found.document, "causes")) for one in outputs)
    show(lambda whole: history_page(found), *texts)
    say(f"\nreports: {reports}")
    judged = {"pass", "tolerated", "fail", "refused", "crashed", "inconsistent"}
    if any(one.verdict in judged for run in found.runs.values() for one in run.cases):
        return 0
    say("nothing was judged", err=True)
    return NOTHING
