"""`convcheck bench`: whose time is whose, the table, the figures, and what cannot be measured."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from comparing import numeric
from report_json import held_to_schema

from convcheck.ask.stream import sweep
from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.judge.result import BackendInfo
from convcheck.judge.tally import Tally
from convcheck.numerics.codes import Bits, Codes
from convcheck.plan.bench import (
    Bench,
    Measured,
    MeasuredPart,
    _converted,
    expected_seconds,
    measure,
    one_core,
    spans_for,
    spread_spans,
)
from convcheck.report.draw import bench as page
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.vectors.samples import samples
from convcheck.vectors.span import CHUNK, SAMPLED_SPAN, WHOLE_SPAN, Span

SPEC = CATALOG.specs["onnx.Cast-21"]
CASE = find_case(CATALOG, "onnx.Cast-21/float32-to-bfloat16", None, None, ())
BY_HAND = MlDtypes(catalog=CATALOG)
CALL, JUDGE, CAST = 0.5, 0.25, 2.0  # seconds a chunk, of the clock
LOAD = 64.0  # more that the first call takes, which no figure has


class Clock:
    """A clock that only goes on where a planted backend, or this test, says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Planted:
    """numpy, whose calls take a while by a clock, or with something else for an answer."""

    clock: Clock = field(default_factory=Clock)
    says: Answer | None = None
    unsupported: Declined | None = None
    fails_from: int = 0  # the first code that it says so to, or fails of
    raises: bool = False
    loaded: bool = False

    name, version = "planted", "1"

    def support(self, case: Case) -> Declined | None:
        return self.unsupported

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        self.clock.now += CALL * inputs[0].size / CHUNK + (0 if self.loaded else LOAD)
        self.loaded = True
        if int(inputs[0][-1]) >= self.fails_from:
            if self.raises:
                raise RuntimeError("out of order")
            if self.says:
                return self.says
        return BY_HAND.answer(case, inputs)


class Binding(Planted):
    """The same with buffers bound: `answer`, with its array, is for nobody."""

    def bind(self, case: Case, codes: Codes, out: Codes) -> Any:
        def call() -> None:
            answer = Planted.answer(self, case, [codes])
            assert isinstance(answer, Outputs)
            np.copyto(out, answer.arrays[0])

        return call

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        raise AssertionError("it has buffers")


def measured(backend: Any, spans: Sequence[Span] = (Span(0, 2 * CHUNK),)) -> Measured:
    return measure(backend, SPEC, CASE, spans, BY_HAND, lambda: None)


@pytest.mark.parametrize("kind", [Planted, Binding])
def test_whose_time_is_whose(kind: type[Planted], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def judge(*arguments: Any) -> Tally:
        clock.now += JUDGE * 2
        return sweep(*arguments)

    def cast(*arguments: Any) -> Codes:
        converted = _converted(*arguments)
        clock.now += CAST * len(converted) / CHUNK
        return converted

    for name, planted in (("perf_counter", clock), ("sweep", judge), ("_converted", cast)):
        monkeypatch.setattr(f"convcheck.plan.bench.{name}", planted)
    spans = [Span(0, 2 * CHUNK), Span(0x7F800000, 2 * CHUNK)]  # one after the other backwards
    found = measured(kind(clock), spans)
    hand = 2 * (CALL + CAST)
    part = MeasuredPart(2 * CHUNK, 0, 2 * CALL, 2 * (CALL + JUDGE), hand, hand)
    assert found.parts == (part, part)
    assert found.shares == pytest.approx((0, 2 / 3, 1 / 3))
    assert found.ratio == found.median_ratio == pytest.approx(1.5)
    assert found.by_hand[0] == pytest.approx((CALL + CAST) / CHUNK * 1e9)


def test_the_figures_add_up() -> None:
    parts = (
        MeasuredPart(1000, 1e-6, 2e-6, 5e-6, 3e-6, 8e-6),
        MeasuredPart(1000, 1e-6, 4e-6, 15e-6, 3e-6, 8e-6),
        MeasuredPart(2000, 2e-6, 2e-6, 4e-6, 6e-6, 16e-6),
    )
    case = Measured(CASE, parts)
    assert case.inputs == pytest.approx(1)
    assert case.backend == pytest.approx(2)
    assert case.whole == pytest.approx(6)
    assert case.judging == pytest.approx(3)
    assert case.ratio == pytest.approx(3)
    assert case.median_ratio == pytest.approx(2.5)
    assert case.by_hand == (pytest.approx(3), pytest.approx(8))
    assert case.shares == pytest.approx((1 / 6, 2 / 6, 3 / 6))


def test_the_table() -> None:
    part = MeasuredPart(1000, 1e-7, 2e-6, 25e-7, 3e-6, 8e-6)
    cases = (
        Measured(CASE, (part,)),
        Measured(CASE, (MeasuredPart(1000, 1e-7, 2e-6, 25e-7, None, None),)),
        Measured(CASE, (), "no such kernel"),
    )
    left = (("a string has no code that could be streamed", 2),)
    bench = Bench(BackendInfo("planted", "1"), "numpy 2", (Span(0, CHUNK),), cases, left)
    wide, narrow = (list(map(str, page.bench_lines(bench, 72, room))) for room in (100, 80))
    assert wide[0].startswith("onnx.Cast-21  float32 →")
    rows = [line.split() for line in wide if line.startswith("bfloat16")]
    assert rows[0] == [
        "bfloat16", "2.00", "0.10", "0.40", "2.50", "1.25", "3.00/8.00"
    ]  # fmt: skip
    assert rows[1][-1] == "-"
    assert rows[2] == ["bfloat16", *["-"] * 6]
    text = " ".join(" ".join(wide).split())
    assert "not measured: onnx.Cast-21/float32-to-bfloat16: no such kernel" in text
    assert "left out: 2 cases: a string has no code" in text
    assert "65,536 values a case, in 1 part of 65,536" in text
    assert "a run's spans have 16,777,216" in text
    assert all(len(line) <= 80 for line in narrow)
    assert wide == narrow, "in one piece at 80 columns"


def test_a_long_name_has_a_line_of_its_own() -> None:
    """At 80 columns, as onnx.Cast-24 has names; the figures stay in one piece."""
    part = MeasuredPart(1000, 1e-7, 2e-6, 25e-7, 3e-6, 8e-6)
    case = find_case(
        CATALOG, "onnx.Cast-24/float32-to-float8e8m0/round_mode=nearest", None, None, ()
    )
    case = replace(case, attributes=(*case.attributes, ("a_further_attribute", "with_a_value")))
    bench = Bench(
        BackendInfo("planted", "1"), "numpy 2", (Span(0, CHUNK),),
        (Measured(CASE, (part,)), Measured(case, (part,))),
    )  # fmt: skip
    lines = list(map(str, page.bench_lines(bench, 80, 80)))
    at = lines.index(case.name.partition("-to-")[2])
    assert lines[at + 1].split() == ["2.00", "0.10", "0.40", "2.50", "1.25", "3.00/8.00"]
    assert max(map(len, lines)) <= 80


def test_the_time_is_told_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a part of the first case that converts: so long as that, for all of them."""
    clock = Clock()
    monkeypatch.setattr("convcheck.plan.bench.perf_counter", clock)
    spans = [Span(0, 2 * CHUNK), Span(0x7F800000, 2 * CHUNK)]
    told = expected_seconds(Planted(clock), CATALOG.specs, [CASE] * 3, lambda case: spans, None)
    assert told == 3 * 2 * (2 * CALL + 2 * CALL)  # cases, spans; the calls alone, and in the whole
    declining = Planted(unsupported=Declined("no such type"))
    assert expected_seconds(declining, CATALOG.specs, [CASE], lambda case: spans, None) is None


@pytest.mark.parametrize(
    ("planted", "words"),
    [
        (Planted(unsupported=Declined("no such type")), "no such type"),
        (Planted(says=Declined("no such kernel")), "no such kernel"),
        (Planted(says=Refused("not this one"), fails_from=CHUNK), "not this one"),
        (Planted(says=Outputs((), ())), "some of the inputs were not answered as asked"),
        (Planted(raises=True, fails_from=CHUNK), "RuntimeError: out of order"),
    ],
)
def test_what_does_not_convert_is_not_measured(planted: Planted, words: str) -> None:
    found = measured(planted)
    assert not found.parts
    assert words in found.why_not


@pytest.mark.parametrize("values", [1, CHUNK, 3 * CHUNK, 1 << 24, 1 << 28, (1 << 28) + 1, 1 << 32])
def test_parts_are_spread_over_the_source(values: int) -> None:
    spans = spread_spans(values)
    assert sum(span.count for span in spans) >= values
    assert sum(span.count for span in spans) < values + min(WHOLE_SPAN, max(values, CHUNK))
    assert all(span.first % span.count == 0 and span.count % CHUNK == 0 for span in spans)
    assert all(a.first + a.count <= b.first for a, b in pairwise(spans))
    if len(spans) > 1:
        assert (spans[0].first, spans[-1].first + spans[-1].count) == (0, 1 << 32)
    assert spans[0].count <= WHOLE_SPAN
    assert len(spans) >= min(16, values // CHUNK)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no system call for it")
def test_one_core() -> None:
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    chosen = ("--to", "bfloat16", "--to", "float8e4m3fn", "--to", "string")
    done = convcheck("bench", "--backend", "ml_dtypes", *chosen, "--values", 65536, "--json", path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"4 cases of 65,536 values: about \d+ s\n", done.stderr)
    figures = held_to_schema("bench", json.loads(path.read_text()))
    assert figures["format"] == "convcheck-bench/1"
    assert figures["values"] == 65536
    assert figures["parts"] == [{"first": 0, "count": 65536}]
    assert {row["cases"] for row in figures["left_out"]} >= {1}
    by_id = {case["case"]: case for case in figures["cases"]}
    assert list(by_id) == [
        f"onnx.Cast-21/float32-to-{name}"
        for name in ("bfloat16", *(f"float8e4m3fn/saturate={n}" for n in (0, 1, "default")))
    ]
    for case in by_id.values():
        if "why_not" in case:
            continue
        ns = case["ns"]
        assert ns["inputs"] + ns["backend"] + ns["judging"] == pytest.approx(ns["whole"])
        assert min(ns["inputs"], ns["backend"], ns["by_hand_in_chunks"]) > 0
        assert sum(case["shares"].values()) == pytest.approx(1)
        assert case["ratio"] == pytest.approx(ns["whole"] / ns["backend"])
        assert case["values_per_second"] == pytest.approx(1e9 / ns["whole"])
    assert "ns" in by_id["onnx.Cast-21/float32-to-bfloat16"]
    assert "why_not" in by_id["onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"]
    assert "bfloat16" in done.stdout
    assert "not measured: onnx.Cast-21/float32-to-float8e4m3fn/saturate=1" in done.stdout


def test_wide_sources_are_measured_by_samples(tmp_path: Path) -> None:
    """Beside one that is streamed; what is made once, such as a chart, is in no figure."""
    path = tmp_path / "bench.json"
    chosen = ("--from", "float64", "--from", "float32", "--to", "bfloat16")
    done = convcheck("bench", "--backend", "ml_dtypes", *chosen, "--values", 65536, "--json", path)
    assert done.returncode == 0, done.stderr
    figures = held_to_schema("bench", json.loads(path.read_text()))
    assert figures["parts"] == [{"first": 0, "count": 65536}]
    assert figures["samples"] == figures["values"] == SAMPLED_SPAN
    ns = {case["case"]: case["ns"] for case in figures["cases"]}
    assert list(ns) == [f"onnx.Cast-21/{name}-to-bfloat16" for name in ("float32", "float64")]
    wide = ns["onnx.Cast-21/float64-to-bfloat16"]
    assert wide["inputs"] + wide["backend"] + wide["judging"] == pytest.approx(wide["whole"])
    assert min(wide["inputs"], wide["backend"], wide["by_hand_in_arrays"]) > 0
    text = " ".join(done.stdout.split())
    assert "1,048,576 samples a case of 64 bits, as `run --samples` asks them" in text


def test_samples_are_what_a_run_asks() -> None:
    case = find_case(CATALOG, "onnx.Cast-21/float64-to-bfloat16", None, None, ())
    asked: list[Codes] = []

    class Noting(Planted):
        def answer(self, inner: Case, inputs: Sequence[Bits]) -> Answer:
            asked.append(np.array(inputs[0]))
            return super().answer(inner, inputs)

    spans = spans_for(case, 1)
    assert spans == (Span(0, SAMPLED_SPAN, seed=0),)
    assert spans_for(CASE, 1) == spread_spans(1)
    found = measure(Noting(), SPEC, case, [replace(spans[0], count=CHUNK)], None, lambda: None)
    assert found.parts
    source, target = (numeric(t[0].name) for t in (case.inputs, case.outputs))
    for codes in asked[-2:]:  # alone, and in the whole
        np.testing.assert_array_equal(codes, samples(source, target, 0, 0, CHUNK))


def test_json_on_stdout_and_nothing_measured() -> None:
    done = convcheck("bench", "--backend", "ml_dtypes", "--to", "float8e4m3fn", "--where",
                     "saturate=1", "--values", 65536, "--json", "-")  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert [case["case"][-10:] for case in json.loads(done.stdout)["cases"]] == ["saturate=1"]
    assert "not measured" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "which backend?"),
        (("--backend", "nope"), 2, "unknown backend 'nope'"),
        (("--backend", "ort", "--from", "int8"), 2, "a source of 8 bits is asked in one array"),
        (("--backend", "ort", "--to", "string"), 2, "a string has no code"),
        (("--backend", "ort", "onnx.Range-11", "--from", "float"), 2, "are whole calls"),
        (("--backend", "ort", "onnx.CastLike-21"), 2, "it has a second input"),
        (
            ("--backend", "ort", "--values", "0"),
            2,
            "--values 0: not a count from 1 to 4,294",
        ),
        (("--backend", "ort", "--values", "2^33"), 2, "--values 2^33: not a count"),
        (("--backend", "ort", "--json", "/no/such/file"), 2, "cannot write /no/such/file"),
        (("--backend", "ort:Nowhere"), 4, "has no Nowhere"),
        (("--backend", "process:false"), 4, "'process:false' could not be started"),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...], code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from convcheck.cli import group
    from convcheck.errors import ConvcheckError

    monkeypatch.setattr("convcheck.cli.bench.catalog", lambda specs: CATALOG)
    done = CliRunner().invoke(group, ["bench", *arguments])
    assert isinstance(done.exception, ConvcheckError), done.output
    assert done.exception.exit_code == code
    assert words in done.exception.message
    assert "\n" not in done.exception.message
