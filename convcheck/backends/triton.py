"""Triton's interpreter, in numpy: a kernel that casts torch tensors on the CPU.

Compiled kernels on a GPU can answer differently.
"""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from convcheck.backends.library import Array, TensorLibrary, words
from convcheck.backends.process.standalone import Fed, TorchServer
from convcheck.errors import UnavailableError
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, DType

_INTERPRET = "TRITON_INTERPRET"  # has to be set before triton is imported
_BLOCK = 1024  # elements per program, repeated in the kernel

tl: Any = None  # triton.language once imported, a global that the kernel uses


def _cast_kernel(source, target, count):  # type: ignore[no-untyped-def]
    index = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    values = tl.load(source + index, mask=index < count)
    tl.store(target + index, values.to(target.dtype.element_ty), mask=index < count)


class Triton(TensorLibrary):
    """Triton's interpreter, with torch's types."""

    runtime, types = "triton", "torch"
    functions = ("cast",)
    says: Mapping[str, str] = {"": "interpreter on the CPU"}

    def _start(self) -> str:
        os.environ[_INTERPRET] = "1"
        import triton

        if not triton.knobs.runtime.interpret:
            hint = f"set {_INTERPRET}=1"
            raise UnavailableError("triton was imported without its interpreter", hint=hint)
        self._torch = TorchServer("")
        return str(triton.__version__)

    def _cast(self, case: Case, array: Array) -> Array:
        import torch
        import triton

        target = torch.empty(array.shape, dtype=self._type_of(case.outputs[0]))
        count = array.numel()
        if not count:  # an empty grid is invalid
            return target
        try:
            with np.errstate(all="ignore"):  # the result is judged
                _kernel()[(triton.cdiv(count, _BLOCK),)](array, target, count)
        except (OverflowError, FloatingPointError):
            raise
        except Exception as error:
            cause = error.__cause__ or error
            said = f"{type(cause).__name__}: {words(cause)[-300:]}"
            raise NotImplementedError(said) from None
        return target

    def _type_of(self, dtype: DType) -> Any:
        return self._torch.type_of(self._name_of(dtype))

    def _array(self, dtype: DType, bits: Bits) -> Array:
        codes = np.array(bits, dtype.format.storage)
        width = 8 * codes.itemsize
        return self._torch.tensor(Fed(self._name_of(dtype), width, bits.shape, codes))

    def _codes(self, dtype: DType, array: Array) -> Bits:
        codes: Bits = self._torch.codes(array)
        return codes


@cache
def _kernel() -> Any:
    global tl
    import triton
    import triton.language

    tl = triton.language
    return triton.jit(_cast_kernel)
