"""A decision that a vector file names is found without the whole program."""

from __future__ import annotations

import pytest
from catalogue import CATALOG

from convcheck.rules.cases import cases
from convcheck.rules.model import Case, Spec
from convcheck.semantics import program
from convcheck.semantics.program import Program, compile_case, decisions_named


@pytest.mark.parametrize("name", ["onnx.Cast-25", "pypto.cast-9.2"])
def test_every_decision_of_a_program_is_found_by_its_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = CATALOG.specs[name]
    made = {case: compile_case(spec, case) for case in cases(spec)}
    compiled: list[Case] = []

    def counted(spec: Spec, case: Case) -> Program:
        compiled.append(case)
        return made[case]

    monkeypatch.setattr(program, "compile_case", counted)
    for case, whole in made.items():
        names = [(one.rule, one.row, one.level) for one in whole.decisions]
        assert decisions_named(spec, case, names) == whole.decisions, case.id
    assert len(compiled) < len(made) / 2  # the others were found one by one
