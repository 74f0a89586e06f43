"""A backend that ignores attributes, and logs calls and searches to the file DIARY."""

import os
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from convcheck.backends.protocol import Answer
from convcheck.backends.reference import Reference
from convcheck.causes import search
from convcheck.judge.result import CaseDiagnosis
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.rules.model import Case

DIAGNOSE = search.diagnose


def note(what: str, case: Case) -> None:
    with Path(os.environ["DIARY"]).open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {what} {case.id}\n")


def noted(tried: search.Search, *given: object) -> CaseDiagnosis | None:
    note("searches", given[0].case)
    return DIAGNOSE(tried, *given)


class Searched(Reference):
    def __init__(self) -> None:
        super().__init__()
        patch("convcheck.causes.search.diagnose", noted).start()

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        note("answers", case)
        attributes = tuple((name, 0) for name, _ in case.attributes)
        return super().answer(replace(case, attributes=attributes), inputs)
