"""Backends that quantise float32 to int8 and float8e4m3fn in numpy, with one fault."""

import numpy as np
from ml_dtypes import float8_e4m3fn

from convcheck.backends.protocol import Declined, Outputs

WRONG = 0xC123_4567


class Right:
    name, version = "planted", "1"

    def support(self, case):
        kinds = tuple(t.name for t in case.inputs)
        known = case.op == "onnx.QuantizeLinear" and kinds[:2] == ("float32", "float32")
        return None if known and not case.fixed else Declined("another question")

    def answer(self, case, inputs):
        with np.errstate(all="ignore"):
            x, scale = (tensor.view(np.float32) for tensor in inputs[:2])
            return Outputs((self.quantized(case, inputs, self.quotient(x, scale)),),
                           (case.outputs[0].name,))  # fmt: skip

    def quotient(self, x, scale):
        return x / scale

    def quantized(self, case, inputs, quotient):
        if case.outputs[0].name == "int8":
            shifted = np.rint(quotient) + inputs[2].view(np.int8).astype(np.float32)
            whole = np.nan_to_num(np.clip(shifted, -128, 127)).astype(np.int8)
            return whole.view(np.uint8)
        clipped = np.clip(quotient, -448, 448) if case.attribute("saturate") == 1 else quotient
        return clipped.astype(float8_e4m3fn).view(np.uint8)


class WrongOnce(Right):
    def quantized(self, case, inputs, quotient):
        codes = super().quantized(case, inputs, quotient)
        return np.where(inputs[0] == WRONG, codes ^ 1, codes).astype(np.uint8)


class Reciprocal(Right):
    def quotient(self, x, scale):
        return x * (np.float32(1) / scale)
