"""The inputs and expected results of a case, which all forms of an export share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from convcheck.emit.series import Series, plateaus_of, series_of
from convcheck.numerics.format import Numeric, Text
from convcheck.reproduce.emit.onnx import settled
from convcheck.rules.model import DEFAULT, Case, Spec
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Tier, Vectors, VectorSet


@dataclass(frozen=True)
class Suite:
    """The inputs and expected results of a case, in no form yet."""

    spec: Spec
    vectors: Vectors
    tier: Tier
    seed: int
    #: In suites for a language, the expected results of all inputs under each reading; else ().
    series: tuple[tuple[Series, ...], ...] = ()
    #: The number of vectors that the form leaves out.
    left_out: int = 0

    @property
    def case(self) -> Case:
        """The case."""
        return self.vectors.case

    @property
    def name(self) -> str:
        """The case's id as an identifier and file name."""
        return identifier(self.case.id)

    @property
    def rules(self) -> list[tuple[str, tuple[str, ...]]]:
        """The rules with the names of their readings. Rows of one rule share a reading."""
        return list(dict.fromkeys((row.rule, row.readings) for row in self.vectors.decisions))

    @property
    def types(self) -> list[tuple[str, Numeric]]:
        """The names and formats of the input and the output."""
        types = (self.case.inputs[0], self.case.outputs[0])
        return [(one.name, one.format) for one in types if not isinstance(one.format, Text)]

    @property
    def readings(self) -> Iterator[tuple[Iterator[tuple[int, ...]], tuple[Series, ...]]]:
        """The vectors under each reading, as input, row, pattern and code, and the series.

        A code is 0 if the pattern is not EXACT.
        """
        assert isinstance(self.vectors, VectorSet)  # noqa: S101 of numbers
        [inputs], expected = self.vectors.inputs, self.vectors.expected
        for i, due in enumerate(expected.readings):
            codes = np.where(due.patterns == EXACT, due.codes, 0)
            columns = (inputs, expected.rows, due.patterns, codes)
            vectors = zip(*(column.tolist() for column in columns), strict=True)
            yield vectors, self.series[i] if self.series else ()


def identifier(name: str) -> str:
    """Return a case's id as an identifier: onnx_Cast_21_float32_to_bfloat16."""
    return re.sub("[^A-Za-z0-9]", "_", name)


def why_left_out(case: Case) -> str:
    """Return why a case has no suite, or ''."""
    if case.whole_calls:
        return "its inputs are whole tensors, not single numbers"
    if any(isinstance(one.format, Text) for one in (*case.sources, *case.outputs)):
        return "it converts strings"
    if case.refusal:
        return "it may be refused, and a function cannot refuse"
    if any(value == DEFAULT for _, value in case.attributes):
        return "it leaves out an attribute, which a function cannot"
    return ""


def suite_of(corpus: Corpus, case: Case) -> Suite:
    """Return the suite of a case."""
    spec = corpus.catalog.specs[case.spec]
    return Suite(spec, corpus.vectors(case), corpus.tier, corpus.seed)


def settled_suite(corpus: Corpus, case: Case) -> Suite | None:
    """Return the vectors with one expected value, or None if there are none."""
    suite = suite_of(corpus, case)
    if (vectors := settled(suite.vectors)) is None:
        return None
    return replace(suite, vectors=vectors, left_out=len(suite.vectors) - len(vectors))


def with_series(corpus: Corpus, case: Case) -> Suite | None:
    """Return a suite for a language, with only the rows that decide a vector or a plateau.

    None if everything is undefined.
    """
    suite = suite_of(corpus, case)
    vectors = suite.vectors
    assert isinstance(vectors, VectorSet)  # noqa: S101 of numbers
    if all((r.patterns == UNDEFINED).all() for r in vectors.expected.readings):
        return None
    program, _ = corpus.conversion(case)
    (_, source), (_, target) = suite.types
    known = vectors.coverage == "exhaustive"  # vectors cover all inputs
    plateaus = None if known else plateaus_of(program, source, target)
    every = [vectors.expected, *([plateaus[1]] if plateaus else [])]
    used = {one.decisions[row] for one in every for row in np.unique(one.rows)}
    rows = tuple(one for one in dict.fromkeys(program.decisions) if one in used)
    if plateaus:
        firsts, expected = plateaus[0], _numbered(plateaus[1], rows)
        suite = replace(suite, series=series_of(firsts, expected, source, target))
    return replace(suite, vectors=replace(vectors, expected=_numbered(vectors.expected, rows)))


def _numbered(expected: Expected, rows: Sequence[Decision]) -> Expected:
    """Return expectations whose rows index the used ones."""
    numbers = {row: i for i, row in enumerate(rows)}
    own = np.array([numbers.get(row, 0) for row in expected.decisions], np.int16)
    return replace(expected, rows=own[expected.rows], decisions=tuple(rows))
