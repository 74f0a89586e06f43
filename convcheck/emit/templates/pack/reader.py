"""Read a pack. `python reader.py FILE...` prints a line per vector: id, input, rule, expected."""

import json
import sys
from collections.abc import Iterator
from typing import Any


def cases(*files: str) -> Iterator[tuple[dict[str, Any], list[tuple[str, Any, int, list[Any]]]]]:
    """Yield each case: its head and its vectors."""
    for file in files:
        with open(file, encoding="utf-8") as text:
            head = json.load(text)
        yield head, [vector(head["case"], one) for one in head.pop("vectors")]


def vector(case: str, one: Any) -> tuple[str, Any, int, list[Any]]:
    """Return a vector: its id, input, number of the rule, and expected value of each reading."""
    if isinstance(one, dict):  # a whole call
        given, rule, expected = one["input"], one["rule"], one["expected"]
    else:
        given, rule, *expected = one
    return vector_id(case, given), given, rule, expected


def vector_id(case: str, given: Any) -> str:
    """Return FNV-1a (64 bits) of the case, a blank, and the input as JSON without blanks."""
    code = 0xCBF29CE484222325
    for byte in f"{case} {dense(given)}".encode():
        code = (code ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{code:016x}"


def dense(thing: Any) -> str:
    """Return JSON without blanks."""
    return json.dumps(thing, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    for _, vectors in cases(*sys.argv[1:]):
        for name, given, rule, expected in vectors:
            line = "\t".join((name, dense(given), str(rule), dense(expected)))
            sys.stdout.buffer.write(f"{line}\n".encode())
