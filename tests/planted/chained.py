"""Backends that take chains as graphs: one makes every cast, others remove some."""

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from convcheck.backends.protocol import Outputs
from convcheck.backends.reference import Reference
from convcheck.rules.cases import fixed_tensors, make_case


class Faithful(Reference):
    options: Mapping[str, tuple[str, ...]] = {"optimisation": ("off", "all")}
    graphs = ("optimisation",)

    def answer(self, case, inputs):
        for hop in self.kept(case):
            fixed = fixed_tensors(hop) if case.hops else []
            found = super().answer(hop.call, [*inputs, *fixed])
            if not isinstance(found, Outputs):
                return found
            inputs = found.arrays
        return Outputs((inputs[0],), tuple(t.name for t in case.outputs))

    def kept(self, case):
        return case.hops or (case,)


class Fuses(Faithful):
    """An optimiser that removes hidden middles."""

    def kept(self, case):
        setting = dict(case.setting)
        if (setting.get("optimisation"), setting.get("middle")) != ("all", "hidden"):
            return super().kept(case)
        spec = self._catalog.specs[case.spec]
        return (make_case(spec, case.inputs[0], case.outputs[0], ()),)


class FusesWrongly(Fuses):
    alone = 1

    def answer(self, case, inputs):
        found = super().answer(case, inputs)
        types = [t.name for cast in self.kept(case) for t in (*cast.inputs, *cast.outputs)]
        if types != ["uint8", "int16"] or not isinstance(found, Outputs):
            return found
        return replace(found, arrays=(found.arrays[0] + (1 if case.hops else self.alone),))


class FusesOtherwise(FusesWrongly):
    alone = 2


class Drops(Faithful):
    def answer(self, case, inputs):
        if case.hops and dict(case.setting)["optimisation"] == "all":
            return Outputs((inputs[0],), tuple(t.name for t in case.outputs))
        return super().answer(case, inputs)


class Misrounds(Faithful):
    """One wrong kernel: it flips the lowest bit of each float32."""

    def answer(self, case, inputs):
        found = super().answer(case, inputs)
        if not isinstance(found, Outputs) or found.types != ("float32",):
            return found
        return replace(found, arrays=(found.arrays[0] ^ 1,))


class Misfolds(Misrounds):
    def answer(self, case, inputs):
        if ("input", "constant") in case.setting:
            return super().answer(case, inputs)
        return Faithful.answer(self, case, inputs)


class Adds(Faithful):
    def kept(self, case):
        return tuple(one for hop in super().kept(case) for one in self._more(hop, case))

    def _more(self, hop, case):
        if not case.hops or hop.inputs[0].name != "float32":
            return (hop,)
        spec, half = self._catalog.specs[case.spec], self._catalog.types.types["float16"]
        return make_case(spec, hop.inputs[0], half, ()), make_case(spec, half, hop.outputs[0], ())


class Reorders(Faithful):
    def kept(self, case):
        if len(case.hops) != 3:
            return super().kept(case)
        spec, (a, b) = self._catalog.specs[case.spec], (hop.outputs[0] for hop in case.hops[:2])
        types = (case.inputs[0], b, a, case.outputs[0])
        return tuple(make_case(spec, *pair, ()) for pair in pairwise(types))


class Dies(Faithful):
    """Crashes on graphs with int8 as a middle, but not on their casts."""

    def answer(self, case, inputs):
        if any(hop.outputs[0].name == "int8" for hop in case.hops[:-1]):
            os._exit(3)
        return super().answer(case, inputs)


class Single(Reference):
    """Takes no graphs."""
