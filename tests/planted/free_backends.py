"""Right backends that differ in undefined cases, by 'tests.planted.free_backends:Name'."""

import os
import signal
from fractions import Fraction

import numpy as np
from catalogue import compiled
from oracle import decode

from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.errors import UnavailableError
from convcheck.numerics.format import Int
from convcheck.semantics.answers_at import run_program

Number = Fraction | str


class Free(Reference):
    """Answers float to integer out of range by `beyond`, all else like the reference."""

    name = "free"
    version = "1"

    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        target = case.outputs[0].format
        if not isinstance(answer, Outputs) or not isinstance(target, Int):
            return answer
        codes = answer.arrays[0].reshape(-1).copy()
        for i, code in enumerate(inputs[0].reshape(-1).tolist()):
            x = decode(case.inputs[0].name, code)
            if not (isinstance(x, Fraction) and target.min <= x <= target.max) and x != "-0":
                codes[i] = self.beyond(x, target.bits, target.signed) % (1 << target.bits)
        return Outputs((codes.reshape(answer.arrays[0].shape),), answer.types)

    def beyond(self, x, bits, signed):
        return 0


def free(beyond):
    class Freely(Free):
        def beyond(self, x, bits, signed):
            return beyond(x, bits, signed)

    return Freely


def clamped(x, bits, signed):
    top, bottom = (1 << (bits - signed)) - 1, -(1 << (bits - 1)) if signed else 0
    if isinstance(x, str):
        return {"inf": top, "-inf": bottom}.get(x, 0)
    return top if x > 0 else bottom


def x86(x, bits, signed):
    held = not isinstance(x, str) and -(1 << 31) <= int(x) < 1 << 31
    return int(x) if held else -(1 << 31)


Clamping, X86 = free(clamped), free(x86)
Wrapping = free(lambda x, bits, signed: 7 if isinstance(x, str) else int(x))
Lawless = free(lambda x, bits, signed: 3 if isinstance(x, str) else int(abs(x)) % 7 + 1)


class Refusing(X86):
    def answer(self, case, inputs):
        values = [decode(case.inputs[0].name, code) for code in inputs[0].reshape(-1).tolist()]
        if any(isinstance(x, str) and x != "-0" for x in values):
            return Refused("not a finite number")
        return super().answer(case, inputs)


class Deadly(X86):
    def answer(self, case, inputs):
        if any(decode(case.inputs[0].name, c) == "inf" for c in inputs[0].reshape(-1).tolist()):
            os.kill(os.getpid(), signal.SIGFPE)
        return super().answer(case, inputs)


class Unable(X86):
    def support(self, case):
        name = case.outputs[0].name
        if name in ("int8", "int16"):
            return Declined(f"no {name} here", missing=name == "int8")
        return None


class Moody(X86):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        alone = inputs[0].size == 1 and decode(case.inputs[0].name, int(inputs[0].item())) == "nan"
        if isinstance(answer, Outputs) and alone:
            return Outputs((np.full_like(answer.arrays[0], 1),), answer.types)
        return answer


class ByTheOther(Reference):
    name = "by the other"

    def answer(self, case, inputs):
        reading = run_program(compiled(case), case, inputs[0].reshape(-1)).readings[-1]
        codes = reading.codes.reshape(inputs[0].shape)
        return Outputs((codes,), tuple(t.name for t in case.outputs))


class Absent(Reference):
    def __init__(self):
        raise UnavailableError("no such runtime here", hint="install it")
