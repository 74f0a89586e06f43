"""How completely the cases of a run were asked, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.judge.result import RunResult
from convcheck.vectors.model import Coverage
from convcheck.wording import number, plural

#: Those that say most first.
_WORDS: dict[Coverage, str] = {
    "exhaustive": "exhaustively",
    "boundary-complete": "on every boundary",
    "sampled": "by samples",
    "edge": "by edge inputs",
    "partial": "in part",
}
_OWN = "by inputs of your own"


def covered_cases(result: RunResult) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the ways in which cases were asked, each with its cases, those that say most first."""
    for coverage, words in _WORDS.items():
        asked = (case for case in result.cases if case.checked and case.coverage == coverage)
        if ids := tuple(case.case.id for case in asked):
            yield _OWN if result.own_inputs else words, ids


def coverage_line(covered: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return how cases were asked: asked: 130 cases exhaustively, 5 by samples."""
    (words, ids), *others = covered
    counts = [f"{plural(len(ids), 'case')} {words}"]
    counts += (f"{number(len(ids))} {words}" for words, ids in others)
    return f"asked: {', '.join(counts)}"
