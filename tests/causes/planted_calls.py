"""Wrong kernels of whole calls, each with a case that shows it."""

import numpy as np
from catalogue import CATALOG
from ml_dtypes import bfloat16
from planted.calls import FAKE_CONVERT, PROMOTE, RANGE, given, wrong_in
from planted.causes import EVERY, answered_calls
from planted.causes import calls_of as asked

from convcheck.backends.protocol import Answer, Outputs
from convcheck.causes.search import Search, diagnose
from convcheck.semantics.expected import EXACT

__all__ = ["answers_of", "asked", "shown", "told"]

_KINDS = {"float32": np.float32, "bfloat16": bfloat16}


def told(calls, ask):
    """Return what the search tells of answers, with further ones."""
    found = diagnose(Search(EVERY, CATALOG), calls, ask(calls), ask=ask)
    assert found is not None
    return found


def answers_of(kernel, calls):
    """Return a kernel's codes, or its numbers of the output type, if the text defines them."""
    [output], given = calls.case.outputs, list[Answer | None]()
    kinds = [_KINDS[dtype.name] for dtype in calls.case.inputs]
    for call, due in zip(calls.calls, calls.expected, strict=True):
        if due.readings[0].pattern != EXACT:
            given.append(None)
            continue
        with np.errstate(all="ignore"):
            pairs = zip(kinds, call, strict=True)
            found = np.asarray(kernel(*(t.view(kind).astype(np.float32) for kind, t in pairs)))
        if found.dtype.kind != "u":
            found = found.astype(_KINDS[output.name]).view(output.format.storage)
        codes = found.astype(output.format.storage)
        given.append(Outputs((codes,), (output.name,)))
    return answered_calls(given)


def shown(every):
    """Yield every n-th wrong kernel with its answers to the first case that shows it."""
    for operator in (RANGE, FAKE_CONVERT, PROMOTE):
        for name, kernel in list(operator.wrong.items())[::every]:
            answers = ((calls, given(kernel, calls)) for calls in map(asked, operator.cases))
            calls, shows = next(each for each in answers if wrong_in(*each))
            yield name, calls, answered_calls(shows)
