"""A program with a faulty process protocol: `bad.py MODE`.

It returns 8-bit integers unchanged. It misbehaves in requests whose attribute `number` is 1 or
missing. With MODE 'all', `number` selects a mode of MODES.
"""

import json
import math
import os
import signal
import sys
import time

IN, OUT = sys.stdin.buffer, 1
asked = []


def put(*parts):
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode() + b"\n"
        while data:
            data = data[os.write(OUT, data) :]


def header(run, payload, **more):
    shape = list(asked) if len(payload) == math.prod(asked) else [len(payload)]
    entry = {"type": "int8", "shape": shape, "bytes": len(payload), **more}
    return {"run": run, "outputs": [entry]}


def line(found):
    return json.dumps(found).encode() + b"\n"


def good(run, payload):
    put(line(header(run, payload)) + payload)


def text(run, payload):
    put(b"debug: x = 3\n")
    good(run, payload)


def text_without_end(run, payload):
    put(b"debug: x = 3 ")
    good(run, payload)


def binary(run, payload):
    put(b"\x7fELF\x00\xff\n")


def not_utf8(run, payload):
    put(b'{"run": "\xff\xfe"}\n')


def wrong_json(run, payload):
    put(b'{"run": %d, "outputs": [}\n' % run)


def no_object(run, payload):
    put(b"[1, 2]\n")


def two_kinds(run, payload):
    put({"run": run, "refused": "no", "declined": "no"})


def no_kind(run, payload):
    put({"run": run, "output": []})


def no_run(run, payload):
    put({"refused": "no"})


def no_type(run, payload):
    put({"run": run, "outputs": [{"shape": [1], "bytes": 1}]}, payload)


def unknown_type(run, payload):
    put(header(run, payload, type="float7"), payload)


def no_shape(run, payload):
    put(header(run, payload, shape=[-1]), payload)


def wrong_bytes(run, payload):
    put(header(run, payload, type="int16"), payload)


def no_values(run, payload):
    put(header(run, b"", type="string", values=[7]))


def no_words(run, payload):
    put({"run": run, "refused": True})


def too_many(run, payload):
    put(line(header(run, payload)) + payload + b"\x01\x02\x03")


def twice(run, payload):
    put((line(header(run, payload)) + payload) * 2)


def twice_later(run, payload):
    good(run, payload)
    IN.peek(1)
    good(run, payload)


def another_run(run, payload):
    put({"run": run - 5, "refused": "that was long ago"})


def of_the_future(run, payload):
    put({"run": run + 1, "refused": "not yet"})


def ends_early(run, payload):
    put(line(header(run, payload)) + payload[:-2])
    sys.exit(0)


def ends_in_the_header(run, payload):
    put(b'{"run": 7, ')
    sys.exit(0)


def closes_stdout(run, payload):
    os.close(1)
    time.sleep(60)


def error(run, payload):
    put({"run": run, "error": "the device is not there"})


# Crashes


def silent_end(run, payload):
    sys.exit(0)


def status_3(run, payload):
    print("cannot open libmine.so", file=sys.stderr, flush=True)
    os._exit(3)


def segfault(run, payload):
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def segfault_with_a_child(run, payload):
    if os.fork() == 0:
        time.sleep(60)
    segfault(run, payload)


def hands_over(run, payload):
    if os.fork():
        os._exit(0)
    time.sleep(0.1)
    good(run, payload)


def segfault_in_the_payload(run, payload):
    put(line(header(run, payload)) + payload[:1])
    segfault(run, payload)


def hangs(run, payload):
    time.sleep(60)


def hangs_in_the_header(run, payload):
    put(b'{"run": 7, ')
    time.sleep(60)


def hangs_in_the_payload(run, payload):
    put(line(header(run, payload)) + payload[:20])
    time.sleep(60)


def segfault_on_100(run, payload):
    (segfault if 100 in payload else good)(run, payload)


def status_3_on_100(run, payload):
    (status_3 if 100 in payload else good)(run, payload)


def hangs_on_100(run, payload):
    (hangs if 100 in payload else good)(run, payload)


def few_on_100(run, payload):
    short = payload[:-1] if 100 in payload else payload
    put(line(header(run, payload)) + short)


# Correct behaviour


def split(run, payload):
    data = line(header(run, payload)) + payload
    for begin in range(0, len(data), 11):
        put(data[begin : begin + 11])
        time.sleep(0.0005)


def late(run, payload):
    time.sleep(0.2)
    good(run, payload)


def more_than_asked(run, payload):
    good(run, payload * 40)


def eager(run, payload):
    size = payload
    put(line({"run": run, "outputs": [{"type": "int8", "shape": [size], "bytes": size}]}))
    put(bytes(size))
    IN.read(size)


def spaces(run, payload):
    put(b"  " + json.dumps(header(run, payload), indent=1).replace("\n", " \t").encode() + b"\r\n")
    put(payload)


MODES = {
    function.__name__: function
    for function in (
        text, text_without_end, binary, not_utf8, wrong_json, no_object, two_kinds, no_kind,
        no_run, no_type, unknown_type, no_shape, wrong_bytes, no_values, no_words, too_many, twice,
        twice_later, another_run, of_the_future, ends_early, ends_in_the_header, closes_stdout,
        error, silent_end, status_3, segfault, segfault_in_the_payload, segfault_with_a_child,
        hands_over, hangs, hangs_in_the_header, hangs_in_the_payload, split, late, spaces,
        more_than_asked, segfault_on_100, status_3_on_100, hangs_on_100, few_on_100, eager,
    )
}  # fmt: skip
HELLOS = {
    "good": {"hello": 1, "name": "bad", "version": "1"},
    "hello_2": {"hello": 2, "name": "bad", "version": "1"},
    "hello_nothing": {"name": "bad"},
    "hello_nameless": {"hello": 1, "version": "1"},
    "hello_text": "usage: bad MODE",
}


def main(mode):
    IN.readline()
    put(HELLOS.get(mode, HELLOS["good"]))
    if mode == "not_reading":
        time.sleep(60)
    while request := IN.readline():
        request = json.loads(request)
        asked[:] = request["inputs"][0]["shape"]
        size = sum(tensor["bytes"] for tensor in request["inputs"])
        payload = size if mode == "eager" else IN.read(size)
        number = request["attributes"].get("number")
        chosen = mode if number in (1, None) else "good"
        if mode == "all" and number is not None and number < len(MODES):
            chosen = list(MODES)[number]
        MODES.get(chosen, good)(request["run"], payload)


if __name__ == "__main__":
    main(sys.argv[1])
