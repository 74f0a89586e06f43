"""numpy with ml_dtypes as a backend: `astype`, as the specs' `calls` say.

Bits go in and come out by views; sub-byte types have a byte an element. numpy raises no exception
on a value: what it warns of is in what comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.calls import cannot_call
from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

RUNTIME = "ml_dtypes"  # its column in specs/dtypes.yaml and its key in `calls`
FUNCTION = "astype"


class MlDtypes:
    """numpy's arrays of its own types and of those that ml_dtypes adds."""

    name = RUNTIME

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for a variant, of which there are none.
        """
        if variant:
            raise UsageError(f"{RUNTIME} has no variant {variant!r}", hint=f"write {RUNTIME}")
        import ml_dtypes  # registers its types with numpy

        self.version = f"ml_dtypes {ml_dtypes.__version__}, numpy {np.__version__}"
        self._catalog = catalog or load(user_folders())

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    def support(self, case: Case) -> Declined | None:
        """Decline types that numpy has not, and what its function cannot be asked."""
        return cannot_call(self._catalog, RUNTIME, (FUNCTION,), case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type.

        TypeError, which says that no loop for the pair is registered, is Declined.
        """
        source, target = case.inputs[0], case.outputs[0]
        array = np.asarray(inputs[0], source.format.storage).view(_numpy_type(source))
        try:
            with np.errstate(all="ignore"):  # overflow, NaN to integer: what comes out is judged
                result = array.astype(_numpy_type(target))
        except TypeError as error:
            return Declined(str(error), missing=True)
        return Outputs((_codes(result),), (target.name,))


def _codes(array: NDArray[Any]) -> Bits:
    codes: Bits = array.view(f"u{array.dtype.itemsize}")
    return codes


def _numpy_type(dtype: DType) -> np.dtype[Any]:
    return np.dtype(dtype.name_in(RUNTIME))
