"""The backend `answers:FILE`: answers, one per line, to the exported inputs of a case."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from convcheck.cli.early import ANSWERS
from convcheck.cli.options import RunOptions
from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_file, read_within
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.judge.case import judge
from convcheck.judge.result import BackendInfo, RunResult
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.export.text import read_answers
from convcheck.vectors.model import VectorSet
from convcheck.wording import plural


def answered_run(
    address: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions
) -> RunResult:
    """Judge the answers in a file. Raises UsageError if they are not those to one case."""
    path = address.removeprefix(ANSWERS)
    if not path:
        raise UsageError("which file of answers?", hint="answers:FILE, or answers:- for stdin")
    if len(cases) != 1:
        hint = f"run {cases[0].id}, or another one"
        raise UsageError(f"{path} has answers to one case, not to {len(cases):,}", hint=hint)
    [case] = cases
    if case.whole_calls:
        said = f"{case.id} has no text form: the question is a whole call, not one input per line"
        raise UsageError(said, hint="`convcheck export --as json` writes it")
    notes = corpus.check(cases)
    vectors = corpus.vectors(case)
    assert isinstance(vectors, VectorSet)  # noqa: S101 no whole call
    file = "stdin" if path == "-" else path
    got, refused = read_answers(_read(path, file), file, case.outputs[0].format)
    if len(got) != len(vectors):
        raise UsageError(
            f"{plural(len(got), 'answer')}, but {case.id} has {plural(len(vectors), 'input')} "
            f"in the {corpus.tier} tier with seed {corpus.seed}",
            place=Place(file, min(len(got), len(vectors)) + (len(got) > len(vectors))),
            hint="write one line for each line read; give the --tier and --seed of the export",
        )
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    said_of = {int(i): "the program answered: refused" for i in np.flatnonzero(refused)}
    judged = judge(vectors, Answers(got, state, said_of))
    backend = BackendInfo("answers", f"from {file}", address=address)
    digests = corpus.digests(cases)
    return RunResult(
        backend, corpus.tier, options.level, digests, (judged,), notes, without_causes=True
    )


def _read(path: str, file: str) -> bytes:
    try:
        if path != "-":
            return read_file(Path(path), MOST_OF_LIST)
        if sys.stdin is None:  # it was closed by whoever started this
            raise OSError("it is closed")
        return read_within(sys.stdin.buffer, MOST_OF_LIST)
    except OSError as error:
        said = f"cannot read {file}: {error.strerror or error}"
        raise UsageError(said, hint="answers:FILE, or answers:- for stdin") from None
