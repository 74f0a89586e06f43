"""Findings against installed runtimes, checked with the independent oracle.

No reading may contain the example of a failure. With the expected values in its place one must.
"""

import re
from collections import Counter
from importlib.metadata import EntryPoint
from typing import NamedTuple

import pytest
from catalogue import CATALOG
from command import convcheck, report_at
from oracle import convert, decode, expect, fake_convert, fits, promotion, pypto_cast, ranges
from oracle.formats import FLOATS

from convcheck.backends import protocol
from convcheck.errors import UnavailableError

OPENVINO = (
    *("openvino.Convert-1", "openvino.ConvertLike-1", "openvino.ConvertPromoteTypes-14"),
    *("openvino.FakeConvert-13", "openvino.FakeQuantize-1", "openvino.Range-4"),
)
PYPTO = ("pypto.cast-0.2",)
NAN, ZERO, FREE, REFUSED = "<nan>", "<zero>", "<undefined>", "<refused>"


class Due(NamedTuple):
    """One output under one reading: codes or words by index. Missing elements are free."""

    type: str
    shape: list[int]
    elements: dict[int, int | str]


def shown(tensor):
    return enumerate((int(word, 16) for word in tensor["bits"]), tensor["first"])


def of_promotion(case, tensors):
    said = case["attributes"]
    targets = {t.name_in("openvino"): name for name, t in CATALOG.types.types.items()}
    targets["default"] = "float32"
    wanted = promotion.answer(
        promotion.Question(
            case["inputs"][0], case["inputs"][1], (case["ranks"][0], case["ranks"][1]),
            said["promote_unsafe"] == "true", said["pytorch_scalar_promotion"] == "true",
            targets[said["u64_integer_promotion_target"]],
        )
    )  # fmt: skip
    return [
        REFUSED if name == promotion.REFUSED else tuple(converted(t, name) for t in tensors)
        for name in sorted(wanted.answers)
    ]


def converted(tensor, name):
    words = {"nan": NAN, "": FREE}
    became = {i: promotion.convert(tensor["type"], name, code).code for i, code in shown(tensor)}
    return Due(name, tensor["shape"], {i: words.get(str(c), c) for i, c in became.items()})


def of_fake_convert(case, tensors):
    data, *parameters = tensors
    name = data["type"]
    destination = case["attributes"]["destination_type"]
    if (
        name not in fake_convert.TYPES
        or destination not in fake_convert.DESTINATIONS
        or not all(
            broadcasts(p["shape"], data["shape"]) and p["shape"] == parameters[0]["shape"]
            for p in parameters
        )
    ):
        return [FREE]
    words = {fake_convert.ZERO: ZERO, fake_convert.UNDEFINED: FREE}
    readings = []
    for way in fake_convert.WAYS:
        elements = {}
        for i, code in shown(data):
            codes = (code, *(met(p, i, data["shape"]) for p in parameters))
            got = fake_convert.expect(name, destination, way, codes)
            elements[i] = words.get(str(got), got)
        readings.append((Due(name, data["shape"], elements),))
    return readings


def broadcasts(shape, onto):
    pairs = zip(reversed(shape), reversed(onto), strict=False)
    return len(shape) <= len(onto) and all(have in (1, want) for have, want in pairs)


def met(tensor, index, shape):
    where, step = 0, 1
    for position, size in enumerate(reversed(shape)):
        index, coordinate = divmod(index, size)
        if position < len(tensor["shape"]):
            own = tensor["shape"][-1 - position]
            where, step = where + (coordinate if own > 1 else 0) * step, step * own
    return dict(shown(tensor))[where]


def of_range(case, tensors):
    first, second, third = case["inputs"]
    [output] = case["outputs"]
    codes = tuple(code for tensor in tensors for _, code in shown(tensor))
    due = ranges.openvino((first, second, third), output, codes)
    if due is None or any(tensor["shape"] for tensor in tensors):  # "A scalar of type T1."
        return [FREE]
    return [(Due(output, [len(one)], dict(enumerate(one))),) for one in sorted(due)]


READINGS = {
    "openvino.ConvertPromoteTypes-14": of_promotion,
    "openvino.FakeConvert-13": of_fake_convert,
    "openvino.Range-4": of_range,
}


def rightly(case, example):
    if case["spec"] not in READINGS:
        return element_rightly(case, example)
    readings, got = READINGS[case["spec"]](case, example["input"]), example["got"]
    if got is None:
        return not any(reading in (REFUSED, FREE) for reading in readings)
    if any(matches(reading, got) for reading in readings):
        return False
    between = case["spec"] == "openvino.Range-4" and case["outputs"][0] in FLOATS
    return not (between and lies_between(readings, got))


def element_rightly(case, example):
    [source], [target] = case["inputs"], case["outputs"]
    code, said = int(example["input"][0], 16), case["attributes"]
    if case["spec"] in OPENVINO:
        want = convert.expect(case["spec"].rpartition("-")[0], source, target, code)
    elif case["spec"] in PYPTO:
        want = pypto_cast.expect("0.2", source, target, said, code)
    else:
        version = int(case["spec"].removeprefix("onnx.Cast-"))
        want = expect(version, source, target, said, code)
    if example["got"] is None:
        return all(reading[0] not in ("refused", "undefined") for reading in want.readings)
    got, due = int(example["got"], 16), example["expected"]
    readings = want.readings
    if due.startswith("0x") and ("bits", int(due, 16)) in readings:
        readings = (("bits", int(due, 16)),)  # a single reading, the closest, for the whole case
    return not any(fits(reading, target, got) for reading in readings)


def matches(reading, got):
    if isinstance(reading, str):
        return reading == FREE
    return len(reading) == len(got) and all(
        due.type == tensor["type"]
        and due.shape == tensor["shape"]
        and all(is_(due.type, due.elements.get(i, FREE), code) for i, code in shown(tensor))
        for due, tensor in zip(reading, got, strict=True)
    )


def is_(name, want, code):
    if want == NAN:
        return decode(name, code) in ("nan", "-nan")
    return want in (FREE, code) or (want == ZERO and decode(name, code) in (0, "-0"))


def lies_between(readings, got):
    """Return whether the floats shown lie between readings widened by an ulp.

    If all readings agree without rounding, nothing lies between.
    """
    [tensor] = got
    alike = [r[0] for r in readings if isinstance(r, tuple) and r[0].shape == tensor["shape"]]
    return bool(alike) and tensor["type"] == alike[0].type and all(
        min(near) - 1 <= place(tensor["type"], code) <= max(near) + 1
        for i, code in shown(tensor)
        if (near := [place(d.type, int(d.elements[i])) for d in alike])
    )  # fmt: skip


def place(name, code):
    """Return a code's position in its type, zeros at 0."""
    magnitude = code % FLOATS[name].sign
    return magnitude if code == magnitude else -magnitude


def put_right(case, example):
    due = example["expected"]
    if case["spec"] not in READINGS:
        return {**example, "got": as_code(case["outputs"][0], due)}
    if isinstance(due, str):
        assert due == REFUSED
        return {**example, "got": None}
    words = ({**t, "bits": [as_code(t["type"], word) for word in t["bits"]]} for t in due)
    return {**example, "got": list(words)}


def as_code(name, word):
    if word in (ZERO, FREE):
        return "0x0"
    if word not in (NAN, "<-nan>"):
        return word
    float_ = FLOATS[name]
    return hex(float_.sign if float_.specials == "fnuz" else 2 * float_.sign - 1)


RUNS = {
    "pypto": (
        "planted.asked_once:PyptoOnce", PYPTO,
        ("*/float32-to-*/mode=CAST_R*", "*/int32-to-*/mode=CAST_ODD"),
    ),
    # Double rounding through float16 or float32, and integers of every kind of result.
    "openvino Convert": (
        "openvino", ("openvino.Convert-1",), ("*/float32-*", "*/int32-*", "*/float64-to-float*"),
    ),
    # Inputs short enough to be shown in full.
    "openvino FakeConvert": (
        "openvino", ("openvino.FakeConvert-13",),
        ("*/per-tensor*", "*/per-channel*", "*/images*", "*/scalar*", "*/shift-*"),
    ),
    # Outputs that round, wrap and overflow. A few integer calls kill the process.
    "openvino Range": (
        "openvino", ("openvino.Range-4",),
        ("*-to-int8", "*-to-int64", "*-to-float16", "*-to-float32"),
    ),
    # Pairs accepted instead of refused, 64-bit values, 8-bit floats.
    "openvino ConvertPromoteTypes": (
        "openvino", ("openvino.ConvertPromoteTypes-14",),
        (
            *("*/int64-uint64/*", "*/uint32-uint64/*", "*/int16-uint32/*", "*/int8-uint16/*"),
            *("*/bfloat16-float*", "*/bfloat16-int32/*", "*/float64-int32/*"),
            "*/float8e5m2-float8e4m3fn/*",
        ),
    ),
    "torch": (
        "torch", ("onnx.Cast-21", "openvino.Range-4"),
        ("*-to-bfloat16*", "*-to-float8e4m3fnuz*", "*-to-int64"),
    ),
    "ml_dtypes": (
        "ml_dtypes", ("onnx.Cast-21",), ("*-to-bfloat16*", "*-to-float8e4m3*", "*-to-int4"),
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_every_accusation_stands_up(name, tmp_path):
    backend, specs, globs = RUNS[name]
    runtime = name.partition(" ")[0]
    pytest.importorskip(runtime, reason=f"{runtime} is not there: install convcheck[{runtime}]")
    chosen = [word for glob in globs for word in ("--case", glob)]
    told = "--no-causes", "-o", tmp_path / "r.json"
    done = convcheck("run", "--backend", backend, *specs, *chosen, *told)
    assert done.returncode in (0, 1), done.stderr
    found = report_at(tmp_path / "r.json")
    counts = Counter()
    for case in found["cases"]:
        for group in case["groups"]:
            if group["verdict"] in CHECKS:
                assert group["examples"] or group["placement"]
                for example in group["examples"]:
                    CHECKS[group["verdict"]](case, group, example)
                    counts[f"{case['spec']} {group['verdict']}"] += 1
    print(name, dict(sorted(counts.items())))
    accused = [name for name in counts if name.split()[1] in ("fail", "refused", "crashed")]
    assert accused or not found["summary"]["gated"]


def stands_up(case, group, example):
    assert group["cite"]
    assert rightly(case, example) or wrong_by_its_reading(case, example), (case["id"], example)
    assert not rightly(case, put_right(case, example)), (case["id"], example)


def wrong_by_its_reading(case, example):
    if not example.get("reading"):
        return False
    readings = READINGS[case["spec"]](case, example["input"])
    failing = (group for group in case["groups"] if group["verdict"] == "fail")
    others = (other for group in failing for other in group["examples"])
    return not all(matches(reading, example["got"]) for reading in readings) and any(
        rightly(case, other) for other in others
    )


def let_off(case, group, example):
    assert not rightly(case, example), (case["id"], example)


def died(case, group, example):
    """Check a crash. If a result is defined, the oracle agrees."""
    assert re.fullmatch(r"died of SIG[A-Z]+", group["kind"])
    assert example["message"] == group["kind"]
    assert example["got"] is None
    assert all(len(tensor["bits"]) == 1 for tensor in example["input"])  # the whole input
    assert rightly(case, example) == (group["level"] != "undefined")


CHECKS = {
    "fail": stands_up,
    "refused": stands_up,
    "crashed": died,
    "tolerated": let_off,
    "undefined": let_off,
}


def test_what_lies_between_two_readings_is_no_accusation():
    def tensor(name, *codes):
        return {"type": name, "shape": [], "first": 0, "bits": [hex(code) for code in codes]}

    arguments = [tensor("float32", code) for code in (0, 0x3F333333, 0x3DCCCCCD)]
    case = {"spec": "openvino.Range-4", "inputs": ["float32"] * 3, "outputs": ["float32"]}
    due = [r[0] for r in of_range(case, arguments) if isinstance(r, tuple) and r[0].shape == [7]]
    highest = [max(int(d.elements[i]) for d in due) for i in range(7)]
    assert len(due) > 1
    for more, wrong in ((0, False), (1, False), (2, True)):
        got = tensor("float32", *(highest[:6]), highest[6] + more) | {"shape": [7]}
        assert rightly(case, {"input": arguments, "got": [got]}) == wrong


class Choosy:
    @staticmethod
    def prepare(say):
        say("building")


class Plain:
    """A backend without the method."""


class Broken(Plain):
    @staticmethod
    def prepare(say):
        raise UnavailableError("no compiler", hint="install one")


@pytest.fixture
def _registered(monkeypatch):
    values = {name: f"{__name__}:{name.capitalize()}" for name in ("choosy", "plain", "broken")}
    values["missing"] = "no_such_package:Backend"
    points = {n: EntryPoint(n, value, protocol.GROUP) for n, value in values.items()}
    monkeypatch.setattr(protocol, "_installed", lambda: points)


@pytest.mark.usefixtures("_registered")
def test_a_backend_is_prepared_if_it_can_be():
    said = []
    for address in ("choosy", "choosy:variant", "plain", "missing", "some.module:Class"):
        protocol.prepare_backend(address, said.append)
    assert said == ["building", "building"]
    with pytest.raises(UnavailableError, match="no compiler"):
        protocol.prepare_backend("broken", said.append)


OTHERS = "onnx.Cast-21/float32-to-int8"


@pytest.mark.parametrize(("backend", "options", "specs"), [
    ("openvino", (), OPENVINO),
    ("pypto", (), PYPTO),
    ("pypto", ("--case", "*/float32-to-float16*"), PYPTO),
    ("pypto", ("--case", OTHERS), ("onnx.Cast-21",)),
    ("openvino", ("--case", OTHERS), ("onnx.Cast-21",)),
    ("openvino", ("onnx.Cast-21", *PYPTO), ("onnx.Cast-21", *PYPTO)),
])  # fmt: skip
def test_a_run_without_a_choice_asks_the_backend_s_own_specs(backend, options, specs):
    done = convcheck("run", "--backend", backend, "--dry-run", *options)
    assert done.returncode == 0, done.stderr
    *lines, total = (line.split() for line in done.stdout.splitlines())
    assert sorted(line[0] for line in lines) == sorted(specs)
    assert total[:2] == ["would", "ask"]
