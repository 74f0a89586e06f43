import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from c_compiler import CC, needs_cc
from catalogue import CATALOG
from command import convcheck, refused
from living import eventually, is_alive
from places import TESTS
from planted.identity import case, ran
from process import bad

from convcheck.backends.process.backend import Process, headers, request, template_of
from convcheck.backends.protocol import DiedError, Outputs, Oversized, ProtocolError, Raised
from convcheck.errors import UnavailableError
from convcheck.numerics.format import Text
from convcheck.plan.runner import execute
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir
from convcheck.vectors.corpus import open_corpus

HERE = TESTS / "process"
PYTHON = f"{sys.executable} -S"
BAD = f"{PYTHON} {HERE / 'bad.py'}"
CODES = np.arange(30, dtype=np.uint8)


def compiled(folder, source, *compiler):
    """Compile a C program without warnings, beside the output of `c-header`. Return its path."""
    (folder / "mine.c").write_text(source)
    (folder / "convcheck.h").write_text(convcheck("backend", "example", "c-header").stdout)
    options = ("-Wall", "-Wextra", "-Werror", "-O2", "-o", "mine", "mine.c", "-lm")
    command = [*(compiler or (str(CC), "-std=c99", "-pedantic")), *options]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return str(folder / "mine")


TO = ("float8e4m3fn", "bfloat16")


def judged(command):
    """Run a program on the edge tier of the examples' cases, and on one unsupported case."""
    chosen = [
        *select(CATALOG, Selection(("onnx.Cast-21",), ("float32",), TO, (), ())),
        *select(CATALOG, Selection(("onnx.Cast-21",), ("int32",), ("int8", "int16"), (), ())),
    ]
    corpus = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
    return execute(f"process:{command}", chosen, corpus, jobs=1, timeout=30.0,
                   on_result=lambda result: None)  # fmt: skip


def verdicts(execution):
    return {result.case.name: result.verdict for result in execution.cases}


RIGHT = {
    "float32-to-float8e4m3fn/saturate=0": "pass",
    "float32-to-float8e4m3fn/saturate=1": "pass",
    "float32-to-float8e4m3fn/saturate=2": "undefined",
    "float32-to-float8e4m3fn/saturate=default": "pass",
    "float32-to-bfloat16": "pass",
    "float32-to-bfloat16/saturate=0": "pass",
    "int32-to-int8": "pass",
    "int32-to-int16": "unsupported",
}


CPP = (str(CC), "-x", "c++", "-std=c++11", "-pedantic")


@needs_cc
@pytest.mark.parametrize("compiler", [(), CPP], ids=["c", "c++"])
def test_the_example_in_c(compiler, tmp_path):
    source = convcheck("backend", "example", "c").stdout
    execution = judged(compiled(tmp_path, source, *compiler))
    assert verdicts(execution) == RIGHT
    assert execution.backend.name == f"process:{tmp_path}/mine"
    assert execution.backend.version == "cast.c 1.0"
    assert {r.message for r in execution.cases} == {"", "no such kernel"}


@needs_cc
def test_a_kernel_in_c_may_refuse(tmp_path):
    source = convcheck("backend", "example", "c").stdout
    start = source.index("static const char *to_bfloat16")
    refusing = source[start:].replace("(void)request;", '(void)request; return "not today";', 1)
    found = judged(compiled(tmp_path, source[:start] + refusing)).cases
    [refused] = [result for result in found if result.case.name == "float32-to-bfloat16"]
    assert refused.verdict == "refused"
    said = [e.message for g in refused.groups for e in g.examples]
    assert said
    assert all(message.startswith("not today") for message in said)


@needs_cc
def test_a_kernel_in_c_reads_attributes(tmp_path):
    checks = (
        'convcheck_is(r, "round_mode", "up")',
        '!convcheck_is(r, "round_mode", "u")',
        '!convcheck_is(r, "mode", "up")',
        'convcheck_number(r, "saturate", 1) == 0',
        'convcheck_number(r, "axis", 7) == 7',
    )
    line = json.dumps({"op": "Cast", "attributes": {"round_mode": "up", "saturate": 0}})
    source = f"""#include "convcheck.h"
int main(void) {{ const char *r = {json.dumps(line)}; return !({" && ".join(checks)}); }}"""
    subprocess.run([compiled(tmp_path, source)], check=True, timeout=60)


def test_the_example_in_python(tmp_path):
    (tmp_path / "cast.py").write_text(convcheck("backend", "example", "python").stdout)
    execution = judged(f"{PYTHON} {tmp_path / 'cast.py'}")
    right = {n: "unsupported" if "bfloat16" in n else verdict for n, verdict in RIGHT.items()}
    assert verdicts(execution) == right
    assert execution.backend.version == "cast.py 1.0"


def test_a_program_with_another_default_is_caught(tmp_path):
    source = convcheck("backend", "example", "python").stdout
    stated = '.get("saturate", 1)'
    assert stated in source
    (tmp_path / "cast.py").write_text(source.replace(stated, '.get("saturate", 0)'))
    found = verdicts(judged(f"{PYTHON} {tmp_path / 'cast.py'}"))
    failed = [name for name, verdict in found.items() if verdict == "fail"]
    assert failed == ["float32-to-float8e4m3fn/saturate=default"]


# Faults, and correct answers


@pytest.fixture
def opened(monkeypatch):
    processes = []

    def start(mode, program=BAD):
        hangs = "hangs" in mode or mode == "not_reading"
        monkeypatch.setenv("CONVCHECK_TIMEOUT", "1.5" if hangs else "60")
        processes.append(Process(f"{program} {mode}", catalog=CATALOG))
        return processes[-1]

    yield start
    for process in processes:
        process._program.leave()


WRONG = {
    "text": "`debug: x = 3`", "text_without_end": "`debug: x = 3 {", "binary": r"`\x7fELF\x00\xff`",
    "not_utf8": "wrong JSON", "wrong_json": "column 24", "no_object": "`[1, 2]`",
    "two_kinds": "declined and refused", "no_kind": "no outputs, nor why", "no_run": "field `run`",
    "no_type": "field `type` - at `$.outputs[0]`", "unknown_type": "output 1 has the unknown type",
    "no_shape": "$.outputs[0].shape[0]", "wrong_bytes": "of int16 (shape [30]) take 60 bytes",
    "no_values": "$.outputs[0].values[0]", "no_words": "$.refused",
    "too_many": "3 bytes too many after the answer to run 1", "twice": "run 1 is answered twice",
    "another_run": "answers run -4 when run 1", "of_the_future": "it was not asked yet",
    "ends_early": "28 of the 30 bytes of output 1", "ends_in_the_header": "without its end",
    "closes_stdout": "closed its stdout but is still running",
}  # fmt: skip


@pytest.mark.parametrize("mode", WRONG)
def test_what_is_no_answer(mode, opened):
    process = opened(mode)
    with pytest.raises(ProtocolError) as raised:
        process.answer(case(1), [CODES])
    assert WRONG[mode] in raised.value.message
    assert raised.value.hint
    assert process._program.wait(0) is not None


def test_an_error_of_the_program_loses_that_call(opened):
    process = opened("error")
    assert process.answer(case(1), [CODES]) == Raised("the device is not there")
    assert process.spoiled
    assert process._program.wait(0) is None


def test_an_answer_that_comes_again_later(opened):
    process = opened("twice_later")
    assert isinstance(process.answer(case(1), [CODES]), Outputs)
    with pytest.raises(ProtocolError, match="run 1 is answered twice"):
        process.answer(case(1), [CODES])


DEATHS = {
    "silent_end": "exited with status 0",
    "status_3": "exited with status 3",
    **{f"segfault{where}": "died of SIGSEGV" for where in ("", "_in_the_payload", "_with_a_child")},
}
HANGS = {
    "hangs": "no header came",
    "hangs_in_the_header": "a header line without its end",
    "hangs_in_the_payload": "20 of the 30 bytes of output 1 came",
}


@pytest.mark.parametrize("mode", [*DEATHS, *HANGS])
def test_what_is_a_death(mode, opened):
    process = opened(mode)
    with pytest.raises(DiedError) as raised:
        process.answer(case(1), [CODES])
    assert {**DEATHS, **HANGS}[mode] in raised.value.how
    assert raised.value.timed_out == (mode in HANGS)
    assert process._program.wait(0) is not None


def test_a_request_that_is_not_read(opened):
    process = opened("not_reading")
    with pytest.raises(DiedError, match="it has not read the request: ") as raised:
        process.answer(case(1), [np.zeros(4_000_000, np.uint8)])
    words = raised.value.how
    taken, total = (int(w) for w in words.replace(",", "").split() if w.isdigit())
    assert 0 < taken < 4_000_000 < total


@pytest.mark.parametrize("mode", ["good", "split", "late", "spaces", "hands_over"])
def test_what_is_right(mode, opened):
    process = opened(mode)
    for _ in range(3):
        answer = process.answer(case(1), [CODES])
        assert answer.types == ("int8",)
        assert answer.arrays[0].tolist() == CODES.tolist()


@pytest.mark.parametrize("mode", ["good", "spaces"])
def test_several_requests_at_a_time(mode, opened):
    sizes = (0, 1, 30, 40_000, 7, 20_000, 20_000, 3)
    questions = [[np.arange(size).astype(np.uint8)] for size in sizes]
    answers = list(opened(mode).answers(case(1), questions))
    for (inputs,), answer in zip(questions, answers, strict=True):
        assert np.array_equal(answer.arrays[0], inputs)


@pytest.mark.parametrize("mode", ["segfault_on_100", "status_3_on_100", "hangs_on_100"])
def test_of_requests_the_deadly_one_is_known(mode, opened):
    questions = [[CODES], [CODES[:3]], [np.array([100], np.uint8)], [CODES], [CODES]]
    answers = opened(mode).answers(case(1), questions)
    for (inputs,) in questions[:2]:
        answer = next(answers)
        assert np.array_equal(answer.arrays[0], inputs)
    with pytest.raises(DiedError, match=", 5 requests sent at once"):
        next(answers)


def test_a_program_may_write_while_it_is_written_to(opened):
    process = opened("eager")
    process._timeout = 20.0
    for size in (3, 8_000_000):
        answer = process.answer(case(1), [np.ones(size, np.uint8)])
        assert answer.arrays[0].shape == (size,)
        assert not answer.arrays[0].any()


def test_too_large_answers(opened, monkeypatch):
    monkeypatch.setenv("CONVCHECK_MAX_ELEMENTS", "1000")
    process = opened("more_than_asked")
    assert process.answer(case(1), [CODES]) == Oversized(((1200,),), ("int8",))
    assert isinstance(process.answer(case(1), [CODES[:7]]), Outputs)


@pytest.mark.parametrize(("mode", "words"), [
    ("hello_2", "hello is answered with version 2, not 1"),
    ("hello_nothing", 'missing required field `hello`): `{"name": "bad"}`'),
    ("hello_nameless", "the answer to hello has no `name`: `{"),
    ("hello_text", 'stdout had `"usage: bad MODE"`, which is not an answer'),
])  # fmt: skip
def test_a_hello_that_is_none(mode, words):
    with pytest.raises(UnavailableError) as raised:
        Process(f"{BAD} {mode}", catalog=CATALOG)
    assert words in raised.value.message
    assert raised.value.hint.endswith(f"`convcheck backend probe --backend 'process:{BAD} {mode}'`")


def test_programs_that_cannot_be_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("plain", "echo"), ("text", "echo"), ("my-script", "#!/nowhere/sh\n")):
        Path(name).write_text(text)
        Path(name).chmod(0o644 if name == "plain" else 0o755)
    due = {"./nowhere --flag": "no such program", "my-script": "no such program",
           "./plain": "not executable", "./text": "Exec format error",
           "./my-script": "its interpreter does not exist", ".": "it is a folder"}  # fmt: skip
    for command, words in due.items():
        with pytest.raises(UnavailableError, match=words) as raised:
            Process(command, catalog=CATALOG)
        assert raised.value.hint
    for command in ("", "  ", "./mine 'unfinished"):
        refused("run", "--backend", f"process:{command}", "onnx.Cast-21")


def test_the_rest_of_the_run_goes_on():
    modes = ["text", "twice_later"]
    numbers = [n for mode in modes for n in (100 + len(mode), list(bad.MODES).index(mode))]
    results = ran(f"process:{BAD} all", *numbers, 200).cases
    assert [r.verdict for r in results] == ["pass", "error", "pass", "error", "pass"]
    assert "`debug: x = 3`" in results[1].message
    assert "is answered twice" in results[3].message


@pytest.mark.parametrize(("mode", "words"), [
    ("segfault_on_100", "died of SIGSEGV"),
    ("status_3_on_100", "exited with status 3: cannot open libmine.so"),
    ("hangs_on_100", "no answer within 0.6 s"),
])  # fmt: skip
def test_the_deadly_input_is_found(mode, words):
    timeout = 0.6 if "hangs" in mode else 20.0
    before, result, after = ran(f"process:{BAD} {mode}", 0, 1, 2, timeout=timeout).cases
    assert (before.verdict, before.checked) == (after.verdict, after.checked) == ("pass", 37)
    assert (result.verdict, result.checked) == ("crashed", 127)
    assert result.message.startswith("100: ")
    assert words in result.message


def test_a_program_that_dies_while_it_starts():
    script = "import sys; sys.exit('no device')"
    with pytest.raises(UnavailableError, match="exited with status 1: no device while it was"):
        ran(f'process:{PYTHON} -c "{script}"', 0)


HANGING = """\
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *a: open('interrupted', 'w').close())
sys.stdin.readline()
print('{"hello": 1, "name": "hanging", "version": "1"}', flush=True)
sys.stdin.readline()
open('pid.part', 'w').write(str(os.getpid()))
os.rename('pid.part', 'pid')
while True: time.sleep(1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_hanging_program_ends_with_convcheck(number, tmp_path):
    (tmp_path / "hanging.py").write_text(HANGING)
    command = [sys.executable, "-m", "convcheck", "run", "onnx.Cast-21", "--from", "int32", "--to",
               "int8", "--backend", f"process:{PYTHON} hanging.py"]  # fmt: skip
    quiet = subprocess.DEVNULL
    parent = subprocess.Popen(command, cwd=tmp_path, stdout=quiet, stderr=quiet, process_group=0)
    try:
        assert eventually((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        os.killpg(parent.pid, number)
        assert parent.wait(20) == (130 if number == signal.SIGINT else -number)
    finally:
        parent.kill()
        parent.wait()
    assert eventually(lambda: not is_alive(pid))
    assert not (tmp_path / "interrupted").exists()


SCHEMA = json.loads((Path(headers.__file__).parent / "schema.json").read_text("utf-8"))


def fits(part, header):
    schema = {"$ref": f"#/$defs/{part}", "$defs": SCHEMA["$defs"]}
    return bool(jsonschema.Draft202012Validator(schema).is_valid(header))


def test_requests_are_of_the_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert fits("hello", json.loads(headers.HELLO))
    seen = Counter()
    for spec in CATALOG.specs.values():
        for it in list(cases(spec))[::97]:
            shape = (2, 3)
            bits = [np.full(shape, "é\n", object) if isinstance(t.format, Text)
                    else np.ones(shape, t.format.storage) for t in it.inputs]  # fmt: skip
            (message,) = request(template_of(it, CATALOG), 7, bits)
            line, _, payload = bytes(message).partition(b"\n")
            header = json.loads(line)
            assert fits("request", header), header
            assert header["case"] == it.id
            assert [t["name"] for t in header["inputs"]] != []
            assert len(payload) == sum(t["bytes"] for t in header["inputs"])
            seen[spec.op] += 1
    assert len(seen) == len({spec.op for spec in CATALOG.specs.values()})


TENSOR = {"type": "int8", "shape": [2], "bytes": 2}
ANSWERS = [
    ({"outputs": []}, True),
    ({"outputs": [TENSOR, TENSOR]}, True),
    ({"outputs": [{"type": "int8", "shape": [], "bytes": 1}], "restart": True}, True),
    ({"outputs": [{"type": "string", "shape": [1], "bytes": 0, "values": ["a"]}]}, True),
    ({"declined": "why", "missing": True, "more": [1]}, True),
    ({"refused": "why"}, True),
    ({"oversized": [{"type": "int8", "shape": [1 << 40]}]}, True),
    ({}, False),
    ({"refused": "a", "outputs": []}, False),
    ({"declined": 1}, False),
    ({"declined": "a", "missing": "yes"}, False),
    ({"refused": "a", "restart": 1}, False),
    ({"outputs": {}}, False),
    ({"outputs": [1]}, False),
    ({"oversized": [{"type": "int8"}]}, False),
    *(({"outputs": [{k: v for k, v in TENSOR.items() if k != key}]}, False) for key in TENSOR),
    ({"outputs": [{**TENSOR, "shape": [1, -2]}]}, False),
    ({"outputs": [{**TENSOR, "shape": [2.5]}]}, False),
    ({"outputs": [{**TENSOR, "shape": 2}]}, False),
    ({"outputs": [{**TENSOR, "bytes": "2"}]}, False),
    ({"outputs": [{**TENSOR, "bytes": True}]}, False),
    ({"outputs": [{"type": "string", "shape": [1], "bytes": 0}]}, False),
    ({"outputs": [{"type": "string", "shape": [1], "bytes": 0, "values": [1]}]}, False),
    ({"outputs": [{"type": "string", "shape": [1], "bytes": 1, "values": ["a"]}]}, False),
]


@pytest.mark.parametrize(("answer", "good"), ANSWERS)
def test_schema_and_reader_agree(answer, good):
    header = {"run": 7, **answer}
    assert fits("answer", header) == good
    line = json.dumps(header).encode() + b"\n"
    if good:
        headers.read_answer(line, 7, CATALOG.types.types)
    else:
        with pytest.raises(ProtocolError):
            headers.read_answer(line, 7, CATALOG.types.types)


def test_high_bits_are_cleared_and_shapes_kept():
    types = CATALOG.types.types
    for name, shape, due in (("int4", (), [0xF]), ("float6e2m3", (1, 2), [0x3F, 0x3F])):
        entry = headers.TensorEntry(name, shape, len(due))
        tensor = headers.read_tensor(entry, types, "output 1")
        bits = tensor.bits(np.full(len(due), 0xFF, np.uint8))
        assert (bits.shape, bits.reshape(-1).tolist()) == (shape, due)
    tensor = headers.read_tensor(headers.TensorEntry("bool", (2,), 2), types, "output 1")
    assert tensor.bits(np.array([1, 2], np.uint8)).tolist() == [1, 2]  # not hidden: it is wrong
