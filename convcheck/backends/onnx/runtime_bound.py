"""Run ONNX Runtime repeatedly on two bound buffers, without new tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from convcheck.backends.onnx.model import input_names, output_names, tensor_type_number
from convcheck.backends.packing import is_packed, pack, unpack_into
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric, Text

if TYPE_CHECKING:
    from convcheck.backends.protocol import Answer, Bound
    from convcheck.rules.model import Case

Classes = Any  # onnxruntime's module of classes
Session = Any  # InferenceSession


def can_bind(case: Case, codes: Codes, out: Codes) -> bool:
    """Return whether a case of one input and output can run on two buffers of equal shape.

    Texts cannot, nor buffers that are empty, read-only, not contiguous, or of a wrong storage type.
    """
    types = (*case.inputs, *case.outputs)
    if len(case.inputs) != 1 or len(case.outputs) != 1 or codes.shape != out.shape:
        return False
    if not codes.size or any(isinstance(dtype.format, Text) for dtype in types):
        return False
    both = zip(types, (codes, out), strict=True)
    fit = all(a.dtype == t.format.storage and a.flags.c_contiguous for t, a in both)
    return fit and out.flags.writeable


def bind(
    classes: Classes, session: Session, case: Case, codes: Codes, out: Codes, again: Bound
) -> Bound:
    """Bind buffers that `can_bind`. A run that raises returns the result of `again`.

    The returned function keeps the session and the buffers alive.
    """
    source, target = (cast(Numeric, t.format) for t in (case.inputs[0], case.outputs[0]))
    given = pack(source, codes) if is_packed(source) else codes
    memory = pack(target, np.zeros_like(out)) if is_packed(target) else out
    run = _runner(classes, session, case, codes.shape, given, memory)

    def convert() -> Answer | None:
        if given is not codes:
            np.copyto(given, pack(source, codes))
        if memory is not out:
            # what a kernel does not write cannot pass for the last answer
            np.invert(memory, out=memory)
        try:
            run()
        except Exception:  # onnxruntime's exceptions share no other base class
            return again()
        if memory is not out:
            unpack_into(target, memory, out)
        return None

    return convert


def _runner(
    classes: Classes,
    session: Session,
    case: Case,
    shape: tuple[int, ...],
    given: Codes,
    memory: Codes,
) -> Callable[[], None]:
    (source,), (target,) = input_names(case), output_names(case)
    numbers = tensor_type_number(case.inputs[0]), tensor_type_number(case.outputs[0])
    device = classes.OrtDevice(classes.OrtDevice.cpu(), classes.OrtDevice.default_memory(), 0)
    binding = classes.SessionIOBinding(session)  # binds addresses and keeps no array alive
    binding.bind_input(source, device, numbers[0], shape, given.ctypes.data)
    binding.bind_output(target, device, numbers[1], shape, memory.ctypes.data)
    return partial(session.run_with_iobinding, binding, None)
