"""Collect a case's rows with citations, vectors and series for a suite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from convcheck.emit.series import Series, series_of
from convcheck.judge.words import cited, clean, translated
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import DEFAULT, Case, Spec
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import VectorSet


@dataclass(frozen=True)
class SuiteRow:
    """A row of the rules as a suite prints it."""

    decision: Decision
    #: The rule's index in the suite: rows of one rule share a reading.
    rule: int
    #: Its description, as indented lines of YAML.
    about: str


@dataclass(frozen=True)
class SuiteVector:
    """An input with its expected result."""

    input: int
    #: The index of the deciding row.
    row: int
    #: The comparison of a code, an index into PATTERNS.
    pattern: int
    #: The expected code; 0 if the pattern is not EXACT.
    code: int


@dataclass(frozen=True)
class SuiteReading:
    """The expected results under one reading."""

    #: In order of input values.
    vectors: tuple[SuiteVector, ...]
    #: The expected results of all inputs; () if unknown.
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Suite:
    """A suite of one case, in no language yet."""

    spec: Spec
    case: Case
    #: The rows that decide a vector or a plateau.
    rows: tuple[SuiteRow, ...]
    #: As many as the most disputed row has.
    readings: tuple[SuiteReading, ...]

    @property
    def name(self) -> str:
        """The case's id as an identifier and file name."""
        return identifier(self.case.id)

    @property
    def disputed(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """The indices of disputed rules, with the names of their readings."""
        found = {row.rule: row.decision.readings for row in self.rows}
        return tuple((rule, names) for rule, names in found.items() if len(names) > 1)

    @property
    def digest(self) -> str:
        """The digest of the spec."""
        return digest_of_spec(self.spec)

    @property
    def source(self) -> Numeric:
        """The format of an input."""
        return _numeric(self.case.inputs[0].format)

    @property
    def target(self) -> Numeric:
        """The format of an output."""
        return _numeric(self.case.outputs[0].format)


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


def suite_of(corpus: Corpus, case: Case) -> Suite | None:
    """Return the suite of a case, or None if everything is undefined."""
    vectors = corpus.vectors(case)
    assert isinstance(vectors, VectorSet)  # noqa: S101 of one number
    if all((r.patterns == UNDEFINED).all() for r in vectors.expected.readings):
        return None
    program, _ = corpus.conversion(case)
    source, target = _numeric(case.inputs[0].format), _numeric(case.outputs[0].format)
    known = vectors.coverage == "exhaustive"  # vectors cover all inputs
    series = None if known else series_of(program, source, target)
    used = {program.decisions[one.row] for table in series or () for each in table
            for one in each.turns}  # fmt: skip
    used |= {vectors.expected.decisions[row] for row in np.unique(vectors.expected.rows)}
    decisions = [one for one in dict.fromkeys(program.decisions) if one in used]
    spec = corpus.catalog.specs[case.spec]
    rules = list(dict.fromkeys((one.rule, one.readings) for one in decisions))
    rows = tuple(
        SuiteRow(one, rules.index((one.rule, one.readings)), "\n".join(_about(spec, one)) + "\n")
        for one in decisions
    )
    numbers = {one: i for i, one in enumerate(decisions)}
    own = [numbers.get(one, 0) for one in program.decisions]
    tables = _readings(vectors, numbers, series, own)
    return Suite(spec, case, rows, tuple(tables))


def _numeric(fmt: Format) -> Numeric:
    assert not isinstance(fmt, Text)  # noqa: S101 such a case is left out
    return fmt


def _readings(
    vectors: VectorSet,
    numbers: dict[Decision, int],
    series: Sequence[Sequence[Series]] | None,
    own: Sequence[int],
) -> Iterator[SuiteReading]:
    rows = [numbers[vectors.expected.decisions[row]] for row in vectors.expected.rows]
    inputs = [int(code) for code in vectors.inputs[0]]
    for r, reading in enumerate(vectors.expected.readings):
        codes = np.where(reading.patterns == EXACT, reading.codes, 0).tolist()
        columns = zip(inputs, rows, reading.patterns.tolist(), codes, strict=True)
        table = tuple(SuiteVector(*columns_of) for columns_of in columns)
        yield SuiteReading(table, tuple(_numbered(series[r], own)) if series else ())


def _numbered(table: Sequence[Series], own: Sequence[int]) -> Iterator[Series]:
    for one in table:
        yield replace(one, turns=tuple(replace(p, row=own[p.row]) for p in one.turns))


def _about(spec: Spec, row: Decision) -> Iterator[str]:
    """Yield the lines that describe a broken row: YAML in a literal block."""
    urls = {f"{s.title}, {s.section}": s.url for s in spec.sources.values()}
    yield "  rule: |"
    yield f"    {row.name} ({row.level}), {row.place}"
    yield "  sentence: |"
    for one in row.sentences:
        part = f" ({one.of})" if one.of else ""
        yield f"    {cited(one.text)}{part}"
        if one.gloss:
            yield f"    {translated(one.gloss)}"
        yield f"    — {one.document}, {urls.get(one.document, '')}".rstrip(", ")
    if row.row_in_words:
        yield f"    {clean(row.row_in_words)}"
