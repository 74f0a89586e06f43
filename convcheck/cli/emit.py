"""`convcheck emit`: write suites for the repository where a kernel lives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from convcheck.emit.suite import Suite
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case

LANGUAGES = ("c", "cuda", "hip", "rust")
EXAMPLE = """\b
Examples:
  convcheck emit onnx.Cast-21 --from float32 --to bfloat16 --lang c --out conformance
  convcheck emit onnx.Cast-21 --from float32 --to float8 --where saturate=1 --lang rust \\
    --out suites
"""


@click.command("emit", epilog=EXAMPLE)
@selection_options
@click.option(
    "--lang", type=click.Choice(LANGUAGES), required=True,
    help="The language of the kernel.",
)  # fmt: skip
@click.option("--out", metavar="DIR", required=True, help="The folder to write to.")
@progress_option
@specs
def command(selection: Selection, lang: str, out: str, specs: tuple[str, ...]) -> int:
    """Write suites for the repository where a kernel lives: source files that need nothing else.

    A suite is the vectors of one case, what is due, and the rule with its sentence, which is
    printed where an answer is wrong. A macro of C, CUDA or HIP, or a trait of Rust plugs a function
    in. The folder must be new, be empty, or hold earlier suites in the same language, which are
    replaced. What has no suite is left out and counted on stderr: strings, operators that are asked
    in whole calls, cases that leave an attribute out or may be refused, and cases of which nothing
    is defined. Exit codes: 0, or 2 for bad input.
    """
    loaded = catalog(specs)
    folder = Path(out)
    suites = _suites(loaded, _cases(loaded, selection))
    _write(_files(suites, lang), folder, f"suite-{lang}")
    say(f"in {folder}: {plural(len(suites), 'suite')}", err=True)
    return 0


def _files(suites: Sequence[Suite], lang: str) -> list[tuple[str, bytes]]:
    from convcheck.emit.languages import MAKERS

    return [*MAKERS[lang](suites)]


def _cases(loaded: Catalog, selection: Selection) -> Sequence[Case]:
    """Return the selected cases that have suites, and say which have none."""
    from convcheck.emit.suite import why_left_out
    from convcheck.plan.select import select

    found = list({case.id: case for case in select(loaded, selection)}.values())
    reasons = {case.id: why_left_out(case) for case in found}
    kept = [case for case in found if not reasons[case.id]]
    if not kept:
        first = found[0].id
        raise UsageError(
            f"none of the cases has a suite; {first}: {reasons[first]}",
            hint="one number in, one number out: onnx.Cast-21 --from float32 --to bfloat16",
        )
    for reason, count in Counter(filter(None, reasons.values())).items():
        say(f"left out: {plural(count, 'case')}, {reason}", err=True)
    return kept


def _suites(loaded: Catalog, cases: Sequence[Case]) -> list[Suite]:
    from convcheck.emit.suite import suite_of
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    corpus.check(cases)
    suites = []
    with progress(len(cases), "emit") as advance:
        for case in cases:
            suites.append(suite_of(corpus, case))
            advance()
    found = [suite for suite in suites if suite is not None]
    if not found:
        said = f"none of the cases has a suite; {cases[0].id}: nothing is defined"
        raise UsageError(said, hint="`convcheck survey` shows what backends do there")
    if len(found) < len(cases):
        number = plural(len(cases) - len(found), "case")
        say(f"left out: {number}, nothing is defined", err=True)
    return found


def _write(files: Sequence[tuple[str, bytes]], folder: Path, form: str) -> None:
    """Write files to a folder, none over a file that is not of earlier suites."""
    from convcheck.vectors.export.folder import check, write_export

    before = check(folder, form)
    for name, content in files:
        path = folder / name
        if name not in before and path.exists() and path.read_bytes() != content:
            said = f"{path} is there already, and no suite of convcheck's"
            raise UsageError(said, hint="move it, or give another folder")
    write_export(files, folder, form)
    gone = before - {name for name, _ in files}
    if gone:
        say(f"removed: {', '.join(sorted(gone))}", err=True)
