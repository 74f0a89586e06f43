# mybackend.py
import numpy as np

from convcheck.backends.protocol import Declined, Outputs

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
TYPES = {"float16", "float32", "float64", *INTEGERS}


class Numpy:
    name, version = "numpy", np.__version__

    def support(self, case):
        types = {dtype.name for dtype in (*case.inputs, *case.outputs)}
        if case.op != "onnx.Cast" or not types <= TYPES:
            return Declined("numpy has no such conversion", missing=True)
        return None

    def answer(self, case, inputs):  # codes in, codes out, in the shape that is asked
        source, target = case.inputs[0].name, case.outputs[0].name
        with np.errstate(all="ignore"):
            result = inputs[0].view(source).astype(target)
        return Outputs((result.view(f"uint{8 * result.itemsize}"),), (target,))
