"""The built-in specs, loaded once a process, and each of their cases compiled once."""

from __future__ import annotations

from functools import cache

from convcheck.rules.load import load
from convcheck.rules.model import Case
from convcheck.semantics.program import Program, compile_case

CATALOG = load()


@cache
def compiled(case: Case) -> Program:
    """Return the program of a case."""
    return compile_case(CATALOG.specs[case.spec], case)
