"""Backends for sweeps: the evaluator's answers with a planted change."""

from collections.abc import Callable, Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Bound, Declined, Outputs
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.program import Program

Change = Callable[[Codes, Codes], None]


class Swept:
    name, version = "swept", "1"

    def __init__(self, program: Program, change: Change = lambda codes, out: None) -> None:
        self.program, self.change = program, change

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = np.asarray(inputs[0]).reshape(-1)
        return Outputs((self.right(case, codes).reshape(inputs[0].shape),), (case.outputs[0].name,))

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound | None:
        def call() -> None:
            out[:] = self.right(case, codes)

        return call

    def right(self, case: Case, codes: Codes) -> Codes:
        found = np.array(run_program(self.program, case, codes).readings[0].codes)
        self.change(codes, found)
        return found


class Unbound(Swept):
    """Has no bound buffers. `reply` may return another answer."""

    def __init__(self, program: Program, reply: Callable[[Codes], Answer | None]) -> None:
        super().__init__(program)
        self.reply = reply

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        reply = self.reply(np.asarray(inputs[0]))
        return super().answer(case, inputs) if reply is None else reply
