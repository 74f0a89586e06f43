"""Results of runs, built by hand, for tests of reports."""

from convcheck.errors import Place
from convcheck.judge.result import (
    BackendInfo,
    CallExample,
    CaseDiagnosis,
    CaseResult,
    CauseInWords,
    Cpu,
    Environment,
    Example,
    Excuse,
    Group,
    Near,
    Problem,
    RunResult,
    Shard,
    Strip,
    TypeName,
    case_verdict,
)
from convcheck.numerics.format import Bool, Float, Int, Text
from convcheck.records import replace
from convcheck.rules.model import Case, DType
from convcheck.semantics.expected import Decision

FORMATS = {
    "float64": Float(11, 52, 1023, "ieee", infinity=True),
    "float32": Float(8, 23, 127, "ieee", infinity=True),
    "float16": Float(5, 10, 15, "ieee", infinity=True),
    "bfloat16": Float(8, 7, 127, "ieee", infinity=True),
    "float8e4m3fn": Float(4, 3, 7, "all-ones"),
    "float8e4m3fnuz": Float(4, 3, 8, "sign-only", negative_zero=False),
    "float8e8m0": Float(8, 0, 127, "all-ones", negative_zero=False, signed=False, zero=False),
    "int64": Int(64, True),
    "uint32": Int(32, False),
    "int16": Int(16, True),
    "int8": Int(8, True),
    "uint8": Int(8, False),
    "int4": Int(4, True),
    "bool": Bool(),
    "string": Text(),
}


def dtype(name):
    return DType(name, FORMATS[name], (), Place("specs/dtypes.yaml", 1))


def case(spec, source, target, **attributes):
    version = int(spec.rpartition("-")[2])
    chosen = tuple(attributes.items())
    return Case(spec, spec.rpartition("-")[0], version, (dtype(source),), (dtype(target),), chosen)


def decision(rule, row, line, level="implied", cite=""):
    place = Place("specs/onnx/cast-13.yaml", line)
    return Decision(rule, row, level, cite, "ONNX operators, Cast - 13" if cite else "", place)


ELSE = decision(
    "float-to-float", "else", 27,
    cite="Casting from floating point to floating point: the result is the nearest value.",
)  # fmt: skip
REST = decision("float-to-float", "zero", 25)
TABLE = decision(
    "float-to-float8-saturating", "[x] > max", 33, "normative",
    "[x] is the value, NaN [bold]is[/bold] preserved in every other case of the table.",
)  # fmt: skip
PARSE = decision("string-to-float", "decimal", 61, "normative", "String tensor values should be …")
NARROW = decision("float-to-4bit-integer", "in range", 88, "disputed")


def group(
    by, verdict, kind="", counts=(1, 9), ranges=(), examples=(), reading="", placement="", more=0
):
    digest = f"{by.place.line:032x}"
    return Group(by, verdict, kind, *counts, digest, reading, placement, ranges, more, examples)


def answered(case, *groups, checked=980):
    """Answers outside the groups pass, or are undefined if all are."""
    verdict = case_verdict(groups)
    rest = checked - sum(one.count for one in groups if not one.placement)
    right = "undefined" if verdict == "undefined" else "pass"
    others = (group(REST, right, counts=(rest, rest)),) if rest > 0 else ()
    return CaseResult(case, verdict, checked, "edge", (*groups, *others))


def passed(case, checked=980):
    return answered(case, group(ELSE, "pass", counts=(checked, checked)), checked=checked)


def unasked(case, verdict, message):
    return CaseResult(case, verdict, 0, "edge", (), message)


CORPORA = (("onnx.Cast-19", "c0ffee" * 10 + "c0de"), ("onnx.Cast-21", "decade" * 10 + "deca"))


def run(*cases, level="disputed", **more):
    backend = BackendInfo("onnxruntime", "1.31.1")
    return RunResult(backend, "edge", level, CORPORA, cases, **more)


TRUNCATED = group(
    ELSE, "fail", "one ulp too small in magnitude", (312, 980),
    ((0x3F808001, 0x7F7FC000), (0xBF808001, 0xFF7FC000)),
    (Example((0x3F808001,), 0x3F81, 0x3F80), Example((0xFF7FC000,), 0xFF80, 0xFF7F)),
)  # fmt: skip
WRAPPED = group(
    TABLE, "fail", "overflow gives NaN, not max", (40, 44),
    tuple((0x43E80001 + (i << 16), 0x43E80001 + (i << 16) + i) for i in range(9)),
    (Example((0x43E80001,), 0x7E, 0x7F),), more=12,
)  # fmt: skip


def all_pass():
    targets = ("float16", "bfloat16", "float8e4m3fn", "uint8", "string")
    return run(
        *(passed(case("onnx.Cast-19", "float32", t)) for t in targets),
        *(passed(case("onnx.Cast-21", "float64", t), 1 << 20) for t in targets),
        answered(
            case("onnx.Cast-21", "float32", "int4"), group(NARROW, "tolerated", reading="to zero")
        ),
        answered(case("onnx.Cast-21", "string", "bool"), group(PARSE, "undefined", "gives 0")),
        unasked(case("onnx.Cast-21", "float32", "float8e8m0"), "unsupported", "no kernel\n(Cast)"),
    )


def failing():
    specs = ("onnx.Cast-19", "onnx.Cast-21", "onnx.CastLike-21")
    sources, eights = ("float32", "float64"), ("float8e4m3fn", "float8e4m3fnuz")
    truncated = [answered(case(s, "float32", "bfloat16"), TRUNCATED) for s in specs]
    wrapped = [
        answered(case(spec, "float32", target, saturate=1), WRAPPED)
        for spec in specs for target in eights
    ]  # fmt: skip
    good = [
        passed(case(spec, source, target, saturate=0))
        for spec in specs for source in sources for target in eights
    ]  # fmt: skip
    more = [
        passed(case(specs[1], "float16", "float32")),
        unasked(case(specs[1], "int4", "float32"), "unsupported", "Could not find Cast(21)"),
    ]
    return run(*truncated, *wrapped, *good, *more)


def kinds():
    spec = "onnx.Cast-24"
    nan, zero = Example((0x7FC00000,), "<nan>", 0x80), Example((1 << 31,), 0, 0x7F)
    wide = Example((0x3FF0000000000001,), 0x3F800000, 0x3F800001)
    long = Example((0x8000000000000001,), 0xDF000000, 0xDF000001)
    text = Example(("-1.5'\n\x1b[31m",), 0xBFC00000, 0x3FC00000)
    spelled = Example((0x3FC00000,), "<plain-to-x>", 'about "1.5"')
    died = Example((0x4F000000,), "<undefined>", None, "SIGFPE in\n   Cast")
    refused = Example((0x4F000000,), 0xFF, None, "InvalidArgument: " + "out of range " * 9)
    tail = group(
        ELSE,
        "fail",
        "one ulp off",
        examples=(wide,),
        ranges=((wide.inputs[0],) * 2,),
        placement="odd tail",
    )
    return run(
        answered(case(spec, "float32", "float8e8m0", round_mode="up"),
                 group(TABLE, "fail", "not a NaN", examples=(nan, zero))),
        answered(case(spec, "float64", "float32"), tail),
        answered(case(spec, "int64", "float32"), group(ELSE, "fail", "one ulp off",
                                                       examples=(long,))),
        answered(case(spec, "string", "float32"),
                 group(PARSE, "fail", "wrong sign", ranges=(("-1.5", "-1.5"),), examples=(text,))),
        answered(case(spec, "float32", "string"),
                 group(PARSE, "fail", "parses to nothing", examples=(spelled,))),
        answered(case(spec, "uint8", "bool"), group(ELSE, "fail", "byte not 0 or 1",
                                                    examples=(Example((2,), 1, 2),))),
        answered(case(spec, "float32", "int4"), group(NARROW, "crashed", examples=(died,))),
        answered(case(spec, "float32", "uint8"), group(NARROW, "refused", examples=(refused,))),
        unasked(case(spec, "bool", "int4"), "error", "IndexError: list index out of range"),
        *(unasked(case(spec, s, "string"), "unsupported", f"no kernel for {s}") for s in
          ("float16", "bfloat16", "int64", "int4")),
        notes=("onnx.Cast-24 was edited: its vectors were generated anew [x]",),
    )  # fmt: skip


def below():
    return run(
        answered(case("onnx.Cast-19", "float32", "bfloat16"), TRUNCATED),
        passed(case("onnx.Cast-19", "float32", "float16")),
        level="normative",
    )


def interrupted():
    return run(passed(case("onnx.Cast-19", "float32", "float16")), interrupted=True)


def nothing():
    return run(
        unasked(case("onnx.Cast-19", "float32", "float16"), "unsupported", ""),
        answered(case("onnx.Cast-19", "string", "bool"), group(PARSE, "undefined")),
    )


# Whole calls ---------------------------------------------------------------------------------


AGREED = decision("integers", "every reading agrees", 50, "normative", "output[i] = start + …")
DIFFER = decision("steps", "readings differ", 38, "disputed", "data = data * scale - shift …")


def strip(name, shape, *words, first=0):
    return Strip(TypeName(name, FORMATS.get(name)), shape, first, words)


def call(types, target, *ranks):
    inputs = tuple(map(dtype, types))
    return Case("my.Op-1", "my.Op", 1, inputs, (dtype(target),), (), ranks=ranks)


def failed(case, by, kind, example):
    return answered(case, group(by, "fail", kind, (1, 40), examples=(example,)), checked=41)


def scalars(name, *words):
    return tuple(strip(name, (), word) for word in words)


def lengths():
    """Too long, and too wide for codes next to values."""
    words = (0x7FFFFFFFFFFFFFF8, 0x7FFFFFFFFFFFFFFA, 0x7FFFFFFFFFFFFFFC)
    return failed(
        call(("int64",) * 3, "int64", 0, 0, 0), AGREED, "one element too many",
        CallExample(
            scalars("int64", words[0], words[2] + 1, 2),
            (strip("int64", (2,), *words[:2]),), (strip("int64", (3,), *words),),
            difference=(0, -1), arguments=(words[0], words[2] + 1, 2),
        ),
    )  # fmt: skip


def tensors():
    """A tensor next to its input, patterns, and a reading."""
    first, shape = 49, (128,)
    data = strip("float16", shape, 0x9060, 0x8D03, 0x8B80, 0x8500, 0x8046, 0x0500, first=first)
    due = strip("float16", shape, 0x9100, 0x8D00, 0x8D00, "<zero>", "<zero>", "<undefined>",
                first=first)  # fmt: skip
    got = strip("float16", shape, 0x9100, 0x8D00, 0x8D00, 0x8900, 0x8000, 0x0900, first=first)
    return failed(
        call(("float16",) * 2, "float16", 1, 1), DIFFER, "a number instead of zero",
        CallExample((data, strip("float16", (1,), 0x2E66)), (due,), (got,), "in a wider type",
                    (0, 52), 2, arguments=(0x8500, 0x2E66)),
    )  # fmt: skip


def outputs():
    wide = (0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 2)
    data = strip("int64", (4,), *wide)
    flags = strip("bool", (), 1)
    got = strip("int64", (4,), wide[0], 0, *wide[2:])
    one = strip("int64", (), 1)
    return failed(
        call(("bool", "int64"), "int64", 0, 1), ELSE, "zero instead of another value",
        CallExample((flags, data), (one, data), (one, got), "", (1, 1), 1, arguments=(1, wide[1])),
    )  # fmt: skip


def calls():
    three = scalars("uint8", 5, 0, 1)
    of_three = call(("uint8",) * 3, "uint8", 0, 0, 0)
    kinds = [replace(of_three, attributes=(("kind", n),)) for n in range(5)]
    due = (strip("uint8", (0,)),)
    empty = CallExample(three, due, (strip("uint8", (5,), 5, 6, 7, 8, 9),), difference=(0, -1),
                        arguments=(5, 0, 1))  # fmt: skip
    died = CallExample(three, due, None, message="SIGFPE", arguments=(5, 0, 1))
    turned = CallExample(three, due, None, message="not so", arguments=(5, 0, 1))
    unasked_type = CallExample(three, due, (Strip(TypeName("u9"), (2,), 0, (1, 2)),),
                               difference=(0, -1), arguments=(5, 0, 1))  # fmt: skip
    free = CallExample(three, "<refused>", due, arguments=(5, 0, 1))
    spec = "onnx.Cast-19"
    return run(
        lengths(),
        tensors(),
        outputs(),
        failed(kinds[0], AGREED, "too many elements", empty),
        failed(kinds[1], DIFFER, "u9 instead of uint8", unasked_type),
        failed(kinds[2], NARROW, "an answer instead of a refusal", free),
        answered(kinds[3], group(AGREED, "crashed", "died of SIGFPE", examples=(died,))),
        answered(kinds[4], group(DIFFER, "refused", "refused", examples=(turned,))),
        answered(case(spec, "float32", "bfloat16"), TRUNCATED),
    )


# Known failures ------------------------------------------------------------------------------


KNOWN_FILE = "ci/known.toml"
ISSUE = "https://github.com/microsoft/onnxruntime/issues/23456"


def excuse(line, kind="known", reason="", issue=""):
    return Excuse(kind, reason or "rounds halves up", issue, Place(KNOWN_FILE, line))


def excused_by(excuse, result):
    if not result.groups:
        return replace(result, excuse=excuse)
    groups = (
        replace(g, excuse=excuse) if g.verdict not in ("pass", "undefined") else g
        for g in result.groups
    )
    return replace(result, groups=tuple(groups))


TURNED = group(NARROW, "refused", examples=(Example((7,), 0xFF, None, "NotImplemented"),))
LOST = group(
    PARSE, "fail", "parses to another value", (2, 40),
    examples=(Example((0x3DCCCCCD,), "<parses-to-x>", "0.10"),),
)  # fmt: skip


def known():
    first = excuse(12, issue=ISSUE)
    specs = ("onnx.Cast-19", "onnx.Cast-21", "onnx.CastLike-21")
    return run(
        *(passed(case("onnx.Cast-19", "float32", t)) for t in ("float16", "uint8")),
        *(excused_by(first, answered(case(spec, "float32", "bfloat16"), TRUNCATED))
          for spec in specs),
        excused_by(first, answered(case("onnx.Cast-21", "float64", "bfloat16"), WRAPPED)),
        excused_by(excuse(24, reason="no kernel yet"),
                   answered(case("onnx.Cast-21", "uint8", "int4"), TURNED)),
        excused_by(excuse(31, reason="dies in a thread"),
                   unasked(case("onnx.Cast-21", "bool", "int4"), "crashed", "died of SIGFPE")),
        excused_by(excuse(80, "waived", "the C library has no shortest form, and will not have"),
                   answered(case("onnx.Cast-21", "float32", "string"), LOST)),
        known=KNOWN_FILE,
    )  # fmt: skip


CHANGED = """\
[[known]]
case = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=1"
rule = "float-to-float8-saturating"
verdict = "fail"
tier = "edge"
corpus = "decadedecadedeca"
count = 40
digest = "00000000000000000000000000000021"
reason = "gives NaN where it overflows"
"""


def stale():
    """Only listed failures, but the list is stale."""
    problems = (
        Problem("stale", Place(KNOWN_FILE, 40), "passes now; remove the entry, 40-48"),
        Problem("changed", Place(KNOWN_FILE, 52), "40 of its values fail, 38 are listed: "
                "other inputs, or other answers, than when it was written", CHANGED),
    )  # fmt: skip
    return replace(known(), problems=problems)


def listed():
    new = answered(case("onnx.Cast-21", "float32", "float8e4m3fn", saturate=1), WRAPPED)
    both = replace(TRUNCATED, excuse=excuse(12, issue=ISSUE))
    lower = answered(case("onnx.Cast-21", "float64", "float16"), both, replace(WRAPPED, kind="odd"))
    return replace(stale(), cases=(*stale().cases, new, lower), shard=Shard(3, 16, "feed" * 16))


def many():
    specs = [f"onnx.Cast-{version}" for version in range(30, 60)]
    found = [
        answered(case(spec, "float32", "bfloat16"), replace(TRUNCATED, kind=f"off by {spec}"))
        for spec in specs
    ]  # fmt: skip
    excused = [
        excused_by(excuse(i), answered(case(spec, "float64", "bfloat16"), TRUNCATED))
        for i, spec in enumerate(specs, 1)
    ]
    problems = tuple(
        Problem(
            "unmatched", Place(KNOWN_FILE, 100 + i), f"covers 12 cases, of which {i} fail", CHANGED
        )
        for i in range(12)
    )
    return run(*found, *excused, known=KNOWN_FILE, problems=problems)


# Causes --------------------------------------------------------------------------------------


CAUSES = (
    CauseInWords("truncates", "truncates", 0),
    CauseInWords("toward-zero", "rounds towards zero", 3),
    CauseInWords("nan-at-max", "gives NaN where <rounding> carries past the largest value", 7),
)


def diagnosed(case, answers, *fits):
    return replace(answered(case, TRUNCATED), diagnosis=CaseDiagnosis(answers, 312, fits))


def explained():
    specs, wide = ("onnx.Cast-19", "onnx.Cast-21"), [("truncates",), ("toward-zero",)]
    diagnosis = CaseDiagnosis(44, 40, (), (Near("truncates", 31),))
    other = answered(case("onnx.Cast-21", "float32", "float8e4m3fn"), WRAPPED)
    known = excused_by(excuse(12, issue=ISSUE), answered(case(specs[1], "int8", "int4"), TURNED))
    return run(
        *(diagnosed(case(spec, "float32", "bfloat16"), 980, *wide) for spec in specs),
        *(diagnosed(case(spec, "float64", "bfloat16"), 1212, *wide) for spec in specs),
        diagnosed(case(specs[1], "float32", "float16"), 1001, ("truncates", "nan-at-max")),
        diagnosed(case(specs[1], "float64", "float16"), 733, ("nan-at-max",)),
        replace(other, diagnosis=diagnosis),
        passed(case(specs[1], "float32", "uint8")),
        known,
        known=KNOWN_FILE,
        causes=CAUSES,
    )


RUNS = {
    f.__name__: f
    for f in (
        all_pass, failing, kinds, below, interrupted, nothing, calls, known, stale, listed,
        explained,
    )
}  # fmt: skip


HOSTILE = "</script><img src=x onerror=\"alert('x')\"><!--<script>&\u2028{{ 7*7 }}"


def hostile():
    """All foreign text is malicious."""
    by = replace(ELSE, rule=HOSTILE, cite=HOSTILE, source=HOSTILE)
    link = Excuse("known", HOSTILE, "javascript:alert('x')", excuse(1).place)
    died = Example((0x3F800000,), 0x3F80, None, HOSTILE)
    spelled = Example((HOSTILE,), 0x3F80, 0x3F81, "")
    explained = CaseDiagnosis(980, 1, ((HOSTILE,), ("other",)))
    result = run(
        answered(case("onnx.Cast-19", "float32", "bfloat16"),
                 replace(group(by, "refused", HOSTILE, examples=(died,)), excuse=link)),
        answered(case("onnx.Cast-19", "string", "bfloat16", saturate=HOSTILE),
                 group(by, "fail", HOSTILE, ranges=((HOSTILE, HOSTILE),), examples=(spelled,))),
        replace(answered(case("onnx.Cast-19", "float64", "bfloat16"),
                         group(by, "fail", HOSTILE, examples=TRUNCATED.examples)),
                diagnosis=explained),
        causes=(CauseInWords(HOSTILE, HOSTILE, 0), CauseInWords("other", HOSTILE, 1)),
        notes=(HOSTILE,), known=HOSTILE,
        environment=Environment(HOSTILE, Cpu(HOSTILE, (), None), None, {"x": HOSTILE}),
    )  # fmt: skip
    return replace(result, backend=replace(result.backend, name=HOSTILE, version=HOSTILE))
