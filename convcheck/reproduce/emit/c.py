"""Write a witness as C arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from convcheck.judge.result import Strip, Word
from convcheck.judge.words import clean, hexadecimal, pattern, type_and_shape, value
from convcheck.numerics.format import Format, Text
from convcheck.reproduce.witness import Witness

_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')
_COLUMNS = 8
_FEW = 4


def arrays(witness: Witness) -> list[dict[str, Any]]:
    """Return the arrays as C: comment, type, name, elements and shape."""
    several = len(witness.inputs) > 1
    found = [
        _array(f"input_{i}" if several else "input", strip, "")
        for i, strip in enumerate(witness.inputs)
    ]
    for i, due in enumerate(witness.due):
        name = "expected" if len(witness.due) == 1 else f"expected_{i}"
        found += _outputs(name, due.outputs, f"under the reading: {due.reading}" if due.reading
                          else "")  # fmt: skip
    if witness.got is None:
        came = f"nothing, {witness.group.verdict} {witness.message}".rstrip()
        found.append(_note(f"got: {came}"))
    else:
        found += _outputs("got", witness.got, "")
    return found


def _note(*about: str) -> dict[str, Any]:
    return {"about": list(map(c_comment, about)), "words": "", "shape": "", "type": "", "name": ""}


def _outputs(name: str, outputs: tuple[Strip, ...] | str, more: str) -> Iterator[dict[str, Any]]:
    if isinstance(outputs, str):
        yield _note(f"{name}: {pattern(outputs) or outputs}", *filter(None, [more]))
        return
    for i, strip in enumerate(outputs):
        label = f"{name}_output_{i}" if len(outputs) > 1 else name
        yield _array(label, strip, more)
        if any(pattern(word) for word in strip.words):
            said = [pattern(w) if pattern(w) else "the code" for w in strip.words]
            yield {
                **_note(f"the test of each element of {label}; a code of 0 stands for a pattern"),
                "type": "char *const", "name": f"{label}_is", "words": _braces(map(c_string, said)),
            }  # fmt: skip


def _array(name: str, strip: Strip, more: str) -> dict[str, Any]:
    """Describe an array. C has no empty arrays, so these are only comments."""
    texts = isinstance(strip.format, Text)
    words = [c_string(str(w)) if texts and not pattern(w) else _code(strip, w)
             for w in strip.words]  # fmt: skip
    return {
        "about": [c_comment(line) for line in (_said(name, strip), more) if line],
        "type": "char *const" if texts else f"{_storage(strip.format)}",
        "name": name,
        "words": _braces(words) if words else "",
        "shape": _braces(map(str, strip.shape)) if strip.shape else "",
    }


def _said(name: str, strip: Strip) -> str:
    part = f", from element {strip.first} on" if strip.first else ""
    values = ""
    if strip.format and 0 < len(strip.words) <= _FEW:
        said = (value(strip.format, w) or pattern(w) for w in strip.words)
        values = f": {', '.join(map(str, said))}"
    return f"{name}: {type_and_shape(strip)}{part}{values}"


def _code(strip: Strip, word: Word) -> str:
    if isinstance(word, str):
        return '""' if isinstance(strip.format, Text) else "0"
    return hexadecimal_of(strip.format, word)


def hexadecimal_of(fmt: Format | None, code: int) -> str:
    """Return a code in as many hex digits as its format has."""
    return hex(code) if fmt is None or isinstance(fmt, Text) else hexadecimal(fmt, code)


def _storage(fmt: Format | None) -> str:
    return f"uint{8 * fmt.storage.itemsize}_t" if fmt else "uint64_t"


def c_string(text: str) -> str:
    """Quote a text as C, with special bytes in octal."""
    return '"' + "".join(chr(b) if b in _PLAIN else f"\\{b:03o}" for b in text.encode()) + '"'


def c_comment(text: str) -> str:
    """Return a text on one line that is safe in a C comment."""
    return clean(text).replace("*/", "* /").replace("/*", "/ *")


def _braces(words: Any) -> str:
    items = list(words)
    if len(items) <= _COLUMNS:
        return f"{{{', '.join(items)}}}"
    rows = (", ".join(items[i : i + _COLUMNS]) for i in range(0, len(items), _COLUMNS))
    return "{\n    " + ",\n    ".join(rows) + "\n}"
