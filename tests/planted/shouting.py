"""A backend whose messages are commands of CI systems and terminals."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.backends.protocol import Answer, Refused
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

SAID = "::error::it\n::error::said\r\n##[error]so \x1b[31mloudly\u202e ##vso[task.complete]\x9b1m"


class Shouting(Reference):
    name, version = SAID, f"1\n{SAID}"

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return Refused(SAID)
