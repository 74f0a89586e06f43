"""Two answers to one whole call: whether they are the same bit by bit, and a call that shows both.

The second may be the words for why nothing came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.digest import digest_of_bytes
from convcheck.judge.examples import ELEMENTS_BEFORE, returned_strips, shown_inputs
from convcheck.judge.matching import Returned, shapes_of
from convcheck.judge.result import CallExample
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import CallSet


@dataclass(frozen=True)
class TwoAnswers:
    """What is not the same in two answers to a call."""

    #: the first (output, element) that is another, the element -1 for a type or shape
    where: tuple[int, int]
    #: how many elements are others
    wrong: int = 0


def difference_of(due: Returned, got: Returned) -> TwoAnswers | None:
    """Return the difference of two answers, None where there is none. Outputs that were not fetched
    are the same where their types and shapes are.
    """
    mine, others = _forms(due), _forms(got)
    if mine != others:
        pairs = zip(mine, others, strict=False)
        output = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
        return TwoAnswers((output, -1))
    if isinstance(due, Oversized) or isinstance(got, Oversized):
        return None
    bad = [
        np.flatnonzero(one.reshape(-1) != other.reshape(-1))
        for one, other in zip(due.arrays, got.arrays, strict=True)
    ]
    first = next((n for n, elements in enumerate(bad) if len(elements)), None)
    if first is None:
        return None
    return TwoAnswers((first, int(bad[first][0])), sum(map(len, bad)))


def _forms(got: Returned) -> list[str]:
    """Return type and shape of each output: float32 scalar, float16 [7]."""
    shapes = shapes_of(got)
    names = [*map(str, got.types), *[""] * (len(shapes) - len(got.types))]
    said = (list(shape) or "scalar" for shape in shapes)
    return [f"{name} {shape}".strip() for name, shape in zip(names, said, strict=False)]


def digest_of_both(call: Call, due: Returned, got: Returned | str) -> int:
    """Return the hash of a call and both answers, to 128 bits."""
    return digest_of_bytes(
        *(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()
          for part in (*call, *_bits(due), *_bits(got)))
    )  # fmt: skip


def _bits(got: Returned | str) -> tuple[NDArray[Any] | str, ...]:
    if isinstance(got, str):
        return (got,)
    return (*_forms(got), *(got.arrays if isinstance(got, Outputs) else ()))


# Examples ------------------------------------------------------------------------------------


def call_with_both(
    calls: CallSet, i: int, words: tuple[str, str], due: Returned, got: Returned | str
) -> CallExample:
    """Return call `i` with both answers around the first element that differs, and say in words
    what gave what: `words` name the two ways.
    """
    off = None if isinstance(got, str) else difference_of(due, got)
    where = off.where if off else None
    first = max(0, max(where[1] if where else 0, 0) - ELEMENTS_BEFORE)
    inputs, arguments = shown_inputs(calls, i, shapes_of(due), where)
    return CallExample(
        inputs,
        returned_strips(calls, i, due, first),
        None if isinstance(got, str) else returned_strips(calls, i, got, first),
        difference=where,
        wrong=off.wrong if off else 0,
        message=_message(words, due, got, off),
        arguments=arguments,
    )


def _message(
    words: tuple[str, str], due: Returned, got: Returned | str, off: TwoAnswers | None
) -> str:
    one, other = words
    if isinstance(got, str):
        return f"{one} gives {_whole(due)}, {other} gives nothing: {got}"
    if isinstance(due, Oversized) or isinstance(got, Oversized) or not off or off.where[1] < 0:
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
