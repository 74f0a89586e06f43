import io
import json
import os
import subprocess
import sys

import pytest
from catalogue import CATALOG
from library_cases import named, report_of
from planted.identity import ran

from convcheck.backends.process.serve import serve as loop
from convcheck.backends.protocol import ProtocolError
from convcheck.backends.reference import Reference
from convcheck.rules.cases import cases
from specs import head

SERVE = f"{sys.executable} -m convcheck backend serve"


def some():
    """Return elements, texts both ways, sub-byte types, whole calls, promotions and refusals."""
    promotions = list(cases(CATALOG.specs["openvino.ConvertPromoteTypes-14"]))
    return [
        *named("onnx.Cast-21", "float32-to-float8e4m3fn/saturate=0", "int4-to-float16",
            "float64-to-uint4", "string-to-float32", "float32-to-string", "string-to-string"),
        *list(cases(CATALOG.specs["onnx.CastLike-15"]))[5:6],
        *list(cases(CATALOG.specs["openvino.Range-4"]))[7:8],
        *list(cases(CATALOG.specs["openvino.FakeConvert-13"]))[30:31],
        *promotions[40::2900],
        *list(cases(CATALOG.specs["pypto.cast-0.1"]))[40:42],
    ]  # fmt: skip


def test_the_reference_is_the_same_served():
    direct = report_of("reference", some())
    kinds = {g["kind"] for it in direct["cases"] for g in it["groups"]}
    assert {it["verdict"] for it in direct["cases"]} <= {"pass", "tolerated", "undefined"}
    assert kinds
    assert report_of(f"process:{SERVE} reference", some()) == direct


def planted(address):
    (result,) = ran(address, 1).cases
    return result.verdict, result.message, result.checked


# A spec with the cases of `planted.identity`.
IDENTITY = (
    head("int8", "int8").replace("acme.Convert", "test.Identity")
    + """\
attributes:
  number: {type: int, values: [0, 1], default: 1, applies: {to: int8}}
rules:
  - name: identity
    level: normative
    cite: "y is x."
    when: {from: int8}
    round: toward-zero
    table: {else: "[x]"}
"""
)


@pytest.fixture
def specs(tmp_path, monkeypatch):
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "identity-1.yaml").write_text(IDENTITY)
    monkeypatch.setenv("CONVCHECK_SPECS", str(folder))
    return folder


VERDICTS = {"Noisy": "pass", "Raises": "error", "RefusesOne": "refused"}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_planted_backend_is_the_same_served(name, specs):
    """Including the adapter's exceptions, with their messages, and the runtime's prints."""
    it = f"tests.planted.bad_backends:{name}"
    direct = planted(it)
    found = planted(f"process:{SERVE} --specs {specs} {it}")
    assert direct[0] == VERDICTS[name]
    assert found == direct


def test_a_backend_that_wants_a_new_process_gets_one(specs):
    it = "tests.planted.bad_backends:Spoiled"
    two = ran(f"process:{SERVE} --specs {specs} {it}", 0, 1)
    assert [r.verdict for r in two.cases] == ["pass", "pass"]
    assert two.restarts == 0


def serve(text, backend="reference", *options):
    words = ("-W", "error", "-m", "convcheck", "backend", "serve", *options, backend)
    command = [sys.executable, *words]
    return subprocess.run(command, input=text, capture_output=True, timeout=60, check=False)


def line(header):
    return json.dumps(header).encode() + b"\n"


HELLO = line({"hello": 1})
CASE = "onnx.Cast-21/int32-to-int8"


def asked(run, name=CASE, **more):
    tensor = {"name": "input", "type": "int32", "shape": [2], "bytes": 8}
    return line({"run": run, "case": name, "inputs": [tensor], **more}) + b"\1\1\0\0\2\0\0\0"


def test_requests_one_after_the_other():
    done = serve(HELLO + asked(1) + asked(2, "acme.Nothing-1/int32") + asked(9))
    hello, *rest = done.stdout.split(b"\n", 3)
    assert done.returncode == 0
    assert json.loads(hello)["name"] == "reference"
    output = {"type": "int8", "shape": [2], "bytes": 2}
    assert json.loads(rest[0]) == {"run": 1, "outputs": [output]}
    declined, last = rest[1], rest[2]
    assert declined.startswith(b'\1\2{"run": 2, "declined": "no case acme.Nothing-1/int32 here')
    assert last == line({"run": 9, "outputs": [output]}) + b"\1\2"


@pytest.mark.parametrize(("text", "words"), [
    (b"hello\n", "stdin had `hello`, which is not a request"),
    (b"[1]\n", "stdin had `[1]`, which is not a request"),
    (line({"hello": 3}), "hello of version 3"),
    (line({"case": CASE}), "wrong header (Object missing required field `run`): `{"),
    (line({"run": 1}), "wrong header (Object missing required field `case`): `{"),
    (line({"run": 1, "case": CASE}), "wrong header (Object missing required field `inputs`): `{"),
    (line({"run": 1, "case": CASE, "inputs": []}), f"the inputs are not those of {CASE}"),
    (asked(1)[:-3], "the input ends after 5 of the 8 bytes of a tensor"),
])  # fmt: skip
def test_a_bad_request(text, words, monkeypatch, capfd):
    """In this process, since starting the command line takes a second."""
    reading, writing = os.pipe()
    with pytest.raises(ProtocolError) as raised:
        loop(Reference(CATALOG), CATALOG, io.BytesIO(HELLO + text), writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        assert answers.read().count(b"\n") == 1
    assert raised.value.message.startswith(words)
    assert raised.value.exit_code == 2


def test_exit_codes_of_serve():
    done = serve(HELLO + b"debug\n")
    assert (done.returncode, done.stdout.count(b"\n")) == (2, 1)
    assert done.stderr.decode().startswith("convcheck: stdin had `debug`, which is not a request\n")
    done = serve(HELLO, "tests.planted.bad_backends:Nobody")
    assert (done.returncode, done.stdout) == (2, b"")
