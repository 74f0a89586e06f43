"""A case in the layout of ONNX's backend tests.

    NAME/model.onnx  NAME/data.json  NAME/test_data_set_0/input_0.pb  …/output_0.pb

`data.json` sets the tolerances to 0.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from convcheck.backends.onnx.model import build, input_names, output_names, tensor_of
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case

if TYPE_CHECKING:
    from onnx import ValueInfoProto

DataSet = tuple[Sequence[Bits], Sequence[Bits]]  # inputs and outputs, in their shapes
_EXACTLY = json.dumps({"rtol": 0, "atol": 0}) + "\n"


def test_files(case: Case, data_sets: Sequence[DataSet]) -> Iterator[tuple[str, bytes]]:
    """Yield a test's files as (name, content), the model first."""
    name = "test_" + re.sub(r"\W+", "_", case.id).lower()
    model = build(case)
    model.producer_name = "convcheck"
    model.doc_string = case.id
    for values, which in ((model.graph.input, 0), (model.graph.output, 1)):
        for i, value in enumerate(values):
            _state_shape(value, {one[which][i].shape for one in data_sets})
    yield f"{name}/model.onnx", model.SerializeToString()
    yield f"{name}/data.json", _EXACTLY.encode()
    for number, (inputs, outputs) in enumerate(data_sets):
        folder = f"{name}/test_data_set_{number}"
        for kind, names, types, tensors in (
            ("input", input_names(case), case.inputs, inputs),
            ("output", output_names(case), case.outputs, outputs),
        ):
            for i, (label, dtype, bits) in enumerate(zip(names, types, tensors, strict=True)):
                content = tensor_of(label, dtype, bits).SerializeToString()
                yield f"{folder}/{kind}_{i}.pb", content


def _state_shape(value: "ValueInfoProto", shapes: set[tuple[int, ...]]) -> None:
    """Set the rank, which ONNX's checker needs, and dimensions that all data sets share."""
    if len({len(shape) for shape in shapes}) != 1:
        return
    stated = value.type.tensor_type.shape
    stated.SetInParent()  # a scalar has a shape without dimensions
    for sizes in zip(*shapes, strict=True):
        dimension = stated.dim.add()
        if len(set(sizes)) == 1:
            dimension.dim_value = sizes[0]
