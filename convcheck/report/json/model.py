"""`convcheck-model/1`: the conversions of a model, with what specs and reports know of each."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.chains.compare import Proof
from convcheck.judge.result import Verdict
from convcheck.judge.words import clean, shown
from convcheck.models.judged import InputClass
from convcheck.models.known import KnownValues
from convcheck.report.json.codec import Count, Shape, derived, json_text
from convcheck.report.model import ModelChain, ModelReport, ReportedConversion
from convcheck.rules.model import DType

FORMAT: Final = "convcheck-model/1"
_VALUES = 16  # of a constant, that are listed


class KnownValuesJson(Shape, frozen=True, kw_only=True):
    """What the graph tells of an input."""

    #: What it is known from: `constant`, or the operator that bounds it.
    why: str
    #: The lowest number that may occur; null for no bound.
    low: float | None
    #: The highest number that may occur; null for no bound.
    high: float | None
    #: How many values there are; null where they are not known one by one.
    values: Count | None
    #: The first of them, as codes.
    first: tuple[str, ...] = ()


class ArgumentJson(Shape, frozen=True, kw_only=True):
    """An input of a whole call."""

    #: Its name in the spec.
    name: str
    #: What is known of it; null for nothing.
    known: KnownValuesJson | None


class RowJson(Shape, frozen=True, kw_only=True):
    """A row of the rules that decides inputs."""

    #: The rule and the row.
    name: str = field(name="row")
    #: What becomes of these inputs.
    kind: InputClass
    #: How many of those that were looked at.
    count: Count
    #: One of them, as a code; of a whole call, the values of its arguments.
    example: str


class JudgedJson(Shape, frozen=True, kw_only=True):
    """What the rules say of inputs."""

    #: The gravest of the rows' kinds; `exact` only where every input is.
    kind: InputClass
    #: Whether every input was looked at; else edge vectors and the ends of what is known.
    every: bool
    #: Whether what is said holds of every input.
    proven: bool
    #: Those that decide an input, by what becomes of it.
    rows: tuple[RowJson, ...]


class BackendRowJson(Shape, frozen=True, kw_only=True):
    """A row that a backend breaks."""

    #: The rule and the row.
    name: str = field(name="row")
    #: In what way.
    kind: str
    #: How many of the inputs that were asked fail.
    count: Count
    #: How many the row decided.
    of: Count
    #: Whether inputs of the row can occur, as far as is known.
    occurs: bool


class ModelBackendJson(Shape, frozen=True, kw_only=True):
    """What a report has of a conversion."""

    name: str
    #: The gravest of its cases; null where none was asked.
    verdict: Verdict | None
    #: Whether it fails on inputs that can occur, as far as is known.
    fails: bool
    #: Those that it breaks.
    rows: tuple[BackendRowJson, ...]
    #: The causes that give all answers of a failing case, in words.
    causes: tuple[str, ...]


class DifferJson(Shape, frozen=True, kw_only=True):
    """Two backends that answer otherwise."""

    #: Their names.
    backends: str
    #: The rule and the row, of which inputs can occur.
    row: str


class ConversionJson(Shape, frozen=True, kw_only=True):
    """A node that converts."""

    #: Where it is, and its name: LOOP/body/NAME.
    node: str
    #: Its operator.
    operator: str
    #: The spec; empty where no version is as old as the model's operator set.
    spec: str
    #: The types of its inputs; null for one that is not known.
    inputs: tuple[str | None, ...]
    #: The types of its outputs.
    outputs: tuple[str | None, ...]
    #: The cases that ask the same.
    cases: tuple[str, ...]
    #: Of its first input; null for nothing.
    known: KnownValuesJson | None
    #: Of each input of a whole call; absent for any other conversion.
    arguments: tuple[ArgumentJson, ...] = ()
    #: What may occur; null where nothing is said of it.
    judged: JudgedJson | None
    #: What did occur, by --data; absent where there is none.
    occurred: JudgedJson | None = None
    #: Why nothing is said; absent where something is.
    why_not: str = ""
    #: One for each report.
    backends: tuple[ModelBackendJson, ...]
    #: Where reports of the same vectors have other answers.
    differ: tuple[DifferJson, ...]


class ModelChainJson(Shape, frozen=True, kw_only=True):
    """Conversions of which each takes what the one before it gives."""

    #: The nodes, in their order.
    nodes: tuple[str, ...]
    #: From the source to the destination.
    types: tuple[str, ...]
    #: Whether it is the direct cast: equal, equal where defined, disputed or different; empty where
    #: that cannot be said.
    verdict: str
    #: How that is known; null where it cannot be said.
    proof: Proof | None


class ModelJson(Shape, frozen=True, kw_only=True):
    """The conversions of a model."""

    format: Literal["convcheck-model/1"]
    #: The version of convcheck.
    convcheck: str
    #: As it was named.
    file: str
    #: The version of ONNX's operator set that it has.
    opset: Count
    #: How many nodes it has, those of subgraphs and of calls of functions with them.
    nodes: Count
    #: What there is to say of the reading.
    remarks: tuple[str, ...]
    #: The backends whose reports were given.
    backends: tuple[str, ...]
    #: Casts one after the other, the longest ones.
    chains: tuple[ModelChainJson, ...]
    #: In the order of the nodes.
    conversions: tuple[ConversionJson, ...]


def model_text(found: ModelReport) -> str:
    """Return what is known of a model as JSON text, a conversion a line."""
    made = ModelJson(
        format=FORMAT,
        convcheck=__version__,
        file=found.file,
        opset=found.graph.opset,
        nodes=len(found.graph.nodes),
        remarks=tuple(map(clean, found.graph.remarks)),
        backends=found.backends,
        chains=tuple(map(_chain, found.chains)),
        conversions=tuple(map(_conversion, found.conversions)),
    )
    return json_text(made, "conversions")


def _conversion(told: ReportedConversion) -> ConversionJson:
    one = told.one
    types = ([str(t) if t else None for t in some] for some in (one.inputs, one.outputs))
    inputs, outputs = map(tuple, types)
    return ConversionJson(
        node=one.node.path,
        operator=one.node.op,
        spec=one.spec.id if one.spec else "",
        inputs=inputs,
        outputs=outputs,
        cases=tuple(case.id for case in one.cases),
        known=_known(one.inputs[0], one.known),
        arguments=tuple(
            ArgumentJson(name=argument.name, known=_known(argument.dtype, argument.known))
            for argument in one.arguments
        ),
        judged=derived(JudgedJson, one.judged) if one.judged else None,
        occurred=derived(JudgedJson, one.occurred) if one.occurred else None,
        why_not=one.why_not,
        backends=derived(tuple[ModelBackendJson, ...], told.backends),
        differ=tuple(DifferJson(backends=names, row=row) for names, row in told.differ),
    )


def _known(dtype: DType | None, known: KnownValues) -> KnownValuesJson | None:
    if not known.is_bounded:
        return None
    low, high = (end if abs(end) < float("inf") else None for end in (known.low, known.high))
    codes = known.codes
    first = () if codes is None or dtype is None else tuple(
        shown(dtype.format, code) for code in codes[:_VALUES].tolist()
    )  # fmt: skip
    values = None if codes is None else len(codes)
    return KnownValuesJson(why=known.why, low=low, high=high, values=values, first=first)


def _chain(chain: ModelChain) -> ModelChainJson:
    return ModelChainJson(
        nodes=tuple(one.node.path for one in chain.links),
        types=chain.types,
        verdict=chain.verdict,
        proof=chain.judgement.proof if chain.judgement else None,
    )
