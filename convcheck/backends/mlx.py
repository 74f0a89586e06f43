"""MLX on the CPU as a backend: its functions, as the specs' `calls` say.

Codes go in and come out by views of the storage. Its eight-bit float is no type: it has functions
from and to it, on arrays of bytes; here they stand for a conversion from and to that type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from convcheck.backends.calls import cannot_call, function_of, numbers_of
from convcheck.backends.installed import release_of
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Bool
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

if TYPE_CHECKING:
    import mlx.core as mx

RUNTIME = "mlx"  # its column in specs/dtypes.yaml and its key in `calls`
CAST, ARANGE = "astype", "arange"
_BYTES = "fp8"  # no type of MLX, but what its functions of that name are about

Call = Callable[..., list["mx.array"]]


class Mlx:
    """MLX on the CPU, eager, or compiled where it is configured so."""

    name = RUNTIME
    #: What may be asked of it, and with which values.
    options: Mapping[str, tuple[str, ...]] = {"compile": ("off", "on")}
    #: The options that tell what becomes of a graph.
    graphs = ("compile",)

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for an unknown variant, ImportError where MLX is not installed.
        """
        if variant not in ("", "compile"):
            said = f"the mlx backend has no variant {variant!r}"
            raise UsageError(said, hint="one of mlx, mlx:compile")
        import mlx.core as mx

        mx.set_default_device(mx.cpu)
        self._compiles = bool(variant)
        self._catalog = catalog or load(user_folders())
        self._kept: tuple[Case, Call] | None = None
        self.name = f"{RUNTIME}:{variant}" if variant else RUNTIME
        self.version = f"mlx {mx.__version__}, CPU, {'mx.compile' if variant else 'eager'}"

    def configured(self, choice: Mapping[str, str]) -> Mlx:
        """Return the same backend, compiling or not. Raises UsageError for another option."""
        value = choice.get("compile", "off")
        if set(choice) - {"compile"} or value not in self.options["compile"]:
            raise UsageError("mlx has one option, compile", hint="one of off, on")
        return Mlx("compile" if value == "on" else "", catalog=self._catalog)

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME)

    def support(self, case: Case) -> Declined | None:
        """Decline types that MLX has not, and what its function cannot be asked."""
        return cannot_call(self._catalog, RUNTIME, (CAST, ARANGE), case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type. Or make a
        sequence, from three numbers.

        What MLX raises as it makes the graph is Declined, what it raises on values Refused.
        """
        import mlx.core as mx

        if function_of(self._catalog, RUNTIME, case) == ARANGE:
            return _sequence(case, inputs)
        array = _array(case.inputs[0], inputs[0])
        try:
            made = self._call(case, array)
        except (ValueError, RuntimeError) as error:
            return Declined(" ".join(str(error).split()), missing=True)
        try:
            mx.eval(made)
        except (ValueError, RuntimeError) as error:
            return Refused(" ".join(str(error).split()))
        return Outputs((_codes(made[0]),), (_type_name(case, made[0]),))

    def _call(self, case: Case, array: mx.array) -> list[mx.array]:
        import mlx.core as mx

        setting = dict(case.setting)
        compiles = setting.get("compile", "on" if self._compiles else "off") == "on"
        if self._kept is None or self._kept[0] != case:
            casts = partial(_casts, case, setting.get("middle") == "exposed")
            self._kept = (case, mx.compile(casts) if compiles else casts)
        call = self._kept[1]
        if setting.get("input") == "constant" and compiles:
            constant = partial(_casts, case, setting["middle"] == "exposed", array)
            return cast(Call, mx.compile(constant))()
        return call(array)


def _sequence(case: Case, inputs: Sequence[Bits]) -> Answer:
    """Call mx.arange with Python's numbers; a sequence that is too large is not made."""
    import mlx.core as mx

    try:
        made = mx.arange(*numbers_of(case, inputs), dtype=_type(case.outputs[0]))
        if too_large(made.shape, ()):
            return Oversized((made.shape,), (_type_name(case, made),))
        mx.eval(made)
    except (ValueError, RuntimeError, OverflowError) as error:
        return Refused(" ".join(str(error).split()))
    return Outputs((_codes(made),), (_type_name(case, made),))


def _type_name(case: Case, made: mx.array) -> str:
    """Return convcheck's name of an array's type; MLX's of another than the case's."""
    due = case.outputs[0]
    return due.name if made.dtype == _type(due) else str(made.dtype)


def _casts(case: Case, exposed: bool, array: mx.array) -> list[mx.array]:
    """Make casts one after the other: the last result first, then those that are to be seen."""
    made: list[mx.array] = []
    for hop in case.hops or (case,):
        array = _cast(hop.inputs[0], hop.outputs[0], array)
        made = [array, *made] if exposed else [array]
    return made


def _cast(source: DType, target: DType, array: mx.array) -> mx.array:
    import mlx.core as mx

    if source.name_in(RUNTIME) == _BYTES:
        return mx.from_fp8(array, dtype=_type(target))
    if target.name_in(RUNTIME) == _BYTES:
        return mx.to_fp8(array)
    return array.astype(_type(target))


def _array(dtype: DType, bits: Bits) -> mx.array:
    """View a copy of codes as an array of the type."""
    import mlx.core as mx

    codes: Any = np.ascontiguousarray(bits, dtype.format.storage).reshape(bits.shape)
    if isinstance(dtype.format, Bool):
        return mx.array(codes.view(np.bool_))
    return mx.array(codes).view(_type(dtype))


def _codes(array: mx.array) -> Bits:
    """View an array's memory as codes."""
    import mlx.core as mx

    if array.dtype == mx.bool_:
        codes: Bits = np.array(array).view(np.uint8)
        return codes
    return np.array(array.view(getattr(mx, f"uint{8 * array.itemsize}")))


def _type(dtype: DType) -> mx.Dtype:
    import mlx.core as mx

    name = dtype.name_in(RUNTIME)
    return mx.uint8 if name == _BYTES else getattr(mx, name)
