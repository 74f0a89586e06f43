"""A program of the process protocol with one message, selected by name, of 5 MB."""

import json
import sys
from math import prod

LONG = "x" * 5_000_000


def main(what):
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        if "hello" in asked:
            version = LONG if what == "hello" else 1
            name = LONG if what == "name" else "longwinded"
            say({"hello": version, "name": name, "version": "1"})
        else:
            for tensor in asked["inputs"]:
                sys.stdin.buffer.read(tensor["bytes"])
            answer(what, asked)


def answer(what, asked):
    shape = asked["inputs"][0]["shape"]
    if what == "stderr":
        print(LONG, file=sys.stderr)
        sys.exit(3)
    if what in ("refused", "declined", "error"):
        say({"run": asked["run"], what: LONG})
    elif what == "type":
        say({"run": asked["run"], "outputs": [{"type": LONG, "shape": shape, "bytes": 0}]})
    else:
        values = ["1"] * prod(shape)
        if what == "text" and values:
            values[0] = LONG
        output = {"type": "string", "shape": shape, "bytes": 0, "values": values}
        say({"run": asked["run"], "outputs": [output]})


def say(header):
    sys.stdout.write(json.dumps(header) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
