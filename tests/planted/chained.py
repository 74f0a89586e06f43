"""Backends that are given chains as graphs: one makes every cast, others leave some out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from convcheck.backends.protocol import Answer, Outputs
from convcheck.backends.reference import Reference
from convcheck.numerics.format import Bits
from convcheck.rules.cases import make_case
from convcheck.rules.model import Case


class Faithful(Reference):
    """The reference, which makes one cast after the other."""

    options: Mapping[str, tuple[str, ...]] = {"optimisation": ("off", "all")}
    graphs = ("optimisation",)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Answer with the last of the casts."""
        for hop in self.kept(case):
            found = super().answer(hop, inputs)
            if not isinstance(found, Outputs):
                return found
            inputs = found.arrays
        return Outputs((inputs[0],), tuple(t.name for t in case.outputs))

    def kept(self, case: Case) -> tuple[Case, ...]:
        """Return the casts that are made."""
        return case.hops or (case,)


class Fuses(Faithful):
    """An optimiser that leaves out a middle which nobody sees."""

    def kept(self, case: Case) -> tuple[Case, ...]:
        """Return the direct cast where the optimiser is on and the middle hidden."""
        setting = dict(case.setting)
        if (setting.get("optimisation"), setting.get("middle")) != ("all", "hidden"):
            return super().kept(case)
        spec = self._catalog.specs[case.spec]
        return (make_case(spec, case.inputs[0], case.outputs[0], ()),)


class Misrounds(Faithful):
    """A runtime of which one kernel alone is wrong: it flips the lowest bit of each float32."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Answer wrongly to what ends in float32, also on the way."""
        found = super().answer(case, inputs)
        if not isinstance(found, Outputs) or found.types != ("float32",):
            return found
        return replace(found, arrays=(found.arrays[0] ^ 1,))
