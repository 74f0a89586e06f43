"""MLX on the CPU: the functions in the specs' `calls`.

It has no 8-bit float type, but functions from and to 8-bit floats in byte arrays.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from convcheck.backends.library import ARANGE, Array, TensorLibrary, checked_choice, seen, words
from convcheck.backends.packing import too_large
from convcheck.numerics.format import Bool
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, DType

_BYTES = "fp8"  # the suffix of MLX's functions for 8-bit floats


class Mlx(TensorLibrary):
    """MLX on the CPU, eager or compiled."""

    runtime = "mlx"
    functions = ("astype", ARANGE)
    says: Mapping[str, str] = {"": "CPU, eager", "compile": "CPU, mx.compile"}
    options: Mapping[str, tuple[str, ...]] = {"compile": ("off", "on")}
    graphs = ("compile",)

    def _start(self) -> str:
        import mlx.core as mx

        mx.set_default_device(mx.cpu)
        self._kept: tuple[Case, Callable[[Array], list[Array]]] | None = None
        return str(mx.__version__)

    def configured(self, choice: Mapping[str, str]) -> "Mlx":
        """Return the backend with another value of `compile`. Raises UsageError."""
        compiles = checked_choice(self.runtime, self.options, choice)["compile"]
        return Mlx("compile" if compiles == "on" else "", catalog=self._catalog)

    def _cast(self, case: Case, array: Array) -> Array:
        import mlx.core as mx

        try:
            made = self._graph(case, array)
        except (ValueError, RuntimeError) as error:  # no values are read yet
            raise NotImplementedError(words(error)) from None
        mx.eval(made)
        return made[0]

    def _graph(self, case: Case, array: Array) -> list[Array]:
        import mlx.core as mx

        setting = dict(case.setting)
        compiles = setting.get("compile", "on" if self._variant else "off") == "on"
        casts: Callable[[Array], list[Array]] = partial(seen, case, cast=self._hop)
        if compiles and setting.get("input") == "constant":
            constant: list[Array] = mx.compile(lambda: casts(array))()
            return constant
        if self._kept is None or self._kept[0] != case:
            self._kept = (case, mx.compile(casts) if compiles else casts)
        return self._kept[1](array)

    def _hop(self, hop: Case, array: Array) -> Array:
        import mlx.core as mx

        source, target = hop.inputs[0], hop.outputs[0]
        if self._name_of(source) == _BYTES:
            return mx.from_fp8(array, dtype=self._type_of(target))
        if self._name_of(target) == _BYTES:
            return mx.to_fp8(array)
        return array.astype(self._type_of(target))

    def _arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        import mlx.core as mx

        made = mx.arange(start, stop, step, dtype=self._type_of(case.outputs[0]))
        if not too_large(made.shape, ()):
            mx.eval(made)
        return made

    def _type_of(self, dtype: DType) -> Any:
        import mlx.core as mx

        name = self._name_of(dtype)
        return mx.uint8 if name == _BYTES else getattr(mx, name)

    def _array(self, dtype: DType, bits: Bits) -> Array:
        import mlx.core as mx

        codes: Any = np.asarray(bits, dtype.format.storage, order="C")
        if isinstance(dtype.format, Bool):
            return mx.array(codes.view(np.bool_))
        return mx.array(codes).view(self._type_of(dtype))

    def _codes(self, dtype: DType, array: Array) -> Bits:
        import mlx.core as mx

        if array.dtype == mx.bool_:
            codes: Bits = np.array(array).view(np.uint8)
            return codes
        return np.array(array.view(getattr(mx, f"uint{8 * array.itemsize}")))
