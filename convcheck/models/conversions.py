"""Find a model's conversions, and judge the inputs that may occur.

Inputs of up to 16 bits and known values are evaluated completely, otherwise edge vectors and ends
of ranges. The rest follows from the natures of case words and the formats.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import NARROW
from convcheck.errors import UsageError
from convcheck.judge.result import FAILURES, VERDICTS, CaseResult, RunResult, Verdict
from convcheck.judge.words import shown
from convcheck.models.calls import (
    CLASSES,
    Argument,
    Judged,
    RowOfInputs,
    arguments_of_node,
    arguments_that_occurred,
    judge_node_calls,
)
from convcheck.models.graph import ModelGraph, ModelNode, distinct_codes
from convcheck.models.known import (
    ANYTHING,
    KnownValues,
    ends_of,
    holds_all,
    known_values,
    may_occur,
)
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Text
from convcheck.numerics.number import FINITE, NAN, Bits
from convcheck.records import Count, Record, grouped
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import DEFAULT, Case, DType, Spec
from convcheck.semantics.expected import ANY_NAN, EXACT, NEGATIVE_NAN, UNDEFINED, Expected
from convcheck.semantics.segments import GRID, SPECIAL, THRESHOLD
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import VectorSet

WORLD = "onnx"
Types = tuple[DType | None, ...]  # None for an unknown type


@dataclass(frozen=True)
class ModelConversion:
    """A converting node and its judgement."""

    node: ModelNode
    spec: Spec | None
    inputs: Types
    outputs: Types
    cases: tuple[Case, ...]  # of its types; several shapes for a whole call
    known: KnownValues = ANYTHING  # of its first input; unused for a whole call
    judged: Judged | None = None  # on inputs that may occur; absent without a case
    occurred: Judged | None = None  # on recorded inputs; absent without any
    arguments: tuple[Argument, ...] = ()

    @property
    def why_not(self) -> str:
        """Why it is not judged, '' if it is."""
        if self.judged is not None:
            return ""
        if self.spec is None:
            return "no spec is as old as the model's operator set"
        if None in (*self.inputs, *self.outputs):
            return "its types are not known"
        return f"{self.spec.id} is asked no such types and attributes"

    def reaches(self, row: str) -> bool:
        """Return whether a row may occur."""
        if self.judged is None or not self.judged.proven or self.arguments:
            return True  # reports name rows of calls differently
        return any(one.name == row for one in self.judged.rows)


def converting(graph: ModelGraph, catalog: Catalog) -> list[ModelNode]:
    """Return the nodes with a spec."""
    operators = {spec.op for spec in catalog.specs.values()}
    return [n for n in graph.nodes if not n.domain and f"{WORLD}.{n.op}" in operators]


@dataclass(frozen=True)
class RulesForModel:
    """Judges a model's nodes. Caches similar ones."""

    corpus: Corpus
    opset: int
    data: Mapping[str, Bits]  # tensor -> recorded codes
    _cases: dict[Hashable, tuple[Case, ...]] = field(default_factory=dict)  # by spec and signature
    _judged: dict[Hashable, Judged] = field(default_factory=dict)  # by case id and input range

    def of(self, node: ModelNode) -> ModelConversion:
        """Return a node with its judgement."""
        mine = (s for s in self.corpus.catalog.specs.values() if s.op == f"{WORLD}.{node.op}")
        old = [s for s in mine if s.version <= self.opset]
        spec = max(old, key=lambda s: s.version, default=None)
        inputs = tuple(node.scope.type_of(name) for name in node.inputs if name)
        outputs = tuple(node.scope.type_of(name) for name in node.outputs)
        found = self._cases_of(spec, node, inputs, outputs) if spec else ()
        known, judged, occurred = ANYTHING, None, None
        if found and found[0].whole_calls:
            return self._of_calls(node, ModelConversion(node, spec, inputs, outputs, found))
        if found:
            known = known_values(node.scope, node.inputs[0])
            judged = self._judged_of(found[0], known)
            seen = self.data.get(node.inputs[0])
            if seen is not None:
                occurred = _judged_codes(self.corpus, found[0], distinct_codes(seen))
        return ModelConversion(node, spec, inputs, outputs, found, known, judged, occurred)

    def _of_calls(self, node: ModelNode, one: ModelConversion) -> ModelConversion:
        case = one.cases[0]
        arguments = arguments_of_node(self.corpus.catalog.specs[case.spec], case, node)
        seen = arguments_that_occurred(arguments, node, self.data)
        judged = judge_node_calls(self.corpus, one.cases, node, arguments)
        occurred = judge_node_calls(self.corpus, one.cases, node, seen) if seen else None
        return replace(one, arguments=arguments, judged=judged, occurred=occurred)

    def _cases_of(self, spec: Spec, node: ModelNode, *types: Types) -> tuple[Case, ...]:
        key = (spec.id, *types, *sorted(node.attributes.items()))
        if key not in self._cases:
            self._cases[key] = tuple(_cases(spec, node, *types))
        return self._cases[key]

    def _judged_of(self, case: Case, known: KnownValues) -> Judged:
        if known.codes is not None:
            return _judged(self.corpus, case, known)
        key = (case.id, known.low, known.high)
        if key not in self._judged:
            self._judged[key] = _judged(self.corpus, case, known)
        return self._judged[key]


def _cases(spec: Spec, node: ModelNode, inputs: Types, outputs: Types) -> Iterator[Case]:
    given = {a.name: node.attributes.get(a.name) for a in spec.attributes if not a.by_layout}
    usual = {a.name: a.default for a in spec.attributes}
    # omitted attributes count as `default`, else as their default value
    for word in (DEFAULT, None):
        told = {
            name: (usual[name] if word is None else word) if value is None else value
            for name, value in given.items()
        }
        found = [
            case for case in cases(spec)
            if case.inputs == inputs and case.outputs == outputs
            and all(told.get(name, value) == value for name, value in case.attributes)
        ]  # fmt: skip
        if found:
            yield from found if found[0].whole_calls else found[:1]
            return


def _judged(corpus: Corpus, case: Case, known: KnownValues) -> Judged:
    fmt = case.inputs[0].format
    if known.codes is not None and (isinstance(fmt, Text) or len(known.codes)):
        return _judged_codes(corpus, case, known.codes)
    vectors = corpus.vectors(case)
    edge = vectors.inputs[0] if isinstance(vectors, VectorSet) else np.array([], object)
    if isinstance(fmt, Text):
        rows = _rows(corpus, case, edge)
        return Judged(rows, every=False, proven=False, held=False)
    if fmt.bits <= NARROW:
        codes = np.arange(1 << fmt.bits, dtype=np.uint64).astype(fmt.storage)
        return _judged_codes(corpus, case, codes[may_occur(fmt, codes, known)])
    codes = np.unique(np.concatenate([edge, ends_of(fmt, known)]).astype(fmt.storage))
    rows = _rows(corpus, case, codes[may_occur(fmt, codes, known)])
    program, _ = corpus.conversion(case)
    proven = program.natures <= {SPECIAL, THRESHOLD, GRID}
    target = case.outputs[0].format
    held = not isinstance(target, Text) and holds_all(fmt, target, known)
    return Judged(rows, every=False, proven=proven, held=held)


def _judged_codes(corpus: Corpus, case: Case, codes: Bits) -> Judged:
    return Judged(_rows(corpus, case, codes), every=True, proven=True, held=True)


def _rows(corpus: Corpus, case: Case, codes: Bits) -> tuple[RowOfInputs, ...]:
    from convcheck.semantics.answers_at import run_program

    program, _ = corpus.conversion(case)
    expected = run_program(program, case, codes)
    kinds = _kinds(case, codes, expected)
    found = []
    for row in np.unique(expected.rows).tolist():
        name = expected.decisions[row].name
        for kind in np.unique(kinds[expected.rows == row]).tolist():
            at = np.flatnonzero((expected.rows == row) & (kinds == kind))
            example = shown(case.inputs[0].format, codes[at[0]].item() if codes.dtype != object
                            else codes[at[0]])  # fmt: skip
            found.append(RowOfInputs(name, CLASSES[kind], example, len(at)))
    return tuple(found)


def _kinds(case: Case, codes: Bits, expected: Expected) -> NDArray[np.int64]:
    kinds = np.full(len(codes), CLASSES.index("defined"))
    levels = np.array([one.level for one in expected.decisions])[expected.rows]
    kept = np.ones(len(codes), bool)
    for reading in expected.readings:
        kept &= _kept(case, codes, reading.codes, reading.patterns)
    kinds[kept] = CLASSES.index("exact")
    kinds[(levels == "disputed") & ~kept] = CLASSES.index("disputed")
    for reading in expected.readings:
        kinds[reading.patterns == UNDEFINED] = CLASSES.index("undefined")
    return kinds


def _kept(case: Case, codes: Bits, results: Bits, patterns: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask inputs that keep their value, including NaN and -0."""
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text) or isinstance(target, Text):
        return np.zeros(len(codes), bool)
    x = decode(source, np.asarray(codes, source.storage))
    y = decode(target, np.asarray(results, target.storage))
    same = (x.kind == y.kind) & (x.sign == y.sign) & (x.significand == y.significand)
    same &= (x.exponent == y.exponent) | (x.significand == 0) | (x.kind != FINITE)
    same &= patterns == EXACT
    some_nan = (patterns == ANY_NAN) | (patterns == NEGATIVE_NAN)
    nan = some_nan | ((patterns == EXACT) & (y.kind == NAN))
    kept: NDArray[np.bool_] = np.where(x.kind == NAN, nan, same)
    return kept


def chains_in(found: Sequence[ModelConversion]) -> list[tuple[ModelConversion, ...]]:
    """Return the longest chains of conversions."""
    by_node = {id(one.node): one for one in found if one.judged is not None and not one.arguments}
    before: dict[int, ModelConversion] = {}
    for one in by_node.values():
        name = one.node.inputs[0]
        at = one.node.scope.holder(name)
        maker = at.makers.get(name) if at else None
        if maker is not None and id(maker) in by_node:
            before[id(one.node)] = by_node[id(maker)]
    inner = {id(one.node) for one in before.values()}
    chains = []
    for key in before:
        if key not in inner:
            chain = [by_node[key]]
            while id(chain[0].node) in before:
                chain.insert(0, before[id(chain[0].node)])
            chains.append(tuple(chain))
    return chains


def check_data(graph: ModelGraph, data: Mapping[str, object]) -> None:
    """Raise UsageError for data of unknown tensors."""
    known = {name for node in graph.nodes for name in (*node.inputs, *node.outputs)}
    if unknown := sorted(set(data) - known):
        hint = "--data has arrays by the names of the model's tensors"
        raise UsageError(f"the model has no tensor {unknown[0]!r}", hint=hint)


class RowOfBackend(Record, frozen=True, rename={"name": "row"}):
    """A row that a backend breaks."""

    #: Rule and row.
    name: str
    #: The kind of error.
    kind: str
    #: How many tested inputs fail.
    count: Count
    #: How many inputs the row decided.
    of: Count
    #: Whether inputs of the row are known to be possible.
    occurs: bool


@dataclass(frozen=True)
class BackendFacts:
    """The report on a conversion."""

    name: str
    verdict: Verdict | None  # of its most serious case; absent if not run
    rows: tuple[RowOfBackend, ...]
    causes: tuple[str, ...] = ()  # that explain all answers, in words
    unexplained: bool = False  # a failing case has no cause

    @property
    def fails(self) -> bool:
        """Whether possible inputs fail."""
        whole = self.verdict in FAILURES and not self.rows
        return whole or any(row.occurs for row in self.rows)


def facts_of(
    one: ModelConversion, name: str, run: RunResult, causes: Mapping[str, str]
) -> BackendFacts:
    """Return the report on a conversion; `causes` are by case id."""
    results = _results(one, run)
    failing_groups = (g for result in results for g in result.groups if g.verdict in FAILURES)
    found = grouped(((group.decision.name, group.kind), group) for group in failing_groups)
    rows = tuple(
        RowOfBackend(row, kind, sum(g.count for g in groups), sum(g.of for g in groups),
                     one.reaches(row))
        for (row, kind), groups in found.items()
    )  # fmt: skip
    verdict = min((result.verdict for result in results), key=VERDICTS.index, default=None)
    failing = [result.case.id for result in results if result.verdict in FAILURES]
    why = tuple(dict.fromkeys(causes[each] for each in failing if each in causes))
    return BackendFacts(name, verdict, rows, why, not causes.keys() >= {*failing})


def differing_rows(
    one: ModelConversion, runs: Sequence[tuple[str, RunResult]]
) -> Iterator[tuple[str, str]]:
    """Yield names ('ort, openvino') and a possible row whose answers to equal vectors differ."""
    for (first, a), (second, b) in combinations(runs, 2):
        if _vectors(one, a) == _vectors(one, b):
            ours, theirs = (_answers(one, run) for run in (a, b))
            for row in dict.fromkeys(row for case, row in ours if (case, row) in theirs):
                both = [key for key in ours if key[1] == row and key in theirs]
                if one.reaches(row) and any(ours[key] != theirs[key] for key in both):
                    yield f"{first}, {second}", row


def _results(one: ModelConversion, run: RunResult) -> list[CaseResult]:
    ids = {case.id for case in one.cases}
    return [result for result in run.cases if result.case.id in ids]


def _vectors(one: ModelConversion, run: RunResult) -> tuple[str, str]:
    return run.tier, dict(run.corpora).get(one.spec.id if one.spec else "", "")


def _answers(one: ModelConversion, run: RunResult) -> Mapping[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for result in _results(one, run):
        for group in result.groups:
            if not group.placement and group.digest:
                key = (result.case.id, group.decision.name)
                found[key] = sorted((*found.get(key, ()), group.digest))
    return found
