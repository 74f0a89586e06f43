"""Importers of ONNX models: what none of them can be asked, and what one has made of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from convcheck.backends.onnx.model import cannot_ask
from convcheck.backends.protocol import Declined
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.model import Case

M = TypeVar("M")
Ranks = tuple[int, ...]  # of a case's inputs


def cannot_import(case: Case, name: str, *, constants: bool) -> Declined | None:
    """Decline what no ONNX model can say, texts, and inputs that are fed where all are constants.

    `name` is the backend's.
    """
    if any(isinstance(dtype.format, Text) for dtype in (*case.inputs, *case.outputs)):
        return Declined(f"{name} takes no texts from Python", missing=True)
    if ("input", "fed") in case.setting and constants:
        return Declined(f"{name} has constants as inputs")
    return cannot_ask(case)


class MadeByRanks(Generic[M]):
    """What is made of a case for each combination of ranks; that of the last case is kept."""

    def __init__(self, make: Callable[[Case, Ranks], M]) -> None:
        self._make = make
        self._case: Case | None = None
        self._made: dict[Ranks, M] = {}

    def of(self, case: Case, inputs: Sequence[Bits]) -> M:
        """Return what is made of a case for the ranks of a call's inputs."""
        if self._case != case:
            self._case, self._made = case, {}
        ranks = tuple(bits.ndim for bits in inputs)
        if ranks not in self._made:
            self._made[ranks] = self._make(case, ranks)
        return self._made[ranks]
