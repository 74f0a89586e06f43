"""JAX: the functions in the specs' `calls`, compiled by XLA for the CPU.

`jax` compiles with the array as an argument, `jax:const` as a constant, which XLA folds.
`jax:eager` does not compile.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from convcheck.backends.library import ARANGE, Array, NumpyTypes, checked_choice, seen, words
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Declined
from convcheck.rules.model import Case


class Jax(NumpyTypes):
    """JAX on the CPU, with 64-bit types enabled."""

    runtime = "jax"
    functions = ("convert_element_type", ARANGE)
    refusals = (RuntimeError,)  # base class of JaxRuntimeError
    says: Mapping[str, str] = {
        "": "XLA on the CPU, jit, arrays as arguments",
        "eager": "XLA on the CPU, no jit, one primitive after the other",
        "const": "XLA on the CPU, jit, arrays as constants",
    }
    options: Mapping[str, tuple[str, ...]] = {"jit": ("on", "off")}
    graphs = ("jit",)

    def _start(self) -> str:
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        self._kept: tuple[Case, Callable[[Array], Array]] | None = None
        return str(jax.__version__)

    def configured(self, choice: Mapping[str, str]) -> "Jax":
        """Return the backend with another value of `jit`. Raises UsageError."""
        jit = checked_choice(self.runtime, self.options, choice)["jit"]
        return Jax("eager" if jit == "off" else "", catalog=self._catalog)

    def support(self, case: Case) -> Declined | None:
        """Decline types that XLA lacks, and calls that its function lacks."""
        if declined := super().support(case):
            return declined
        for dtype in (t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)):
            if reason := _unknown(self._type_of(dtype)):
                return Declined(reason, missing=True)
        if ("input", "fed") in case.setting and self._variant == "const":
            return Declined(f"{self.name} has constants as inputs")
        return None

    def _cast(self, case: Case, array: Array) -> Array:
        if self._kept is None or self._kept[0] != case:
            self._kept = (case, self._compiled(case))
        try:
            return np.asarray(self._kept[1](array))
        except RuntimeError as error:
            if words(error).startswith("UNIMPLEMENTED"):
                raise NotImplementedError(str(error)) from None
            raise

    def _compiled(self, case: Case) -> Callable[[Array], Array]:
        import jax

        setting, types = dict(case.setting), self._type_of
        converts = jax.lax.convert_element_type
        casts = partial(seen, case, cast=lambda hop, it: converts(it, types(hop.outputs[0])))
        if setting.get("jit") == "off" or self._variant == "eager":
            return lambda array: casts(jax.device_put(array))[0]
        if setting.get("input") == "constant" or self._variant == "const":
            return lambda array: jax.jit(lambda: casts(array))()[0]
        compiled = jax.jit(casts)
        return lambda array: compiled(array)[0]

    def _arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        import jax
        from jax import numpy as jnp

        call = partial(jnp.arange, start, stop, step, dtype=self._type_of(case.outputs[0]))
        made = jax.eval_shape(call)
        if too_large(made.shape, ()):
            return made
        return np.asarray(call() if self._variant == "eager" else jax.jit(call)())


@cache
def _unknown(dtype: np.dtype[Any]) -> str:
    """Return why XLA takes no array of a numpy type, or ''."""
    import jax

    try:
        jax.device_put(np.zeros((), dtype))
    except jax.errors.JaxRuntimeError as error:
        return words(error)
    return ""
