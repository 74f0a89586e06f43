"""Which case a bug from the field is asked, and how many vectors of a run catch a conversion."""

from __future__ import annotations

from functools import cache

from catalogue import CATALOG
from planted.bugs import Bug
from planted.field.bug import Conversion, FieldBug
from planted.proof import Planted

from convcheck.ask.elements import ask
from convcheck.judge.answers import Avoid
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, op_and_version, version_key
from convcheck.vectors.model import VectorSet


@cache
def latest_cases(op: str) -> dict[str, Case]:
    """The cases of an operator by name, each of the latest version that has it."""
    specs = [spec for spec in CATALOG.specs.values() if spec.op == op]
    in_order = sorted(specs, key=lambda spec: version_key(op_and_version(spec.id)[1]))
    return {case.name: case for spec in in_order for case in cases(spec)}


def case_of(bug: FieldBug) -> Case:
    return latest_cases(bug.op)[bug.case]


def caught_by(convert: Conversion, vectors: VectorSet) -> int:
    """How many vectors are judged wrong, asked and judged as in a run."""
    planted = Bug("field", lambda p: convert(p.bits))
    avoid = Avoid(placements=planted.avoided)
    answers = ask(Planted(planted), vectors, lambda *call: None, {}, avoid)
    return sum(g.count for g in judge(vectors, answers).groups if g.verdict in FAILURES)
