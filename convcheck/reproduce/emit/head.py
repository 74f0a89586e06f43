"""Write the comment at the head of a repro."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from convcheck.judge.words import cited, clean, translated
from convcheck.reproduce.witness import Witness

_WIDTH = 94
_LINES = 6  # lines of a sentence


def about(witness: Witness, url: str) -> list[str]:
    """Return the lines of a comment, short and without control characters."""
    said = (clean(sentence) for sentence in _sentences(witness, url))
    return [line for one in said for line in _wrapped(one)]


def _wrapped(sentence: str) -> list[str]:
    """Break a sentence at blanks only: an address stays whole."""
    return textwrap.wrap(
        sentence, _WIDTH, break_long_words=False, break_on_hyphens=False, max_lines=_LINES
    )


def _sentences(witness: Witness, url: str) -> Iterator[str]:
    group = witness.group
    by = group.decision
    yield f"{witness.case.id}: {_what(witness)}"
    came = "" if witness.asked else "; taken from a report"
    yield f"{witness.backend.name}: {witness.backend.version}{came}"
    if witness.cause:
        yield f"Cause: {witness.cause}"
    if witness.before is not None:
        values = ", ".join(f"{name}={value}" for name, value in witness.before.attributes)
        yield f"It shows only if the process ran the same inputs with {values} before."
    if witness.calls > 1:
        yield f"It first shows on call {witness.calls} of the same model."
    elif not witness.first:
        yield "It was seen on a later call of the same model, with dynamic dimensions."
    yield f"Rule: {by.name} ({by.level}), {by.place}"
    for one in by.sentences:
        part = f" ({one.of})" if one.of else ""
        yield f"Text{part}: {cited(one.text)}"
        yield f"      {one.document}, {url if one.document == by.source else ''}".rstrip(", ")
        if one.gloss:
            yield f"      {translated(one.gloss)}"
    if by.row_in_words:
        yield f"In its row: {by.row_in_words}"
    if len(witness.due) > 1:
        yield "The text has several readings; one of them has to fit all elements."
    elif witness.due[0].reading and by.level == "disputed":
        yield (
            "The text has several readings. The expected value follows the one that most other "
            f"answers fit: {witness.due[0].reading}"
        )
    if group.verdict == "crashed":
        yield "The call crashes its process or never returns."


def _what(witness: Witness) -> str:
    group, message = witness.group, witness.message
    if group.verdict == "refused":
        return f"refused, though an answer is expected: {message}".rstrip(": ")
    return group.kind or message or group.verdict
