"""What a proof says. Imports no solver."""

from dataclasses import dataclass
from typing import Literal

from convcheck.backends.compiled import Kernel
from convcheck.rules.model import Case

Verdict = Literal["proved", "refuted", "undecided"]


@dataclass(frozen=True)
class Proof:
    """The verdict on a kernel and a case."""

    case: Case
    kernel: Kernel
    verdict: Verdict
    #: seconds
    took: float
    #: why it is undecided, or what C leaves undefined
    why: str = ""
    #: the reading that holds, if there are several
    reading: str = ""
    #: the input that refutes it, or that C leaves undefined; one for each reading if no input
    #: refutes all
    inputs: tuple[int, ...] = ()
    #: of the source
    bits: int = 0
    assumed: tuple[str, ...] = ()
    #: numbers of instructions, blocks and loops
    size: tuple[int, int, int] = (0, 0, 0)
