"""`convcheck-model/1`: the conversions of a model, with facts from specs and reports."""

from typing import Final, Literal

from convcheck import __version__
from convcheck.chains.compare import Proof
from convcheck.documents.report import derived, json_text
from convcheck.judge.result import Verdict
from convcheck.judge.words import clean, shown
from convcheck.models.calls import InputClass, RowOfInputs
from convcheck.models.conversions import RowOfBackend
from convcheck.models.known import KnownValues
from convcheck.records import Count, Record
from convcheck.report.draw.model import ModelChain, ModelReport, ReportedConversion
from convcheck.rules.model import DType

FORMAT: Final = "convcheck-model/1"
_VALUES = 16  # values of a constant that are listed


class KnownValuesJson(Record, frozen=True, kw_only=True):
    """The known values of an input."""

    #: Why they are known: `constant`, or the operator that bounds them.
    why: str
    #: The lowest possible number; null if unbounded.
    low: float | None
    #: The highest possible number; null if unbounded.
    high: float | None
    #: The number of values; null unless they are known individually.
    values: Count | None
    #: The first values, as codes.
    first: tuple[str, ...] = ()


class ArgumentJson(Record, frozen=True, kw_only=True):
    """An input of a whole call."""

    #: The name in the spec.
    name: str
    #: The known values; null if unknown.
    known: KnownValuesJson | None


class JudgedJson(Record, frozen=True, kw_only=True):
    """The classification of inputs by the rules."""

    #: The worst class of the rows; `exact` only if all inputs are.
    kind: InputClass
    #: Whether all inputs were evaluated, not only edge vectors and known bounds.
    every: bool
    #: Whether the result holds for all inputs.
    proven: bool
    #: The deciding rows, by class.
    rows: tuple[RowOfInputs, ...]


class ModelBackendJson(Record, frozen=True, kw_only=True):
    """A backend's results for a conversion."""

    name: str
    #: The worst verdict of its cases; null if not tested.
    verdict: Verdict | None
    #: Whether it is known to fail on possible inputs.
    fails: bool
    rows: tuple[RowOfBackend, ...]
    #: The causes that explain all answers of a failing case, in words.
    causes: tuple[str, ...]


class DifferJson(Record, frozen=True, kw_only=True):
    """Two backends with different answers."""

    #: Their names.
    backends: str
    #: Rule and row with possible inputs.
    row: str


class ConversionJson(Record, frozen=True, kw_only=True):
    """A node that converts."""

    #: Its path and name: LOOP/body/NAME.
    node: str
    operator: str
    #: The spec; empty if none is as old as the model's operator set.
    spec: str
    #: The input types; null for an unknown type.
    inputs: tuple[str | None, ...]
    outputs: tuple[str | None, ...]
    #: The cases with the same conversion.
    cases: tuple[str, ...]
    #: The known values of its first input; null if unknown.
    known: KnownValuesJson | None
    #: Known values of each input of a whole call; absent for other conversions.
    arguments: tuple[ArgumentJson, ...] = ()
    #: The classification of possible inputs; null if there is none.
    judged: JudgedJson | None
    #: The classification of observed inputs (--data); absent without data.
    occurred: JudgedJson | None = None
    #: Why there is no classification; absent if there is one.
    why_not: str = ""
    #: One per report.
    backends: tuple[ModelBackendJson, ...]
    #: Rows with different answers in reports of the same vectors.
    differ: tuple[DifferJson, ...]


class ModelChainJson(Record, frozen=True, kw_only=True):
    """A chain of conversions."""

    nodes: tuple[str, ...]
    #: From source to destination.
    types: tuple[str, ...]
    #: equal, equal where defined, disputed or different, compared with the direct cast; empty if
    #: unknown.
    verdict: str
    #: The kind of proof; null if unknown.
    proof: Proof | None


class ModelJson(Record, frozen=True, kw_only=True):
    """The conversions of a model."""

    format: Literal["convcheck-model/1"]
    convcheck: str
    #: The path as given.
    file: str
    #: The version of the ONNX operator set.
    opset: Count
    #: The number of nodes, with those of subgraphs and function calls.
    nodes: Count
    #: Remarks on reading the model.
    remarks: tuple[str, ...]
    #: The backends of the given reports.
    backends: tuple[str, ...]
    #: The longest chains of casts.
    chains: tuple[ModelChainJson, ...]
    conversions: tuple[ConversionJson, ...]


def model_text(found: ModelReport) -> str:
    """Return a model's facts as JSON text, a conversion per line."""
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
    return ConversionJson(
        node=one.node.path,
        operator=one.node.op,
        spec=one.spec.id if one.spec else "",
        inputs=tuple(str(dtype) if dtype else None for dtype in one.inputs),
        outputs=tuple(str(dtype) if dtype else None for dtype in one.outputs),
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
