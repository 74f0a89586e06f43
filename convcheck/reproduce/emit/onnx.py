"""Write a witness in the layout of ONNX's backend tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from convcheck.errors import UsageError
from convcheck.judge.result import Strip, Word
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Float
from convcheck.reproduce.witness import Witness

_HINT = "use --as python or --as c"


def files(witness: Witness) -> Iterator[tuple[str, bytes]]:
    """Yield the test's files as (name, content).

    Raises UsageError if ONNX lacks the case or an element has several right values.
    """
    from convcheck.backends.onnx.model import cannot_ask
    from convcheck.backends.onnx.node_tests import test_files

    declined = cannot_ask(witness.case)
    if declined:
        raise UsageError(f"no ONNX test: {declined.message}", hint=_HINT)
    if witness.before is not None:
        raise UsageError("an ONNX test has one model, and this needs two", hint=_HINT)
    if {("input", "constant"), ("middle", "exposed")} & set(witness.case.setting):
        raise UsageError("an ONNX test has no constants or inner outputs", hint=_HINT)
    if len(witness.due) != 1 or isinstance(witness.due[0].outputs, str):
        raise UsageError("an ONNX test needs one expected value per element", hint=_HINT)
    outputs = [_bits(strip) for strip in witness.due[0].outputs]
    return test_files(witness.case, [([_bits(strip) for strip in witness.inputs], outputs)])


def _bits(strip: Strip) -> Bits:
    assert strip.format is not None  # noqa: S101 a case's own types are known
    size = int(np.prod(strip.shape, dtype=np.int64))
    if len(strip.words) != size:
        hint = "`convcheck export --as onnx` writes whole cases"
        raise UsageError("only a part of the tensor is known", hint=hint)
    bits: Any = np.empty(size, strip.format.storage)
    bits[:] = [_code(strip, word) for word in strip.words]
    shaped: Bits = bits.reshape(strip.shape)
    return shaped


def _code(strip: Strip, word: Word) -> Word:
    if word == "<nan>" and isinstance(strip.format, Float):
        return strip.format.nan_code
    if isinstance(word, str) and word[:1] + word[-1:] == "<>":
        raise UsageError(f"an ONNX test cannot express {word}", hint=_HINT)
    return word
