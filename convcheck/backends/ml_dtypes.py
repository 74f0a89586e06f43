"""numpy with ml_dtypes: `astype`, as in the specs' `calls`.

Sub-byte types have one element per byte. numpy raises no exceptions for values, only warnings.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from convcheck.backends.library import Array, NumpyTypes
from convcheck.rules.model import Case


class MlDtypes(NumpyTypes):
    """numpy arrays, with the types that ml_dtypes adds."""

    runtime = "ml_dtypes"
    functions = ("astype",)
    says: Mapping[str, str] = {"": f"numpy {np.__version__}"}

    def start(self) -> str:
        """Import ml_dtypes, which registers its types with numpy."""
        import ml_dtypes

        return str(ml_dtypes.__version__)

    def cast(self, case: Case, array: Array) -> Array:
        """Call astype. Raises NotImplementedError for an unsupported pair of types."""
        try:
            with np.errstate(all="ignore"):  # overflow, NaN to integer: the result is judged
                return array.astype(self.type_of(case.outputs[0]))
        except TypeError as error:
            raise NotImplementedError(str(error)) from None
