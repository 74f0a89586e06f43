"""`convcheck show`: specs, types, backends and cases, and the rule tables of specs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points

from convcheck.backends.protocol import GROUP, backend_names
from convcheck.cli.options import catalog
from convcheck.errors import ConvcheckError, UsageError
from convcheck.judge.words import clean
from convcheck.plan.select import select, select_specs
from convcheck.plan.selection import Selection
from convcheck.report.draw.listing import columns, library_rows, name_rows, spec_rows, type_rows
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.streams import plural, say


def main(what: str, selection: Selection, count: bool, tier: str, diff: bool) -> int:
    """Print a list, the tables of specs, or the changes between two specs."""
    if what == "backends":
        return _say(columns([[name, _state(name)] for name in backend_names()]))
    loaded = catalog()
    if what == "cases":
        cases = select(loaded, selection)
        return _count(loaded, cases, tier) if count else _say(case.id for case in cases)
    if any((selection.sources, selection.targets, selection.where, selection.globs)):
        raise UsageError(f"no options select cases of {what}", hint="`convcheck show cases`")
    if what == "types":
        return _types(loaded)
    if what == "specs":
        specs = select_specs(loaded, selection.specs)
        return _say(columns(spec_rows(specs), frozenset((2, 3, 4))))
    return _pages(loaded, (what, *selection.specs), diff)


def _types(loaded: Catalog) -> int:
    _say(columns(type_rows(list(loaded.types.types.values())), frozenset((1, 3))))
    _say(["", *columns(name_rows(loaded.types))])
    return _say(["", *columns(library_rows(loaded.types))])


def _count(loaded: Catalog, cases: Sequence[Case], tier: str) -> int:
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))  # type: ignore[arg-type]
    counts = {case.id: corpus.count(case) for case in cases}
    total = f"{sum(counts.values()):>9}  in {plural(len(cases), 'case')}"
    return _say([*(f"{number:>9}  {name}" for name, number in counts.items()), total])


def _pages(loaded: Catalog, names: Sequence[str], diff: bool) -> int:
    from convcheck.report.draw.console import put
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
    try:
        return clean(_version(name))
    except ConvcheckError as error:
        why = clean(error.message.removeprefix(f"backend {name!r} is not available: "))
        return f"not available: {why}" + (f"; {error.hint}" if error.hint else "")
    except Exception as error:  # other packages raise anything
        return f"not available: {type(error).__name__}: {clean(str(error))}"


def _version(name: str) -> str:
    """Return a backend's version. Open it only if it has no `available`."""
    from convcheck.pool.local import introduced

    available = None
    with contextlib.suppress(ImportError):  # opening it gives a better message
        available = getattr(entry_points(group=GROUP)[name].load(), "available", None)
    return str(available() if available else introduced(name).version)


def _say(lines: Iterable[str]) -> int:
    for line in lines:
        say(line)
    return 0
