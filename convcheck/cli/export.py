"""`convcheck export`: write a case's vectors for other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.streams import say

if TYPE_CHECKING:
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Vectors

TEXT, JSON, SAFETENSORS, ONNX = FORMS = ("text", "json", "safetensors", "onnx-backend")
_ENDINGS = {TEXT: "txt", SAFETENSORS: "safetensors"}
EXAMPLE = """\b
Examples:
  convcheck export onnx.Cast-21/float32-to-float8e4m3fn/saturate=1 --format text | ./mine \\
    | convcheck verify onnx.Cast-21/float32-to-float8e4m3fn/saturate=1 -
  convcheck export onnx.Range-11/float32-float32-float32 --format json
  convcheck export onnx.Cast-21 --to float8 --format safetensors --out /tmp/float8
  convcheck export onnx.Cast-21 --format onnx-backend --out /tmp/conversions/cast
"""


@click.command("export", epilog=EXAMPLE)
@selection_options
@click.option(
    "--format", "form", type=click.Choice(FORMS), required=True,
    help="text: an input per line, in hex; json: the vector file; safetensors: raw bit patterns in "
    "bulk; onnx-backend: tests in the layout of ONNX's own.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR|FILE",
    help="Where to write: a folder, or for one case a file, or - for stdout (the default for text "
    "and json).",
)  # fmt: skip
@click.option(
    "--tier", type=click.Choice(["edge", "boundary", "exhaustive"]), default="edge",
    show_default=True, help="Which inputs, as in `convcheck run`.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True,
    help="Seed of the random part of the inputs.",
)  # fmt: skip
@progress_option
@specs
def command(
    selection: Selection,
    form: str,
    out: str | None,
    tier: str,
    seed: int,
    specs: tuple[str, ...],
) -> int:
    """Write the vectors of cases for other tools.

    SPEC may be a glob, or the id of one case. The folder must be new, be empty, or hold an earlier
    export in the same format; each file is written whole or not at all. What a format cannot hold
    is left out and counted on stderr: safetensors holds no strings; text holds no operator that is
    asked in whole calls; an ONNX test holds only elements with one expected value (or any NaN), not
    those that are undefined or disputed. Exit codes: 0, or 2 for bad input.
    """
    loaded = catalog(specs)
    export = _Export(loaded, _cases(loaded, selection), form, tier, seed)
    if _is_one(export, out):
        check_outputs({"--out": out})
        _write_one(export, out)
    elif out in (None, "-"):
        from convcheck.wording import plural

        said = f"which folder? {form} of {plural(len(export.cases), 'case')} cannot go to stdout"
        raise UsageError(said, hint="--out DIR")
    else:
        _write_folder(export, Path(str(out)))
    return 0


@dataclass(frozen=True)
class _Export:
    """The cases to write, and how."""

    catalog: Catalog
    cases: Sequence[Case]
    form: str
    tier: str
    seed: int

    def corpus(self, cases: Sequence[Case]) -> Corpus:
        """Open the vectors of some cases."""
        from typing import cast

        from convcheck.rules.load import data_dir
        from convcheck.vectors.corpus import open_corpus
        from convcheck.vectors.model import Tier

        found = open_corpus(self.catalog, cast(Tier, self.tier), self.seed, data_dir("vectors"))
        found.check(cases)
        return found

    def why_not(self, case: Case) -> str:
        """Return why a case has no such form, '' if it has."""
        from convcheck.vectors.export.safetensors import can_hold

        if self.form == TEXT and case.whole_calls:
            return "the question is a whole call, not one input per line"
        if self.form == SAFETENSORS and not can_hold(case):
            return "it has texts"
        if self.form == ONNX:
            from convcheck.backends.onnx.model import cannot_ask

            declined = cannot_ask(case)
            return declined.message if declined else ""
        return ""

    def content(self, vectors: Vectors) -> bytes:
        """Return the file of a case in any form but that of ONNX, which has several."""
        from convcheck.vectors.export import safetensors, text
        from convcheck.vectors.model import CallSet
        from convcheck.vectors.store.write import body, header
        from convcheck.vectors.store.write_calls import body_of_calls

        spec = self.catalog.specs[vectors.case.spec]
        if self.form == SAFETENSORS:
            return safetensors.content(spec, vectors, self.tier, self.seed)
        if self.form == JSON:
            rest = body_of_calls((vectors,)) if isinstance(vectors, CallSet) else body(vectors)
            return (header(spec, self.seed, vectors) + rest).encode()
        assert not isinstance(vectors, CallSet)  # noqa: S101 a whole call has no text form
        return "".join(f"{line}\n" for line in text.lines(vectors)).encode()


def _cases(loaded: Catalog, chosen: Selection) -> Sequence[Case]:
    """Select by patterns, and by the ids of cases, which have a slash."""
    from convcheck.plan.select import select
    from convcheck.records import replace
    from convcheck.rules.find import find_case

    ids = [p for p in chosen.specs if "/" in p]
    if not ids:
        return select(loaded, chosen)
    rest = replace(chosen, specs=tuple(p for p in chosen.specs if p not in ids))
    if rest.sources or rest.targets or rest.where or rest.globs:
        raise UsageError(f"{ids[0]} is a case", hint="leave out the options that select cases")
    found = [find_case(loaded, name, None, None, ()) for name in ids]
    found += select(loaded, rest) if rest.specs else []
    return list({case.id: case for case in found}.values())


def _is_one(export: _Export, out: str | None) -> bool:
    """Return whether one file is wanted: of one case, in a form that is one file, to no folder."""
    if len(export.cases) > 1 or export.form == ONNX:
        return False
    if out in (None, "-"):
        return export.form != SAFETENSORS
    return not (str(out).endswith("/") or Path(str(out)).is_dir())


def _write_one(export: _Export, out: str | None) -> None:
    from convcheck.files import write_text, write_whole

    [case] = export.cases
    if why_not := export.why_not(case):
        raise UsageError(f"{case.id} has no {export.form} form: {why_not}", hint="--format json")
    made = export.content(export.corpus([case]).vectors(case))
    if export.form == SAFETENSORS:
        write_whole(Path(str(out)), made)
    else:
        write_text(made.decode(), out or "-")


# A folder ------------------------------------------------------------------------------------


def _write_folder(export: _Export, path: Path) -> None:
    from convcheck.vectors.export import folder
    from convcheck.wording import plural

    folder.check(path, export.form)
    reasons = {case.id: export.why_not(case) for case in export.cases}
    kept = [case for case in export.cases if not reasons[case.id]]
    if not kept:
        first, reason = next(iter(reasons.items()))
        said = f"none of the cases has a form in {export.form}; {first}: {reason}"
        raise UsageError(said, hint="--format json holds every case")
    counts = Counter(skipped=len(export.cases) - len(kept))
    with progress(len(kept), f"export as {export.form}") as advance:
        files = _vector_files if export.form == JSON else _files
        folder.write_export(files(export, kept, counts, advance), path, export.form)
    said = f"in {path}: {plural(counts['case'], 'case')}, {plural(counts['vector'], 'vector')}"
    if skipped := counts["skipped"]:
        said += f"; skipped, no {export.form} form: {plural(skipped, 'case')}"
    if left := counts["left out"]:
        said += f"; left out, without one expected value: {plural(left, 'vector')}"
    say(said, err=True)


def _files(
    export: _Export, cases: Sequence[Case], counts: Counter[str], done: Callable[[], None]
) -> Iterator[tuple[str, bytes]]:
    corpus = export.corpus(cases)
    for case in cases:
        vectors = corpus.vectors(case)
        if export.form == ONNX:
            yield from _test(vectors, counts)
        else:
            counts.update(case=1, vector=len(vectors))
            yield f"{case.id}.{_ENDINGS[export.form]}", export.content(vectors)
        done()


def _vector_files(
    export: _Export, cases: Sequence[Case], counts: Counter[str], done: Callable[[], None]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a vectors folder: what versions have in common is there once."""
    from convcheck.vectors.store.write import Files

    corpus = export.corpus(cases)

    def of(spec: str) -> Iterator[Vectors]:
        for case in cases:
            if case.spec == spec:
                yield corpus.vectors(case)
                counts["case"] += 1
                done()

    names = dict.fromkeys(case.spec for case in cases)
    files = Files(((export.catalog.specs[n], of(n)) for n in names), export.tier, export.seed)
    yield from ((name, text.encode()) for name, text in files)
    counts["vector"] = files.vectors


def _test(vectors: Vectors, counts: Counter[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an ONNX test; none, and the case counts as skipped, if nothing is
    settled, or a runtime may refuse it.
    """
    from convcheck.backends.onnx.node_tests import test_files
    from convcheck.emit.exact import data_sets
    from convcheck.judge.refusals import is_accepted

    sets, settled = data_sets(vectors)
    if is_accepted(vectors.case) or not sets:
        counts["skipped"] += 1
        return
    counts.update({"case": 1, "vector": settled, "left out": len(vectors) - settled})
    yield from test_files(vectors.case, sets)
