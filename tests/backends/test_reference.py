import numpy as np
from catalogue import CATALOG

from convcheck.backends.reference import Reference
from convcheck.rules.find import find_case


def answer(reference, saturate, bits):
    name = f"onnx.Cast-21/float32-to-float8e4m3fn/saturate={saturate}"
    found = reference.answer(find_case(CATALOG, name, None, None, ()), [bits])
    return found.arrays[0]


def test_what_was_asked_before_changes_no_answer():
    reference, huge = Reference(CATALOG), np.array([0x7F00_0000, 0x3F80_0000], np.uint32)
    clamped = answer(reference, 1, huge)
    assert clamped.tolist() == [0x7E, 0x38]
    clamped[:] = 0
    assert answer(reference, 1, huge).tolist() == [0x7E, 0x38]
    assert answer(reference, 0, huge).tolist() == [0x7F, 0x38]
    huge[:] = 0x4000_0000
    assert answer(reference, 0, huge).tolist() == [0x40, 0x40]
    assert answer(reference, 0, huge.reshape(2, 1)).shape == (2, 1)
