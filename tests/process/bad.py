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


def right(run, payload):
    return line(header(run, payload)) + payload


def good(run, payload):
    put(right(run, payload))


# What is sent to a request
SENT = {
    "text": lambda run, payload: (b"debug: x = 3\n", right(run, payload)),
    "text_without_end": lambda run, payload: (b"debug: x = 3 ", right(run, payload)),
    "binary": lambda run, payload: (b"\x7fELF\x00\xff\n",),
    "not_utf8": lambda run, payload: (b'{"run": "\xff\xfe"}\n',),
    "wrong_json": lambda run, payload: (b'{"run": %d, "outputs": [}\n' % run,),
    "no_object": lambda run, payload: (b"[1, 2]\n",),
    "two_kinds": lambda run, payload: ({"run": run, "refused": "no", "declined": "no"},),
    "no_kind": lambda run, payload: ({"run": run, "output": []},),
    "no_run": lambda run, payload: ({"refused": "no"},),
    "no_type": lambda run, payload: (
        {"run": run, "outputs": [{"shape": [1], "bytes": 1}]},
        payload,
    ),
    "unknown_type": lambda run, payload: (header(run, payload, type="float7"), payload),
    "no_shape": lambda run, payload: (header(run, payload, shape=[-1]), payload),
    "wrong_bytes": lambda run, payload: (header(run, payload, type="int16"), payload),
    "no_values": lambda run, payload: (header(run, b"", type="string", values=[7]),),
    "no_words": lambda run, payload: ({"run": run, "refused": True},),
    "too_many": lambda run, payload: (right(run, payload) + b"\x01\x02\x03",),
    "twice": lambda run, payload: (right(run, payload) * 2,),
    "another_run": lambda run, payload: ({"run": run - 5, "refused": "that was long ago"},),
    "of_the_future": lambda run, payload: ({"run": run + 1, "refused": "not yet"},),
    "error": lambda run, payload: ({"run": run, "error": "the device is not there"},),
    "more_than_asked": lambda run, payload: (right(run, payload * 40),),
}


def twice_later(run, payload):
    good(run, payload)
    IN.peek(1)
    good(run, payload)


def ends_early(run, payload):
    put(right(run, payload)[:-2])
    sys.exit(0)


def ends_in_the_header(run, payload):
    put(b'{"run": 7, ')
    sys.exit(0)


def closes_stdout(run, payload):
    os.close(1)
    time.sleep(60)


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
    put(header(run, payload), payload[:1])
    segfault(run, payload)


def hangs(run, payload):
    time.sleep(60)


def hangs_in_the_header(run, payload):
    put(b'{"run": 7, ')
    time.sleep(60)


def hangs_in_the_payload(run, payload):
    put(header(run, payload), payload[:20])
    time.sleep(60)


def on_100(bad):
    return lambda run, payload: (bad if 100 in payload else good)(run, payload)


# Correct behaviour


def split(run, payload):
    data = right(run, payload)
    for begin in range(0, len(data), 11):
        put(data[begin : begin + 11])
        time.sleep(0.0005)


def late(run, payload):
    time.sleep(0.2)
    good(run, payload)


def eager(run, payload):
    size = payload
    put(line({"run": run, "outputs": [{"type": "int8", "shape": [size], "bytes": size}]}))
    put(bytes(size))
    IN.read(size)


def spaces(run, payload):
    put(b"  " + json.dumps(header(run, payload), indent=1).replace("\n", " \t").encode() + b"\r\n")
    put(payload)


def sends(sent):
    return lambda run, payload: put(*sent(run, payload))


MODES = {
    function.__name__: function
    for function in (
        twice_later, ends_early, ends_in_the_header, closes_stdout, silent_end, status_3, segfault,
        segfault_in_the_payload, segfault_with_a_child, hands_over, hangs, hangs_in_the_header,
        hangs_in_the_payload, split, late, spaces, eager,
    )
}  # fmt: skip
MODES |= {name: sends(sent) for name, sent in SENT.items()}
MODES |= {f"{bad.__name__}_on_100": on_100(bad) for bad in (segfault, status_3, hangs)}
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
