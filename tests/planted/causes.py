"""A backend for each cause of the catalogue, and a case that shows it."""

from collections.abc import Callable
from functools import cache

import numpy as np
from catalogue import CATALOG, CORPUS, calls_asked, compiled

from convcheck.backends.protocol import Outputs, Refused
from convcheck.causes.catalogue import causes_of
from convcheck.judge.answers import ANSWERED, NOT_ASKED, REFUSED, Answers
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.expected import DEADLY, UNDEFINED
from convcheck.semantics.expected import REFUSED as TO_REFUSE

Convert = Callable[[Bits], Bits]
EVERY = causes_of(CATALOG)
# Without common causes, so that the search tries all.
CAUSES = {cause.name: replace(cause, common=False, found_with=()) for cause in EVERY}
OF_VALUES = {
    name: cause
    for name, cause in CAUSES.items()
    if not (cause.call or cause.chain)
    if not (cause.under and cause.place.file.endswith("whole-calls.yaml"))
}

WIDE = "onnx.Cast-21/float64-to-float8e5m2/saturate=0"
TO_INTEGER = "pypto.cast-0.2/float32-to-int16/mode=CAST_RINT/satmode=ON"
# A case that shows it, for causes outside wide conversions of floats.
_SHOWN_BY = {
    "through-float64": "onnx.Cast-21/string-to-float32",
    "through-float32-then-float16-carried-twice": "onnx.Cast-21/float64-to-float16",
    "cut-to-float64": "onnx.Cast-21/string-to-float32",
    "negative-zero-is-true": "onnx.Cast-21/float32-to-bool",
    "nan-is-false": "onnx.Cast-21/float32-to-bool",
    "inf-is-false": "onnx.Cast-21/float32-to-bool",
    "zero-is-true": "onnx.Cast-21/float32-to-bool",
    "negative-zero-is-nan": "onnx.Cast-21/float32-to-float16",
    "refuses-as-strtod": "onnx.Cast-21/string-to-float16",
    "strtod-through-float32": "onnx.Cast-21/string-to-float16",
    "knows-INF-and-NaN-in-one-case": "onnx.Cast-21/string-to-float32",
    "cuts-texts-at-what-is-not-ascii": "onnx.Cast-21/string-to-string",
    "prints-special-values-as-0": "onnx.Cast-21/float32-to-string",
    "as-version-23": (later := "onnx.Cast-24/float32-to-float8e4m3fnuz/saturate=1"),
    "as-version-21": later,
    "as-version-19": later,
    "as-version-0.2": (odd := "pypto.cast-9.2/float32-to-bfloat16/mode=CAST_ODD/product=A3"),
    "as-version-0.1": odd,
    "reads-as-float16": "onnx.Cast-21/bfloat16-to-float32",
    **{f"compares-the-code-as-uint{n}": f"onnx.Cast-24/{t}-to-bool" for n, t in
       ((4, "float4e2m1"), (8, "float8e8m0"), (16, "float16"), (32, "float32"), (64, "float64"))},
    "true-is-the-bits-of-1.0": "onnx.Cast-21/bool-to-int32",
    "integer-times-power-of-ten": "onnx.Cast-21/string-to-float64",
    **{f"clamps-to-{s}-within-{t}-{m}": f"pypto.cast-0.2/{s}-to-{t}/mode={mode}/satmode=ON"
       for s, t in (("float16", "int16"), ("float32", "int32"), ("float32", "int64"))
       for m, mode in (("nearest-even", "CAST_RINT"), ("toward-zero", "CAST_TRUNC"))},
    **{f"reads-as-{s}int{n}": f"onnx.Cast-25/{'u' * (not s)}int{n}-to-float32"
       for s in ("", "u") for n in (2, 4, 8, 16, 32, 64)},
    **{f"prints-as-{s}int{n}": f"onnx.Cast-21/{'u' * (not s)}int{n}-to-string"
       for s in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip
_ONE_OF = (
    *(f"onnx.Cast-21/{t}-to-bool" for t in ("uint32", "int64", "int32")),
    "onnx.Cast-24/float32-to-float8e8m0/saturate=1/round_mode=nearest",
    "openvino.Convert-1/int16-to-uint64",
    "openvino.Convert-1/uint32-to-uint64",
    "openvino.Convert-1/float64-to-float64",
    *(f"onnx.Cast-21/float32-to-{t}/saturate=1"
      for t in ("float8e4m3fn", "float8e5m2", "float8e4m3fnuz")),
    "onnx.Cast-21/float32-to-float16",
    "onnx.Cast-21/float64-to-float32",
    "onnx.Cast-21/int64-to-float32",
    "onnx.Cast-21/int64-to-int8",
    "onnx.Cast-21/uint64-to-float32",
    "onnx.Cast-24/float32-to-float8e8m0/round_mode=up",
    "onnx.Cast-24/float32-to-float8e8m0/round_mode=down",
    "pypto.cast-0.2/int32-to-int16/mode=CAST_NONE/satmode=ON",
    "onnx.Cast-25/int32-to-float8e8m0/saturate=1/round_mode=up",
    "onnx.Cast-25/float16-to-float8e4m3fn/saturate=0",
    "onnx.Cast-25/float16-to-float8e8m0/saturate=0/round_mode=up",
    "onnx.BitCast-26/bfloat16-to-uint16",
    "pypto.cast-0.2/float32-to-float16/mode=CAST_ODD",
    "onnx.Cast-23/float32-to-float4e2m1",
    "onnx.Cast-24/float64-to-float8e8m0/saturate=1/round_mode=up",
    "onnx.Cast-21/float8e5m2-to-float32",
    "onnx.Cast-21/float8e4m3fn-to-float32",
    "onnx.Cast-21/float64-to-bfloat16",
    "onnx.Cast-21/bfloat16-to-float32",
    "onnx.Cast-21/string-to-float32",
    "onnx.Cast-21/int64-to-string",
)  # fmt: skip


def may_show(name):
    return [_SHOWN_BY.get(name, WIDE), TO_INTEGER, *_ONE_OF]


OWN = """\
causes:
  - name: drops-the-sign-of-infinity
    says: gives +Inf for an infinity of either sign
    when: {from: float, to: [float16, bfloat16, float32]}
    table: {-inf: +inf}
"""


def with_causes(folder, text):
    (folder / "causes").mkdir(exist_ok=True)
    (folder / "causes" / "own.yaml").write_text(text)
    return Catalog(CATALOG.types, CATALOG.specs, folders=(folder,))


@cache
def case_of(name):
    return find_case(CATALOG, name, None, None, ())


@cache
def vectors_of(name):
    return CORPUS.vectors(case_of(name))


def calls_of(name):
    return calls_asked(case_of(name))


# A conversion of elements -------------------------------------------------------------------------


def decides(name, cause):
    case, vectors = case_of(name), vectors_of(name)
    if not cause.applies_to(case):
        return False
    program = compile_wrong(CATALOG.specs[case.spec], case, (cause,))
    if program is None:
        return False
    given = readings_at(program, points_of(case, vectors.inputs[0]))[0]
    free = vectors.expected.readings[0].patterns == UNDEFINED
    return not ((given.patterns == UNDEFINED) & ~free).any()


def caused(vectors, *causes):
    case = vectors.case
    program = compile_wrong(CATALOG.specs[case.spec], case, causes) if causes else compiled(case)
    reading = readings_at(program, points_of(case, vectors.inputs[0]))[0]
    refused = reading.patterns == TO_REFUSE
    messages = dict.fromkeys(np.flatnonzero(refused).tolist(), "no")
    return Answers(reading.codes, np.where(refused, REFUSED, ANSWERED).astype(np.uint8), messages)


def answering(vectors, codes):
    return Answers(codes, np.full(len(codes), ANSWERED, np.uint8), {})


def converting(case, *names):
    causes = [CAUSES[name] for name in names]
    program = compile_wrong(CATALOG.specs[case.spec], case, causes) if causes else compiled(case)
    return lambda codes: readings_at(program, points_of(case, codes))[0].codes


# Whole calls --------------------------------------------------------------------------------------


def answered_calls(given):
    got = np.array([one if isinstance(one, Outputs) else None for one in given], object)
    kinds = {type(None): NOT_ASKED, Refused: REFUSED}
    state = np.array([kinds.get(type(one), ANSWERED) for one in given], np.uint8)
    return Answers(got, state, dict.fromkeys(np.flatnonzero(state == REFUSED).tolist(), "no"))


def as_answer(given):
    if given is None or given is DEADLY:
        return None
    if given.pattern == TO_REFUSE:
        return Refused("no")
    outputs = given.outputs
    return Outputs(tuple(o.answer for o in outputs), tuple(o.dtype.name for o in outputs))


class Planted:
    """A backend with these causes, and right answers elsewhere."""

    name, version = "planted", "1"

    def __init__(self, *causes):
        self.causes = causes

    def support(self, case):
        return None

    def answer(self, case, inputs):
        spec = CATALOG.specs[case.spec]
        if spec.body.whole_calls:
            edits = wrong_calls(spec, case, [tuple(inputs)])
            made = next(iter(edits(self.causes)), None) or next(iter(edits(())))
            return as_answer(made.answer(0)) or Refused("nothing is said of this call")
        program = compile_wrong(spec, case, self.causes) or compiled(case)
        reading = readings_at(program, points_of(case, inputs[0].reshape(-1)))[0]
        if (reading.patterns == TO_REFUSE).any():
            return Refused("no")
        return Outputs((reading.codes.reshape(inputs[0].shape),), (case.outputs[0].name,))
