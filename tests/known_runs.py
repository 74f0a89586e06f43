"""Runs with failures, and their lists of known failures."""

from datetime import date

from catalogue import CATALOG
from report_runs import ELSE, answered, case, group, passed, run, unasked

from convcheck.gate.baseline import hold, read_known
from convcheck.gate.compare import Failures
from convcheck.records import replace

TODAY = date(2026, 6, 1)
HERE = [case(f"onnx.Cast-{v}", s, t) for v in (19, 21) for s in ("float32", "float64")
        for t in ("float16", "bfloat16")]  # fmt: skip
IDS = [c.id for c in HERE]
THERE = ["onnx.Cast-21/float64-to-int8", "onnx.Cast-25/float64-to-float16"]
CORPUS = Failures(run()).corpus(IDS)
OF_21 = Failures(run()).corpus(IDS[4:])
ENTRY = f"""\
[[known]]
case = "onnx.Cast-{{19,21}}/float64-to-float16"
rule = "float-to-float / else"
verdict = "fail"
tier = "edge"
corpus = "{CORPUS}"
count = 21
digest = "0000000000000000000000000000000b"
reason = "goes through float32"
issue = "https://example.org/1"
"""
WAIVER = """\
[[waiver]]
case = "onnx.Cast-*/float64-to-float16"
rule = "float-to-float / else"
verdict = "fail"
reason = "by design"
"""


def wrong(count, digest, by=ELSE):
    made = group(by, "fail", "one ulp too small in magnitude", (count, 100))
    return replace(made, digest=f"{digest:032x}")


FAILING = {
    "onnx.Cast-19/float64-to-float16": wrong(10, 2**64 - 1),
    "onnx.Cast-21/float64-to-float16": wrong(11, 12),
}


def found(failing, left_out=(), **more):
    cases = [
        answered(c, failing[c.id]) if c.id in failing else passed(c)
        for c in HERE
        if c.id not in left_out
    ]
    return run(*cases, **more)


def held(text, result, folder, there=(), today=TODAY):
    """Compare a run with a list's text. Some cases exist outside the run."""
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return hold(result, read_known(str(path), CATALOG), lambda starts: [*IDS, *there], today)


def excused(result):
    return [c.case.id for c in result.cases if c.excuse or any(g.excuse for g in c.groups)]


def whole(result, verdict, *names):
    cases = [
        unasked(c.case, verdict, "ValueError") if c.case.id in names else c for c in result.cases
    ]
    return replace(result, cases=tuple(cases))
