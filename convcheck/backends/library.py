"""Tensor libraries with functions instead of operators, as in the specs' `calls`.

Bits are passed as views of memory, so no value is converted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from convcheck.backends.native import release_of, variant_name
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.numerics.number import Bits
from convcheck.rules.functions import why_not
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

ARANGE = "arange"
_OF_SEQUENCES = (RuntimeError, ValueError, TypeError, ArithmeticError)
Array = Any  # the library's class


def checked_choice(
    name: str, options: Mapping[str, Sequence[str]], choice: Mapping[str, str]
) -> dict[str, str]:
    """Return a value for every option, by default its first. Raises UsageError if unknown."""
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
    """A library that casts arrays and can make sequences."""

    #: Its name, extra, and key in `calls`.
    runtime: ClassVar[str]
    #: The column of specs/dtypes.yaml with its type names, if not its own.
    types: ClassVar[str] = ""
    #: The functions that the adapter calls, by their names in `calls`.
    functions: ClassVar[tuple[str, ...]]
    #: Its variants, with their description in the version.
    says: Mapping[str, str]
    #: Its exceptions for values. All others are errors of the adapter.
    refusals: ClassVar[tuple[type[Exception], ...]] = (RuntimeError, ValueError, OverflowError)
    #: Its module and package, if their names differ.
    module: ClassVar[str] = ""
    package: ClassVar[str] = ""

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Use the specs' `calls` of a catalogue, by default of the built-in and user specs.

        Raises UsageError for an unknown variant, ImportError or UnavailableError if the library is
        unusable.
        """
        self._variant, self.name = variant, variant_name(self.runtime, variant, self.says)
        self.version = f"{self.runtime} {self.start()}, {self.says[variant]}"
        self._catalog = catalog or load(user_folders())

    @classmethod
    def takes(cls, spec: Spec) -> bool:
        """Return whether the backend runs a spec by default."""
        return cls.runtime in spec.calls

    @classmethod
    def available(cls) -> str:
        """Return the installed release. Raises UnavailableError."""
        return release_of(cls.runtime, module=cls.module, package=cls.package)

    def support(self, case: Case) -> Declined | None:
        """Decline types that the library lacks, and calls that its function lacks."""
        for cast in case.hops or (case,):
            reason = why_not(self._catalog.specs.get(cast.spec), self.runtime, cast, self.types)
            if not reason and (name := self.function_of(cast)) not in self.functions:
                reason = f"this adapter calls no {name}"
            if reason:
                return Declined(reason, missing=True)
        return None

    def function_of(self, case: Case) -> str:
        """Return the library's function for an operator."""
        return self._catalog.specs[case.spec].calls[self.runtime].function

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, or make a sequence from three numbers.

        A second input of a conversion only gives the type. NotImplementedError is Declined, the
        library's exceptions for values are Refused.
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

    # Overridden by libraries

    def start(self) -> str:
        """Import the library and return its release."""
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
        """Run a case's cast, or the casts of its chain."""
        raise NotImplementedError

    def arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        """Make a sequence. An oversized one has a shape but no values."""
        raise NotImplementedError

    def name_of(self, dtype: DType) -> str:
        """Return a type's name in the library's column, '' for none."""
        return dtype.name_in(self.types or self.runtime)


class NumpyTypes(TensorLibrary):
    """A library that takes and returns numpy arrays, with ml_dtypes' types."""

    types = "ml_dtypes"

    def type_of(self, dtype: DType) -> np.dtype[Any]:
        """Return the numpy type."""
        return np.dtype(dtype.name_in(self.types))

    def array(self, dtype: DType, bits: Bits) -> Array:
        """View codes as a numpy array."""
        return np.asarray(bits, dtype.format.storage, order="C").view(self.type_of(dtype))

    def codes(self, dtype: DType, array: Array) -> Bits:
        """View a numpy array as codes."""
        codes: Bits = array.view(f"u{array.dtype.itemsize}")
        return codes


def seen(case: Case, array: Array, cast: Callable[[Case, Array], Array]) -> list[Array]:
    """Run the casts of a chain. Return the result, then exposed intermediate results."""
    made: list[Array] = []
    for hop in case.hops or (case,):
        array = cast(hop, array)
        made = [array, *made] if ("middle", "exposed") in case.setting else [array]
    return made


def words(error: BaseException) -> str:
    """Return an exception's message on one line."""
    return " ".join(str(error).split())


def _numbers(case: Case, inputs: Sequence[Bits]) -> list[int | float]:
    """Return one-element tensors as Python numbers, exactly.

    Raises ValueError for a tensor of another size.
    """
    return [bits.view(dtype.name).item() for dtype, bits in zip(case.inputs, inputs, strict=True)]
