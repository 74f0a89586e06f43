"""Write a witness as C arrays."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from convcheck.judge.result import Strip, Word
from convcheck.judge.words import clean, hexadecimal, pattern, type_and_shape, value
from convcheck.numerics.format import Format, Text
from convcheck.reproduce.emit.onnx import Urls, about
from convcheck.reproduce.witness import Witness


def filled(module: str, name: str, content: Mapping[str, object]) -> str:
    """Return a template of the folder `templates` beside a module, filled."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(module).with_name("templates")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 it is code, not HTML: what goes in is repr, hex or a comment
    )
    return environment.get_template(name).render(content)


_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')
_COLUMNS = 8
_FEW = 4
_NO_ARRAY = {"words": "", "shape": "", "type": "", "name": ""}


def c(witness: Witness, urls: Urls) -> str:
    """Return a C header with inputs, expected results and result."""
    head = map(c_comment, about(witness, urls))
    content = {"about": list(head), "arrays": list(_arrays(witness))}
    return filled(__file__, "c.j2", content)


def _arrays(witness: Witness) -> Iterator[dict[str, Any]]:
    several = len(witness.inputs) > 1
    for i, strip in enumerate(witness.inputs):
        yield _array(f"input_{i}" if several else "input", strip, "")
    for i, due in enumerate(witness.due):
        name = "expected" if len(witness.due) == 1 else f"expected_{i}"
        more = f"under the reading: {due.reading}" if due.reading else ""
        yield from _outputs(name, due.outputs, more)
    if witness.got is None:
        came = f"got: nothing, {witness.group.verdict} {witness.message}".rstrip()
        yield {**_NO_ARRAY, "about": [c_comment(came)]}
    else:
        yield from _outputs("got", witness.got, "")


def _outputs(name: str, outputs: tuple[Strip, ...] | str, more: str) -> Iterator[dict[str, Any]]:
    if isinstance(outputs, str):
        said = [f"{name}: {pattern(outputs) or outputs}", *filter(None, [more])]
        yield {**_NO_ARRAY, "about": list(map(c_comment, said))}
        return
    for i, strip in enumerate(outputs):
        label = f"{name}_output_{i}" if len(outputs) > 1 else name
        yield _array(label, strip, more)
        if any(pattern(word) for word in strip.words):
            said = [pattern(w) if pattern(w) else "the code" for w in strip.words]
            yield {
                "about": [f"the test of each element of {label}; a code of 0 stands for a pattern"],
                "type": "char *const",
                "name": f"{label}_is",
                "words": _braces(map(c_string, said)),
                "shape": "",
            }


def _array(name: str, strip: Strip, more: str) -> dict[str, Any]:
    part = f", from element {strip.first} on" if strip.first else ""
    values = ""
    if strip.format and 0 < len(strip.words) <= _FEW:
        said = (value(strip.format, w) or pattern(w) for w in strip.words)
        values = f": {', '.join(map(str, said))}"
    lines = (f"{name}: {type_and_shape(strip)}{part}{values}", more)
    fmt = strip.format
    storage = f"uint{8 * fmt.storage.itemsize}_t" if fmt else "uint64_t"
    return {
        "about": [c_comment(line) for line in lines if line],
        "type": "char *const" if isinstance(fmt, Text) else storage,
        "name": name,
        "words": _braces(_code(fmt, w) for w in strip.words) if strip.words else "",
        "shape": _braces(map(str, strip.shape)) if strip.shape else "",
    }


def _code(fmt: Format | None, word: Word) -> str:
    if isinstance(fmt, Text):
        return c_string("" if pattern(word) else str(word))
    return "0" if isinstance(word, str) else hexadecimal_of(fmt, word)


def hexadecimal_of(fmt: Format | None, code: int) -> str:
    """Return a code in hex, with all digits of its format."""
    return hex(code) if fmt is None or isinstance(fmt, Text) else hexadecimal(fmt, code)


def c_string(text: str) -> str:
    """Quote a text as C, with special bytes in octal."""
    return '"' + "".join(chr(b) if b in _PLAIN else f"\\{b:03o}" for b in text.encode()) + '"'


def c_comment(text: str) -> str:
    """Return a text safe in a C comment, on one line."""
    return clean(text).replace("*/", "* /").replace("/*", "/ *")


def _braces(words: Iterable[str]) -> str:
    items = list(words)
    if len(items) <= _COLUMNS:
        return f"{{{', '.join(items)}}}"
    rows = (", ".join(items[i : i + _COLUMNS]) for i in range(0, len(items), _COLUMNS))
    return "{\n    " + ",\n    ".join(rows) + "\n}"
