"""Two answers to one whole call: whether they are the same bit by bit, and a call that shows both.

An answer is here what came back, or, where nothing did, the words for why; None where the call was
not made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.calls import strip
from convcheck.judge.digest import digest_of_bytes
from convcheck.judge.matching_calls import Returned, shapes_of
from convcheck.judge.result import CallExample, Strip, Word
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import CallSet

Came = Returned | str | None
_BEFORE = 3  # elements that are shown before the first that differs


@dataclass(frozen=True)
class _Difference:
    """What is not the same: (output, element), the element -1 for a type or shape, and how many."""

    where: tuple[int, int]
    wrong: int = 0


def differs(due: Outputs, got: Came) -> bool:
    """Return whether something else came; nothing else did where the call was not made."""
    return isinstance(got, str) or (got is not None and _difference(due, got) is not None)


def alike(got: Came, more: Came) -> bool:
    """Return whether a call gave what it gave before; as far as is known where it was not made."""
    if more is None or isinstance(got, str | None) or isinstance(more, str):
        return more is None or isinstance(got, str) == isinstance(more, str)
    if isinstance(got, Oversized):
        return _forms(got) == _forms(more)
    return not differs(got, more)


def _difference(due: Outputs, got: Returned) -> _Difference | None:
    mine, others = _forms(due), _forms(got)
    if mine != others:
        pairs = zip(mine, others, strict=False)
        output = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
        return _Difference((output, -1))
    if isinstance(got, Oversized):  # of the same shapes, and left where it was
        return None
    bad = [
        np.flatnonzero(one.reshape(-1) != other.reshape(-1))
        for one, other in zip(due.arrays, got.arrays, strict=True)
    ]
    first = next((n for n, elements in enumerate(bad) if len(elements)), None)
    if first is None:
        return None
    return _Difference((first, int(bad[first][0])), sum(map(len, bad)))


def _forms(got: Returned) -> list[str]:
    """Return type and shape of each output: float32 scalar, float16 [7]."""
    shapes = shapes_of(got)
    names = [*map(str, got.types), *[""] * (len(shapes) - len(got.types))]
    said = (list(shape) or "scalar" for shape in shapes)
    return [f"{name} {shape}".strip() for name, shape in zip(names, said, strict=False)]


def digest(call: Call, due: Outputs, got: Came) -> int:
    """Hash a call and both answers to 128 bits."""
    return digest_of_bytes(
        *(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()
          for part in (*call, *_bits(due), *_bits(got)))
    )  # fmt: skip


def _bits(got: Came) -> tuple[NDArray[Any] | str, ...]:
    if isinstance(got, str | None):
        return (got or "",)
    return (*_forms(got), *(got.arrays if isinstance(got, Outputs) else ()))


# Examples ------------------------------------------------------------------------------------


def example(calls: CallSet, i: int, words: tuple[str, str], due: Outputs, got: Came) -> CallExample:
    """Show call `i` with both answers around the first element that differs, and say in words what
    gave what: `words` name the two ways.
    """
    off = None if isinstance(got, str | None) else _difference(due, got)
    where = off.where if off else None
    first = max(0, max(where[1] if where else 0, 0) - _BEFORE)
    shapes = set(shapes_of(due))
    inputs = (
        strip(t.name, t.format, bits, first if bits.shape in shapes else 0)
        for t, bits in zip(calls.case.inputs, calls.calls[i], strict=True)
    )
    shown = None if isinstance(got, str | None) else _strips(calls, i, got, first)
    return CallExample(
        tuple(inputs), _strips(calls, i, due, first), shown, "", where, off.wrong if off else 0,
        _message(words, due, got, off), _arguments(calls.calls[i], due, where),
    )  # fmt: skip


def _strips(calls: CallSet, i: int, got: Returned, first: int) -> tuple[Strip, ...]:
    formats = {t.name: t.format for t in (*calls.case.inputs, *calls.case.outputs)}
    for reading in calls.expected[i].readings:
        formats |= {due.dtype.name: due.dtype.format for due in reading.outputs}
    names = list(map(str, got.types))
    if isinstance(got, Oversized):
        pairs = zip(names, got.shapes, strict=False)
        return tuple(Strip(name, formats.get(name), shape, 0, ()) for name, shape in pairs)
    arrays = zip(names, got.arrays, strict=False)
    return tuple(strip(name, formats.get(name), array, first) for name, array in arrays)


def _arguments(call: Call, due: Outputs, where: tuple[int, int] | None) -> tuple[Word, ...]:
    """Return the word of each input that meets the element; () where they do not meet."""
    output, element = where or (0, 0)
    if all(tensor.shape == () for tensor in call):
        return tuple(int(tensor[()]) for tensor in call)
    try:
        met = [np.broadcast_to(t, shapes_of(due)[output]).reshape(-1) for t in call]
        return tuple(int(tensor[max(element, 0)]) for tensor in met)
    except (ValueError, IndexError):
        return ()


def _message(words: tuple[str, str], due: Outputs, got: Came, off: _Difference | None) -> str:
    one, other = words
    if isinstance(got, str | None):
        return f"{one} gives {_whole(due)}, {other} gives nothing: {got}"
    if off is None or off.where[1] < 0 or isinstance(got, Oversized):
        return f"{one} gives {_whole(due)}, {other} gives {_whole(got)}"
    output, element = off.where
    mine, its = (_code(answer.arrays[output].reshape(-1)[element]) for answer in (due, got))
    place = f" in element {element}" if due.arrays[output].ndim else ""
    place += f" of output {output + 1}" if len(due.arrays) > 1 else ""
    return f"{one} gives {mine}{place}, {other} gives {its}"


def _whole(got: Returned) -> str:
    return "; ".join(_forms(got)) or "no outputs"


def _code(code: np.unsignedinteger[Any]) -> str:
    return f"0x{int(code):0{code.dtype.itemsize * 2}x}"
