"""`convcheck verify`: judge the answers of a program, a line each."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.files import MOST_OF_LIST, read_file, read_within
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.judge.result import CaseResult, RunResult
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

FAILED, NOTHING_JUDGED = 1, 3
EXAMPLE = """\b
Examples:
  convcheck export onnx.Cast-21/float32-to-bfloat16 --format text > inputs.txt
  ./mine < inputs.txt > answers.txt
  convcheck verify onnx.Cast-21/float32-to-bfloat16 answers.txt
  convcheck export onnx.Cast-21/int32-to-int8 --format text | ./mine \\
    | convcheck verify onnx.Cast-21/int32-to-int8 -
"""


@click.command("verify", epilog=EXAMPLE)
@click.argument("name", metavar="CASE")
@click.argument("path", metavar="FILE", default="-")
@click.option(
    "--tier",
    type=click.Choice(["edge", "boundary", "exhaustive"]),
    default="edge",
    show_default=True,
    help="The tier that was exported.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The seed that was exported.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - for stdout.")
@click.option("--quiet", "-q", is_flag=True, help="Show only the verdict and what is wrong.")
@progress_option
@specs
def command(
    name: str,
    path: str,
    tier: str,
    seed: int,
    json_path: str | None,
    quiet: bool,
    specs: tuple[str, ...],
) -> int:
    """Judge a program's answers, one per line, to what `convcheck export --format text` wrote.

    FILE, or - for stdin, has an answer for each input, in order: hex as wide as the output's type,
    a JSON string for a string output, or the word `refused`. Exit codes: 0 everything judged
    passed, 1 a failure, 2 bad input, 3 nothing was judged.
    """
    from convcheck.rules.find import find_case

    check_outputs({"--json": json_path}, {"the answers": path})
    loaded = catalog(specs)
    case = find_case(loaded, name, None, None, ())
    if case.whole_calls:
        raise UsageError(
            f"{case.id} has no text form: the question is a whole call, not one input per line",
            hint="`convcheck run --backend` asks it; `convcheck export --format json` writes it",
        )
    corpus = _corpus(loaded, tier, seed)
    notes = corpus.check([case])
    with progress(1, case.id):
        judged = _judged(corpus, case, _read(path), "stdin" if path == "-" else path)
    return _report(_run(corpus, case, judged, path, notes), json_path, quiet)


def _corpus(loaded: Catalog, tier: str, seed: int) -> Corpus:
    from typing import cast

    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus
    from convcheck.vectors.model import Tier

    return open_corpus(loaded, cast(Tier, tier), seed, data_dir("vectors"))


def _read(path: str) -> bytes:
    name = "stdin" if path == "-" else path
    try:
        if path == "-" and sys.stdin is None:  # it was closed by whoever started this
            raise OSError("it is closed")
        if path == "-":
            return read_within(sys.stdin.buffer, MOST_OF_LIST)
        return read_file(Path(path), MOST_OF_LIST)
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or error}", hint="FILE, or - for stdin"
        ) from None


def _judged(corpus: Corpus, case: Case, data: bytes, file: str) -> CaseResult:
    import numpy as np

    from convcheck.errors import Place
    from convcheck.judge.answers import ANSWERED, REFUSED, Answers
    from convcheck.judge.case import judge
    from convcheck.vectors.export.text import read_answers
    from convcheck.vectors.model import VectorSet

    vectors = corpus.vectors(case)
    assert isinstance(vectors, VectorSet)  # noqa: S101 no whole call
    got, refused = read_answers(data, file, case.outputs[0].format)
    if len(got) != len(vectors):
        raise UsageError(
            f"{plural(len(got), 'answer')}, but {case.id} has {plural(len(vectors), 'input')} "
            f"in the {corpus.tier} tier with seed {corpus.seed}",
            place=Place(file, min(len(got), len(vectors)) + (len(got) > len(vectors))),
            hint="write one line for each line read; give the --tier and --seed of the export",
        )
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    said = {int(i): "the program answered: refused" for i in np.flatnonzero(refused)}
    return judge(vectors, Answers(got, state, said))


def _run(
    corpus: Corpus, case: Case, judged: CaseResult, path: str, notes: tuple[str, ...]
) -> RunResult:
    from convcheck.judge.result import BackendInfo, RunResult

    backend = BackendInfo("answers", "from stdin" if path == "-" else f"from {path}")
    return RunResult(backend, corpus.tier, "disputed", corpus.digests([case]), (judged,), notes)


def _report(result: RunResult, json_path: str | None, quiet: bool) -> int:
    from convcheck.report.document import Document
    from convcheck.report.draw.terminal import report_page
    from convcheck.report.json.encode import text

    page = report_page(Document(result), verbose=False, quiet=quiet)
    show(page, (json_path, partial(text, result)))
    return {"fail": FAILED, "nothing": NOTHING_JUDGED}.get(result.outcome, 0)
