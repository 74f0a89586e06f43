"""Right backends with one fault at a bit pattern of a sweep."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Declined, Outputs, Refused

DEADLY = 0x3F80_1234
WRONG = 0xC012_3456
# The same in a sample of float64 -> int8
SEED = 7
DEADLY_SAMPLE = 0x403B_0000_0B75_7297
WRONG_SAMPLE = 0xC04A_BFFF_F3FC_94DF


def die():
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def hang():
    time.sleep(60)
    raise AssertionError


def where(shows, happens):
    class Where(MlDtypes):
        def answer(self, case, inputs):
            return happens() if shows(np.asarray(inputs[0])) else super().answer(case, inputs)

    return Where


def at(code, happens):
    return where(lambda codes: (codes == code).any(), happens)


def wrong_at(code):
    class WrongAt(MlDtypes):
        def answer(self, case, inputs):
            answer = super().answer(case, inputs)
            if (here := np.asarray(inputs[0]) == code).any():
                answer.arrays[0][here] ^= 1
            return answer

    return WrongAt


Crashes, Hangs = at(DEADLY, die), at(DEADLY, hang)
Refuses = at(DEADLY, lambda: Refused("not this one"))
RefusesMany = where(lambda codes: (codes % 100 == 7).any(), lambda: Refused("not these"))
AlwaysCrashes = where(lambda codes: True, die)
WrongOnce, WrongOnSample = wrong_at(WRONG), wrong_at(WRONG_SAMPLE)
CrashesOnSample = at(DEADLY_SAMPLE, die)
RefusesSample = at(DEADLY_SAMPLE, lambda: Refused("not this one"))
DeclinesLate = at(DEADLY_SAMPLE, lambda: Declined("not today"))


class RefusesAndCrashes(Refuses):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        crashes = (np.asarray(inputs[0]) == DEADLY + 40_000).any()
        return die() if crashes and isinstance(answer, Outputs) else answer


class Unsupported(MlDtypes):
    def support(self, case):
        return Declined("not that")


class Lost(MlDtypes):
    def support(self, case):
        return Declined("device lost", missing=True) if Path("lost").exists() else None

    def answer(self, case, inputs):
        Path("lost").touch()
        return die()


# Right in other calls; the bound call of DEADLY's chunk fails


def bound_only(happens):
    class BoundOnly(MlDtypes):
        def bind(self, case, codes, out):
            def call():
                if (codes == DEADLY).any():
                    return happens()
                out[...] = self.answer(case, [codes]).arrays[0]
                return None

            return call

    return BoundOnly


BoundCrashes = bound_only(die)
BoundRefuses = bound_only(lambda: Refused("not this chunk"))
BoundMalformed = bound_only(lambda: Outputs((np.zeros(3, np.uint16),), ("bfloat16",)))


class HangsWhileBinding(MlDtypes):
    def bind(self, case, codes, out):
        hang()


class DiesOnce(MlDtypes):
    """Wrong from a code on; crashes once, at the code DIES_AT. The file DIED records the crash."""

    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs):
            answer.arrays[0][np.asarray(inputs[0]) % 0x20000 >= 0x18000] = 1
        return answer

    def bind(self, case, codes, out):
        died = Path(os.environ["DIED"])

        def call():
            if (codes == int(os.environ["DIES_AT"])).any() and not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            out[...] = self.answer(case, [codes]).arrays[0]
            return

        return call
