"""Runs of two runtimes, and their site."""

from command import convcheck
from report_runs import (
    CAUSES,
    PARSE,
    TABLE,
    WRAPPED,
    answered,
    calls,
    case,
    diagnosed,
    group,
    hostile,
    passed,
    run,
    unasked,
)

from convcheck.documents.encode import text
from convcheck.judge.result import BackendInfo
from convcheck.records import replace

HALF, BRAIN, EIGHT, BOOL = (
    case("onnx.Cast-19", "float32", "float16"), case("onnx.Cast-19", "float32", "bfloat16"),
    case("onnx.Cast-21", "float32", "float8e4m3fn", saturate=1),
    case("onnx.Cast-21", "string", "bool"),
)  # fmt: skip


def release(version, *cases, name="onnxruntime"):
    """Make the run of a release, with a built-in backend's name."""
    backend = BackendInfo("ort", f"{name} {version}, CPU, 1 thread", "ort")
    return replace(run(*cases, causes=CAUSES), backend=backend)


TRUNCATES = diagnosed(BRAIN, 980, ("truncates",))
LACKS = unasked(EIGHT, "unsupported", "no kernel")
WRAPS = answered(EIGHT, WRAPPED)
FITS = answered(EIGHT, group(TABLE, "pass", counts=(980, 980)))
FREE = answered(BOOL, group(PARSE, "undefined"))
RIGHT = passed(BRAIN), passed(HALF)
SITE = (
    release("1.2.0", *RIGHT, LACKS, FREE),
    release("1.10.0", TRUNCATES, passed(HALF), WRAPS, FREE),
    release("1.9.0", TRUNCATES, passed(HALF), LACKS, FREE),
    release("1.11.0", *RIGHT, WRAPS, FREE),
    release("2.0", *RIGHT, answered(EIGHT, replace(WRAPPED, kind="odd")), FREE, name="other"),
    release("0.3", *RIGHT, FITS, FREE, name="third"),
)


def whole_calls():
    died = unasked(case("onnx.Cast-21", "bool", "int4"), "crashed", "SIGSEGV")
    return replace(calls(), backend=BackendInfo("mine", "7"), cases=(*calls().cases, died))


def build_site(folder, runs):
    files = []
    for i, result in enumerate(runs):
        files.append(folder / f"{i}.json")
        files[-1].write_text(text(result), "utf-8")
    site = folder / "site"
    done = convcheck("site", site, *files, "--no-progress")
    assert done.returncode == 0, done.stderr
    return site


def harmful():
    cases = tuple(replace(one, case=replace(one.case, attributes=())) for one in hostile().cases)
    return replace(hostile(), cases=cases, environment=None)


def whole_site(folder):
    return build_site(folder, (*SITE, whole_calls(), harmful()))
