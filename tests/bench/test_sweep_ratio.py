"""What asking and judging costs, as a ratio to what ONNX Runtime's own kernel needs.

Run with: pytest tests/bench -n 0 --benchmark-enable
They report, and assert nothing about time: machines differ. `convcheck bench` has the whole table.
"""

from __future__ import annotations

from typing import Any

import pytest
from catalogue import CATALOG

from convcheck.backends.protocol import open_backend
from convcheck.plan.bench import measure, one_core, spread_spans
from convcheck.rules.find import find_case

PARTS = spread_spans(1 << 28)[::4]  # as long as a run's
CASES = [
    "float8e4m3fn/saturate=1", "float8e5m2/saturate=0", "float16", "bfloat16", "int8", "int4",
    "bool", "int32", "uint64", "float64",
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sweep(benchmark: Any, name: str) -> None:
    spec = CATALOG.specs["onnx.Cast-21"]
    case = find_case(CATALOG, f"{spec.id}/float32-to-{name}", None, None, ())
    spans = PARTS if benchmark.enabled else spread_spans(1)
    with one_core():
        backend, by_hand = open_backend("ort"), open_backend("ml_dtypes")
        found = benchmark.pedantic(
            measure, (backend, spec, case, spans, by_hand, lambda: None), rounds=1
        )
    assert not found.why_not
    chunks, arrays = found.by_hand
    benchmark.extra_info |= {
        "ns a value, inputs": round(found.inputs, 3),
        "ns a value, backend": round(found.backend, 3),
        "ns a value, judging": round(found.judging, 3),
        "times the backend": round(found.ratio, 3),
        "times the backend, median": round(found.median_ratio, 3),
        "times by hand, in chunks": round(found.whole / chunks, 3) if chunks else None,
        "times by hand, in arrays": round(found.whole / arrays, 3) if arrays else None,
    }
