"""Backends that answer one version of an operator like an earlier one.

Open one by 'tests.planted.version_backends:Name'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from convcheck.backends.protocol import Answer
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case


class Cast23(Reference):
    def __init__(self) -> None:
        super().__init__()

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        known = {attribute.name for attribute in self._catalog.specs["onnx.Cast-23"].attributes}
        given = tuple((name, value) for name, value in case.attributes if name in known)
        return super().answer(replace(case, spec="onnx.Cast-23", attributes=given), inputs)
