"""Spell codes, values and patterns, and sanitize outside text."""

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
    """Spell a time in UTC: 2026-01-31T12:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pattern(word: "Word") -> str:
    """Describe a pattern such as '<nan>', '' for a code or text."""
    name = word[1:-1] if isinstance(word, str) and word[:1] + word[-1:] == "<>" else ""
    return _PATTERNS.get(name, name) if name in PATTERNS else ""


def hexadecimal(fmt: Numeric, code: int) -> str:
    """Spell a code as 0x… with all digits of its format."""
    bits = 8 if isinstance(fmt, Bool) else fmt.bits
    return f"0x{code:0{-(-bits // 4)}x}"


def code_text(fmt: Format, word: "Word") -> str:
    """Spell a code in hexadecimal, a text or pattern as it is."""
    if isinstance(word, str) or isinstance(fmt, Text):
        return str(word)
    return hexadecimal(fmt, word)


def value(fmt: Format, word: "Word | None") -> str | None:
    """Spell the value of a code or text, None for a pattern."""
    if word is None or pattern(word):
        return None
    if isinstance(word, str) or isinstance(fmt, Text):
        return str(word)
    return spell(fmt, word)


def shown(fmt: Format, word: "Word") -> str:
    """Spell a code in hexadecimal, or a text in quotes."""
    return quote(word) if isinstance(word, str) else code_text(fmt, word)


def quote(text: str) -> str:
    """Quote a text and escape invisible characters."""
    plain = (c if c.isprintable() and c not in '"\\' else json.dumps(c)[1:-1] for c in text)
    return '"' + "".join(plain) + '"'


def cited(text: str, left: str = '"', right: str = '"') -> str:
    """Quote a sentence unless it is a paraphrase."""
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
    """Return the first row's name and the number of others."""
    others = len(names) - 1
    return "".join(names[:1]) + (f", and {plural(others, 'more row')}" if others > 0 else "")


def explain_arguments(case: Case, example: "Example | CallExample") -> list[str]:
    """Return an example's arguments of `convcheck explain`, quoted for a shell."""
    words = explain_values(case, example)
    dashes = ["--"] if any(word.startswith("-") for word in words) else []
    return [*dashes, shlex.quote(case.call.id), *map(shell_word, words)]


def explain_values(case: Case, example: "Example | CallExample") -> list[str]:
    """Return the values of an example as `convcheck explain` takes them."""
    from convcheck.judge.result import CallExample

    # an input that only contributes its type has no value, and a call may have none
    given = example.arguments if isinstance(example, CallExample) else example.inputs
    words = [code_text(t.format, w) for t, w in zip(case.inputs, given, strict=False)]
    return [*words, *(word for _, word in case.fixed)]


def shell_word(text: str) -> str:
    """Quote a text for a shell and escape control characters."""
    if text.isprintable():
        return shlex.quote(text)
    plain = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
    return "$'" + "".join(map(_ESCAPES.get, text, plain)) + "'"


def pair(fmt: Format, span: "Iterable[Word]") -> str:
    """Spell a range of inputs, or its only input."""
    return f"{GLUE}…{GLUE}".join(dict.fromkeys(shown(fmt, word) for word in span))


def type_and_shape(strip: "Strip") -> str:
    """Spell type and shape: float32 scalar, float16 [7]."""
    shape = f"[{', '.join(map(str, strip.shape))}]" if strip.shape else "scalar"
    return f"{strip.type} {shape}"
