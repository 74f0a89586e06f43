"""Cases, vectors, and a backend made from a function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from convcheck.ask.elements import ask
from convcheck.backends.protocol import Answer, Declined, Outputs, open_backend
from convcheck.errors import Place
from convcheck.judge.answers import Answers, Avoid, Index
from convcheck.numerics.format import Bool, Int, Text
from convcheck.numerics.number import Bits
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


def case_of(source: DType = INT8, target: DType = INT8, arity: int = 1) -> Case:
    return Case("test.Cast-1", "test.Cast", 1, (source,) * arity, (target,), ())


def vectors_of(
    case: Case, inputs: Sequence[Any], patterns: Sequence[int] | int = EXACT, out: Any = None
) -> VectorSet:
    codes: Bits = np.array(inputs, case.inputs[0].format.storage)
    given = np.zeros(len(codes), case.outputs[0].format.storage) if out is None else out
    filled = np.full(len(codes), patterns, np.uint8)
    rows = np.zeros(len(codes), np.int16)
    expected = Expected(rows, (DECISION,), (Reading(given, filled),))
    return VectorSet(case, (codes,) * len(case.inputs), expected, "sampled", DECISION)


class Log:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Index]] = []

    def __call__(self, placement: str, index: Index) -> None:
        self.calls.append((placement, index.copy()))

    def of(self, placement: str) -> list[Index]:
        return [index for name, index in self.calls if name == placement]


class Scripted:
    name, version = "scripted", "1"

    def __init__(self, reply: Callable[[Case, Sequence[Bits]], Answer]) -> None:
        self.reply = reply

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return self.reply(case, inputs)


def echo(case: Case, inputs: Sequence[Bits]) -> Answer:
    return Outputs((inputs[0],), (case.outputs[0].name,))


def asked(
    name: str, vectors: VectorSet | None = None, avoid: Avoid | None = None, **skip: str
) -> tuple[Answers, Log]:
    log = Log()
    backend = open_backend(f"tests.planted.bad_backends:{name}")
    vectors = vectors or vectors_of(case_of(), range(128))
    return ask(backend, vectors, log, {int(k[1:]): v for k, v in skip.items()}, avoid), log
