"""Questions for backends that are libraries of functions, and how a test puts them."""

from __future__ import annotations

from itertools import pairwise, starmap
from typing import Any

import numpy as np
from catalogue import CATALOG

from convcheck.backends.protocol import Backend, Outputs
from convcheck.rules.model import Attributes, Case


def cast_case(source: str, target: str, attributes: Attributes = (), **more: Any) -> Case:
    """Make a case of the newest Cast of ONNX; types by name."""
    types = [(CATALOG.types.types[name],) for name in (source, target)]
    return Case("onnx.Cast-28", "onnx.Cast", 28, types[0], types[1], attributes, **more)


def chain_case(*types: str, hops: tuple[Case, ...] = (), **setting: str) -> Case:
    """Make a chain of these casts, none of which has attributes, or of the casts given."""
    hops = hops or tuple(starmap(cast_case, pairwise(types)))
    return cast_case(types[0], types[-1], hops=hops, setting=tuple(setting.items()))


def codes_of(backend: Backend, case: Case, values: object) -> np.ndarray:
    """Return the codes that a backend answers: well-formed, of the case's type."""
    answer = backend.answer(case, [np.array(values, case.inputs[0].format.storage)])
    assert isinstance(answer, Outputs), answer
    assert answer.types == (case.outputs[0].name,)
    assert answer.arrays[0].dtype == case.outputs[0].format.storage
    return answer.arrays[0]
