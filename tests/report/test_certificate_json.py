"""What a certificate says, and what it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from command import check_golden
from report_json import held_to_schema, masked, render
from report_runs import TRUNCATED, answered, case, failing, known, passed, run

from convcheck.backends.binaries import Binary
from convcheck.judge.result import CaseResult, RunResult, Shard, Timing
from convcheck.report.json.certificate import Circumstances, encoded_certificate
from convcheck.report.json.codec import plain
from convcheck.rules.load import load

BEGAN = datetime(2026, 1, 31, 13, 0, 0, tzinfo=timezone(timedelta(hours=1)))
CODE = (Binary(Path("mine/cast.so"), 1, "ab" * 32), Binary(Path("mine/py"), 12, "cd" * 32))
ONE = case("onnx.Cast-21", "float32", "bfloat16")


def certificate(result: RunResult, after: tuple[Binary, ...] = CODE, **more: Any) -> Any:
    """Return a certificate as JSON data, which its schema allows."""
    specs = [load([]).specs[name] for name, _ in result.corpora]
    around = Circumstances(
        "convcheck run --backend ort", Timing(BEGAN, 2.00049), CODE, after, specs, "ef" * 32
    )
    made = json.loads(json.dumps(plain(encoded_certificate(result, replace(around, **more)))))
    return held_to_schema("certificate", masked(made))


def proved(one: CaseResult) -> str:
    [found] = certificate(run(one))["cases"]
    return str(found["proved"])


def test_golden() -> None:
    good = replace(passed(case("onnx.Cast-19", "int8", "float16"), 256), coverage="exhaustive")
    found = certificate(replace(failing(), cases=(good, *failing().cases[:4])))
    of_the_rules = {"sha256": "1" * 64}  # another one with every change of a rule
    specs = [spec | of_the_rules | {"texts": spec["texts"][:2]} for spec in found["specs"]]
    hidden = {"report": "0" * 64, "specs": specs}
    check_golden("certificate.json", render(found | hidden), None)


def test_when_is_in_utc() -> None:
    found = certificate(run(passed(ONE)))
    assert (found["began"], found["seconds"]) == ("2026-01-31T12:00:00Z", 2.0)
    assert datetime.fromisoformat(found["began"]) == BEGAN.astimezone(UTC)


def test_what_a_coverage_proves() -> None:
    assert proved(replace(passed(ONE), coverage="exhaustive")) == "every input"
    assert proved(replace(passed(ONE), coverage="boundary-complete")) == "every boundary"
    for coverage in ("edge", "sampled", "partial"):
        assert proved(replace(passed(ONE), coverage=coverage)) == "the inputs asked"
    assert proved(replace(passed(ONE), coverage="exhaustive", left_out=1)) == "the inputs asked"


def test_what_failed_or_was_not_judged_proves_nothing() -> None:
    whole = replace(answered(ONE, TRUNCATED), coverage="exhaustive")
    assert proved(whole) == "nothing"
    assert proved(replace(whole, groups=known().cases[2].groups)) == "nothing"
    for verdict in ("undefined", "unsupported", "error"):
        gone = CaseResult(ONE, verdict, 0, "exhaustive", ())  # type: ignore[arg-type]
        assert proved(gone) == "nothing"


PASSED = run(passed(ONE))


@pytest.mark.parametrize(
    ("result", "why_not"),
    [
        (PASSED, []),
        (failing(), []),
        (replace(PASSED, interrupted=True), ["the run was interrupted"]),
        (replace(PASSED, ended_early=True), ["a number of failures ended the run"]),
        (replace(PASSED, shard=Shard(3, 16, "feed" * 16)), ["this is shard 3 of 16"]),
    ],
)
def test_a_part_of_a_run_is_not_complete(result: RunResult, why_not: list[str]) -> None:
    found = certificate(result)
    assert (found["complete"], found["why_not"]) == (not why_not, why_not)


def test_code_that_changed_or_is_not_known_is_not_certified() -> None:
    changed = certificate(PASSED, after=CODE[:1])
    assert changed["why_not"] == ["the code that answered was changed during the run"]
    unknown = certificate(PASSED, after=(), before=())
    assert unknown["why_not"] == ["no file of the code that answered was found"]
    assert not changed["complete"]
    assert not unknown["complete"]


def test_the_texts_of_a_spec() -> None:
    [_, spec] = certificate(run(passed(ONE)))["specs"]
    assert spec["spec"] == "onnx.Cast-21"
    assert {"title": "ONNX operators", "section": "Cast - 21",
            "url": "https://onnx.ai/onnx/operators/onnx__Cast.html"} in spec["texts"]  # fmt: skip
    assert len({text["section"] for text in spec["texts"]}) > 3
