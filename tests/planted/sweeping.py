"""Right backends with one fault at a bit pattern of a sweep."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.model import Case

DEADLY = 0x3F80_1234
WRONG = 0xC012_3456


class _Right(MlDtypes):
    code = DEADLY

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (np.asarray(inputs[0]) == self.code).any():
            return self.happens(case, inputs)
        return super().answer(case, inputs)

    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        raise NotImplementedError


class Crashes(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class Hangs(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        time.sleep(60)
        raise AssertionError


class Refuses(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return Refused("not this one")


class WrongOnce(_Right):
    code = WRONG

    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = MlDtypes.answer(self, case, inputs)
        answer.arrays[0][np.asarray(inputs[0]) == self.code] ^= 1  # type: ignore[union-attr]
        return answer


# Right in other calls; the bound call of DEADLY's chunk fails


class _BoundOnly(MlDtypes):
    def bind(self, case: Case, codes: Codes, out: Codes) -> Callable[[], Answer | None]:
        def call() -> Answer | None:
            if (codes == DEADLY).any():
                return self.happens()
            out[...] = MlDtypes.answer(self, case, [codes]).arrays[0]  # type: ignore[union-attr]
            return None

        return call

    def happens(self) -> Answer:
        raise NotImplementedError


class BoundCrashes(_BoundOnly):
    def happens(self) -> Answer:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class BoundRefuses(_BoundOnly):
    def happens(self) -> Answer:
        return Refused("not this chunk")


class BoundMalformed(_BoundOnly):
    def happens(self) -> Answer:
        return Outputs((np.zeros(3, np.uint16),), ("bfloat16",))


class DiesOnce(MlDtypes):
    """Wrong on every answer from a code on. Crashes once, in the bound call with the code DIES_AT
    of the environment; the file DIED records the crash.
    """

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs):
            answer.arrays[0][np.asarray(inputs[0]) % 0x20000 >= 0x18000] = 1
        return answer

    def bind(self, case: Case, codes: Codes, out: Codes) -> Callable[[], Answer | None]:
        def call() -> Answer | None:
            if (codes == int(os.environ["DIES_AT"])).any() and not Path(
                os.environ["DIED"]
            ).exists():
                Path(os.environ["DIED"]).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            out[...] = self.answer(case, [codes]).arrays[0]  # type: ignore[union-attr]
            return None

        return call


class HangsWhileBinding(MlDtypes):
    def bind(self, case: Case, codes: Codes, out: Codes) -> None:
        time.sleep(60)


class RefusesAndCrashes(MlDtypes):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (np.asarray(inputs[0]) == DEADLY).any():
            return Refused("not this one")
        if (np.asarray(inputs[0]) == DEADLY + 40_000).any():
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


class Lost(MlDtypes):
    def support(self, case: Case) -> Declined | None:
        return Declined("device lost", missing=True) if Path("lost").exists() else None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        Path("lost").touch()
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class RefusesMany(MlDtypes):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (np.asarray(inputs[0]) % 100 == 7).any():
            return Refused("not these")
        return super().answer(case, inputs)


class Unsupported(MlDtypes):
    def support(self, case: Case) -> Declined | None:
        return Declined("not that")


class AlwaysCrashes(MlDtypes):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


# The same with a sample of float64 -> int8

SEED = 7
DEADLY_SAMPLE = 0x403B_0000_0B75_7297
WRONG_SAMPLE = 0xC04A_BFFF_F3FC_94DF


class CrashesOnSample(Crashes):
    code = DEADLY_SAMPLE


class RefusesSample(Refuses):
    code = DEADLY_SAMPLE


class WrongOnSample(WrongOnce):
    code = WRONG_SAMPLE


class DeclinesLate(_Right):
    code = DEADLY_SAMPLE

    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return Declined("not today")
