"""Causes planted in cases of whole calls: which of them the calls that are asked catch.

Calls beyond those are looked at only where none of them catches a mutant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.call_search import freed
from convcheck.causes.score import Mutant
from convcheck.judge.answers import ANSWERED, CRASHED, CallAnswers
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.judge.calls import is_wrong_answer, judged_call
from convcheck.judge.result import RIGHT, Word
from convcheck.numerics.decimal import spell
from convcheck.numerics.format import Format, Text
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.expected import REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import DEADLY, Call, CallReading, WrongCall
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

_ELEMENTS = 1 << 12  # of calls that are computed at a time
_COMPUTED = 1 << 23  # elements times causes that are kept at a time
_SHOWN = 3  # elements of a tensor that are named


def is_of(cause: Cause, spec: Spec) -> bool:
    """Return whether a spec has the body that a cause edits, and the attributes that it sets."""
    known = {attribute.name for attribute in spec.attributes}
    body = cause.call.body if cause.call else spec.body.name
    return body == spec.body.name and known.issuperset(name for name, _ in cause.under)


def call_mutants(
    spec: Spec, calls: CallSet, causes: Sequence[Cause], seed: int, *, further: bool
) -> list[Mutant]:
    """Return the causes that can be observed in a case, with how many calls catch each; `further`:
    those that none does are looked at in the calls of the boundary tier, too.
    """
    caught = Counter[Cause]()
    for part in _parts(calls.calls):
        some = replace(calls, calls=calls.calls[part], expected=calls.expected[part])
        caught += Counter(_caught(spec, some, causes))
    found = [Mutant(calls.case, cause, caught[cause]) for cause in causes if caught[cause]]
    left = [cause for cause in causes if not caught[cause]]
    return [*found, *(_observed(spec, calls, left, seed) if further else ())]


def _parts(calls: Sequence[Call]) -> Iterator[slice]:
    """Yield parts of calls with so many elements: what causes make of all lines is kept of one part
    at a time.
    """
    start, size = 0, 0
    for i, call in enumerate(calls):
        size += call[0].size
        if size >= _ELEMENTS:
            yield slice(start, i + 1)
            start, size = i + 1, 0
    if start < len(calls):
        yield slice(start, len(calls))


def _caught(spec: Spec, calls: CallSet, causes: Sequence[Cause]) -> dict[Cause, int]:
    """Return how many calls catch each cause that changes something, under the reading of the rules
    under which most do.
    """
    counts: dict[Hashable, int] = {}
    found: dict[Cause, int] = {}
    for cause, made in _planted(spec, calls, causes):
        if made.key not in counts:
            counts[made.key] = sum(is_wrong(calls, i, made.answer(i)) for i in range(len(calls)))
        found[cause] = max(found.get(cause, 0), counts[made.key])
    return found


def _planted(
    spec: Spec, calls: CallSet, causes: Sequence[Cause]
) -> Iterator[tuple[Cause, WrongCall]]:
    """Yield causes with what they make of calls under each reading, but for those that change
    nothing. What they have in common is computed once for as many as there is room for.
    """
    elements = sum(call[0].size for call in calls.calls)
    count = max(1, _COMPUTED // max(1, elements))
    for start in range(0, len(causes), count):
        edits = wrong_calls(spec, calls.case, calls.calls)
        right = {made.key for made in edits(())}
        for cause in causes[start : start + count]:
            for made in edits((cause,)):
                if made.key not in right:
                    yield cause, replace(made, key=(start, made.key))


def _observed(spec: Spec, calls: CallSet, causes: Sequence[Cause], seed: int) -> Iterator[Mutant]:
    """Yield the causes that some call shows which is not asked."""
    known = set(map(_content, calls.calls))
    asked, coverage = calls_of(spec, calls.case, "boundary", seed)
    more = [call for call in asked if _content(call) not in known]
    left = list(causes)
    for part in _parts(more):
        if not left:
            break
        some = expecting(spec, calls.case, more[part], coverage)
        shown = dict(_shown(spec, some, left))
        left = [cause for cause in left if cause not in shown]
        for cause, i in shown.items():
            yield Mutant(calls.case, cause, 0, call_in_short(calls.case, some.calls[i]))


def _shown(spec: Spec, calls: CallSet, causes: Sequence[Cause]) -> Iterator[tuple[Cause, int]]:
    """Yield the causes that a call shows, with the number of the first."""
    first: dict[Hashable, int | None] = {}
    for cause, made in _planted(spec, calls, causes):
        if made.key not in first:
            wrong = (i for i in range(len(calls)) if is_wrong(calls, i, made.answer(i)))
            first[made.key] = next(wrong, None)
        if (i := first[made.key]) is not None:
            yield cause, i


def _content(call: Call) -> tuple[tuple[tuple[int, ...], bytes], ...]:
    return tuple((tensor.shape, tensor.tobytes()) for tensor in call)


def call_in_short(case: Case, call: Call) -> str:
    """Return the inputs of a call, of a tensor the shape and the first elements."""
    said = []
    for dtype, tensor in zip(case.inputs, call, strict=True):
        words = [_spelled(dtype.format, word) for word in tensor.reshape(-1)[:_SHOWN].tolist()]
        more = ["…"] if tensor.size > _SHOWN else []
        listed = ", ".join(words + more)
        said.append(f"{list(tensor.shape)} {listed}" if tensor.shape else listed)
    return "; ".join(said)


def _spelled(fmt: Format, word: Word) -> str:
    return str(word) if isinstance(fmt, Text) else spell(fmt, int(word))


# One call ----------------------------------------------------------------------------------------


def is_wrong(calls: CallSet, i: int, given: CallReading | None) -> bool:
    """Return whether an answer to call `i` is judged wrong, whatever stands where it is open."""
    if given is None:
        return False
    due = calls.expected[i]
    said = freed(given, due) is not None
    filled = [given] if said else [_filled(given, reading) for reading in due.readings]
    return all(each is not None and _is_judged_wrong(calls, i, each) for each in filled)


def _is_judged_wrong(calls: CallSet, i: int, given: CallReading) -> bool:
    outputs, state = _outputs(given), _state(given)
    if outputs and state == ANSWERED:
        return is_wrong_answer(calls.expected[i], outputs)
    one = replace(calls, calls=calls.calls[i : i + 1], expected=calls.expected[i : i + 1])
    answers = CallAnswers((outputs,), np.array([state], np.uint8), {})
    return judged_call(one, answers, 0).sort not in (RIGHT, "undefined")


def _filled(given: CallReading, due: CallReading) -> CallReading | None:
    """Return an answer with what is due in the place of elements that are not said: of all answers
    that it may be the one that is closest to a reading; None where that has another form.
    """
    pairs = list(zip(given.outputs, due.outputs, strict=False))
    if len(due.outputs) != len(given.outputs) or any(a.shape != b.shape for a, b in pairs):
        return None
    outputs = []
    for one, other in pairs:
        open_ = one.patterns == UNDEFINED
        codes = np.where(open_, other.codes, one.codes)
        patterns = np.where(open_, other.patterns, one.patterns)
        outputs.append(replace(one, codes=codes, patterns=patterns))
    return replace(given, outputs=tuple(outputs))


def _outputs(given: CallReading | None) -> Outputs | None:
    if given is None or not given.outputs:
        return None
    arrays = tuple(output.answer for output in given.outputs)
    return Outputs(arrays, tuple(output.dtype.name for output in given.outputs))


def _state(given: CallReading | None) -> int:
    if given is DEADLY:
        return CRASHED
    return WAS_REFUSED if given is not None and given.pattern == REFUSED else ANSWERED
