"""numpy with ml_dtypes as a backend: `astype`, as the specs' `calls` say.

Sub-byte types have a byte an element. numpy raises no exception on a value: what it warns of is in
what comes out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from convcheck.backends.library import Array, NumpyTypes
from convcheck.rules.model import Case


class MlDtypes(NumpyTypes):
    """numpy's arrays of its own types and of those that ml_dtypes adds."""

    runtime = "ml_dtypes"
    functions = ("astype",)
    says: Mapping[str, str] = {"": f"numpy {np.__version__}"}

    def start(self) -> str:
        """Import ml_dtypes, which registers its types with numpy."""
        import ml_dtypes

        return str(ml_dtypes.__version__)

    def cast(self, case: Case, array: Array) -> Array:
        """Call astype. Raises NotImplementedError for a pair without a loop."""
        try:
            with np.errstate(all="ignore"):  # overflow, NaN to integer: what comes out is judged
                return array.astype(self.type_of(case.outputs[0]))
        except TypeError as error:
            raise NotImplementedError(str(error)) from None
