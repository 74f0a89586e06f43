"""numpy with ml_dtypes: `astype`. Sub-byte types have one element per byte."""

from collections.abc import Mapping

import numpy as np

from convcheck.backends.library import Array, NumpyTypes
from convcheck.rules.model import Case


class MlDtypes(NumpyTypes):
    """numpy arrays with ml_dtypes' types."""

    runtime = "ml_dtypes"
    functions = ("astype",)
    says: Mapping[str, str] = {"": f"numpy {np.__version__}"}

    def _start(self) -> str:
        import ml_dtypes

        return str(ml_dtypes.__version__)

    def _cast(self, case: Case, array: Array) -> Array:
        try:
            with np.errstate(all="ignore"):  # overflow, NaN to integer: the result is judged
                return array.astype(self._type_of(case.outputs[0]))
        except TypeError as error:
            raise NotImplementedError(str(error)) from None
