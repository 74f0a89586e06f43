"""Backends for sweeps: the evaluator's answers with a planted change."""

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.semantics.answers_at import run_program


class Swept:
    name, version = "swept", "1"

    def __init__(self, program, change=lambda codes, out: None):
        self.program, self.change = program, change

    def support(self, case):
        return None

    def answer(self, case, inputs):
        codes = np.asarray(inputs[0]).reshape(-1)
        return Outputs((self.right(case, codes).reshape(inputs[0].shape),), (case.outputs[0].name,))

    def bind(self, case, codes, out):
        def call():
            out[:] = self.right(case, codes)

        return call

    def right(self, case, codes):
        found = np.array(run_program(self.program, case, codes).readings[0].codes)
        self.change(codes, found)
        return found


class Unbound(Swept):
    """Has no bound buffers. `reply` may return another answer."""

    def __init__(self, program, reply):
        super().__init__(program)
        self.reply = reply

    def bind(self, case, codes, out):
        return None

    def answer(self, case, inputs):
        reply = self.reply(np.asarray(inputs[0]))
        return super().answer(case, inputs) if reply is None else reply
