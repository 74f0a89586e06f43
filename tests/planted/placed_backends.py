"""Identities that are wrong in one placement only, for reduction to the smallest call."""

from functools import partial

from convcheck.backends.protocol import Declined, Outputs, Refused
from tests.planted.bad_backends import Good, changes, harms, replies, segfault, spoiled


def wrong_where(wrong):
    return changes(lambda codes: spoiled(codes, codes.size - 1) if wrong(codes.shape) else codes)


def by_columns(codes):
    return codes.reshape(codes.shape[::-1]).T.copy() if codes.ndim == 2 else codes


def reversed_in(rank):
    return lambda codes: codes.reshape(codes.shape[::-1]) if codes.ndim == rank else codes


Scalars = wrong_where(lambda shape: shape == ())
# a tail of one after vectors of eight: 9, 17, 25 elements
OddTail = wrong_where(lambda shape: len(shape) == 1 and shape[0] > 8 and shape[0] % 8 == 1)
FourD = wrong_where(lambda shape: len(shape) == 4 and shape[1] > 1)
Transposed = changes(by_columns)
Reversed = changes(reversed_in(3))
Reversed4 = changes(reversed_in(4))
Squeezed = changes(lambda codes: codes.squeeze() if codes.size > 1 else codes)


LOOP, THREAD = 1024, 65_536


def past_loop(case, codes):
    return Outputs((spoiled(codes, LOOP),), (case.outputs[0].name,))


# a vector loop from 1,024 elements on, which spoils the remainder; a second thread
PastLoop, PastThread = (changes(partial(spoiled, first=begin)) for begin in (LOOP, THREAD))
PastLoopDies = harms(segfault, lambda codes: codes.size > LOOP)
PastThreadDies = harms(segfault, lambda codes: codes.size > THREAD)
RefusesLarge = replies(lambda case, a: Refused("too many elements") if a.size > LOOP else None)
RefusesEmpty = replies(lambda case, a: None if a.size else Refused("no elements"))
Old = replies(
    lambda case, a: Declined("the opset is later") if case.version > 19 else past_loop(case, a)
)
LatestDies = replies(lambda case, a: segfault() if case.version == 21 else past_loop(case, a))


class After100(Good):
    calls = 0

    def reply(self, case, array):
        self.calls += 1
        codes = spoiled(array, array.size - 1) if self.calls > 100 else array
        return Outputs((codes,), (case.outputs[0].name,))
