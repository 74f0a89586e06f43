"""The inputs and expected results of a case, which all forms of an export share."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Numeric, Text
from convcheck.numerics.number import Codes
from convcheck.reproduce.emit.onnx import settled
from convcheck.rules.model import DEFAULT, Case, Spec
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import changes_of, joined, lookup
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Tier, Vectors, VectorSet

NARROW, WIDEST = 16, 32  # bits of sources evaluated whole, and with series
_MOST = 6  # period of plateaus: value and both sides, of odd and even codes
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Series:
    """Consecutive plateaus that alternate in a few kinds.

    Each kind is a number of inputs, the index of the deciding row, an index into PATTERNS and the
    first expected code, 0 if the pattern is not EXACT.
    """

    first: int
    count: int  # of plateaus
    step: int  # the rise of codes per period, modulo the width
    turns: list[list[int]]


def plateaus_of(
    program: Program, source: Numeric, target: Numeric
) -> tuple[Codes, Expected] | None:
    """Return the first codes of all plateaus with expected results, if known."""
    if source.bits <= NARROW:
        codes = np.arange(1 << source.bits, dtype=np.uint64)
        return codes, run_conversion(program, source, target, codes.astype(source.storage))
    if source.bits > WIDEST or not isinstance(source, Float):
        return None
    by_code = lookup(program, source, target)
    changes = [changes_of(by_code, part, 1 << NARROW) for part in by_code.parts]
    known = [each for each in changes if each is not None]
    return joined(by_code.expected, np.concatenate(known)) if len(known) == len(changes) else None


def series_of(
    firsts: Codes, expected: Expected, source: Numeric, target: Numeric
) -> tuple[tuple[Series, ...], ...]:
    """Return the expected results of all codes under each reading."""
    bits = target.storage.itemsize * 8 if target.bits == 1 else target.bits
    return tuple(
        tuple(_series(firsts, expected.rows, reading, 1 << source.bits, bits))
        for reading in expected.readings
    )


def _series(firsts: Codes, rows: Ints, reading: Reading, end: int, bits: int) -> Iterator[Series]:
    codes = np.where(reading.patterns == EXACT, reading.codes, 0).astype(np.uint64)
    facts: list[Ints] = [rows, reading.patterns, codes]
    change = np.ones(len(firsts), bool)
    change[1:] = np.any([fact[1:] != fact[:-1] for fact in facts], axis=0)
    starts = firsts[change].astype(np.int64)
    lengths, count = np.diff(starts, append=end), len(starts)
    facts = [lengths, *(fact[change] for fact in facts)]
    kinds = np.stack([fact.astype(np.uint64) for fact in facts], axis=1)
    codes = kinds[:, 3]
    periods = range(1, _MOST + 1)
    steps = [(codes[k:] - codes[:-k]) & np.uint64((1 << bits) - 1) for k in periods]
    ends = [_ends(kinds[:, :3], k, step) for k, step in zip(periods, steps, strict=True)]
    at = 0
    while at < count:
        k, last = max(enumerate((each[at] for each in ends), 1), key=lambda pair: pair[1])
        stop = int(last)
        step = int(steps[k - 1][at]) if stop - at > k else 0
        yield Series(int(starts[at]), stop - at, step, kinds[at : min(at + k, stop)].tolist())
        at = stop


def _ends(facts: Ints, period: int, steps: Codes) -> Ints:
    ends = np.full(len(facts), len(facts))
    at = np.arange(len(steps))
    if len(steps):
        breaks = (facts[period:] != facts[:-period]).any(axis=1)
        changes = np.append(steps[1:] != steps[:-1], False)
        stops = np.where(breaks, at, np.where(changes, at + 1, len(facts)))
        ends[at] = np.minimum(np.minimum.accumulate(stops[::-1])[::-1] + period, len(facts))
    return ends


@dataclass(frozen=True)
class Suite:
    """The inputs and expected results of a case."""

    spec: Spec
    vectors: Vectors
    tier: Tier
    seed: int
    #: in suites for a language, the expected results of all inputs under each reading
    series: tuple[tuple[Series, ...], ...] = ()
    left_out: int = 0  # vectors that the form lacks

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
        """The rules with their readings' names."""
        return list(dict.fromkeys((row.rule, row.readings) for row in self.vectors.decisions))

    @property
    def types(self) -> list[tuple[str, Numeric]]:
        """The names and formats of the input and the output."""
        types = (self.case.inputs[0], self.case.outputs[0])
        return [(one.name, one.format) for one in types if not isinstance(one.format, Text)]

    @property
    def readings(self) -> Iterator[tuple[Iterator[tuple[int, ...]], tuple[Series, ...]]]:
        """The vectors (input, row, pattern and code, 0 if not EXACT) and series of each reading."""
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
    """Return the suite of vectors with one expected value, if any."""
    suite = suite_of(corpus, case)
    if (vectors := settled(suite.vectors)) is None:
        return None
    return replace(suite, vectors=vectors, left_out=len(suite.vectors) - len(vectors))


def with_series(corpus: Corpus, case: Case) -> Suite | None:
    """Return a language's suite with only the deciding rows, None if everything is undefined."""
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
    numbers = {row: i for i, row in enumerate(rows)}
    own = np.array([numbers.get(row, 0) for row in expected.decisions], np.int16)
    return replace(expected, rows=own[expected.rows], decisions=tuple(rows))
