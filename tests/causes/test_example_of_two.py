import ml_dtypes
import numpy as np
from command import convcheck
from report_json import parsed

_TYPES = {"float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e5m2": ml_dtypes.float8_e5m2}


def gives_what_came(cause):
    shown, target = cause["example"], cause["example_case"].split("/")[1].split("-to-")[1]
    value = np.uint64(int(shown["inputs"][0][0], 16)).view(np.float64)
    given = value.astype(np.float32).astype(_TYPES[target]).view(np.uint8)
    return int(given) == int(shown["got"][0], 16)


def test_it_is_an_answer_of_the_other_cause(tmp_path):
    out = tmp_path / "run.json"
    types = ("--from", "float64", *(w for t in _TYPES for w in ("--to", t)))
    convcheck("run", "--backend", "ort", "onnx.Cast-23", *types, "-o", out)
    first, *pairs = parsed(out.read_text())["causes"]
    assert [one["name"] for one in first["together"]] == ["through-float32"]
    assert len(pairs) == len(_TYPES)
    assert gives_what_came(first)
    for one in pairs:
        assert one["together"][0] == first["together"][0]
        assert not gives_what_came(one)
    # the example says so, and `repro` writes a script of it
    said = convcheck("report", out).stdout
    for one in pairs:
        assert f"{one['example_case']} {one['example']['inputs'][0][0]}" in said
        name = "+".join(cause["name"] for cause in one["together"])
        script = convcheck("repro", "--report", out, "--cause", name, "--as", "c").stdout
        assert one["example"]["inputs"][0][0] in script
