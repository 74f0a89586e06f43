"""Tensor libraries with functions, as in the specs' `calls`. Bits are passed as memory."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from convcheck.backends.native import release_of, variant_name
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.numerics.number import Bits
from convcheck.rules.layouts import why_not
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

ARANGE = "arange"
_OF_SEQUENCES = (RuntimeError, ValueError, TypeError, ArithmeticError)
Array = Any  # the library's class


def checked_choice(
    name: str, options: Mapping[str, Sequence[str]], choice: Mapping[str, str]
) -> dict[str, str]:
    """Return a value for every option, by default its first. Raises UsageError."""
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

    runtime: ClassVar[str]  # its name, extra, and key in `calls`
    types: ClassVar[str] = ""  # the column of specs/dtypes.yaml with its types, if not its own
    functions: ClassVar[tuple[str, ...]]  # those of `calls` that the adapter knows
    #: Its variants, with their description in the version.
    says: Mapping[str, str]
    #: Its exceptions for values. All others are errors of the adapter.
    refusals: ClassVar[tuple[type[Exception], ...]] = (RuntimeError, ValueError, OverflowError)
    #: Its module and package, if their names differ.
    module: ClassVar[str] = ""
    package: ClassVar[str] = ""

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Raises UsageError for an unknown variant, ImportError or UnavailableError without it."""
        self._variant, self.name = variant, variant_name(self.runtime, variant, self.says)
        self.version = f"{self.runtime} {self._start()}, {self.says[variant]}"
        self._catalog = catalog or load(user_folders())

    @classmethod
    def takes(cls, spec: Spec) -> bool:
        """Return whether a run without SPEC runs this spec."""
        return cls.runtime in spec.calls

    @classmethod
    def available(cls) -> str:
        """Return the installed release. Raises UnavailableError."""
        return release_of(cls.runtime, module=cls.module, package=cls.package)

    def support(self, case: Case) -> Declined | None:
        """Decline types and calls that the library lacks."""
        for cast in case.hops or (case,):
            reason = why_not(self._catalog.specs.get(cast.spec), self.runtime, cast, self.types)
            if not reason and (name := self._function_of(cast)) not in self.functions:
                reason = f"this adapter calls no {name}"
            if reason:
                return Declined(reason, missing=True)
        return None

    def _function_of(self, case: Case) -> str:
        return self._catalog.specs[case.spec].calls[self.runtime].function

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, to which a second only gives the type, or make a sequence."""
        is_range = self._function_of(case) == ARANGE
        raised = _OF_SEQUENCES if is_range else self.refusals
        array = None if is_range else self._array(case.inputs[0], inputs[0])
        try:
            if is_range:
                pairs = zip(case.inputs, inputs, strict=True)
                made = self._arange(case, *(bits.view(t.name).item() for t, bits in pairs))
            else:
                made = self._cast(case, array)
        except NotImplementedError as error:
            return Declined(words(error), missing=True)
        except raised as error:
            return Refused(words(error))
        shape = tuple(made.shape)
        due = case.outputs[0]
        name = due.name if made.dtype == self._type_of(due) else str(made.dtype)
        if too_large(shape, inputs):
            return Oversized((shape,), (name,))
        return Outputs((self._codes(due, made),), (name,))

    def _start(self) -> str:
        """Import the library and return its release."""
        raise NotImplementedError

    def _type_of(self, dtype: DType) -> Any:
        """Return the library's type."""
        raise NotImplementedError

    def _array(self, dtype: DType, bits: Bits) -> Array:
        """View codes as an array of the type."""
        raise NotImplementedError

    def _codes(self, dtype: DType, array: Array) -> Bits:
        """Return the codes of an array."""
        raise NotImplementedError

    def _cast(self, case: Case, array: Array) -> Array:
        """Run a case's cast, or its chain. Raises NotImplementedError if unsupported."""
        raise NotImplementedError

    def _arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        """Make a sequence. An oversized one has a shape but no values."""
        raise NotImplementedError

    def _name_of(self, dtype: DType) -> str:
        return dtype.name_in(self.types or self.runtime)


class NumpyTypes(TensorLibrary):
    """A library of numpy arrays with ml_dtypes' types."""

    types = "ml_dtypes"

    def _type_of(self, dtype: DType) -> np.dtype[Any]:
        return np.dtype(dtype.name_in(self.types))

    def _array(self, dtype: DType, bits: Bits) -> Array:
        return np.asarray(bits, dtype.format.storage, order="C").view(self._type_of(dtype))

    def _codes(self, dtype: DType, array: Array) -> Bits:
        codes: Bits = array.view(f"u{array.dtype.itemsize}")
        return codes


def seen(case: Case, array: Array, cast: Callable[[Case, Array], Array]) -> list[Array]:
    """Run a chain's casts. Return the result, then exposed intermediate results."""
    made: list[Array] = []
    for hop in case.hops or (case,):
        array = cast(hop, array)
        made = [array, *made] if ("middle", "exposed") in case.setting else [array]
    return made


def words(error: BaseException) -> str:
    """Return an exception's message on one line."""
    return " ".join(str(error).split())
