"""A pypto backend that caches its answers to elements, since a call takes ten milliseconds."""

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.backends.pypto.backend import Pypto


class PyptoOnce(Pypto):
    def __init__(self):
        super().__init__()
        self._case = None
        self._known = None

    def answer(self, case, inputs):
        bits, (out,) = inputs[0], case.outputs
        if self._case != case:
            self._case, self._known = case, None
        if self._known:
            known, said = self._known
            place = np.searchsorted(known[:-1], bits)
            if (known[place] == bits).all():
                return Outputs((said[place],), (out.name,))
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs) and answer.arrays[0].shape == bits.shape and bits.size:
            codes, said = bits.reshape(-1), answer.arrays[0].reshape(-1)
            if self._known:
                codes = np.concatenate([codes, self._known[0]])
                said = np.concatenate([said, self._known[1]])
            codes, first = np.unique(codes, return_index=True)
            self._known = codes, said[first]
        return answer
