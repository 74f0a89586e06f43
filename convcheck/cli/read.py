"""`convcheck diff`, `show`, `site` and `history`."""

import contextlib
import gc
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
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
from convcheck.errors import ConvcheckError, Place, UnavailableError, UsageError
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
from convcheck.judge.result import FAILURES, RunResult
from convcheck.judge.words import cited, clean
from convcheck.numerics.format import Float, Format, Opaque
from convcheck.numerics.format import Text as TextFormat
from convcheck.numerics.words import spell_fraction
from convcheck.plan.diff import diff_runs
from convcheck.plan.select import select, select_specs
from convcheck.plan.selection import Selection
from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.report.draw.console import put
from convcheck.report.draw.diff import diff_page
from convcheck.report.draw.history import bisected_page, history_page
from convcheck.rules.cases import cases
from convcheck.rules.causes import cause_files
from convcheck.rules.find import compact_names, ids_of
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case, DType, Spec
from convcheck.rules.requirements import requirements_of
from convcheck.rules.types import GRAPHS, LIBRARIES, Types
from convcheck.semantics.expected import Decision, Quotation
from convcheck.site.data import RunName, SiteRun, add_report, site_of
from convcheck.site.pages import check_folder, made_from, site_files, write_site
from convcheck.streams import meant, plural, say
from convcheck.vectors.model import CallSet, Tier, VectorSet

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
        return _say(_columns([[name, _state(name)] for name in backend_names()]))
    loaded = catalog()
    if what == "cases":
        cases = select(loaded, selection, tier)
        return _count(loaded, cases, tier) if count else _say(case.id for case in cases)
    if any((selection.sources, selection.targets, selection.where, selection.globs)):
        raise UsageError(f"no options select cases of {what}", hint="`convcheck show cases`")
    if what == "types":
        _say(_columns(_type_rows(list(loaded.types.types.values())), frozenset((1, 3))))
        _say(["", *_columns(_name_rows(loaded.types))])
        return _say(["", *_columns(_library_rows(loaded.types))])
    if what == "specs":
        specs = select_specs(loaded, selection.specs)
        return _say(_columns(_spec_rows(specs), frozenset((2, 3, 4))))
    return _pages(loaded, (what, *selection.specs), diff)


def _sentence(loaded: Catalog, name: str, reports: tuple[str, ...]) -> int:
    from convcheck.vectors.corpus import open_corpus

    spec, _, mark = name.partition("#")
    runs = [run for path in reports for run in read_each(path, loaded.types.types)]
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    every = select(loaded, Selection((spec,)))
    counts, cases = _citing(map(corpus.vectors, tracked(every, "vectors")), f"#{mark}")
    if not counts:
        hint = "reports print the id behind each sentence"
        raise UsageError(f"{spec} cites no sentence #{mark}", hint=hint)
    put(_sentence_page(spec, f"#{mark}", counts, cases, runs))
    return 0


def _count(loaded: Catalog, cases: Sequence[Case], tier: Tier) -> int:
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    counts = {case.id: corpus.count(case) for case in cases}
    total = f"{sum(counts.values()):>9}  in {plural(len(cases), 'case')}"
    return _say([*(f"{number:>9}  {name}" for name, number in counts.items()), total])


def _pages(loaded: Catalog, names: Sequence[str], diff: bool) -> int:
    from convcheck.report.draw import spec as page
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


def _columns(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (w.rjust(width) if i in right else w.ljust(width) for i, (w, width) in cells)
        yield "  ".join(padded).rstrip()


def _spec_rows(specs: Sequence[Spec]) -> list[list[str]]:
    rows = [["spec", "body", "types", "rules", "cases", "extends"]]
    for spec in specs:
        types = {t.name for listed in spec.types.values() for t in listed}
        counts = [len(types), len(spec.rules), len([*cases(spec)])]
        rows.append([spec.id, spec.body.name, *map(str, counts), spec.extends or "-"])
    return rows


def _type_rows(types: Sequence[DType]) -> list[list[str]]:
    head = ["type", "bits", "s/e/m", "bias", "range", "smallest", "has"]
    return [head, *([t.name, *_facts(t.format)] for t in types)]


def _name_rows(types: Types) -> list[list[str]]:
    rows = [["type", *GRAPHS, "families"]]
    for dtype in types.types.values():
        names = [dtype.name_in(runtime) or "-" for runtime in GRAPHS]
        families = [name for name, members in types.sets.items() if dtype.name in members]
        rows.append([dtype.name, *names, ",".join(families) or "-"])
    return rows


def _library_rows(types: Types) -> list[list[str]]:
    rows = [["type", *LIBRARIES]]
    for dtype in types.types.values():
        names = [dtype.name_in(library) for library in LIBRARIES]
        if any(names):
            rows.append([dtype.name, *(name or "-" for name in names)])
    return rows


def _facts(fmt: Format) -> list[str]:
    if isinstance(fmt, TextFormat | Opaque):
        return [str(fmt.bits) if isinstance(fmt, Opaque) else "-", *["-"] * 5]
    low, high = _brief(fmt.min), _brief(fmt.max)
    span = f"±{high}" if fmt.min == -fmt.max else f"{low}…{high}"
    if not isinstance(fmt, Float):
        return [str(fmt.bits), "-", "-", span, "-", "-"]
    layout = f"{int(fmt.signed)}/{fmt.exponent}/{fmt.mantissa}"
    has = {"inf": fmt.infinity, "nan": fmt.nan != "none", "-0": fmt.negative_zero}
    words = ",".join(word for word, there in has.items() if there) or "-"
    smallest = _brief(fmt.value(1 if fmt.zero else 0))
    return [str(fmt.bits), layout, str(fmt.bias), span, smallest, words]


def _brief(value: Fraction) -> str:
    if value.denominator == 1 and abs(value) < 10**6:
        return str(value)
    for beside, said in ((0, ""), (1, "-1")):
        power = abs(value) + beside
        if (
            power.numerator & (power.numerator - 1) == 0
            and power.denominator & (power.denominator - 1) == 0
        ):
            exponent = power.numerator.bit_length() - power.denominator.bit_length()
            return f"{'-' if value < 0 else ''}2^{exponent}{said}"
    return spell_fraction(value, 6).lstrip("~")


_CASES = 6  # lines of case names


def _citing(
    every: Iterable[VectorSet | CallSet], sentence: str
) -> tuple[dict[Decision, int], list[Case]]:
    counts, cases = dict[Decision, int](), list[Case]()
    for vectors in every:
        rows = Counter(vectors.rows.tolist())
        mine = {by: rows[row] for row, by in enumerate(vectors.decisions) if _cites(by, sentence)}
        for by, count in mine.items():
            counts[by] = counts.get(by, 0) + count
        cases += [vectors.case] if any(mine.values()) else []
    return counts, cases


def _cites(by: Decision, sentence: str) -> Quotation | None:
    return next((one for one in by.sentences if one.id == sentence), None)


def _sentence_page(
    name: str,
    sentence: str,
    counts: dict[Decision, int],
    cases: Sequence[Case],
    runs: Sequence[RunResult],
) -> Iterator[Block]:
    quoted = next(filter(None, (_cites(by, sentence) for by in counts)))
    yield Text(f"{name}{sentence}", "bold")
    yield field("text", cited(quoted.text), "italic")
    yield field("", f"— {quoted.document}")
    levels = dict.fromkeys(by.level for by in counts)
    yield field("level", ", ".join(levels))
    for i, (row, by) in enumerate({by.name: by for by in counts}.items()):
        yield field("" if i else "rules", row, right=[(str(by.place), "dim")])
    yield field("vectors", f"{sum(counts.values()):,} in {plural(len(cases), 'case')}")
    yield from _names([case.id for case in cases])
    for run in runs:
        yield BLANK
        yield from _of_run(run, sentence)


def _of_run(run: RunResult, sentence: str) -> Iterator[Block]:
    groups = [
        (result.case, group)
        for result in run.cases
        for group in result.groups
        if _cites(group.decision, sentence)
    ]
    wrong = [(case, group) for case, group in groups if group.verdict in FAILURES]
    cases = {case.id for case, _ in groups}
    verdicts = {group.verdict for _, group in groups}
    broken = dict.fromkeys(case.id for case, _ in wrong)
    if broken:
        said = f"breaks it in {len(broken)} of {plural(len(cases), 'case')}"
    elif "tolerated" in verdicts:
        said = "follows a reading of it"
    else:
        said = "keeps it" if "pass" in verdicts else "was not judged by it"
    yield Text(f"{clean(run.backend.name)} {clean(run.backend.version)}: {said}", "bold")
    findings = Counter(group.finding for _, group in wrong if group.finding)
    if findings:
        yield field("findings", ", ".join(findings))
    yield from _names(broken)


def _names(ids: Collection[str]) -> Iterator[Block]:
    names = compact_names(ids)[:_CASES]
    yield from (field("", one) for one in names)
    listed = sum(len(ids_of(one, Place("", 0))) for one in names)
    if listed < len(ids):
        yield field("", f"and {plural(len(ids) - listed, 'case')} more")
