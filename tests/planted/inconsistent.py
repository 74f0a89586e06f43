"""Backends that answer the same inputs now this, now that, and one that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.numerics.format import Bits
from convcheck.spec.model import Case


class Steady:
    """Gives back what it gets: always the same for the same."""

    name, version = "steady", "1"
    options: Mapping[str, tuple[str, ...]] = {
        "threads": ("1", "2", "4"),
        "optimisation": ("off", "all"),
    }

    def __init__(self, choice: Mapping[str, str] | None = None) -> None:
        self.choice = {name: values[0] for name, values in self.options.items()}
        self.choice.update(choice or {})

    def configured(self, choice: Mapping[str, str]) -> Steady:
        return type(self)({**self.choice, **choice})

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        self.spoil(codes.reshape(-1), inputs[0])
        return Outputs((codes,), (case.outputs[0].name,))

    def spoil(self, codes: Bits, given: Bits) -> None:
        """Change the answer, of shape (n,), in place."""


class OddTail(Steady):
    """Wrong in the last element after pairs, where one is left over."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        if len(codes) % 2:
            codes[-1] ^= 1


class UndefinedByPlace(Steady):
    """Gives codes from 100 on as they are in vectors of eight, and as 0 in the tail after them."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        tail = codes[len(codes) // 8 * 8 :]
        tail[tail >= 100] = 0


class ByThreads(Steady):
    """Wrong where the second thread of several begins, in a large tensor."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        threads = int(self.choice["threads"])
        if threads > 1 and len(codes) > 1 << 16:
            codes[len(codes) // threads] ^= 1


class ByOptimisation(Steady):
    def spoil(self, codes: Bits, given: Bits) -> None:
        if self.choice["optimisation"] == "all":
            codes[codes == 5] = 4


class ByAlignment(Steady):
    def spoil(self, codes: Bits, given: Bits) -> None:
        if given.base is not None and given.base.size == given.size + 3:
            codes[codes == 7] = 6


class ByLuck(Steady):
    """Wrong in every other call that has a 9."""

    calls = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        if (codes == 9).any():
            self.calls += 1
            if self.calls % 2:
                codes[codes == 9] = 8


class RefusesPieces(Steady):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if inputs[0].size == 33:
            return Refused("thirty-three of them")
        return super().answer(case, inputs)
