"""Values on a command line, and the codes that they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.numerics.decimal import spell_fraction
from convcheck.numerics.format import Float, Text
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.report.draw.explain import Explained, nearest
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.evaluate import compile_case, evaluate
from convcheck.semantics.trace import trace
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import VectorSet


def code_of_word(source: DType, word: str) -> tuple[int | str, bool]:
    """Return the code of a value of a type, and whether the type has just this value. Raises
    UsageError for one that it does not have.
    """
    fmt = source.format
    if isinstance(fmt, Text):
        return word, True
    try:
        code, exact = code_of(fmt, word)
    except OutsideFormatError as error:
        raise UsageError(f"{source}: {error}", hint=_has(source)) from None
    if code == 0 and word.startswith("-") and isinstance(fmt, Float) and not fmt.negative_zero:
        raise UsageError(f"{source} has no -0: {word}", hint=_has(source))
    return code, exact


def elements_in(dtype: DType, words: Iterable[str]) -> list[str]:
    """Return the values in words, each of which may be a list: 1,2 or [1, 2]. A text is one."""
    if isinstance(dtype.format, Text):
        return list(words)
    return [each.strip() for word in words for each in word.strip("[]").split(",")]


def read_values(dtype: DType, words: Iterable[str]) -> tuple[Bits, list[str]]:
    """Return the codes of values, and a note for each that the type does not have. Raises
    UsageError as `code_of_word` does.
    """
    words = list(words)
    read = [code_of_word(dtype, word) for word in words]
    pairs = zip(words, read, strict=True)
    notes = [nearest(dtype, word, code) for word, (code, exact) in pairs if not exact]
    return bits_of(dtype, [code for code, _ in read]), notes


def _has(source: DType) -> str:
    """Say what numbers a type has, for a hint."""
    fmt = source.format
    assert not isinstance(fmt, Text)  # noqa: S101
    digits = 9 if isinstance(fmt, Float) else 20
    low, high = (spell_fraction(bound, digits).lstrip("~") for bound in (fmt.min, fmt.max))
    more = ""
    if isinstance(fmt, Float):
        has = {"-0": fmt.negative_zero, "inf": fmt.infinity, "nan": fmt.nan != "none"}
        more = "".join(f", {word}" for word, there in has.items() if there)
    return f"{source} has {low} to {high}{more}, and bits 0x0 to {(1 << fmt.bits) - 1:#x}"


def bits_of(dtype: DType, codes: Sequence[int | str]) -> Bits:
    """Return an array of codes, shape (n,)."""
    bits = np.empty(len(codes), dtype.format.storage)
    bits[:] = codes
    return bits


def explained(spec: Spec, case: Case, word: str) -> Explained:
    """Return one input of a case with what decides it."""
    code, exact = code_of_word(case.inputs[0], word)
    found = trace(compile_case(spec, case), case, bits_of(case.inputs[0], [code]))
    return Explained(spec, case, word, code, exact, found)


def vectors_of(spec: Spec, case: Case, values: Sequence[str]) -> VectorSet:
    """Return inputs of a case with their expected values."""
    bits = bits_of(case.inputs[0], [code_of_word(case.inputs[0], word)[0] for word in values])
    return VectorSet(case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec))
