"""Check that adapters return well-formed answers, and bound texts from outside."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.rules.model import Case
from convcheck.streams import plural

LONGEST = 4_000  # characters of a message
LONGEST_NAME = 200
LONGEST_TEXT = 2_000  # a float64 in decimal has up to 1,079

_MARK = re.compile(r" … \(cut, of [0-9,]{1,20} characters\)")


class AnswerError(Exception):
    """A malformed answer. The message has the line to write instead."""


def bounded(text: str, most: int = LONGEST) -> str:
    """Cut a text that is too long, and mark it. Lone surrogates, which JSON lacks, are escaped."""
    text = str.__getitem__(text, slice(None))  # the characters of a subclass of str
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= most or _MARK.fullmatch(text[most:]):
        return text
    return f"{text[:most]} … (cut, of {plural(len(text), 'character')})"


def checked_answer(answer: object, case: Case) -> Answer:
    """Return a well-formed answer. Raises AnswerError."""
    if isinstance(answer, Outputs):
        return _outputs(answer, case)
    if isinstance(answer, Refused):
        return replace(answer, message=_message(answer.message, "Refused"))
    if isinstance(answer, Declined):
        return _declined(answer)
    if isinstance(answer, Oversized):
        return _oversized(answer, case)
    raise AnswerError(f"the answer is {_kind(answer)}; write: return {_written(case)}")


def checked_support(found: object) -> Declined | None:
    """Return a well-formed result of `support`. Raises AnswerError."""
    if isinstance(found, Declined):
        return _declined(found)
    if found is not None:
        said = "return None where the case can be asked, else return Declined(reason)"
        raise AnswerError(f"support() gave {_kind(found)}; write: {said}")
    return None


def _outputs(answer: Outputs, case: Case) -> Outputs:
    arrays, types = answer.arrays, answer.types
    if type(arrays) is tuple and all(type(array) is np.ndarray for array in arrays):
        if len(case.outputs) == 1 and types == (case.outputs[0].name,):
            return answer
    elif not isinstance(arrays, tuple | list):
        said = f"the arrays of Outputs are {_kind(arrays)}, not a tuple of arrays"
        raise AnswerError(f"{said}; write: return {_written(case)}")
    return Outputs(
        tuple(_array(array, n, case) for n, array in enumerate(arrays)), _types(types, case)
    )


def _array(array: object, n: int, case: Case) -> Any:
    if isinstance(array, np.ndarray):
        return array
    due = case.outputs[n].format.storage if n < len(case.outputs) else None
    if isinstance(array, np.generic) and due in (None, array.dtype):
        return np.asarray(array)
    if isinstance(array, str) and due is not None and due.hasobject:
        return np.array(array, object)
    codes = f"np.asarray(result, np.{due.name})" if due is not None else "np.asarray(result)"
    said = f"output {n + 1} is {_kind(array)}, not an array of codes"
    raise AnswerError(f"{said}; write: return {_written(case, codes)}")


def _types(types: object, case: Case) -> tuple[str, ...]:
    names: Sequence[Any] = types if isinstance(types, tuple | list) else [None]
    if not all(isinstance(name, str) for name in names):
        said = f"the types of Outputs are {bounded(repr(types), LONGEST_NAME)}, not names"
        raise AnswerError(f"{said}; write: return {_written(case)}")
    return tuple(bounded(name, LONGEST_NAME) for name in names)


def _declined(answer: Declined) -> Declined:
    return Declined(_message(answer.message, "Declined"), bool(answer.missing))


def _message(message: object, kind: str) -> str:
    if not isinstance(message, str):
        said = f"{kind} has {_kind(message)} for a message, not a text"
        raise AnswerError(f"{said}; write: return {kind}(str(error))")
    return bounded(message)


def _oversized(answer: Oversized, case: Case) -> Oversized:
    shapes = answer.shapes
    if not isinstance(shapes, Sequence) or not all(map(_is_shape, shapes)):
        said = f"the shapes of Oversized are {bounded(repr(shapes), LONGEST_NAME)}"
        raise AnswerError(f"{said}; write: return Oversized((result.shape,), ('float32',))")
    return Oversized(
        tuple(tuple(int(size) for size in shape) for shape in shapes), _types(answer.types, case)
    )


def _is_shape(shape: object) -> bool:
    sizes = shape if isinstance(shape, Sequence) else [None]
    return all(isinstance(size, int | np.integer) for size in sizes)


def _written(case: Case, codes: str = "result") -> str:
    name = "case.outputs[0].name" if case.outputs else "'float32'"
    return f"Outputs(({codes},), ({name},))"


def _kind(thing: object) -> str:
    """Return a thing's class with an article: a numpy.ndarray, a float, None."""
    if thing is None:
        return "None"
    kind = type(thing)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return bounded(f"a {module}{kind.__qualname__}", LONGEST_NAME)
