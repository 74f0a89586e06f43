"""The built-in specs, loaded once per process, with cached programs and calls."""

from functools import cache

from convcheck.rules.load import data_dir, load
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import (
    ANY_NAN,
    ANY_ZERO,
    UNDEFINED,
)
from convcheck.vectors.corpus import open_corpus

CATALOG = load()


@cache
def compiled(case):
    return compile_case(CATALOG.specs[case.spec], case)


def element(due, i):
    """Return an expected element: its code, or the oracles' word for its pattern."""
    return WORDS.get(int(due.patterns[i]), int(due.codes[i]))


def unlike(found, due):
    """Return a mask of elements whose row, code or pattern differs."""
    wrong = found.rows != due.rows
    for one, other in zip(found.readings, due.readings, strict=True):
        wrong |= (one.codes != other.codes) | (one.patterns != other.patterns)
    return wrong


#: Pattern -> the oracles' word.
WORDS = {UNDEFINED: "undefined", ANY_NAN: "nan", ANY_ZERO: "zero"}
CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))


@cache
def calls_asked(case):
    assert CORPUS.stored(case)
    return CORPUS.vectors(case)
