"""Describe a decision and a witness in comments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from convcheck.judge.words import cited, clean, translated
from convcheck.reproduce.witness import Witness
from convcheck.rules.model import Spec
from convcheck.semantics.expected import Decision

_WIDTH = 94
_LINES = 6  # lines of a sentence
Urls = Mapping[str, str]  # a document, as citations name it, -> its URL


def urls_of(specs: Iterable[Spec]) -> Urls:
    """Return the URLs of the documents that specs quote."""
    sources = [source for spec in specs for source in spec.sources.values()]
    # the first spec counts
    return {f"{one.title}, {one.section}": one.url for one in reversed(sources)}


def rule_of(row: Decision) -> str:
    """Return the name, level and place of a row."""
    return f"{row.name} ({row.level}), {row.place}"


def sentences_of(row: Decision, urls: Urls) -> Iterator[str]:
    """Yield the quoted sentences of a row with their documents, and the row in words."""
    for one in row.sentences:
        yield cited(one.text) + (f" ({one.of})" if one.of else "")
        if one.gloss:
            yield translated(one.gloss)
        yield f"— {one.document}, {urls.get(one.document, '')}".rstrip(", ")
    if row.row_in_words:
        yield clean(row.row_in_words)


def about(witness: Witness, urls: Urls) -> list[str]:
    """Return the lines of a comment, short and without control characters."""
    lines = []
    for sentence in map(clean, _sentences(witness, urls)):
        # an address stays whole
        lines += textwrap.wrap(
            sentence, _WIDTH, break_long_words=False, break_on_hyphens=False, max_lines=_LINES
        )
    return lines


def _sentences(witness: Witness, urls: Urls) -> Iterator[str]:
    group, message = witness.group, witness.message
    what = group.kind or message or group.verdict
    if group.verdict == "refused":
        what = f"refused, though an answer is expected: {message}".rstrip(": ")
    yield f"{witness.case.id}: {what}"
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
    yield f"Rule: {rule_of(group.decision)}"
    yield from sentences_of(group.decision, urls)
    if len(witness.due) > 1:
        yield "The text has several readings; one of them has to fit all elements."
    elif witness.due[0].reading and group.decision.level == "disputed":
        yield (
            "The text has several readings. The expected value follows the one that most other "
            f"answers fit: {witness.due[0].reading}"
        )
    if group.verdict == "crashed":
        yield "The call crashes its process or never returns."
