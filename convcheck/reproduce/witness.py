"""The smallest call that shows a finding, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from convcheck.ask.type_only import companion
from convcheck.errors import UsageError
from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CallExample,
    CaseResult,
    Example,
    Group,
    Strip,
    TypeName,
    Word,
    entry_word,
)
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.model import Case, DType
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.semantics.expected_calls import Call

SHOWN = 64  # elements shown of a longer output
BEFORE = 3  # elements shown before the first difference
REFUSAL, ANYTHING = "<refused>", "<undefined>"


@dataclass(frozen=True)
class Due:
    """The expected result under one reading: outputs, REFUSAL or ANYTHING."""

    reading: str
    outputs: tuple[Strip, ...] | str


@dataclass(frozen=True)
class Witness:
    """A finding on one call: whole inputs, expected results (any of `due`), and the result.

    `got` is None if the result is missing or unknown. Results between a pair of `between`, widened
    by an ulp, are tolerated. `first`: it shows on the first call of a fresh backend, otherwise on
    call number `calls`. `asked`: the answer is new, not from a report.
    """

    backend: BackendInfo
    case: Case
    group: Group
    inputs: tuple[Strip, ...]
    due: tuple[Due, ...]
    got: tuple[Strip, ...] | None
    message: str = ""
    between: tuple[tuple[Strip, Strip], ...] = ()
    first: bool = True
    asked: bool = True
    calls: int = 1
    #: The cause, and its number of cases; '' if causes were not tried.
    cause: str = ""
    #: The case with other attribute values that has to run first.
    before: Case | None = None


def failing(result: CaseResult) -> list[Group]:
    """Return the findings of a case, in the report's order."""
    return [group for group in result.groups if group.verdict in FAILURES]


def whole(dtype: DType, bits: Bits) -> Strip:
    """Return a tensor with all its elements."""
    words = tuple(map(entry_word, bits.reshape(-1)))
    return Strip(TypeName(dtype.name, dtype.format), bits.shape, 0, words)


def part(name: str, fmt: Format | None, bits: Bits, at: int, patterns: Bits | None = None) -> Strip:
    """Return a tensor, or the elements around `at` of a long one. Patterns are words in <>."""
    first = max(0, at - BEFORE) if bits.size > SHOWN else 0
    cut = slice(first, first + SHOWN)
    words = list(map(entry_word, bits.reshape(-1)[cut]))
    if patterns is not None:
        said = zip(words, patterns.reshape(-1)[cut].tolist(), strict=True)
        words = [w if p == EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(TypeName(name, fmt), bits.shape, first, tuple(words))


def distinct(dues: Sequence[Due]) -> tuple[Due, ...]:
    """Merge readings with equal results. A single one has no name."""
    found: dict[object, Due] = {}
    for due in dues:
        found.setdefault(due.outputs, due)
    kept = tuple(found.values())
    return kept if len(kept) > 1 else tuple(replace(due, reading="") for due in kept)


# From a report -------------------------------------------------------------------------------


def of_report(backend: BackendInfo, case: Case, group: Group) -> Witness:
    """Return the witness of a group's first example, without a backend.

    Raises UsageError if the report has too little of it.
    """
    if not group.examples:
        raise ask_again(f"the report has no example of {group.kind or group.verdict}")
    example = group.examples[0]
    if not isinstance(example, CallExample):
        example = _as_call(case, group, example)
    elif any(len(strip.words) < prod(strip.shape) for strip in example.inputs):
        example = _cut(example)
    return _of_call(backend, case, group, example)


def of_recalled(
    backend: BackendInfo, case: Case, group: Group, calls: Sequence[Call]
) -> Witness | None:
    """Return the witness of a group's first example with its whole call from `calls`, if it is
    there.

    `calls` are in the order of the run.
    """
    example = group.examples[0] if group.examples else None
    if not isinstance(example, CallExample):
        return None
    call = next((one for one in calls if all(map(_is_part, example.inputs, one))), None)
    if call is None:
        return None
    made = replace(example, inputs=tuple(map(whole, case.inputs, call)))
    shapes = [tuple(tensor.shape for tensor in one) for one in (call, calls[0])]
    return replace(_of_call(backend, case, group, made), first=shapes[0] == shapes[1])


def _of_call(backend: BackendInfo, case: Case, group: Group, example: CallExample) -> Witness:
    dues = (Due(example.reading, example.expected), *accepted(case))
    return Witness(
        backend, case, group, example.inputs, dues, example.got, example.message, asked=False
    )


def _is_part(strip: Strip, tensor: Bits) -> bool:
    cut = tensor.reshape(-1)[strip.first : strip.first + len(strip.words)]
    return strip.shape == tensor.shape and strip.words == tuple(map(entry_word, cut))


def ask_again(said: str) -> UsageError:
    """Return the error for a report with too little data."""
    return UsageError(said, hint="use --backend NAME instead of --report to test it again")


def accepted(case: Case) -> tuple[Due, ...]:
    """Return a refusal if the text allows one."""
    return (Due("a refusal is also accepted", REFUSAL),) if is_accepted(case) else ()


# shape of a single element that shows a placement
_ALONE: Mapping[str, tuple[int, ...]] = {"": (1,), "bulk": (1,), "alone": (), "empty": (0,)}


def _as_call(case: Case, group: Group, example: Example) -> CallExample:
    shape = _ALONE.get(group.placement)
    if shape is None or (group.placement == "bulk" and group.verdict == "crashed"):
        raise ask_again(f"the report only names the placement {group.placement!r}")
    [target], dtype, count = case.outputs, case.inputs[0], prod(shape)
    index = np.zeros(shape, np.intp)  # other inputs only set types
    others = [whole(t, companion(t, index, 1)) for t in case.inputs[len(case.sources) :]]

    def strip(word: Word) -> tuple[Strip, ...]:
        return (Strip(TypeName(target.name, target.format), shape, 0, (word,) * count),)

    due = example.expected
    return CallExample(
        (whole(dtype, np.full(shape, example.inputs[0], dtype.format.storage)), *others),
        str(due) if due in (REFUSAL, ANYTHING) else strip(due),
        None if example.got is None else strip(example.got),
        group.reading, message=example.message,
    )  # fmt: skip


def _cut(example: CallExample) -> CallExample:
    if len(example.arguments) != len(example.inputs):
        raise ask_again("the report does not have the whole call")
    output, at = example.difference or (0, 0)

    def one(strip: Strip, word: Word) -> Strip:
        return replace(strip, shape=(1,) * len(strip.shape), first=0, words=(word,))

    def met(strips: tuple[Strip, ...]) -> Iterator[Strip]:
        """Yield the element of each output that depends on the arguments."""
        for strip in strips:
            beside = output < len(strips) and strip.shape == strips[output].shape
            if not beside and prod(strip.shape) != 1:
                raise ask_again("the report lacks the expected value of the other output")
            place = max(at if beside else 0, strip.first) - strip.first
            if place >= len(strip.words):
                raise ask_again("the report does not have the element that differs")
            yield one(strip, strip.words[place])

    due, got = example.expected, example.got
    return replace(
        example,
        inputs=tuple(map(one, example.inputs, example.arguments)),
        expected=due if isinstance(due, str) else tuple(met(due)),
        got=None if got is None else tuple(met(got)),
    )
