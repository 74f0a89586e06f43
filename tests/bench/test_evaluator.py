"""Speed of the evaluator, in values/s of one core and relative to numpy.

Run with: pytest tests/bench -n 0 --benchmark-enable
"""

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.rules.cases import defaults, make_case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.evaluate import compile_case

VALUES = 1 << 18
PAIRS = [
    "float32-to-float8e4m3fn", "float32-to-float16", "float32-to-bfloat16",
    "float64-to-float32", "float32-to-int8", "int64-to-float32", "int32-to-int8",
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_evaluator(benchmark, pair):
    source, target = pair.split("-to-")
    spec = CATALOG.specs["onnx.Cast-21"]
    types = CATALOG.types.types
    case = make_case(spec, types[source], types[target], defaults(spec, types[target]))
    rng = np.random.default_rng(0)
    storage = types[source].format.storage
    bits = rng.integers(0, 2 ** (8 * storage.itemsize), VALUES, np.uint64).astype(storage)
    program = compile_case(spec, case)
    benchmark.extra_info["values"] = VALUES
    expected = benchmark(run_program, program, case, bits)
    assert len(expected) == VALUES
    if benchmark.stats:
        benchmark.extra_info["million values/s"] = VALUES / benchmark.stats["median"] / 1e6
