"""A backend with two faults under one row of one rule, in one operator and in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from convcheck.backends.protocol import Answer
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.load import load
from convcheck.rules.model import Case

CATALOG = load(())


class TwoFaults(Reference):
    """To float8e8m0: rounds int32 to float32 first, and ignores round_mode for int8."""

    name = "two-faults"

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        source = case.inputs[0].name
        if source == "int32":
            float32 = replace(case, inputs=(CATALOG.types.types["float32"], *case.inputs[1:]))
            rounded = np.asarray(inputs[0]).view(np.int32).astype(np.float32).view(np.uint32)
            return super().answer(float32, [rounded, *inputs[1:]])
        if source == "int8":
            always = tuple((n, "up" if n == "round_mode" else v) for n, v in case.attributes)
            return super().answer(replace(case, attributes=always), inputs)
        return super().answer(case, inputs)
