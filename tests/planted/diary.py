"""A right backend that logs its cases, and may halt at one."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from convcheck.backends.protocol import Answer, Declined
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

LONG = 600.0


class Diary(Reference):
    name, version = "diary", "1"
    last, count = "", 0

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if case.id != self.last:
            self.last = case.id
            with open(os.environ["DIARY"], "a", encoding="utf-8") as file:
                file.write(f"{case.id}\n")
            self.count += 1
            # time to be killed
            time.sleep(LONG if self.count == int(os.environ.get("DIARY_HALTS", "0")) else 0.05)
        return super().answer(case, inputs)


class Declining(Reference):
    def support(self, case: Case) -> Declined:
        return Declined("no kernel", missing=True)
