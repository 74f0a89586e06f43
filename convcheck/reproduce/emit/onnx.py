"""Write vectors and witnesses in the layout of ONNX's backend tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convcheck.backends.onnx.model import cannot_ask
from convcheck.backends.onnx.node_tests import test_files
from convcheck.errors import UsageError
from convcheck.records import replace
from convcheck.reproduce.witness import Witness, call_at
from convcheck.semantics.expected import ANY_NAN, EXACT, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors

_HINT = "use --as python or --as c"


def settled(vectors: Vectors) -> Vectors | None:
    """Return the vectors with one expected value in all readings, or None if there are none."""
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
    """Yield the files of the test of settled vectors as (name, content)."""
    if not isinstance(vectors, CallSet):
        vectors = call_at(vectors, np.arange(len(vectors)))
    answers = ([due.answer for due in one.readings[0].outputs] for one in vectors.expected)
    return test_files(vectors.case, list(zip(vectors.calls, answers, strict=True)))


def files_of_witness(witness: Witness) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a witness's test.

    Raises UsageError if ONNX lacks the case or an element has several right values.
    """
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
