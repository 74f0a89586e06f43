"""JAX as a backend: its functions, compiled by XLA for the CPU, as the specs' `calls` say.

Arrays go in and come out as numpy's, with the types that ml_dtypes adds; no value is converted
here. There are three ways to a function, and they are more than one implementation: `jax` compiles
the call with the array as an argument, `jax:eager` leaves out the compiling of a call as a whole
(option `jit`), `jax:const` compiles the array as a constant, which XLA folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.calls import cannot_call, function_of, numbers_of
from convcheck.backends.installed import release_of
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

if TYPE_CHECKING:
    import jax

RUNTIME = "jax"  # its key in `calls`
TYPES = "ml_dtypes"  # its types are numpy's: their column in specs/dtypes.yaml
CAST, ARANGE = "convert_element_type", "arange"
_SAYS = {
    "": "jit, arrays as arguments",
    "eager": "no jit, one primitive after the other",
    "const": "jit, arrays as constants",
}

Call = Callable[[Any], Any]


class Jax:
    """JAX on the CPU, with types of 64 bits; `variant` is '', 'eager' or 'const'."""

    #: What may be asked of it, and with which values.
    options: Mapping[str, tuple[str, ...]] = {"jit": ("on", "off")}
    #: The options that tell what becomes of a graph.
    graphs = ("jit",)

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for an unknown variant, ImportError where JAX is not installed.
        """
        if variant not in _SAYS:
            hint = f"one of {', '.join(_address(name) for name in _SAYS)}"
            raise UsageError(f"the jax backend has no variant {variant!r}", hint=hint)
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        self._variant = variant
        self._catalog = catalog or load(user_folders())
        self._kept: tuple[Case, Call] | None = None
        self.name = _address(variant)
        self.version = f"jax {jax.__version__}, XLA on the CPU, {_SAYS[variant]}"

    def configured(self, choice: Mapping[str, str]) -> Jax:
        """Return the same backend with jit on or off. Raises UsageError for another option."""
        jit = choice.get("jit", "on")
        if set(choice) - {"jit"} or jit not in self.options["jit"]:
            raise UsageError("jax has one option, jit", hint="one of on, off")
        return Jax("eager" if jit == "off" else "", catalog=self._catalog)

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME)

    def support(self, case: Case) -> Declined | None:
        """Decline types that XLA has not, and what its function cannot be asked."""
        if declined := cannot_call(self._catalog, RUNTIME, (CAST, ARANGE), case, TYPES):
            return declined
        for dtype in (t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)):
            if reason := _unknown(_name(dtype)):
                return Declined(reason, missing=True)
        if ("input", "fed") in case.setting and self._variant == "const":
            return Declined(f"{self.name} has constants as inputs")
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type. Or make a
        sequence, from three numbers.

        What XLA has no code for is Declined, whatever else it raises is Refused.
        """
        import jax

        if function_of(self._catalog, RUNTIME, case) == ARANGE:
            return self._sequence(case, inputs)
        array = _array(case.inputs[0], inputs[0])
        try:
            result = np.asarray(self._call(case)(array))
        except jax.errors.JaxRuntimeError as error:
            words = " ".join(str(error).split())
            unknown = words.startswith("UNIMPLEMENTED")
            return Declined(words, missing=True) if unknown else Refused(words)
        return Outputs((_codes(case.outputs[0], result),), (self._type_name(case, result),))

    def _sequence(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Call jnp.arange with Python's numbers: it takes no others where it is compiled."""
        import jax
        from jax import numpy as jnp

        dtype = _numpy_type(case.outputs[0])
        try:
            call = partial(jnp.arange, *numbers_of(case, inputs), dtype=dtype)
            made = jax.eval_shape(call)
            if too_large(made.shape, ()):
                return Oversized((made.shape,), (self._type_name(case, made),))
            result = np.asarray(call() if self._variant == "eager" else jax.jit(call)())
        except (ValueError, TypeError, ArithmeticError, jax.errors.JaxRuntimeError) as error:
            return Refused(" ".join(f"{type(error).__name__}: {error}".split()))
        return Outputs((_codes(case.outputs[0], result),), (self._type_name(case, result),))

    def _call(self, case: Case) -> Call:
        """Return a case's call, compiled once for each shape; the last case's is kept."""
        if self._kept is None or self._kept[0] != case:
            self._kept = (case, self._made(case))
        return self._kept[1]

    def _made(self, case: Case) -> Call:
        import jax

        setting = dict(case.setting)
        casts = partial(_casts, case.hops or (case,), setting.get("middle") == "exposed")
        if setting.get("jit") == "off" or self._variant == "eager":
            return lambda array: casts(jax.device_put(array))[0]
        if setting.get("input") == "constant" or self._variant == "const":
            return lambda array: jax.jit(lambda: casts(array))()[0]
        compiled = jax.jit(casts)
        return lambda array: compiled(array)[0]

    def _type_name(self, case: Case, result: NDArray[Any] | jax.ShapeDtypeStruct) -> str:
        """Return convcheck's name of an array's type; numpy's of another than the case's."""
        due = case.outputs[0]
        return due.name if result.dtype == _numpy_type(due) else str(result.dtype)


@cache
def _unknown(name: str) -> str:
    """Return why XLA takes no array of a type of numpy's; '' for one that it takes."""
    import jax

    try:
        jax.device_put(np.zeros((), np.dtype(name)))
    except jax.errors.JaxRuntimeError as error:
        return " ".join(str(error).split())
    return ""


def _casts(hops: Sequence[Case], exposed: bool, array: Any) -> list[jax.Array]:
    """Make casts one after the other: the last result first, then those that are to be seen."""
    from jax import lax

    made: list[jax.Array] = []
    for hop in hops:
        array = lax.convert_element_type(array, _numpy_type(hop.outputs[0]))
        made = [array, *made] if exposed else [array]
    return made


def _array(dtype: DType, bits: Bits) -> NDArray[Any]:
    """View codes as numpy's type."""
    array: NDArray[Any] = np.ascontiguousarray(bits, dtype.format.storage).reshape(bits.shape)
    return array.view(_numpy_type(dtype))


def _codes(dtype: DType, array: NDArray[Any]) -> Bits:
    codes: Bits = array.view(f"u{array.dtype.itemsize}")
    return codes


def _numpy_type(dtype: DType) -> np.dtype[Any]:
    return np.dtype(_name(dtype))


def _name(dtype: DType) -> str:
    return dtype.name_in(TYPES)


def _address(variant: str) -> str:
    return f"{RUNTIME}:{variant}" if variant else RUNTIME
