"""Build examples: an input, the expected value, the answer."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from convcheck.backends.protocol import Oversized
from convcheck.judge.answers import Fault
from convcheck.judge.digest import digest_of_bytes, spell_digest
from convcheck.judge.matching import Returned
from convcheck.judge.result import (
    CallExample,
    Example,
    Group,
    Strip,
    TypeName,
    Verdict,
    Word,
    entry_word,
)
from convcheck.numerics.format import Format
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.semantics.body.meetings import met
from convcheck.semantics.expected import EXACT, PATTERNS, CallReading, Reading
from convcheck.vectors.model import CallSet, Vectors

ELEMENTS_BEFORE = 3  # elements shown before the first difference
_SHOWN = 16
_FORM = frozenset(
    ("wrong shape", "wrong type", "wrong number of outputs", "not a code of the type")
)


def example_of(
    inputs: Sequence[Bits], reading: Reading, i: int, got: Word | None, message: str
) -> Example:
    """Return an example of element `i`."""
    words = tuple(entry_word(tensor[i]) for tensor in inputs)
    return Example(words, due_word(reading, i), got, message)


def due_word(reading: Reading, i: int) -> Word:
    """Return the expected code or text of an element, or its pattern in <>."""
    if reading.patterns[i] == EXACT:
        return entry_word(reading.codes[i])
    return f"<{PATTERNS[reading.patterns[i]]}>"


def fault_groups(vectors: Vectors, faults: Sequence[Fault]) -> tuple[Group, ...]:
    """Return the group of each fault."""
    return tuple(fault_group(vectors, fault) for fault in faults)


def fault_group(vectors: Vectors, fault: Fault) -> Group:
    """Return the group of a fault."""
    of_form, i = fault.kind in _FORM, fault.index
    verdict = fault.kind if fault.kind in ("crashed", "refused", "error") else "fail"
    decision, said = vectors.form, repr((fault.message,))
    examples: tuple[Example | CallExample, ...] = ()
    if isinstance(vectors, CallSet):
        said = fault.message
        if len(vectors):
            first = vectors.expected[i].readings[0]
            examples = (call_example(vectors, i, first, message=fault.message),)
    elif len(vectors):
        shown = example_of(vectors.inputs, vectors.expected.readings[0], i, None, fault.message)
        examples, said = (shown,), repr((*shown.inputs, fault.message))
    if len(vectors) and not of_form:
        decision = vectors.decisions[vectors.rows[i]]
    return Group(
        decision, cast(Verdict, verdict), fault.kind if of_form else fault.message, 1, 1,
        spell_digest(digest_of_bytes(said.encode())),
        placement=fault.placement, examples=examples,
    )  # fmt: skip


def call_example(
    calls: CallSet,
    i: int,
    reading: CallReading,
    got: Returned | None = None,
    where: tuple[int, int] | None = None,
    wrong: int = 0,
    message: str = "",
) -> CallExample:
    """Return an example of call `i`, excerpted around the first difference."""
    at = max(where[1] if where else 0, 0)
    first = max(0, at - ELEMENTS_BEFORE)
    inputs, arguments = shown_inputs(calls, i, [due.shape for due in reading.outputs], where)
    exact = reading.pattern == EXACT
    expected = strips_due(reading, first) if exact else f"<{PATTERNS[reading.pattern]}>"
    returned = None if got is None else returned_strips(calls, i, got, first)
    name = reading.name
    return CallExample(inputs, expected, returned, name, where, wrong, message, arguments)


def shown_inputs(
    calls: CallSet, i: int, shapes: Sequence[tuple[int, ...]], where: tuple[int, int] | None
) -> tuple[tuple[Strip, ...], tuple[Word, ...]]:
    """Return excerpts of a call's inputs, and the codes behind an output element.

    `shapes` are those of the outputs. `where` is (output, element). There are no codes if the
    inputs do not broadcast.
    """
    call, (output, element) = calls.calls[i], where or (0, 0)
    element = max(element, 0)
    places = [0] * len(call)
    if any(tensor.shape for tensor in call):
        try:
            counted = [np.arange(tensor.size).reshape(tensor.shape) for tensor in call]
            spread = (met(one, shapes[output], calls.along).reshape(-1) for one in counted)
            places = [int(one[element]) for one in spread]
        except (ValueError, IndexError):
            places = []
    # inputs shaped like an output are excerpted at the element, short ones in full
    about = [
        element if bits.shape in shapes else at if bits.size > _SHOWN else 0
        for bits, at in zip(call, places or [0] * len(call), strict=True)
    ]
    strips = (
        strip(t.name, t.format, bits, max(0, at - ELEMENTS_BEFORE))
        for t, bits, at in zip(calls.case.inputs, call, about, strict=True)
    )
    words = (int(bits.reshape(-1)[at]) for bits, at in zip(call, places, strict=False))
    return tuple(strips), tuple(words)


def strips_due(reading: CallReading, first: int) -> tuple[Strip, ...]:
    """Return excerpts of the expected outputs."""
    return tuple(
        replace(
            strip(due.dtype.name, due.dtype.format, due.codes, first, due.patterns), shape=due.shape
        )
        for due in reading.outputs
    )


def strip(
    name: str, fmt: Format | None, bits: Bits, first: int, patterns: Bits | None = None,
    most: int = _SHOWN,
) -> Strip:  # fmt: skip
    """Return an excerpt of a tensor, `most` elements from `first` on. Patterns are words in <>."""
    part = slice(first, first + most)
    words = [entry_word(code) for code in bits.reshape(-1)[part]]
    if patterns is not None:
        said = zip(words, patterns.reshape(-1)[part].tolist(), strict=True)
        words = [w if p == EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(TypeName(name, fmt), bits.shape, first, tuple(words))


def returned_strips(calls: CallSet, i: int, got: Returned, first: int) -> tuple[Strip, ...]:
    """Return excerpts of the outputs of call `i`."""
    formats = formats_of(calls, i)
    names = list(map(str, got.types))
    if isinstance(got, Oversized):
        types = [TypeName(name, formats.get(name)) for name in names]
        return tuple(Strip(t, shape, 0, ()) for t, shape in zip(types, got.shapes, strict=False))
    arrays = zip(names, got.arrays, strict=False)
    return tuple(strip(name, formats.get(name), array, first) for name, array in arrays)


def formats_of(calls: CallSet, i: int) -> dict[str, Format]:
    """Return the formats of the types that call `i` and its case have, by name."""
    formats = {t.name: t.format for t in (*calls.case.inputs, *calls.case.outputs)}
    for reading in calls.expected[i].readings:
        formats |= {due.dtype.name: due.dtype.format for due in reading.outputs}
    return formats
