"""PyTorch as a backend: its functions in the place of operators, as the specs' `calls` say.

Bits go in and come out by views of the storage; no value is converted here. PyTorch has no
operators with attributes: a question that its function cannot be asked is declined.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.backends.library import ARANGE, TensorLibrary, checked_choice, words
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.model import Case, DType
from convcheck.wording import plural

if TYPE_CHECKING:
    import torch

_NO_KERNEL = re.compile(r'"\w+" not implemented for ')
RUNTIME = "torch"  # its column in specs/dtypes.yaml and its key in `calls`


class Torch(TensorLibrary):
    """PyTorch on the CPU, eager, one thread unless it is configured otherwise."""

    runtime = RUNTIME
    functions = ("to", "result_type", ARANGE)
    says: Mapping[str, str] = {"": "CPU, 1 thread"}
    #: What may be asked of it, and with which values.
    options: Mapping[str, tuple[str, ...]] = {"threads": ("1", "2", "4")}
    imports = ("torch",)

    def start(self) -> str:
        """Import torch."""
        import torch

        self._set_threads, self._threads = torch.set_num_threads, 1
        return str(torch.__version__)

    def configured(self, choice: Mapping[str, str]) -> Torch:
        """Return the same backend with other threads. Raises UsageError for another option."""
        other = copy.copy(self)
        other._threads = int(checked_choice(self.runtime, self.options, choice)["threads"])
        threads = plural(other._threads, "thread")
        other.version = f"{self.version.rpartition(', ')[0]}, {threads}"
        return other

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Call the function on tensors of the inputs' bits, shapes kept.

        What torch does not implement is Declined, whatever else it raises is Refused.
        """
        function = FUNCTIONS[self.function_of(case)]
        self._set_threads(self._threads)  # torch has one number for the whole process
        tensors = [torch_tensor(t, bits) for t, bits in zip(case.inputs, inputs, strict=True)]
        try:
            results = function(case, tensors)
        except NotImplementedError as error:
            return Declined(words(error), missing=True)
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            return from_call(str(error))
        names = tuple(self._type_name(result) for result in results)
        shapes = tuple(tuple(result.shape) for result in results)
        if any(too_large(shape, inputs) for shape in shapes):
            return Oversized(shapes, names)
        return Outputs(tuple(torch_codes(result) for result in results), names)

    def _type_name(self, tensor: torch.Tensor) -> str:
        """Return convcheck's name of a tensor's type; torch's of an unknown one."""
        dtype = self._names.get(tensor.dtype)
        return dtype.name if dtype else str(tensor.dtype)

    @cached_property
    def _names(self) -> dict[torch.dtype, DType]:
        types = self._catalog.types.types.values()
        return {torch_type(dtype): dtype for dtype in types if dtype.name_in(RUNTIME)}


Function = Callable[[Case, "Sequence[torch.Tensor]"], "list[torch.Tensor]"]


def _to(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Tensor.to: the first input as the output type; a second one would only name that type."""
    return [tensors[0].to(torch_type(case.outputs[0]))]


def _result_type(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """torch.result_type of two tensors, which looks at types and ranks, and both as that type."""
    import torch

    try:
        common = torch.result_type(tensors[0], tensors[1])
    except RuntimeError as error:  # no values were looked at: "Promotion for … is not supported"
        raise NotImplementedError(str(error)) from error
    return [tensor.to(common) for tensor in tensors]


def _arange(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """torch.arange of Python numbers, which hold every value of the input types exactly.

    A sequence that is too large is asked on the meta device, which has shapes and no values.
    """
    import torch

    start, stop, step = (tensor.item() for tensor in tensors)
    kind = torch_type(case.outputs[0])
    device = "meta" if too_large((_about(start, stop, step),), ()) else "cpu"
    return [torch.arange(start, stop, step, dtype=kind, device=device)]


FUNCTIONS: Mapping[str, Function] = {"to": _to, "result_type": _result_type, "arange": _arange}


def _about(start: float, stop: float, step: float) -> int:
    """Estimate the length of a sequence; 0 where there is none to be had."""
    try:
        return math.ceil(abs((stop - start) / step))
    except (ValueError, OverflowError, ZeroDivisionError):  # NaN, infinity, step 0
        return 0


def torch_type(dtype: DType) -> torch.dtype:
    """Return torch's type of the name that dtypes.yaml has."""
    import torch

    return cast("torch.dtype", getattr(torch, dtype.name_in(RUNTIME)))


def torch_tensor(dtype: DType, bits: Bits) -> torch.Tensor:
    """View a fresh copy of codes as a tensor of the type; torch shares numpy's memory."""
    import torch

    codes = np.array(bits, dtype.format.storage, order="C")
    return torch.from_numpy(codes).view(torch_type(dtype))


def torch_codes(tensor: torch.Tensor) -> Codes:
    """View a tensor's memory as codes."""
    import torch

    storage: torch.dtype = getattr(torch, f"uint{8 * tensor.itemsize}")
    codes: Codes = tensor.contiguous().view(storage).numpy()
    return codes


def from_call(message: str) -> Refused | Declined:
    """Judge why a call failed: there is no such kernel, or it refused these values. Old releases
    (2.7.1 is one) raise the same error for either.
    """
    text = " ".join(message.split())
    return Declined(text, missing=True) if _NO_KERNEL.match(text) else Refused(text)
