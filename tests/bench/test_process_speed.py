"""Speed of the process protocol: bytes through the pipes on one core, and the cost of a call.

Run with: pytest tests/bench -n 0 --benchmark-enable
They report, and assert nothing about time: machines differ.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from places import TESTS

from convcheck.backends.process.backend import Process
from convcheck.backends.protocol import Outputs
from convcheck.rules.cases import cases

CASE = next(c for c in cases(CATALOG.specs["onnx.Cast-21"]) if c.name == "int8-to-int8")
ECHO = TESTS / "process" / "bad.py"  # gives back what it gets
LARGE = 1 << 24  # bytes


@pytest.fixture
def echo() -> Iterator[Process]:
    """Both ends on one core; the program is Python, too, and reads and writes all of it."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    process = Process(f"{sys.executable} -S {ECHO} good", catalog=CATALOG)
    yield process
    process._program.leave()
    os.sched_setaffinity(0, cores)


def test_bytes_each_way(benchmark: Any, echo: Process) -> None:
    data = np.arange(LARGE, dtype=np.uint64).astype(np.uint8)
    answer = benchmark(echo.answer, CASE, [data])
    assert isinstance(answer, Outputs)
    assert (answer.arrays[0] == data).all()
    if benchmark.stats:
        benchmark.extra_info["MB/s each way"] = LARGE / benchmark.stats["median"] / 1e6


def test_a_small_call(benchmark: Any, echo: Process) -> None:
    data = np.arange(256, dtype=np.uint8)
    answer = benchmark(echo.answer, CASE, [data])
    assert isinstance(answer, Outputs)
    if benchmark.stats:
        benchmark.extra_info["microseconds, both sides"] = benchmark.stats["median"] * 1e6
