"""Questions and answers in a few words: values of elements, whole calls by their tensors."""

from __future__ import annotations

from convcheck.judge.result import CallExample, Example, Strip, Word
from convcheck.judge.words import clean, code, quote, value
from convcheck.report.layout import cut
from convcheck.rules.model import Case, DType

_LONG = 40


def question(case: Case, example: Example | CallExample) -> str:
    """Give the inputs of a question: '-1.5 (0xbfc00000)', or a tensor for each input."""
    if isinstance(example, CallExample):
        return ", ".join(tensor(strip) for strip in example.inputs)
    pairs = zip(case.inputs, example.inputs, strict=False)  # a companion has no word
    return ", ".join(_element(dtype, word) for dtype, word in pairs)


def answer(case: Case, example: Example | CallExample) -> str:
    """Give an answer, 'nothing' where none came."""
    if example.got is None:
        return f"nothing ({cut(clean(example.message), _LONG)})" if example.message else "nothing"
    if isinstance(example, CallExample):
        return " and ".join(tensor(strip) for strip in example.got or ())
    return _element(case.outputs[0], example.got)


def _element(dtype: DType, word: Word) -> str:
    if isinstance(word, str):
        return cut(quote(word), _LONG)
    return f"{value(dtype.format, word)} ({code(dtype.format, word)})"


def tensor(strip: Strip) -> str:
    """Give a tensor: 'float32 1.5', 'int8[5] 1 2 3 4 …'."""
    shape = f"[{','.join(map(str, strip.shape))}]" if strip.shape else ""
    if strip.format is None:
        return f"{strip.type}{shape}"
    values = [str(value(strip.format, word)) for word in strip.words]
    size = 1
    for length in strip.shape:
        size *= length
    more = ["…"] if size > len(values) else []
    return " ".join([f"{strip.type}{shape}", *values, *more])
