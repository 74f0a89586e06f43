"""Publicly reported wrong quantisation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from planted.quantize_bugs import (
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
    case: str
    link: str
    way: Way
    example: Example


def low_bits_unseen(quotients, p):
    codes = quotients.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFC000)
    return narrowed(codes.view(np.float32).astype(np.float64), p)


def held_by_int32(quotients):
    return np.clip(np.rint(quotients), -(2.0**31), 2.0**31 - 1)


INT8 = "onnx.QuantizeLinear-{}/float32-float32-int8/tensor"
UINT8 = "onnx.QuantizeLinear-{}/float32-float32-uint8/tensor"
FLOAT8 = "onnx.QuantizeLinear-19/float32-float32-float8e4m3fn/tensor/saturate=1"
BACK = "onnx.DequantizeLinear-{}/int8-float32-int8/{}"

BUGS = {
    "float16 is truncated": QuantizationBug("onnx.QuantizeLinear-19/float16-float16-int8/tensor",
        "microsoft/onnxruntime/pull/32452", Way(rounds=np.trunc),
        Example([0.050018310546875, -0.050018310546875], [0.0999755859375], [0], [0, 0])),
    "ties away from zero to 8 bits": QuantizationBug(UINT8.format(13), "sonos/tract/pull/2850",
        Way(rounds=ties_away), Example([0.25, 0.75, 1.25, 1.75], [0.5], [0], [1, 2, 3, 4])),
    "-128 is never reached": QuantizationBug(INT8.format(10), "microsoft/onnxruntime/issues/3442",
        Way(fit=symmetric), Example([-129, -128, -127], [1], [0], [-127, -127, -127])),
    "saturated before the zero point is added": QuantizationBug(UINT8.format(13),
        "Xilinx/onnx-mlir/pull/96", Way(add=lambda w, p: saturated(w, p) + p.zero, fit=wrapped),
        Example([300], [1], [5], [4])),
    "rounded after the zero point is added": QuantizationBug(INT8.format(13),
        "Xilinx/onnx-mlir/pull/138", Way(rounds=lambda q: q, add=rounded_sum),
        Example([0.5, 2.5], [1], [1], [2, 4])),
    "wraps round, to int8": QuantizationBug(INT8.format(21), "Xilinx/onnx-mlir/pull/145",
        Way(fit=wrapped), Example([200], [1], [0], [-56])),
    "the magnitude of a negative number, to uint8": QuantizationBug(UINT8.format(10),
        "tenstorrent/tt-metal/issues/56290", Way(add=magnitude),
        Example([-50, -10], [1], [0], [50, 10])),
    "product with the reciprocal, ties up behind the zero point": QuantizationBug(INT8.format(23),
        "tenstorrent/tt-metal/issues/56525",
        Way(divide=by_reciprocal, rounds=lambda q: q, add=lambda q, p: ties_up(q + p.zero)),
        Example([0.5, -1.5], [1], [0], [1, -1])),
    "the scale and zero point of the first channel": QuantizationBug(BACK.format(13, "axis"),
        "sonos/tract/pull/2849", Way(meet=first_only), Example([1, 1, 1, 4, 4, 4], [0.5, 2, 10],
        [0, 1, -1], [0.5, 0.5, 0.5, 2, 2, 2], ((2, 3), (3,)))),
    "a negative axis is one too early": QuantizationBug(
        "onnx.QuantizeLinear-13/float32-float32-int8/axis-negative", "apple/coreai-torch/pull/24",
        Way(meet=axis_before),
        Example([1, 1, 1, 1], [0.25, 0.5], [0, 0], [4, 4, 2, 2], ((2, 2, 1), (2,)), {"axis": -2})),
    "elements of blocks interleaved": QuantizationBug(BACK.format(21, "blocks/block_size=3"),
        "openvinotoolkit/openvino/pull/32918", Way(meet=interleaved), Example([9] * 8, [1, 2, 3, 4],
        [1, 2, 3, 4], [8, 14, 8, 14, 18, 20, 18, 20], ((2, 4), (2, 2)), {"block_size": 2})),
    "blocks of a vector are taken for an axis": QuantizationBug(
        BACK.format(21, "blocks-1d/axis=0/block_size=3"), "microsoft/onnxruntime/issues/32730",
        Way(meet=per_axis, meet_zero=per_axis), Example([10, 20, 30, 40, 50, 60, 70, 80], [0.5, 2],
        [0, 10], [5, 20, 0, 0, 0, 0, 0, 0], ((8,), (2,)), {"block_size": 4})),
    "the difference of two uint8 in 32 bits without a sign": QuantizationBug(
        "onnx.DequantizeLinear-10/uint8-float32-uint8/tensor", "microsoft/onnxruntime/issues/32578",
        Way(subtract=difference_wraps(32)), Example([3, 0], [1], [128], [2.0**32, 2.0**32])),
    "the difference of two int8 in int8": QuantizationBug(BACK.format(10, "tensor"),
        "pytorch/executorch/pull/20655", Way(subtract=difference_wraps(None)),
        Example([100], [0.5], [-100], [-28])),
    "the difference of two uint4 in 32 bits without a sign": QuantizationBug(
        "onnx.DequantizeLinear-21/uint4-float16-uint4/tensor", "tile-ai/tilelang/issues/2947",
        Way(subtract=difference_wraps(32)), Example([3, 7, 9], [1], [8], [np.inf, np.inf, 1])),
    "the sum overflows int32": QuantizationBug(UINT8.format(10), "pytorch/pytorch/pull/60079",
        Way(rounds=held_by_int32, add=wraps_in(32)), Example([2.0**32], [0.5], [1], [0])),
    "float8 of whole numbers": QuantizationBug(FLOAT8, "ROCm/AMDMIGraphX/pull/3819",
        Way(narrow=lambda q, p: narrowed(np.rint(q), p)), Example([0.625, 2.75], [1], [0], [1, 3])),
    "float8 ties without the last bits": QuantizationBug(FLOAT8,
        "microsoft/onnxruntime/issues/16938", Way(narrow=low_bits_unseen),
        Example([1.8131605], [1], [0], [1.75])),
    "ties up from the low end of the range": QuantizationBug(INT8.format(13),
        "microsoft/onnxruntime/issues/25045", Way(rounds=ties_up),
        Example([0.5, -1.5], [1], [0], [1, -1])),
    "the scale in the type of x": QuantizationBug(
        "onnx.QuantizeLinear-23/float16-float32-int8/tensor", "Comfy-Org/comfy-kitchen/pull/60",
        Way(before=first("float16", "scale")), Example([2.0**-24], [1e-8], [0], [127])),
    "product with the reciprocal for speed": QuantizationBug(INT8.format(13),
        "vllm-project/vllm/pull/21136", Way(divide=by_reciprocal), Example([175], [14], [0], [13])),
    "division as a product with the reciprocal": QuantizationBug(INT8.format(10),
        "tinygrad/tinygrad/pull/9301", Way(divide=by_reciprocal),
        Example([-2.5], [5 / 255], [0], [-128])),
    "int8 where there is no zero point": QuantizationBug(
        "onnx.QuantizeLinear-10/float32-float32-to-uint8/tensor-default",
        "ooples/AiDotNet.Tensors/pull/193", Way(fit=as_int8), Example([200], [1], None, [127])),
}  # fmt: skip
