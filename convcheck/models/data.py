"""Read arrays recorded in a model from a NumPy file, without pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from convcheck.errors import UsageError
from convcheck.models.graph import ModelGraph, tensor_codes
from convcheck.numerics.codes import Bits

_HINT = "numpy.savez(FILE, **arrays): numbers, by the names of the model's tensors"
Arrays = Mapping[str, np.ndarray[Any, Any]]


def read_data(path: str) -> Arrays:
    """Return the arrays of an .npz file by name. Raises UsageError."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except OSError as error:
        said = f"cannot read {path}: {error.strerror or error}"
        raise UsageError(said, hint=_HINT) from None
    except (ValueError, AttributeError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no .npz file of numbers: {error}", hint=_HINT) from None


def codes_that_occurred(graph: ModelGraph, arrays: Arrays) -> Mapping[str, Bits]:
    """Return the codes of recorded tensors.

    An array may hold the codes of a type that NumPy lacks. Raises UsageError for an array of
    another type.
    """
    types = {name: node.scope.type_of(name) for node in graph.nodes
             for name in (*node.inputs, *node.outputs) if name in arrays}  # fmt: skip
    found: dict[str, Bits] = {}
    for name, dtype in types.items():
        codes = tensor_codes(arrays[name], dtype) if dtype else None
        if codes is None:
            said = f"the array {name!r} of {arrays[name].dtype} is not of {dtype or 'a known type'}"
            raise UsageError(said, hint="the tensor's own type; or its codes, as unsigned integers")
        found[name] = codes
    return found
