"""Write vectors and witnesses in the layout of ONNX's backend tests."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from convcheck.backends.onnx.model import cannot_ask, test_files
from convcheck.errors import UsageError
from convcheck.judge.words import cited, clean, translated
from convcheck.records import replace
from convcheck.reproduce.witness import Witness, call_at
from convcheck.rules.model import Spec
from convcheck.semantics.expected import ANY_NAN, EXACT, Decision, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors

_HINT = "use --as python or --as c"


def settled(vectors: Vectors) -> Vectors | None:
    """Return the vectors with one expected value, if any."""
    if vectors.case.refusal:
        return None
    if isinstance(vectors, CallSet):
        both = zip(vectors.calls, vectors.expected, strict=True)
        kept = [(call, expected) for call, expected in both if _is_settled(expected)]
        calls, expected = zip(*kept, strict=True) if kept else ((), ())
        return replace(vectors, calls=calls, expected=expected) if kept else None
    first, *others = vectors.expected.readings
    mask = np.isin(first.patterns, (EXACT, ANY_NAN))
    for reading in others:
        same = np.asarray(reading.codes == first.codes, bool) | (reading.patterns == ANY_NAN)
        mask &= (reading.patterns == first.patterns) & same
    return vectors.take(np.flatnonzero(mask)) if mask.any() else None


def _is_settled(expected: ExpectedCall) -> bool:
    first, *others = (
        [(due.dtype, due.shape, due.patterns.tolist(), due.answer.tolist()) for due in one.outputs]
        for one in expected.readings
    )
    known = all(np.isin(patterns, (EXACT, ANY_NAN)).all() for _, _, patterns, _ in first)
    return bool(first) and known and all(other == first for other in others)


def files(vectors: Vectors) -> Iterator[tuple[str, bytes]]:
    """Yield the test files of settled vectors as (name, content)."""
    if not isinstance(vectors, CallSet):
        vectors = call_at(vectors, np.arange(len(vectors)))
    answers = ([due.answer for due in one.readings[0].outputs] for one in vectors.expected)
    return test_files(vectors.case, list(zip(vectors.calls, answers, strict=True)))


def files_of_witness(witness: Witness) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a witness's test. Raises UsageError if it has none."""
    if declined := cannot_ask(witness.case):
        raise UsageError(f"no ONNX test: {declined.message}", hint=_HINT)
    if witness.before is not None:
        raise UsageError("an ONNX test has one model, and this needs two", hint=_HINT)
    if {("input", "constant"), ("middle", "exposed")} & set(witness.case.setting):
        raise UsageError("an ONNX test has no constants or inner outputs", hint=_HINT)
    vectors = settled(witness.one)
    if vectors is None:
        raise UsageError("an ONNX test needs one expected value per element", hint=_HINT)
    return files(vectors)


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
    """Yield a row's quoted sentences, with their documents, and the row in words."""
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
