"""Right backends with one deviation each, by 'tests.planted.deviating:Name'."""

import os
import time

import numpy as np

from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.records import replace

LONG = 600.0


def edited(edit):
    class Edited(Reference):
        def answer(self, case, inputs):
            right = super().answer(case, inputs)
            if not isinstance(right, Outputs):
                return right
            return Outputs(tuple(edit(case, inputs, right)), right.types)

    return Edited


def asked_as(change):
    class AskedAs(Reference):
        def __init__(self):
            super().__init__()  # with all specs, not only those of the run

        def answer(self, case, inputs):
            return super().answer(*change(self._catalog, case, inputs))

    return AskedAs


def raises(error, where, deviating):
    class Raises(deviating):
        def answer(self, case, inputs):
            if where(inputs):
                raise error
            return super().answer(case, inputs)

    return Raises


def with_attributes(case, value):
    return replace(case, attributes=tuple((name, value(name, v)) for name, v in case.attributes))


# Elements and sequences


OneMore = edited(
    lambda case, inputs, right: (np.append(a, a[-1:]) if a.ndim == 1 else a for a in right.arrays)
)
OddSteps = edited(lambda case, inputs, right: (right.arrays[0] ^ (inputs[2] == 3).all(),))
Three = edited(lambda case, inputs, right: (right.arrays[0] | (inputs[0] == 2),))
OneMore.name = "one-more"

# They raise in one call of Range with that delta, or with the number 1
DeltaZero = raises(ZeroDivisionError(), lambda i: i[2].size > 0 and not i[2].any(), Reference)
DeltaTwo = raises(OverflowError(), lambda inputs: bool((inputs[2] == 2).all()), OddSteps)
One = raises(OverflowError(), lambda inputs: bool((inputs[0] == 1).any()), Three)


# Attributes, types and versions


def two_faults(catalog, case, inputs):
    """To float8e8m0: round int32 to float32 first, and ignore round_mode for int8."""
    source = case.inputs[0].name
    if source == "int32":
        rounded = np.asarray(inputs[0]).view(np.int32).astype(np.float32).view(np.uint32)
        types = (catalog.types.types["float32"], *case.inputs[1:])
        return replace(case, inputs=types), [rounded, *inputs[1:]]
    if source == "int8":
        case = with_attributes(case, lambda name, v: "up" if name == "round_mode" else v)
    return case, inputs


def as_cast_23(catalog, case, inputs):
    known = {attribute.name for attribute in catalog.specs["onnx.Cast-23"].attributes}
    attributes = tuple((name, value) for name, value in case.attributes if name in known)
    return replace(case, spec="onnx.Cast-23", attributes=attributes), inputs


TwoFaults, Cast23 = asked_as(two_faults), asked_as(as_cast_23)
TwoFaults.name = "two-faults"
AttributeIgnored = asked_as(lambda _, case, inputs: (with_attributes(case, lambda *_: 1), inputs))


class CoarseCache(Reference):
    """Caches by types, ignoring attributes."""

    def __init__(self):
        super().__init__()
        self.made = {}

    def answer(self, case, inputs):
        made = self.made.setdefault((case.spec, case.inputs, case.outputs), case)
        return super().answer(made, inputs)


# Logs and messages


class Diary(Reference):
    """Logs its cases, and may halt at one."""

    name, version = "diary", "1"
    last, count = "", 0

    def answer(self, case, inputs):
        if case.id != self.last:
            self.last = case.id
            with open(os.environ["DIARY"], "a", encoding="utf-8") as file:
                file.write(f"{case.id}\n")
            self.count += 1
            # time to be killed
            time.sleep(LONG if self.count == int(os.environ.get("DIARY_HALTS", "0")) else 0.05)
        return super().answer(case, inputs)


class Slow(Reference):
    def support(self, case):
        time.sleep(0.3 if case.outputs[0].name == "int32" else 0)
        return super().support(case)


class Declining(Reference):
    def support(self, case):
        return Declined("no kernel", missing=True)


# commands of CI systems and terminals
SAID = "::error::it\n::error::said\r\n##[error]so \x1b[31mloudly\u202e ##vso[task.complete]\x9b1m"


class Shouting(Reference):
    name, version = SAID, f"1\n{SAID}"

    def answer(self, case, inputs):
        return Refused(SAID)
