"""Write a witness as a script or source file without convcheck.

Values from outside become the repr of a number or a text, or a one-line comment, never code.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from convcheck.errors import UsageError
from convcheck.judge.result import Strip, Word
from convcheck.judge.words import pattern, value
from convcheck.numerics.format import Float, Format, Text
from convcheck.reproduce.emit.c import arrays, hexadecimal_of
from convcheck.reproduce.emit.head import about
from convcheck.reproduce.emit.script import due_strips, of_runtime, packed
from convcheck.reproduce.emit.template import filled_template
from convcheck.reproduce.witness import ANYTHING, REFUSAL, SHOWN, Due, Witness
from convcheck.rules.model import DType

TEMPLATES = Path(__file__).with_name("templates")
RUNTIMES = {"ort": "onnxruntime", "openvino": "openvino"}  # backend -> template
_ONNX = "onnx"
_WIDTH = 96
_TIMEOUT = 60  # seconds for a call that may crash or hang
_HINT = "--as c gives the inputs and answers for any language"
_FEW = 4  # elements with their values in a comment
Types = Mapping[str, DType]


def c(witness: Witness, url: str) -> str:
    """Return a C header with inputs, expected results and result."""
    head = [line.replace("*/", "* /").replace("/*", "/ *") for line in about(witness, url)]
    return filled_template(TEMPLATES, "c.j2", {"about": head, "arrays": arrays(witness)})


def python(witness: Witness, types: Types, url: str) -> str:
    """Return a script that exits 1 while the answer is wrong and 0 once it is right.

    `types` are the specs' types by name. Raises UsageError if a script cannot express it.
    """
    name, _, variant = witness.backend.name.partition(":")
    _check(witness, name, variant)
    world = _ONNX if name == "ort" else name
    spell = _Spelling(world, types)
    content = {**_question(witness, spell), **_judgement(witness, spell)}
    head = [*about(witness, url), "Exits 1 while it is wrong, 0 once it is right."]
    content |= {"about": head, "provider": repr(variant or "CPUExecutionProvider")}
    content |= of_runtime(witness, variant)
    return filled_template(TEMPLATES, f"{RUNTIMES[name]}.j2", content)


def check_backend(address: str) -> None:
    """Raise UsageError for a backend without Python scripts."""
    name, _, variant = address.partition(":")
    if name not in RUNTIMES or (name == "openvino" and variant not in ("", "first", "const")):
        raise UsageError(f"there is no Python script for the backend {address}", hint=_HINT)


def _check(witness: Witness, name: str, variant: str) -> None:
    check_backend(witness.backend.name)
    if name == "openvino" and _texts(witness):
        raise UsageError("Python scripts do not support texts in OpenVINO", hint=_HINT)
    if any(isinstance(s.format, Text) and any(map(pattern, s.words)) for s in due_strips(witness)):
        raise UsageError("a script cannot judge a text with several valid spellings", hint=_HINT)


def _texts(witness: Witness) -> bool:
    types = (*witness.case.inputs, *witness.case.outputs)
    return any(isinstance(dtype.format, Text) for dtype in types)


class _Spelling:
    def __init__(self, world: str, types: Types) -> None:
        self.world, self.types = world, types

    def kind(self, name: str) -> str:
        """Return the runtime's name of a type. Raises UsageError if it has none."""
        dtype = self.types.get(name)
        own = dtype.name_in(self.world) if dtype else ""
        if not own.isidentifier():
            raise UsageError(f"{self.world} has no name for the type {name}", hint="--as c")
        return repr(own)

    def tensor(self, strip: Strip, *more: object) -> str:
        """Return a tensor as a tuple: type, shape, elements, and `more`."""
        parts = [self.kind(strip.type), repr(list(strip.shape)), _words(strip), *map(repr, more)]
        return f"({', '.join(parts)})"


def _words(strip: Strip) -> str:
    if len(strip.words) > SHOWN and len(set(strip.words)) == 1:
        return f"[{_word(strip.format, strip.words[0])}] * {len(strip.words)}"
    return f"[{', '.join(_word(strip.format, word) for word in strip.words)}]"


def _word(fmt: Format | None, word: Word) -> str:
    if isinstance(word, str):
        return repr(_said(word))
    return hexadecimal_of(fmt, word)


def _said(word: str) -> str:
    return "anything" if word == ANYTHING else pattern(word) or word


def _broken(expression: str, texts: bool) -> str:
    """Wrap a long literal, unless it contains texts."""
    if texts or len(expression) < _WIDTH:
        return expression
    lines = textwrap.wrap(expression, _WIDTH, subsequent_indent="    ", break_long_words=False)
    return "\n".join(lines)


# Inputs --------------------------------------------------------------------------------------


def _question(witness: Witness, spell: _Spelling) -> dict[str, Any]:
    case, strips = witness.case, witness.inputs
    tensors = list(map(spell.tensor, strips))
    literal = f"[{', '.join(tensors)}]"
    if len(literal) > _WIDTH and len(tensors) > 1:
        literal = "[\n" + "".join(f"    {one},\n" for one in tensors) + "]"
    literal = _broken(literal, _texts(witness) or "\n" in literal)
    numeric = [t for t in case.inputs if not isinstance(t.format, Text)]
    results = [t for t in case.outputs if not isinstance(t.format, Text)]
    unpacks = bool(results) or not case.outputs
    return {
        "inputs": literal,
        "values": "" if "\n" in literal else _values(strips),
        "packs": bool(numeric),
        "unpacks": unpacks,
        "packed": packed(witness),
        "text_inputs": len(numeric) < len(case.inputs),
        "crash": witness.group.verdict == "crashed",
        "timeout": _TIMEOUT,
        "calls": witness.calls,
        "onnx": case.op.partition(".")[0] == _ONNX,
        "memory": spell.world == _ONNX and (unpacks or bool(numeric)),
    }


def _values(strips: Sequence[Strip]) -> str:
    if sum(len(strip.words) for strip in strips) > _FEW:
        return ""
    numbers = [
        str(value(strip.format, word))
        for strip in strips if strip.format and not isinstance(strip.format, Text)
        for word in strip.words
    ]  # fmt: skip
    return f"  # {', '.join(numbers)}" if numbers else ""


# Expected results ----------------------------------------------------------------------------


def _judgement(witness: Witness, spell: _Spelling) -> dict[str, Any]:
    free = any(due.outputs == ANYTHING for due in witness.due)
    plain = free or all(_is_plain(due) for due in witness.due)
    several = len(witness.due) > 1
    said = [_due(due, spell, plain) for due in witness.due]
    names = [due.reading or f"reading {i}" for i, due in enumerate(witness.due, 1)]
    entries = [f"    {name!r}: {one},\n" for name, one in zip(names, said, strict=True)]
    shown = [w for strip in (*witness.inputs, *due_strips(witness)) for w in strip.words]
    formats = {s.format for s in due_strips(witness)}
    return {
        "plain": plain,
        "free": free,  # except a crash
        "several": several,
        "expected": f"{{\n{''.join(entries)}}}" if several
        else _broken(said[0], _texts(witness) or not plain),
        "patterns": list(_patterns(witness, formats)),
        "between": _between(witness, spell),
        "sign": next((hex(f.sign_bit) for f in formats if isinstance(f, Float)), "0"),
        "numbers": all(isinstance(word, int) for word in shown),
        "words": all(isinstance(s.format, Text) for s in (*witness.inputs, *due_strips(witness))),
    }  # fmt: skip


def _is_plain(due: Due) -> bool:
    if isinstance(due.outputs, str):
        return due.outputs == REFUSAL
    return all(
        len(s.words) == prod(s.shape) and not (any(map(pattern, s.words)) and s.format)
        for s in due.outputs
    )


def _due(due: Due, spell: _Spelling, plain: bool) -> str:
    if isinstance(due.outputs, str):
        word = "refused" if due.outputs == REFUSAL else "anything"
        return f"[({word!r}, [], []{'' if plain else ', 0'})]"
    tensors = (spell.tensor(s, *(() if plain else (s.first,))) for s in due.outputs)
    return f"[{', '.join(tensors)}]"


def _between(witness: Witness, spell: _Spelling) -> str:
    pairs = [
        f"({spell.kind(low.type)}, {list(low.shape)!r}, {_words(low)}, {_words(high)}, {low.first})"
        for low, high in witness.between
    ]
    return _broken(f"[{', '.join(pairs)}]", texts=False) if pairs else ""


def _patterns(witness: Witness, formats: set[Format | None]) -> Iterator[tuple[str, str]]:
    """Yield each expected pattern with its Python test of `code`."""
    said = {w for s in due_strips(witness) for w in s.words if isinstance(w, str)}
    fmt = next((f for f in formats if isinstance(f, Float)), None)
    for word in sorted(said):
        if word == ANYTHING:
            yield repr("anything"), "True"
        elif fmt is not None and pattern(word):
            yield repr(pattern(word)), _test(word, fmt)


def _test(word: str, fmt: Float) -> str:
    magnitude, sign = hex(fmt.magnitude_mask), hex(fmt.sign_bit)
    if word == "<zero>":
        return f"code & {magnitude} == 0"
    last = hex(fmt.infinity_code if fmt.nan == "ieee" else fmt.max_magnitude)
    nan = f"code == {sign}" if fmt.nan == "sign-only" else f"code & {magnitude} > {last}"
    return f"{nan} and code & {sign} != 0" if word == "<-nan>" else nan
