"""Libraries of tensors: they have functions in the place of operators, as the specs' `calls` say.

Bits go in and come out by views of memory; no value is converted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from convcheck.backends.installed import release_of, variant_name
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.functions import why_not
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

ARANGE = "arange"
_OF_SEQUENCES = (RuntimeError, ValueError, TypeError, ArithmeticError)
Array = Any  # of the library's own class


def checked_choice(
    name: str, options: Mapping[str, Sequence[str]], choice: Mapping[str, str]
) -> dict[str, str]:
    """Return a value of every option, its first unless chosen. Raises UsageError for others."""
    for option, value in choice.items():
        if option not in options:
            raise UsageError(
                f"{name} has no option {option!r}", hint=f"one of {', '.join(options)}"
            )
        if value not in options[option]:
            hint = f"one of {', '.join(options[option])}"
            raise UsageError(f"{name}'s option {option} has no value {value!r}", hint=hint)
    return {option: choice.get(option, values[0]) for option, values in options.items()}


class TensorLibrary:
    """A library that casts arrays, and may make sequences."""

    #: Its name, its extra, and its key in `calls`.
    runtime: ClassVar[str]
    #: The column of specs/dtypes.yaml with its types' names, if it is another's.
    types: ClassVar[str] = ""
    #: The functions that the adapter calls, by their names in `calls`.
    functions: ClassVar[tuple[str, ...]]
    #: Its variants, and what the version says of each.
    says: Mapping[str, str]
    #: What it raises for values that it does not cast. Anything else is a fault of the adapter.
    refusals: ClassVar[tuple[type[Exception], ...]] = (RuntimeError, ValueError, OverflowError)
    #: Its module and its package, if they have other names.
    module: ClassVar[str] = ""
    package: ClassVar[str] = ""

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for an unknown variant, ImportError or UnavailableError where the library
        cannot be used.
        """
        self._variant, self.name = variant, variant_name(self.runtime, variant, self.says)
        self.version = f"{self.runtime} {self.start()}, {self.says[variant]}"
        self._catalog = catalog or load(user_folders())

    @classmethod
    def takes(cls, spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return cls.runtime in spec.calls

    @classmethod
    def available(cls) -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(cls.runtime, module=cls.module, package=cls.package)

    def support(self, case: Case) -> Declined | None:
        """Decline types that the library has not, and what its function cannot be asked."""
        for cast in case.hops or (case,):
            reason = why_not(self._catalog.specs.get(cast.spec), self.runtime, cast, self.types)
            if not reason and (name := self.function_of(cast)) not in self.functions:
                reason = f"this adapter calls no {name}"
            if reason:
                return Declined(reason, missing=True)
        return None

    def function_of(self, case: Case) -> str:
        """Return the name of the function that the library has in the place of an operator."""
        return self._catalog.specs[case.spec].calls[self.runtime].function

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type. Or make a
        sequence, from three numbers.

        NotImplementedError is Declined, what the library raises on values is Refused.
        """
        is_range = self.function_of(case) == ARANGE
        raised = _OF_SEQUENCES if is_range else self.refusals
        array = None if is_range else self.array(case.inputs[0], inputs[0])
        try:
            made = (
                self.arange(case, *_numbers(case, inputs)) if is_range else self.cast(case, array)
            )
        except NotImplementedError as error:
            return Declined(words(error), missing=True)
        except raised as error:
            return Refused(words(error))
        shape = tuple(made.shape)
        due = case.outputs[0]
        name = due.name if made.dtype == self.type_of(due) else str(made.dtype)
        if too_large(shape, inputs):
            return Oversized((shape,), (name,))
        return Outputs((self.codes(due, made),), (name,))

    # What a library says

    def start(self) -> str:
        """Import the library, and return its release."""
        raise NotImplementedError

    def type_of(self, dtype: DType) -> Any:
        """Return the library's type."""
        raise NotImplementedError

    def array(self, dtype: DType, bits: Bits) -> Array:
        """View codes as an array of the type."""
        raise NotImplementedError

    def codes(self, dtype: DType, array: Array) -> Bits:
        """Return the codes of an array."""
        raise NotImplementedError

    def cast(self, case: Case, array: Array) -> Array:
        """Make a case's cast, or the casts of its chain."""
        raise NotImplementedError

    def arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        """Make a sequence. One that is too large has a shape and no values."""
        raise NotImplementedError

    def name_of(self, dtype: DType) -> str:
        """Return the name of a type in the library's column, '' for none."""
        return dtype.name_in(self.types or self.runtime)


class NumpyTypes(TensorLibrary):
    """A library whose arrays go in and come out as numpy's, with the types of ml_dtypes."""

    types = "ml_dtypes"

    def type_of(self, dtype: DType) -> np.dtype[Any]:
        """Return numpy's type."""
        return np.dtype(dtype.name_in(self.types))

    def array(self, dtype: DType, bits: Bits) -> Array:
        """View codes as an array of numpy."""
        return np.asarray(bits, dtype.format.storage, order="C").view(self.type_of(dtype))

    def codes(self, dtype: DType, array: Array) -> Bits:
        """View an array of numpy as codes."""
        codes: Bits = array.view(f"u{array.dtype.itemsize}")
        return codes


def seen(case: Case, array: Array, cast: Callable[[Case, Array], Array]) -> list[Array]:
    """Make the casts of a chain: the last result first, then the middles that are exposed."""
    made: list[Array] = []
    for hop in case.hops or (case,):
        array = cast(hop, array)
        made = [array, *made] if ("middle", "exposed") in case.setting else [array]
    return made


def words(error: BaseException) -> str:
    """Return the words of an exception on one line."""
    return " ".join(str(error).split())


def _numbers(case: Case, inputs: Sequence[Bits]) -> list[int | float]:
    """Return tensors of one element as Python's numbers, which are those of numpy's types exactly.

    Raises ValueError for a tensor of another size.
    """
    return [bits.view(dtype.name).item() for dtype, bits in zip(case.inputs, inputs, strict=True)]
