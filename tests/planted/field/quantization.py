"""Publicly reported wrong quantisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from planted.quantize_bugs import (
    Asked,
    Floats,
    Way,
    as_int8,
    axis_before,
    by_reciprocal,
    difference_wraps,
    first,
    first_only,
    interleaved,
    magnitude,
    narrowed,
    per_axis,
    rounded_sum,
    saturated,
    symmetric,
    ties_away,
    ties_up,
    wrapped,
    wraps_in,
)

from convcheck.numerics.codes import Bits

Numbers = Sequence[float]


@dataclass(frozen=True)
class Example:
    """A call with its wrong answer, from the report or else from its code."""

    x: Numbers
    scale: Numbers
    zero: Numbers | None
    gave: Numbers
    #: The shapes of x and of the scale; None for one scale.
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    #: Attributes that differ from the case's.
    said: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QuantizationBug:
    name: str
    case: str
    link: str
    says: str
    way: Way
    example: Example


def low_bits_unseen(quotients: Floats, p: Asked) -> Bits:
    codes = quotients.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFC000)
    return narrowed(codes.view(np.float32).astype(np.float64), p)


def held_by_int32(quotients: Floats) -> Floats:
    return np.clip(np.rint(quotients), -(2.0**31), 2.0**31 - 1)


GITHUB = "https://github.com/"
INT8 = "onnx.QuantizeLinear-{}/float32-float32-int8/tensor"
UINT8 = "onnx.QuantizeLinear-{}/float32-float32-uint8/tensor"
FLOAT8 = "onnx.QuantizeLinear-19/float32-float32-float8e4m3fn/tensor/saturate=1"
BACK = "onnx.DequantizeLinear-{}/int8-float32-int8/{}"

BUGS = (
    QuantizationBug(
        "float16 is truncated",
        "onnx.QuantizeLinear-19/float16-float16-int8/tensor",
        GITHUB + "microsoft/onnxruntime/pull/32452",
        "The quotient of two float16 was cast to int32: 2,041 of 4,096 values were one off.",
        Way(rounds=np.trunc),
        Example([0.050018310546875, -0.050018310546875], [0.0999755859375], [0], [0, 0]),
    ),
    QuantizationBug(
        "ties away from zero to 8 bits",
        UINT8.format(13),
        GITHUB + "sonos/tract/pull/2850",
        "`f32::round` rounds ties away from zero.",
        Way(rounds=ties_away),
        Example([0.25, 0.75, 1.25, 1.75], [0.5], [0], [1, 2, 3, 4]),
    ),
    QuantizationBug(
        "-128 is never reached",
        INT8.format(10),
        GITHUB + "microsoft/onnxruntime/issues/3442",
        "int8 saturated to -127.",
        Way(fit=symmetric),
        Example([-129, -128, -127], [1], [0], [-127, -127, -127]),
    ),
    QuantizationBug(
        "saturated before the zero point is added",
        UINT8.format(13),
        GITHUB + "Xilinx/onnx-mlir/pull/96",
        "saturate(x / y_scale) + y_zero_point was computed.",
        Way(add=lambda w, p: saturated(w, p) + p.zero, fit=wrapped),
        Example([300], [1], [5], [4]),
    ),
    QuantizationBug(
        "rounded after the zero point is added",
        INT8.format(13),
        GITHUB + "Xilinx/onnx-mlir/pull/138",
        "The quotient was not rounded before the zero point was added.",
        Way(rounds=lambda q: q, add=rounded_sum),
        Example([0.5, 2.5], [1], [1], [2, 4]),
    ),
    QuantizationBug(
        "wraps round, to int8",
        INT8.format(21),
        GITHUB + "Xilinx/onnx-mlir/pull/145",
        "What int8 does not hold was cast to it without a clamp.",
        Way(fit=wrapped),
        Example([200], [1], [0], [-56]),
    ),
    QuantizationBug(
        "the magnitude of a negative number, to uint8",
        UINT8.format(10),
        GITHUB + "tenstorrent/tt-metal/issues/56290",
        "The instruction drops the sign: -50 gave 50.",
        Way(add=magnitude),
        Example([-50, -10], [1], [0], [50, 10]),
    ),
    QuantizationBug(
        "product with the reciprocal, ties up behind the zero point",
        INT8.format(23),
        GITHUB + "tenstorrent/tt-metal/issues/56525",
        "x * (1 / scale) + zero point in one instruction, then rounded with ties towards +Inf.",
        Way(divide=by_reciprocal, rounds=lambda q: q, add=lambda q, p: ties_up(q + p.zero)),
        Example([0.5, -1.5], [1], [0], [1, -1]),
    ),
    QuantizationBug(
        "the scale and zero point of the first channel",
        BACK.format(13, "axis"),
        GITHUB + "sonos/tract/pull/2849",
        "Only the first element of y_scale and of y_zero_point was read.",
        Way(meet=first_only),
        Example(
            [1, 1, 1, 4, 4, 4], [0.5, 2, 10], [0, 1, -1], [0.5, 0.5, 0.5, 2, 2, 2], ((2, 3), (3,))
        ),
    ),
    QuantizationBug(
        "a negative axis is one too early",
        "onnx.QuantizeLinear-13/float32-float32-int8/axis-negative",
        GITHUB + "apple/coreai-torch/pull/24",
        "axis + rank - 1 was taken for a negative axis.",
        Way(meet=axis_before),
        Example(
            [1, 1, 1, 1], [0.25, 0.5], [0, 0], [4, 4, 2, 2], ((2, 2, 1), (2,)), {"axis": -2}
        ),
    ),
    QuantizationBug(
        "elements of blocks interleaved",
        BACK.format(21, "blocks/block_size=3"),
        GITHUB + "openvinotoolkit/openvino/pull/32918",
        "The tensor was reshaped to block_size x blocks in place of blocks x block_size.",
        Way(meet=interleaved),
        Example(
            [9] * 8, [1, 2, 3, 4], [1, 2, 3, 4], [8, 14, 8, 14, 18, 20, 18, 20],
            ((2, 4), (2, 2)), {"block_size": 2},
        ),
    ),
    QuantizationBug(
        "blocks of a vector are taken for an axis",
        BACK.format(21, "blocks-1d/axis=0/block_size=3"),
        GITHUB + "microsoft/onnxruntime/issues/32730",
        "Where x has one dimension, element i met scale i; behind the last scale 0 was read.",
        Way(meet=per_axis, meet_zero=per_axis),
        Example(
            [10, 20, 30, 40, 50, 60, 70, 80], [0.5, 2], [0, 10], [5, 20, 0, 0, 0, 0, 0, 0],
            ((8,), (2,)), {"block_size": 4},
        ),
    ),
    QuantizationBug(
        "the difference of two uint8 in 32 bits without a sign",
        "onnx.DequantizeLinear-10/uint8-float32-uint8/tensor",
        GITHUB + "microsoft/onnxruntime/issues/32578",
        "x and its zero point were subtracted as u32: below the zero point came 2^32 and less.",
        Way(subtract=difference_wraps(32)),
        Example([3, 0], [1], [128], [2.0**32, 2.0**32]),
    ),
    QuantizationBug(
        "the difference of two int8 in int8",
        BACK.format(10, "tensor"),
        GITHUB + "pytorch/executorch/pull/20655",
        "The zero point was subtracted while the tensor was still int8.",
        Way(subtract=difference_wraps(None)),
        Example([100], [0.5], [-100], [-28]),
    ),
    QuantizationBug(
        "the difference of two uint4 in 32 bits without a sign",
        "onnx.DequantizeLinear-21/uint4-float16-uint4/tensor",
        GITHUB + "tile-ai/tilelang/issues/2947",
        "The zero point was subtracted in the type of the storage: float16 gave Inf.",
        Way(subtract=difference_wraps(32)),
        Example([3, 7, 9], [1], [8], [np.inf, np.inf, 1]),
    ),
    QuantizationBug(
        "the sum overflows int32",
        UINT8.format(10),
        GITHUB + "pytorch/pytorch/pull/60079",
        "The quotient was converted to the nearest int32, and adding the zero point wrapped round.",
        Way(rounds=held_by_int32, add=wraps_in(32)),
        Example([2.0**32], [0.5], [1], [0]),
    ),
    QuantizationBug(
        "float8 of whole numbers",
        FLOAT8,
        GITHUB + "ROCm/AMDMIGraphX/pull/3819",
        "The quotient was rounded to a whole number before it was converted to float8.",
        Way(narrow=lambda q, p: narrowed(np.rint(q), p)),
        Example([0.625, 2.75], [1], [0], [1, 3]),
    ),
    QuantizationBug(
        "float8 ties without the last bits",
        FLOAT8,
        GITHUB + "microsoft/onnxruntime/issues/16938",
        "1.8131605 gave 1.75: what lies just above a tie was taken for one.",
        Way(narrow=low_bits_unseen),
        Example([1.8131605], [1], [0], [1.75]),
    ),
    QuantizationBug(
        "ties up from the low end of the range",
        INT8.format(13),
        GITHUB + "microsoft/onnxruntime/issues/25045",
        "FakeQuantize rounds the distance from the low end, ties away from zero.",
        Way(rounds=ties_up),
        Example([0.5, -1.5], [1], [0], [1, -1]),
    ),
    QuantizationBug(
        "the scale in the type of x",
        "onnx.QuantizeLinear-23/float16-float32-int8/tensor",
        GITHUB + "Comfy-Org/comfy-kitchen/pull/60",
        "A float32 scale was converted to the float16 of x, and small ones became 0.",
        Way(before=first("float16", "scale")),
        Example([2.0**-24], [1e-8], [0], [127]),
    ),
    QuantizationBug(
        "product with the reciprocal for speed",
        INT8.format(13),
        GITHUB + "vllm-project/vllm/pull/21136",
        "`mul` in place of `div`.",
        Way(divide=by_reciprocal),
        Example([175], [14], [0], [13]),
    ),
    QuantizationBug(
        "division as a product with the reciprocal",
        INT8.format(10),
        GITHUB + "tinygrad/tinygrad/pull/9301",
        "-2.5 by float32(5 / 255) gave -127.5 in place of -127.49999.",
        Way(divide=by_reciprocal),
        Example([-2.5], [5 / 255], [0], [-128]),
    ),
    QuantizationBug(
        "int8 where there is no zero point",
        "onnx.QuantizeLinear-10/float32-float32-to-uint8/tensor-default",
        GITHUB + "ooples/AiDotNet.Tensors/pull/193",
        "Without a zero point the range was that of int8.",
        Way(fit=as_int8),
        Example([200], [1], None, [127]),
    ),
)  # fmt: skip
