"""`convcheck export`: write a case's vectors for other tools."""

from __future__ import annotations

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
    from convcheck.numerics.codes import Bits
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case, Spec
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Vectors

TEXT, JSON, SAFETENSORS, ONNX = FORMS = ("text", "json", "safetensors", "onnx-backend")
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
    cases = _cases(loaded, selection)
    asked = _Asked(loaded, cases, form, tier, seed)
    if _is_one(asked, out):
        check_outputs({"--out": out})
        _write_one(asked, out)
    elif out in (None, "-"):
        from convcheck.wording import plural

        said = f"which folder? {form} of {plural(len(cases), 'case')} cannot go to stdout"
        raise UsageError(said, hint="--out DIR")
    else:
        _write_folder(asked, Path(str(out)))
    return 0


@dataclass(frozen=True)
class _Asked:
    """What is to be written."""

    catalog: Catalog
    cases: Sequence[Case]
    form: str
    tier: str
    seed: int

    def corpus(self) -> Corpus:
        from typing import cast

        from convcheck.rules.load import data_dir
        from convcheck.vectors.corpus import open_corpus
        from convcheck.vectors.model import Tier

        return open_corpus(self.catalog, cast(Tier, self.tier), self.seed, data_dir("vectors"))

    def spec(self, case: Case) -> Spec:
        return self.catalog.specs[case.spec]


def _cases(loaded: Catalog, chosen: Selection) -> Sequence[Case]:
    """Select by patterns, and by the ids of cases, which have a slash."""
    from dataclasses import replace

    from convcheck.plan.select import select
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


def _is_one(asked: _Asked, out: str | None) -> bool:
    """Return whether one file is wanted: of one case, in a form that is one file, to no folder."""
    if len(asked.cases) > 1 or asked.form == ONNX:
        return False
    if out in (None, "-"):
        return asked.form != SAFETENSORS
    return not (str(out).endswith("/") or Path(str(out)).is_dir())


def _write_one(asked: _Asked, out: str | None) -> None:
    from convcheck.files import write_text, write_whole

    corpus, [case] = asked.corpus(), asked.cases
    why_not = _why_not(asked, case)
    if why_not:
        raise UsageError(f"{case.id} has no {asked.form} form: {why_not}", hint="--format json")
    corpus.check([case])
    made = _content(asked, case, corpus.vectors(case))
    if asked.form == SAFETENSORS:
        write_whole(Path(str(out)), made)
    else:
        write_text(made.decode(), out or "-")


def _why_not(asked: _Asked, case: Case) -> str:
    """Return why a case has no such form, '' where it has."""
    from convcheck.vectors.export.safetensors import can_hold

    if asked.form == TEXT and case.whole_calls:
        return "the question is a whole call, not one input per line"
    if asked.form == SAFETENSORS and not can_hold(case):
        return "it has texts"
    if asked.form == ONNX:
        from convcheck.backends.onnx.model import cannot_ask

        declined = cannot_ask(case)
        return declined.message if declined else ""
    return ""


def _content(asked: _Asked, case: Case, vectors: Vectors) -> bytes:
    from convcheck.vectors.export import json, safetensors, text
    from convcheck.vectors.model import VectorSet

    spec = asked.spec(case)
    if asked.form == SAFETENSORS:
        return safetensors.content(spec, vectors, asked.tier, asked.seed)
    if asked.form == JSON:
        return json.vector_file_text(spec, vectors, asked.seed).encode()
    assert isinstance(vectors, VectorSet)  # noqa: S101 a whole call has no text form
    return "".join(f"{line}\n" for line in text.lines(vectors)).encode()


# A folder ------------------------------------------------------------------------------------


def _write_folder(asked: _Asked, path: Path) -> None:
    from convcheck.vectors.export import folder

    folder.check(path, asked.form)
    corpus = asked.corpus()
    reasons = {case.id: _why_not(asked, case) for case in asked.cases}
    kept = [case for case in asked.cases if not reasons[case.id]]
    if not kept:
        first = asked.cases[0].id
        said = f"none of the cases has a form in {asked.form}; {first}: {reasons[first]}"
        raise UsageError(said, hint="--format json holds every case")
    corpus.check(kept)
    counts = _Counts(len(asked.cases) - len(kept))
    with progress(len(kept), f"export as {asked.form}") as advance:
        files = _files(asked, corpus, kept, counts, lambda: advance())
        folder.write_export(files, path, asked.form)
    say(counts.said(asked.form, path), err=True)


@dataclass
class _Counts:
    """What was written, and what not."""

    skipped: int  # cases
    cases: int = 0
    vectors: int = 0
    left_out: int = 0  # vectors

    def said(self, form: str, folder: Path) -> str:
        from convcheck.wording import plural

        parts = [f"in {folder}: {plural(self.cases, 'case')}, {plural(self.vectors, 'vector')}"]
        if self.skipped:
            parts.append(f"skipped, no {form} form: {plural(self.skipped, 'case')}")
        if self.left_out:
            left = plural(self.left_out, "vector")
            parts.append(f"left out, without one expected value: {left}")
        return "; ".join(parts)


def _files(
    asked: _Asked, corpus: Corpus, cases: Sequence[Case], counts: _Counts, done: Callable[[], None]
) -> Iterator[tuple[str, bytes]]:
    if asked.form == JSON:
        yield from _vector_files(asked, corpus, cases, counts, done)
        return
    ending = {TEXT: "txt", SAFETENSORS: "safetensors"}.get(asked.form, "")
    for case in cases:
        vectors = corpus.vectors(case)
        if asked.form == ONNX:
            yield from _test(case, vectors, counts)
        else:
            counts.cases, counts.vectors = counts.cases + 1, counts.vectors + len(vectors)
            yield f"{case.id}.{ending}", _content(asked, case, vectors)
        done()


def _vector_files(
    asked: _Asked, corpus: Corpus, cases: Sequence[Case], counts: _Counts, done: Callable[[], None]
) -> Iterator[tuple[str, bytes]]:
    """Return the files of a vectors folder: what versions have in common is there once."""
    from convcheck.vectors.store.write import Files

    def of(spec: str) -> Iterator[Vectors]:
        for case in cases:
            if case.spec == spec:
                yield corpus.vectors(case)
                counts.cases += 1
                done()

    names = dict.fromkeys(case.spec for case in cases)
    files = Files(((asked.catalog.specs[n], of(n)) for n in names), asked.tier, asked.seed)
    yield from ((name, text.encode()) for name, text in files)
    counts.vectors = files.vectors


def _test(case: Case, vectors: Vectors, counts: _Counts) -> Iterator[tuple[str, bytes]]:
    """Return the files of an ONNX test; none, and the case counts as skipped, where nothing is
    settled, or a runtime may refuse it.
    """
    from convcheck.backends.onnx.node_tests import test_files
    from convcheck.judge.refusals import is_accepted

    sets, asked = _data_sets(vectors)
    if is_accepted(case) or not sets:
        counts.skipped += 1
        return
    counts.cases, counts.vectors = counts.cases + 1, counts.vectors + asked
    counts.left_out += len(vectors) - asked
    yield from test_files(case, sets)


def _data_sets(vectors: Vectors) -> tuple[list[tuple[Sequence[Bits], Sequence[Bits]]], int]:
    """Return data sets of what is settled, and how many vectors that is."""
    import numpy as np

    from convcheck.ask.elements import inputs_at
    from convcheck.vectors.export import exact
    from convcheck.vectors.model import CallSet

    if isinstance(vectors, CallSet):
        both = zip(vectors.calls, map(exact.outputs_of, vectors.expected), strict=True)
        sets = [(call, outputs) for call, outputs in both if outputs is not None]
        return list(sets), len(sets)
    index = np.flatnonzero(exact.settled(vectors))
    if not len(index):
        return [], 0
    first, fmt = vectors.expected.readings[0], vectors.case.outputs[0].format
    outputs = exact.due(fmt, first.codes[index], first.patterns[index])
    return [(inputs_at(vectors, index), [outputs])], len(index)
