"""Send whole calls again: in reverse order, at another address, under other options."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.again import ALIGNMENT, ORDER, AskingAgain, Items, Mask, OtherWay, WayDifference
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import ANSWERED, Index
from convcheck.judge.digest import added, digest_of_bytes
from convcheck.judge.examples import ELEMENTS_BEFORE, returned_strips, shown_inputs
from convcheck.judge.matching import Returned, codes_complaint, shapes_of
from convcheck.judge.result import CallExample
from convcheck.records import replace
from convcheck.vectors.model import CallSet


class CallsAgain(AskingAgain[CallSet]):
    """The answered calls of a case, last call first."""

    twice = ("first", "asked again")

    def _comparable(self) -> Index:
        # outputs that were not fetched have no bits to compare
        fetched = [isinstance(got, Outputs) for got in self.answers.got]
        return np.flatnonzero((self.answers.state == ANSWERED) & fetched)[::-1]

    def _ways(self) -> Iterator[OtherWay]:
        backwards = replace(self.again, calls=self._steady())
        if len(self.asked) > 1:
            words = "in order", "in reverse order"
            backwards = replace(backwards, kind=ORDER, one=words[0], other=words[1])
        yield backwards
        if any(tensor.shape for i in self.asked for tensor in self.vectors.calls[i]):
            words = "at the start of a buffer", "1 element into it"
            elsewhere = OtherWay(ALIGNMENT, *words, "other place", self.backend, offset=1)
            yield replace(elsewhere, calls=self._steady())
        for _, way in self._options():
            yield replace(way, calls=self._steady())

    def _steady(self) -> tuple[Index, ...]:
        return tuple(np.array([i], np.intp) for i in self.asked if self.steady[i])

    def _plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """The call, after the one that preceded it first or in the other way."""
        if way.placement != "again":
            return (*before, index)
        at = int(np.flatnonzero(self.asked == index[0])[0]) + 1  # they are in reverse order
        return (*self.asked[at : at + 1].reshape(-1, 1), index)

    def _read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        wrong = codes_complaint(answer) if isinstance(answer, Outputs) else ""
        return wrong or np.array([answer], object)

    def _differing(self, due: Items, got: Items) -> Mask:
        pairs = zip(due, got, strict=True)
        return np.array([difference_of(one, other) is not None for one, other in pairs], bool)

    def _digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        items = zip(index, due, got, strict=True)
        calls = ((*self.vectors.calls[i], *_bits(one), *_bits(other)) for i, one, other in items)
        return added(digest_of_bytes(*map(_bytes, parts)) for parts in calls)

    def _example(self, difference: WayDifference, i: int) -> CallExample:
        words, calls = (difference.way.one, difference.way.other), self.vectors
        due, got, number = difference.due[i], difference.got[i], int(difference.index[i])
        where, wrong = (None if isinstance(got, str) else difference_of(due, got)) or (None, 0)
        first = max(0, max(where[1] if where else 0, 0) - ELEMENTS_BEFORE)
        inputs, arguments = shown_inputs(calls, number, shapes_of(due), where)
        return CallExample(
            inputs,
            returned_strips(calls, number, due, first),
            None if isinstance(got, str) else returned_strips(calls, number, got, first),
            difference=where,
            wrong=wrong,
            message=_message(words, due, got, where),
            arguments=arguments,
        )


def difference_of(due: Returned, got: Returned) -> tuple[tuple[int, int], int] | None:
    """Return the first (output, element) that differs, -1 for types or shapes, and how many do."""
    mine, others = _forms(due), _forms(got)
    if mine != others:
        pairs = zip(mine, others, strict=False)
        output = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
        return (output, -1), 0
    if isinstance(due, Oversized) or isinstance(got, Oversized):
        return None
    bad = [
        np.flatnonzero(one.reshape(-1) != other.reshape(-1))
        for one, other in zip(due.arrays, got.arrays, strict=True)
    ]
    first = next((n for n, elements in enumerate(bad) if len(elements)), None)
    if first is None:
        return None
    return (first, int(bad[first][0])), sum(map(len, bad))


def _forms(got: Returned) -> list[str]:
    """Type and shape of each output: "float16 [7]"."""
    shapes = shapes_of(got)
    names = [*map(str, got.types), *[""] * (len(shapes) - len(got.types))]
    said = (list(shape) or "scalar" for shape in shapes)
    return [f"{name} {shape}".strip() for name, shape in zip(names, said, strict=False)]


def _bytes(part: NDArray[Any] | str) -> bytes:
    return part.encode() if isinstance(part, str) else np.ascontiguousarray(part).tobytes()


def _bits(got: Returned | str) -> tuple[NDArray[Any] | str, ...]:
    if isinstance(got, str):
        return (got,)
    return (*_forms(got), *(got.arrays if isinstance(got, Outputs) else ()))


def _message(
    words: tuple[str, str], due: Returned, got: Returned | str, where: tuple[int, int] | None
) -> str:
    one, other = words
    if isinstance(got, str):
        return f"{one} gives {_whole(due)}, {other} gives nothing: {got}"
    if isinstance(due, Oversized) or isinstance(got, Oversized) or not where or where[1] < 0:
        return f"{one} gives {_whole(due)}, {other} gives {_whole(got)}"
    output, element = where
    mine, its = (_code(answer.arrays[output].reshape(-1)[element]) for answer in (due, got))
    place = f" in element {element}" if due.arrays[output].ndim else ""
    place += f" of output {output + 1}" if len(due.arrays) > 1 else ""
    return f"{one} gives {mine}{place}, {other} gives {its}"


def _whole(got: Returned) -> str:
    return "; ".join(_forms(got)) or "no outputs"


def _code(code: np.unsignedinteger[Any]) -> str:
    return f"0x{int(code):0{code.dtype.itemsize * 2}x}"
