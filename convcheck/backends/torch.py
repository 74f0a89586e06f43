"""PyTorch: the functions in the specs' `calls`, through the server of `standalone.py`."""

import copy
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from convcheck.backends.library import ARANGE, TensorLibrary, checked_choice
from convcheck.backends.native import Direct, Native, Question, known_types
from convcheck.backends.process.standalone import TorchServer
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.layouts import why_not
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.streams import plural

_NO_KERNEL = re.compile(r'"\w+" not implemented for ')
RUNTIME = "torch"  # its column in specs/dtypes.yaml, and its key in `calls`


class Torch(TensorLibrary):
    """PyTorch on the CPU, eager."""

    runtime = RUNTIME
    functions = ("to", "result_type", ARANGE)
    says: Mapping[str, str] = {"": "CPU, 1 thread"}
    options: Mapping[str, tuple[str, ...]] = {"threads": ("1", "2", "4")}
    imports = ("torch",)

    def _start(self) -> str:
        self._server, self._threads = TorchServer(""), 1
        return str(self._server.torch.__version__)

    def configured(self, choice: Mapping[str, str]) -> "Torch":
        """Return the backend with another number of threads. Raises UsageError."""
        other = copy.copy(self)
        other._threads = int(checked_choice(self.runtime, self.options, choice)["threads"])
        threads = plural(other._threads, "thread")
        other.version = f"{self.version.rpartition(', ')[0]}, {threads}"
        return other

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Call the function. Unimplemented kernels are Declined."""
        self._server.torch.set_num_threads(self._threads)  # the number is global to the process
        return self._direct.answer(case, inputs)

    @cached_property
    def _direct(self) -> Direct:
        return Direct(TORCH, self._server, self._catalog)


def _supports(case: Case, catalog: Catalog) -> Declined | None:
    reason = why_not(catalog.specs.get(case.spec), RUNTIME, case)
    return Declined(reason, missing=True) if reason else None


def _question(case: Case, catalog: Catalog) -> Question:
    known = [t for t in catalog.types.types.values() if t.name_in(RUNTIME)]
    return {
        "function": catalog.specs[case.spec].calls[RUNTIME].function,
        "target": case.outputs[0].name_in(RUNTIME) if case.outputs else "",
        "types": known_types(lambda dtype: dtype.name_in(RUNTIME), known),
    }


def _heard(answer: Answer) -> Answer:
    """Distinguish a missing kernel from a refusal, for which old releases raise the same error."""
    if not isinstance(answer, Declined | Refused):
        return answer
    text = " ".join(answer.message.split())
    if isinstance(answer, Declined):
        return Declined(text, answer.missing)
    return Declined(text, missing=True) if _NO_KERNEL.match(text) else Refused(text)


TORCH = Native(_supports, _question, _heard)
