"""Judge a model's whole calls: known arguments, or edge vectors and ends of ranges."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Literal, cast

import numpy as np

from convcheck.errors import UsageError
from convcheck.judge.words import value
from convcheck.models.graph import ModelNode, constant_tensor
from convcheck.models.known import (
    ANYTHING,
    KnownValues,
    ends_of,
    known_values,
    may_occur,
    values_of,
)
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.numerics.order import special_codes
from convcheck.records import Count, Record
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.body.formula import FormulaCalls
from convcheck.semantics.body.steps import CompiledSteps
from convcheck.semantics.expected import UNDEFINED, Call, Decision, ExpectedCall
from convcheck.streams import plural
from convcheck.vectors.body.scaled import codes_under
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet

InputClass = Literal["exact", "defined", "disputed", "undefined"]
CLASSES: tuple[InputClass, ...] = ("exact", "defined", "disputed", "undefined")  # best first


class RowOfInputs(Record, frozen=True, rename={"name": "row"}):
    """A row of the rules that decides inputs."""

    #: Rule and row.
    name: str
    #: The class of these inputs.
    kind: InputClass
    #: One of the inputs as a code or text; for a whole call, the arguments' values.
    example: str
    #: How many evaluated inputs it decides.
    count: Count


@dataclass(frozen=True)
class Judged:
    """The judgement on some inputs of a conversion."""

    rows: tuple[RowOfInputs, ...]
    every: bool  # these are all inputs that may occur
    proven: bool  # it holds for all inputs that may occur
    held: bool  # the destination has all finite numbers that may occur
    of: str = "value"  # 'value' or 'call'

    @property
    def kind(self) -> InputClass:
        """The worst class of the rows, exact only if every input is."""
        found = {row.kind for row in self.rows}
        gravest = max(found, key=CLASSES.index, default=CLASSES[0])
        return "defined" if gravest == "exact" and not (self.every or self.held) else gravest

    @property
    def counts(self) -> Mapping[InputClass, int]:
        """Inputs by class."""
        found: Counter[InputClass] = Counter()
        for row in self.rows:
            found[row.kind] += row.count
        return {kind: found[kind] for kind in CLASSES if found[kind]}


Row = tuple[str, InputClass]  # name, and class of its inputs
_EVERY = 16  # bits of a fully evaluated first input
_MOST = 1 << 20  # elements to evaluate in full
_AT_ONCE = 1 << 16  # elements in a batch
_SETS = 2  # of the other inputs, to derive data for
_CALLS = 4096  # calls to combine from possible arguments
_LONG = 1 << 12  # elements; above, only lengths are compared


@dataclass(frozen=True, eq=False)
class Argument:
    """An input of a call, with its known values."""

    name: str
    dtype: DType
    known: KnownValues
    tensor: Codes | None = None  # its codes if constant or recorded

    @property
    def fmt(self) -> Numeric:
        """Its format."""
        return cast(Numeric, self.dtype.format)


def arguments_of_node(spec: Spec, case: Case, node: ModelNode) -> tuple[Argument, ...]:
    """Return the inputs of a node."""
    layout = next(x for x in spec.layouts if x.name == case.layout or not case.layout)
    names = [name for name, _ in layout.shapes]
    found = []
    given = [name for name in node.inputs if name]
    for name, dtype, tensor in zip(names, case.inputs, given, strict=True):
        codes = cast(Codes | None, constant_tensor(node.scope, tensor))
        found.append(Argument(name, dtype, known_values(node.scope, tensor), codes))
    return tuple(found)


def arguments_that_occurred(
    arguments: Sequence[Argument], node: ModelNode, data: Mapping[str, Bits]
) -> tuple[Argument, ...] | None:
    """Return the inputs as recorded, None if any is missing."""
    given = [name for name in node.inputs if name]
    found = tuple(
        replace(one, known=ANYTHING, tensor=cast(Codes, data.get(name, one.tensor)))
        for one, name in zip(arguments, given, strict=True)
    )
    seen = any(name in data for name in given)
    return found if seen and all(one.tensor is not None for one in found) else None


def judge_node_calls(
    corpus: Corpus, cases: Sequence[Case], node: ModelNode, arguments: Sequence[Argument]
) -> Judged:
    """Judge a node's calls. Raises UsageError for arguments that do not broadcast."""
    spec = corpus.catalog.specs[cases[0].spec]
    for case in cases:
        compiled = compile_calls(spec, case)
        if not (isinstance(compiled, CompiledSteps) and compiled.outside):
            break
    if isinstance(compiled, FormulaCalls):
        return _judged_whole(corpus, compiled, arguments)
    steps = cast(CompiledSteps, compiled)
    if steps.outside:
        row = RowOfInputs(steps.decisions[0].name, "undefined", _told(arguments, ()), 1)
        return Judged((row,), every=False, proven=True, held=False, of="call")
    if steps.reduces:
        return _judged_whole(corpus, steps, arguments)
    return _judged_elements(spec, steps, node, arguments)


def _told(arguments: Sequence[Argument], codes: Sequence[int]) -> str:
    return ", ".join(
        f"{one.name}={value(one.dtype.format, code)}"
        for one, code in zip(arguments, codes, strict=False)
    )


_Elements = tuple[tuple[Codes, ...], bool]  # columns, and whether no others can occur


def _judged_elements(
    spec: Spec, steps: CompiledSteps, node: ModelNode, arguments: Sequence[Argument]
) -> Judged:
    met = _those_that_meet(steps, node, arguments)
    columns, every = met or _those_that_may(spec, steps, arguments)
    found: dict[Row, tuple[str, int]] = {}
    for begin in range(0, len(columns[0]), _AT_ONCE):
        part = [column[begin : begin + _AT_ONCE] for column in columns]
        for key, (example, count) in _rows_of_elements(steps, arguments, part).items():
            first, before = found.get(key, (example, 0))
            found[key] = first, before + count
    rows = tuple(RowOfInputs(*key, *found[key]) for key in sorted(found))
    return Judged(rows, every=every, proven=every, held=False)


def _those_that_meet(
    steps: CompiledSteps, node: ModelNode, arguments: Sequence[Argument]
) -> _Elements | None:
    first, *others = arguments
    if first.tensor is None or any(one.tensor is None for one in others):
        return None
    integers = tuple(
        (name, word) for name, word in node.attributes.items() if isinstance(word, int)
    )
    here = replace(steps, case=replace(steps.case, attributes=integers))
    columns = [first.tensor.reshape(-1)]
    for one in others:
        tensor = cast(Codes, one.tensor)
        try:
            index = np.arange(tensor.size).reshape(tensor.shape)
            places = here.met(index, first.tensor.shape).reshape(-1)
        except ValueError:
            said = f"{node.path}: {one.name} of shape {tensor.shape} does not meet "
            hint = "--data has arrays as they occur together in one run"
            raise UsageError(said + f"{first.name} of {first.tensor.shape}", hint=hint) from None
        columns.append(tensor.reshape(-1)[places])
    return _once(columns), True


def _once(columns: Sequence[Codes]) -> tuple[Codes, ...]:
    if not len(columns[0]):
        return tuple(columns)
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes, number = np.unique(column, return_inverse=True)
        key = np.unique(key * len(codes) + number, return_inverse=True)[1]
    first = np.unique(key, return_index=True)[1]
    return tuple(column[first] for column in columns)


def _those_that_may(spec: Spec, steps: CompiledSteps, arguments: Sequence[Argument]) -> _Elements:
    first, *others = arguments
    sets, told = _sets(others)
    data, all_of_it = _data_that_may(first)
    if all_of_it and len(data) * len(sets[0] if sets else [0]) <= _MOST:
        return _crossed(data, sets), told
    parts = [_crossed(np.unique(data[:: max(1, len(data) // 64)]), sets)]
    for at in _apart(others, sets):
        one = {arg.name: int(column[at]) for arg, column in zip(others, sets, strict=True)}
        codes = codes_under(spec, steps.case, one)
        codes = codes[may_occur(first.fmt, codes, first.known)]
        parts.append((codes, *(np.repeat(column[at], len(codes)) for column in sets)))
    return tuple(map(np.concatenate, zip(*parts, strict=True))), False


def _crossed(data: Codes, sets: Sequence[Codes]) -> tuple[Codes, ...]:
    count = len(sets[0]) if sets else 1
    return (np.tile(data, count), *(np.repeat(column, len(data)) for column in sets))


def _data_that_may(one: Argument) -> tuple[Codes, bool]:
    if one.known.codes is not None:
        return cast(Codes, one.known.codes), True
    if one.fmt.bits <= _EVERY:
        codes = np.arange(1 << one.fmt.bits, dtype=np.uint64).astype(one.fmt.storage)
        return codes[may_occur(one.fmt, codes, one.known)], True
    return _ends(one), False


def _ends(one: Argument) -> Codes:
    codes = np.concatenate([special_codes(one.fmt), ends_of(one.fmt, one.known)])
    codes = cast(Codes, np.unique(codes.astype(one.fmt.storage)))
    kept: Codes = codes[may_occur(one.fmt, codes, one.known)]
    return kept


def _sets(others: Sequence[Argument]) -> tuple[list[Codes], bool]:
    tensors = [one.tensor for one in others]
    known = [tensor for tensor in tensors if tensor is not None]
    if len(known) == len(others) and len({tensor.shape for tensor in known}) <= 1:
        return list(_once([tensor.reshape(-1) for tensor in known])) if known else [], True
    each = [_data_that_may(one) for one in others]
    codes = [codes for codes, _ in each]
    if prod(map(len, codes)) > _CALLS:
        codes, each = [_ends(one) for one in others], [(codes[0], False)]
    grid = np.meshgrid(*codes, indexing="ij")
    return [column.reshape(-1) for column in grid], all(every for _, every in each)


def _apart(others: Sequence[Argument], sets: Sequence[Codes]) -> list[int]:
    if not sets:
        return [0]
    order = np.argsort(values_of(others[0].fmt, sets[0]), kind="stable")
    ends = [int(order[k * (len(order) - 1) // max(1, _SETS - 1)]) for k in range(_SETS)]
    return list(dict.fromkeys(ends))


def _rows_of_elements(
    steps: CompiledSteps, arguments: Sequence[Argument], columns: Sequence[Codes]
) -> dict[Row, tuple[str, int]]:
    outputs, runs = steps.due([columns])
    due = [one[0] for one in outputs]
    kinds = np.full(len(columns[0]), CLASSES.index("defined"))
    for one in due[1:]:
        apart = (one.codes != due[0].codes) | (one.patterns != due[0].patterns)
        kinds[apart] = CLASSES.index("disputed")
    for one in due:
        kinds[one.patterns == UNDEFINED] = CLASSES.index("undefined")
    names = np.array([row.name for row in steps.decisions], object)[steps.rows(outputs, runs)[0]]
    found = {}
    for name, kind in dict.fromkeys(zip(names.tolist(), kinds.tolist(), strict=True)):
        at = np.flatnonzero((names == name) & (kinds == kind))
        example = _told(arguments, [int(column[at[0]]) for column in columns])
        found[str(name), CLASSES[kind]] = example, len(at)
    return found


def _judged_whole(
    corpus: Corpus, compiled: CompiledSteps | FormulaCalls, arguments: Sequence[Argument]
) -> Judged:
    known = tuple(one.tensor for one in arguments if one.tensor is not None)
    calls: Sequence[Call] = [known]
    whole = len(known) == len(arguments)
    rows: Iterable[Row | None]
    if isinstance(compiled, FormulaCalls):
        calls = calls if whole else _sequences_that_may(corpus, compiled, arguments)
        rows = (_row_of_sequence(compiled, call) for call in calls)
    else:
        vectors = _vectors_that_may(corpus, compiled.case, arguments)
        calls = calls if whole else [*vectors, tuple(map(_ends, arguments))]
        rows = (_row_of_call(compiled.decisions, one) for one in compiled.expect_all(calls))
    told = [(call, row) for call, row in zip(calls, rows, strict=True) if row]
    found = _rows_of_calls(arguments, told)
    return Judged(found, every=whole, proven=whole and bool(told), held=False, of="call")


def _vectors_that_may(corpus: Corpus, case: Case, arguments: Sequence[Argument]) -> Iterator[Call]:
    vectors = corpus.vectors(case)
    for call in vectors.calls if isinstance(vectors, CallSet) else ():
        if all(may_occur(one.fmt, bits.reshape(-1), one.known).all()
               for one, bits in zip(arguments, call, strict=True)):  # fmt: skip
            yield call


def _rows_of_calls(
    arguments: Sequence[Argument], calls: Iterable[tuple[Call, Row]]
) -> tuple[RowOfInputs, ...]:
    found: dict[Row, tuple[str, int]] = {}
    for call, key in calls:
        example, count = found.get(key) or (_told_of_call(arguments, call), 0)
        found[key] = example, count + 1
    return tuple(RowOfInputs(*key, *found[key]) for key in sorted(found))


def _told_of_call(arguments: Sequence[Argument], call: Call) -> str:
    if all(bits.size == 1 for bits in call):
        return _told(arguments, [int(bits.reshape(-1)[0]) for bits in call])
    said = f"{arguments[0].name} of {plural(call[0].size, 'element')}"
    codes = np.sort(call[0].reshape(-1)).tolist()
    words = [str(value(arguments[0].dtype.format, code)) for code in codes]
    numbers = values_of(arguments[0].fmt, np.array(codes, arguments[0].fmt.storage))
    odd = [word for word, number in zip(words, numbers, strict=True) if not np.isfinite(number)]
    if odd:
        return f"{said}, {odd[0]} among them"
    return f"{said}, {words[numbers.argmin()]} to {words[numbers.argmax()]}" if words else said


def _row_of_call(decisions: Sequence[Decision], expected: ExpectedCall) -> Row:
    decision = decisions[expected.row]
    if any(reading.pattern == UNDEFINED for reading in expected.readings):
        return decision.name, "undefined"
    several = len(expected.readings) > 1 or decision.level == "disputed"
    return decision.name, "disputed" if several else "defined"


def _row_of_sequence(compiled: FormulaCalls, call: Call) -> Row | None:
    """Return a call's row. For a long one, compare lengths; None if elements may differ."""
    lengths = compiled.lengths(call)
    if max(lengths, default=0) <= _LONG:
        return _row_of_call(compiled.decisions, compiled.expect(call))
    if len(lengths) > 1:
        return compiled.decisions[-1].name, "disputed"
    return (compiled.decisions[-3].name, "defined") if compiled.agrees_on_elements else None


def _sequences_that_may(
    corpus: Corpus, compiled: FormulaCalls, arguments: Sequence[Argument]
) -> list[Call]:
    vectors = [call for call in _vectors_that_may(corpus, compiled.case, arguments)
               if not any(bits.ndim for bits in call)]  # fmt: skip
    each: list[Codes] = []
    for at, one in enumerate(arguments):
        if one.known.codes is not None:
            each.append(cast(Codes, one.known.codes))
            continue
        asked = corpus.vectors(compiled.case)
        calls = asked.calls if isinstance(asked, CallSet) else ()
        seen = np.array([int(c[at]) for c in calls if not c[at].ndim], one.fmt.storage)
        seen = seen[may_occur(one.fmt, seen, one.known)]
        each.append(np.unique(np.concatenate([_ends(one), seen])))
    while prod(map(len, each)) > _CALLS:  # thin the longest list
        longest = max(range(len(each)), key=lambda at: len(each[at]))
        each[longest] = each[longest][::2]
    put = [tuple(np.array(code) for code in codes) for codes in product(*each)]
    return sorted([*vectors, *put], key=lambda call: _size(arguments, call))


def _size(arguments: Sequence[Argument], call: Call) -> float:
    sizes = [abs(float(values_of(one.fmt, bits.reshape(1))[0]))
             for one, bits in zip(arguments, call, strict=True)]  # fmt: skip
    return max(np.inf if np.isnan(size) else size for size in sizes)
