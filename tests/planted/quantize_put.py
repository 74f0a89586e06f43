"""Calls put to planted bugs of quantisation."""

from __future__ import annotations

from planted import put
from planted.put import failing as failing
from planted.quantize_bugs import Way, answer

from convcheck.vectors.model import CallSet


class Put(put.Put):
    """Calls of a case, put to bugs."""

    def __init__(self, calls: CallSet) -> None:
        super().__init__(calls, [answer(Way(), calls.case, call) for call in calls.calls])

    def caught(self, way: Way) -> bool:
        """Whether some call is judged wrong, as a run judges."""
        return self.catch(answer(way, self.calls.case, call) for call in self.calls.calls)
