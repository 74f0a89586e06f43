"""Spell codes, values and patterns, and sanitize text from outside."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from convcheck.numerics.format import Bool, Format, Numeric, Text
from convcheck.numerics.words import spell
from convcheck.rules.model import PARAPHRASE, Case
from convcheck.semantics.expected import PATTERNS
from convcheck.streams import GLUE, plural

if TYPE_CHECKING:  # a listing imports this module and must not load results
    from convcheck.judge.result import CallExample, Example, Strip, Word

_PATTERNS = {
    "nan": "any NaN",
    "-nan": "any NaN with the sign bit set",
    "undefined": "anything, it is undefined",
    "refused": "a refusal",
    "plain-to-x": "plain decimal text that parses to the value",
    "plain": "plain decimal text",
    "parses-to-x": "text that parses to the value",
    "parses": "text that parses as a number",
    "zero": "a zero of either sign",
}
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'", "\\": "\\\\"}


def timestamp(moment: datetime) -> str:
    """Return a time in UTC, to the second: 2026-01-31T12:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pattern(word: Word) -> str:
    """Return the description of a pattern such as '<nan>', '' for a code or a text."""
    name = word[1:-1] if isinstance(word, str) and word[:1] + word[-1:] == "<>" else ""
    return _PATTERNS.get(name, name) if name in PATTERNS else ""


def hexadecimal(fmt: Numeric, code: int) -> str:
    """Return a code as 0x… with all digits of its format. A bool is a byte."""
    bits = 8 if isinstance(fmt, Bool) else fmt.bits
    return f"0x{code:0{-(-bits // 4)}x}"


def code_text(fmt: Format, word: Word) -> str:
    """Return a code in hexadecimal, a text or a pattern as it is."""
    if isinstance(word, str) or isinstance(fmt, Text):
        return str(word)
    return hexadecimal(fmt, word)


def value(fmt: Format, word: Word | None) -> str | None:
    """Return the value of a code, a text as it is, None for a pattern or None."""
    if word is None or pattern(word):
        return None
    if isinstance(word, str) or isinstance(fmt, Text):
        return str(word)
    return spell(fmt, word)


def shown(fmt: Format, word: Word) -> str:
    """Return a code in hexadecimal, or a text in quotes."""
    return quote(word) if isinstance(word, str) else code_text(fmt, word)


def quote(text: str) -> str:
    """Quote a text and escape control and invisible characters."""
    plain = (c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text)
    return '"' + "".join(plain) + '"'


def cited(text: str, left: str = '"', right: str = '"') -> str:
    """Put a sentence in quotation marks unless it is a paraphrase."""
    said = clean(text)
    return said if said.startswith(PARAPHRASE) else f"{left}{said}{right}"


def clean(message: str) -> str:
    """Put a runtime's message on one line, without control characters."""
    if message.isprintable():
        return " ".join(message.split())
    return " ".join("".join(c if c.isprintable() else " " for c in message).split())


def translated(gloss: str) -> str:
    """Mark a translated sentence as our translation."""
    return f"our translation: {clean(gloss)}"


def row_names(names: Sequence[str]) -> str:
    """Return the first row's name and the number of others: some-rule / else, and 2 more rows."""
    others = len(names) - 1
    return "".join(names[:1]) + (f", and {plural(others, 'more row')}" if others > 0 else "")


def explain_arguments(case: Case, example: Example | CallExample) -> list[str]:
    """Return the arguments of `convcheck explain` for an example, quoted for a shell."""
    words = explain_values(case, example)
    dashes = ["--"] if any(word.startswith("-") for word in words) else []
    return [*dashes, shlex.quote(case.call.id), *map(shell_word, words)]


def explain_values(case: Case, example: Example | CallExample) -> list[str]:
    """Return the values of an example as `convcheck explain` takes them."""
    from convcheck.judge.result import CallExample

    # an input that only contributes its type has no value, and a call may have none
    given = example.arguments if isinstance(example, CallExample) else example.inputs
    words = [code_text(t.format, w) for t, w in zip(case.inputs, given, strict=False)]
    return [*words, *(word for _, word in case.fixed)]


def shell_word(text: str) -> str:
    """Quote a text for a shell and escape control characters."""
    return shlex.quote(text) if text.isprintable() else "$'" + "".join(map(_escape, text)) + "'"


def _escape(char: str) -> str:
    if char.isprintable() and char not in _ESCAPES:
        return char
    return _ESCAPES.get(char) or f"\\U{ord(char):08x}"


def pair(fmt: Format, span: Iterable[Word]) -> str:
    """Return a range of inputs: 0x3f808001 … 0x7f7fc000, or its only input."""
    return f"{GLUE}…{GLUE}".join(dict.fromkeys(shown(fmt, word) for word in span))


def type_and_shape(strip: Strip) -> str:
    """Return type and shape: float32 scalar, float16 [7]."""
    shape = f"[{', '.join(map(str, strip.shape))}]" if strip.shape else "scalar"
    return f"{strip.type} {shape}"
