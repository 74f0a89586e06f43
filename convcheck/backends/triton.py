"""Triton's interpreter as a backend: a kernel that casts, as the specs' `calls` say.

The interpreter runs kernels in numpy, on tensors of torch on the CPU: what it answers is not what
compiled kernels answer on a GPU. Its types are torch's, which a kernel's pointers have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from convcheck.backends.calls import cannot_call
from convcheck.backends.installed import release_of
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.torch import torch_codes, torch_tensor, torch_type
from convcheck.errors import UnavailableError, UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, Spec

RUNTIME = "triton"  # its key in `calls`
TYPES = "torch"  # the column of its types in specs/dtypes.yaml
FUNCTION = "cast"
_INTERPRET = "TRITON_INTERPRET"  # has to be set before triton is imported
_BLOCK = 1024  # elements that one program of the kernel converts: stands in the kernel as well

tl: Any = None  # triton.language, once it is imported: a kernel finds it beside itself


def _cast_kernel(source, target, count):  # type: ignore[no-untyped-def]
    """Convert the elements of one tensor into another; a kernel in Triton's language."""
    index = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    values = tl.load(source + index, mask=index < count)
    tl.store(target + index, values.to(target.dtype.element_ty), mask=index < count)


class Triton:
    """Triton's interpreter, on the CPU."""

    name = RUNTIME

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for a variant, of which there are none, ImportError where Triton or torch
        is not installed, and UnavailableError where Triton was imported to compile.
        """
        if variant:
            raise UsageError(f"{RUNTIME} has no variant {variant!r}", hint=f"write {RUNTIME}")
        os.environ[_INTERPRET] = "1"
        import triton

        if not triton.knobs.runtime.interpret:
            hint = f"set {_INTERPRET}=1"
            raise UnavailableError("triton was imported without its interpreter", hint=hint)
        self.version = f"triton {triton.__version__}, interpreter on the CPU"
        self._catalog = catalog or load(user_folders())

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME)

    def support(self, case: Case) -> Declined | None:
        """Decline types that torch has not, and what Triton's function cannot be asked."""
        return cannot_call(self._catalog, RUNTIME, (FUNCTION,), case, TYPES)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type.

        A kernel that Triton does not take is Declined, what it raises on values Refused.
        """
        import torch
        import triton

        source = torch_tensor(case.inputs[0], inputs[0])
        target = torch.empty(source.shape, dtype=torch_type(case.outputs[0]))
        count = source.numel()
        if count:  # an empty grid is none
            try:
                with np.errstate(
                    all="ignore"
                ):  # numpy's warnings are no noise: the bits are judged
                    _kernel()[(triton.cdiv(count, _BLOCK),)](source, target, count)
            except (OverflowError, FloatingPointError) as error:
                return Refused(_words(error))
            except Exception as error:  # the interpreter raises whatever numpy and Python raise
                return Declined(_words(error), missing=True)
        return Outputs((torch_codes(target),), (case.outputs[0].name,))


@cache
def _kernel() -> Any:
    global tl
    import triton
    import triton.language

    tl = triton.language
    return triton.jit(_cast_kernel)


def _words(error: Exception) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {' '.join(str(cause).split())[-300:]}"
