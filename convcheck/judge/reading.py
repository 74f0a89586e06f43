"""Decode results from JSON or a worker's message: the hooks for fields of structs.

A case is its head, or its id if the reader knows the cases. A decision is its fields, or an index
into a table. A code is a number, or a pair of spelling and value. A type is its name.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from msgspec import field

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import UsageError
from convcheck.judge.answers import Answers, Array
from convcheck.judge.result import (
    Answered,
    AnswersField,
    CallExample,
    CaseField,
    CaseResult,
    Code,
    DecisionField,
    SampleField,
    Tally,
    TypeName,
    Word,
)
from convcheck.records import Count, Record, replace
from convcheck.rules.model import Attributes, Case, DType, op_and_version, version_key
from convcheck.semantics.expected import Decision

Types = Mapping[str, DType]
Hooks = dict[Any, Callable[[Any], Any]]
_ALIKE = 1 << 15  # cache size: cases that reports of several releases share
_CODES = "BHILQbhilqO?"  # numpy type characters that an array may have

SampleField.register(Answered)  # type: ignore[attr-defined]


class CaseHead(Record, frozen=True, kw_only=True):
    """The fields that identify a case."""

    #: OPERATOR-VERSION/INPUTS[-to-OUTPUT][/LAYOUT][/NAME=VALUE…]. Stable across releases.
    id: str
    #: The types of the inputs. For a node and its inverse, the inputs of the first node.
    inputs: tuple[str, ...]
    #: The types of the outputs; empty if the type is the answer.
    outputs: tuple[str, ...]
    #: The ranks of the inputs; absent if they are not part of the question.
    ranks: tuple[Count, ...] = ()
    #: The attributes that apply, also at their default; an omitted one has the value `default`.
    attributes: dict[str, int | str] = field(default_factory=dict)
    #: The intermediate types of a chain; absent for a single node.
    middles: tuple[str, ...] = ()
    #: How the graph of a chain is built, and options of the backend.
    setting: dict[str, str] = field(default_factory=dict)
    #: The values of the inputs after the first, as written, if a call is asked as a conversion of
    #: its first input.
    fixed: dict[str, str] = field(default_factory=dict)


def case_head(case: Case) -> CaseHead:
    """Return the head of a case."""
    return CaseHead(
        id=case.id,
        inputs=tuple(t.name for t in case.node_inputs),
        outputs=tuple(t.name for t in case.outputs),
        ranks=case.ranks,
        attributes=dict(case.attributes),
        middles=tuple(hop.outputs[0].name for hop in case.hops[:-1]),
        setting=dict(case.setting),
        fixed=dict(case.fixed),
    )


def with_id(result: CaseResult) -> CaseResult:
    """Return a result to encode, with its case replaced by the id."""
    named: Any = result.case.id
    return replace(result, case=named)


def hooks(
    types: Types, cases: Mapping[str, Case] | None = None, rules: Sequence[Decision] = ()
) -> Hooks:
    """Return the decoder hook of each field type.

    `cases` are those referenced by id, `rules` the decisions referenced by index.
    """
    known: dict[Decision, Decision] = {}

    def case(found: Any) -> Case:
        if isinstance(found, str) and cases and found in cases:
            return cases[found]
        return case_named(msgspec.convert(found, CaseHead), types)

    def decision(found: Any) -> Decision:
        if isinstance(found, int):
            if not 0 <= found < len(rules):
                raise ValueError(f"rule {found} is none of {len(rules)}")
            return rules[found]
        made = msgspec.convert(found, Decision)
        return known.setdefault(made, made)

    def name(found: Any) -> TypeName:
        dtype = types.get(found)
        return TypeName(found, dtype.format if dtype else None)

    def sample(found: Any) -> Answered | tuple[CallExample, ...]:
        if isinstance(found, dict):
            return msgspec.convert(found, Answered, dec_hook=hook, str_keys=True)
        return msgspec.convert(found, tuple[CallExample, ...], dec_hook=hook)

    made: Hooks = {
        Word: _word,
        Code: _code,
        CaseField: case,
        DecisionField: decision,
        TypeName: name,
        Array: _array,
        AnswersField: lambda found: msgspec.convert(found, Answers, dec_hook=hook),
        SampleField: sample,
    }
    hook = hook_of(made)
    return made


def hook_of(made: Hooks) -> Callable[[type, Any], Any]:
    """Return the hook to pass to a decoder."""

    def hook(kind: type, found: Any) -> Any:
        try:
            return made[kind](found)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None  # the decoder adds the path

    return hook


def plain(value: Any) -> Any:
    """Encode what JSON lacks: an encoder's hook."""
    if isinstance(value, TypeName):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.shape, value.reshape(-1).tolist()
    raise NotImplementedError(f"{type(value).__name__} is not data")


def _code(found: Any) -> int | str:
    return int(found, 16) if isinstance(found, str) and found[:2] == "0x" else _word(found)


def _word(found: Any) -> int | str:
    if isinstance(found, str):
        return found
    code = found if isinstance(found, int) else int(found[0], 16)
    if code < 0:
        raise ValueError(f"{code} is not a code")
    return code


def _array(found: Any) -> Any:
    char, shape, values = found
    if not isinstance(char, str) or char not in _CODES:
        raise ValueError(f"an array of {char!r}")
    if char == "O":
        values = [value if isinstance(value, str) else _outputs(value) for value in values]
    elif any(isinstance(value, str) for value in values):
        raise ValueError("codes and texts are not words of one type")
    try:
        return np.array(values, char).reshape(shape)
    except OverflowError as error:
        raise ValueError(str(error)) from None


def _outputs(found: Any) -> Outputs | Oversized | None:
    if not isinstance(found, dict) or "arrays" not in found:
        return msgspec.convert(found, Oversized | None)
    types = msgspec.convert(found["types"], tuple[str, ...])
    return Outputs(tuple(map(_array, found["arrays"])), types)


def case_named(head: CaseHead, types: Types) -> Case:
    """Return the case of a head.

    Raises ValueError if the id contradicts the other fields, UsageError for an unknown type.
    """
    types_of = [_types(names, types) for names in (head.inputs, head.middles, head.outputs)]
    attributes, setting, fixed = (
        tuple(pairs.items()) for pairs in (head.attributes, head.setting, head.fixed)
    )
    return _case(head.id, *types_of, head.ranks, attributes, setting, fixed)


@lru_cache(_ALIKE)
def _case(
    name: str, inputs: tuple[DType, ...], middles: tuple[DType, ...], outputs: tuple[DType, ...],
    ranks: tuple[int, ...], attributes: Attributes, setting: tuple[tuple[str, str], ...],
    fixed: tuple[tuple[str, str], ...],
) -> Case:  # fmt: skip
    spec, *named = name.split("/")
    op, version = op_and_version(spec)
    values = len(attributes) + len(setting) + len(fixed)
    number = next(iter(version_key(version)), 0)
    ends = pairwise((inputs, *((one,) for one in (*middles, *outputs[:1])))) if middles else ()
    case = Case(
        spec, op, number, inputs[:1] if middles else inputs, outputs, attributes,
        layout="/".join(named[1 : len(named) - values]), ranks=ranks,
        bound="-to-" not in "".join(named[:1]),
        hops=tuple(Case(spec, op, number, a, b, ()) for a, b in ends), setting=setting, fixed=fixed,
    )  # fmt: skip
    if case.id != name or not case.inputs:
        raise ValueError(f"the case {name} is not what it says")
    return case


def _types(names: Sequence[str], types: Types) -> tuple[DType, ...]:
    if unknown := [name for name in names if name not in types]:
        hint = "if a spec of your own has it, name the folder with --specs DIR"
        raise UsageError(f"the report has a type that no spec has: {unknown[0]}", hint=hint)
    return tuple([types[name] for name in names])


# msgspec describes a class when it first decodes it, and crashes if two threads do so at once.
for _kind in (Answers, Answered, CallExample, CaseHead, CaseResult, Decision, Oversized, Tally):
    msgspec.msgpack.Decoder(_kind)
