"""Cases, vectors, and a backend made from a function."""

import numpy as np

from convcheck.ask.elements import ask
from convcheck.backends.protocol import Outputs, open_backend
from convcheck.errors import Place
from convcheck.numerics.format import Bool, Int, Text
from convcheck.rules.model import Case, DType
from convcheck.semantics.expected import EXACT, Decision, Expected, Reading
from convcheck.vectors.model import VectorSet

PLACE = Place("test", 1)
INT8 = DType("int8", Int(8, True), (), PLACE)
INT4 = DType("int4", Int(4, True), (), PLACE)
INT32 = DType("int32", Int(32, True), (), PLACE)
BOOL = DType("bool", Bool(), (), PLACE)
TEXT = DType("string", Text(), (), PLACE)
DECISION = Decision("rule", "row", "normative", "cite", "source", PLACE)
BAD = 100


def case_of(source=INT8, target=INT8, arity=1):
    return Case("test.Cast-1", "test.Cast", 1, (source,) * arity, (target,), ())


def vectors_of(case, inputs, patterns=EXACT, out=None):
    codes = np.array(inputs, case.inputs[0].format.storage)
    given = np.zeros(len(codes), case.outputs[0].format.storage) if out is None else out
    filled = np.full(len(codes), patterns, np.uint8)
    rows = np.zeros(len(codes), np.int16)
    expected = Expected(rows, (DECISION,), (Reading(given, filled),))
    return VectorSet(case, (codes,) * len(case.inputs), expected, "sampled", DECISION)


class Log:
    def __init__(self):
        self.calls = []

    def __call__(self, placement, index):
        self.calls.append((placement, index.copy()))

    def of(self, placement):
        return [index for name, index in self.calls if name == placement]


class Scripted:
    name, version = "scripted", "1"

    def __init__(self, reply):
        self.reply = reply

    def support(self, case):
        return None

    def answer(self, case, inputs):
        return self.reply(case, inputs)


def echo(case, inputs):
    return Outputs((inputs[0],), (case.outputs[0].name,))


def asked(name, vectors=None, avoid=None, **skip):
    log = Log()
    backend = open_backend(f"tests.planted.bad_backends:{name}")
    vectors = vectors or vectors_of(case_of(), range(128))
    return ask(backend, vectors, log, {int(k[1:]): v for k, v in skip.items()}, avoid), log
