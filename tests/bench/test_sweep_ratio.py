"""Cost of asking and judging, relative to ONNX Runtime's own kernel.

Run with: pytest tests/bench -n 0 --benchmark-enable
"""

import os
from collections import defaultdict
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.ask.stream import Sweep
from convcheck.backends.protocol import Outputs, bound, open_backend
from convcheck.pool.worker import keep_heap
from convcheck.rules.find import find_case
from convcheck.semantics.evaluate import compile_case
from convcheck.vectors.corpus import CHUNK, WHOLE_SPAN, Span
from convcheck.vectors.generate import form_decision

SPEC = CATALOG.specs["onnx.Cast-21"]
PARTS = [Span(n * WHOLE_SPAN, WHOLE_SPAN) for n in (0, 68, 136, 204)]
ARRAY = 1 << 23
CASES = [
    "float8e4m3fn/saturate=1", "float8e5m2/saturate=0", "float16", "bfloat16", "int8", "int4",
    "bool", "int32", "uint64", "float64",
]  # fmt: skip


@pytest.fixture
def one_core():
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


class Turns:
    def __init__(self, case):
        keep_heap()
        self.case, self.ort, self.theirs = case, open_backend("ort"), open_backend("ml_dtypes")
        source, target = case.inputs[0].format, case.outputs[0].format
        self.codes, self.out = np.zeros(CHUNK, source.storage), np.zeros(CHUNK, target.storage)
        program, form = compile_case(SPEC, case), form_decision(SPEC)
        self.sweep = partial(Sweep, self.ort, case, program, form)
        self.call = bound(self.ort, case, self.codes, self.out)
        assert self.call() is None
        self.turns = [self.alone, self.whole]
        named = all(t.name_in("ml_dtypes") for t in (*case.inputs, *case.outputs))
        if named and isinstance(self.theirs.answer(case, [self.codes]), Outputs):
            self.turns += [self.chunks, self.arrays]

    def measure(self, spans):
        found = defaultdict(list)
        for number, span in enumerate(spans):
            for turn in self.turns[:: -1 if number % 2 else 1]:
                for what, seconds in turn(span).items():
                    found[what].append(seconds)
        return found

    def alone(self, span):
        times = [perf_counter()]
        for _ in self.inputs(span):
            times.append(perf_counter())
            assert self.call() is None
            times.append(perf_counter())
        laps = [after - before for before, after in pairwise(times)]
        return {"inputs": sum(laps[::2]), "backend": sum(laps[1::2])}

    def whole(self, span):
        return {"whole": timed(lambda: self.sweep(span, lambda where, index: False).tally())}

    def chunks(self, span):
        def by_hand():
            for _ in self.inputs(span):
                self.call()
                self.compare(self.codes, self.out)

        return {"chunks": timed(by_hand)}

    def arrays(self, span):
        def by_hand():
            length = min(ARRAY, span.count)
            for at in range(span.first, span.first + span.count, length):
                codes = np.arange(length, dtype=self.codes.dtype)
                codes += codes.dtype.type(at)
                out = np.empty_like(self.out, shape=length)
                bound(self.ort, self.case, codes, out)()
                self.compare(codes, out)

        return {"arrays": timed(by_hand)}

    def inputs(self, span):
        self.codes[:] = np.arange(span.first, span.first + CHUNK)
        yield
        for _ in range(1, span.count // CHUNK):
            self.codes += self.codes.dtype.type(CHUNK)
            yield

    def compare(self, codes, out):
        answer = self.theirs.answer(self.case, [codes])
        assert isinstance(answer, Outputs)
        return np.array_equal(answer.arrays[0], out)


def timed(what):
    begun = perf_counter()
    what()
    return perf_counter() - begun


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("name", CASES)
def test_sweep(benchmark, name):
    case = find_case(CATALOG, f"{SPEC.id}/float32-to-{name}", None, None, ())
    spans = PARTS if benchmark.enabled else [Span(0, CHUNK)]
    found = benchmark.pedantic(Turns(case).measure, (spans,), rounds=1)
    total = {what: sum(seconds) for what, seconds in found.items()}
    inputs, backend, whole = (total[what] for what in ("inputs", "backend", "whole"))
    ns = 1e9 / sum(span.count for span in spans)
    ratios = [w / b for w, b in zip(found["whole"], found["backend"], strict=True)]
    benchmark.extra_info |= {
        "ns a value, inputs": round(inputs * ns, 3),
        "ns a value, backend": round(backend * ns, 3),
        "ns a value, judging": round((whole - backend - inputs) * ns, 3),
        "times the backend": round(whole / backend, 3),
        "times the backend, median": round(median(ratios), 3),
    }
    for what in [what for what in ("chunks", "arrays") if what in total]:
        benchmark.extra_info[f"times by hand, in {what}"] = round(whole / total[what], 3)
