"""`convcheck-runs/3`: the reports of several backends in one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from convcheck import __version__
from convcheck.causes.gather import gathered
from convcheck.causes.shared import shared_causes
from convcheck.judge.result import CauseInWords, RunResult
from convcheck.report.json import encode
from convcheck.report.json.codec import Shape, json_text
from convcheck.report.json.report import SEVERAL, Report


class NotStartedJson(Shape, frozen=True, kw_only=True):
    """A backend that could not be started."""

    #: As on the command line.
    address: str
    #: Why.
    error: str


class SideJson(Shape, frozen=True, kw_only=True):
    """A backend that has a cause."""

    #: As on the command line.
    address: str
    #: The cases that it explains there.
    cases: tuple[str, ...]


class SharedCauseJson(Shape, frozen=True, kw_only=True):
    """A cause of one or more backends."""

    #: The causes that are at work together, mostly one.
    together: tuple[CauseInWords, ...]
    #: Who has it.
    backends: tuple[SideJson, ...]


class ReportsJson(Shape, frozen=True, kw_only=True):
    """What a run of several backends found: a report of each, in the order of the command line."""

    format: Literal["convcheck-runs/3"]
    #: The version of convcheck.
    convcheck: str
    #: Backends without a report.
    not_started: tuple[NotStartedJson, ...]
    #: The causes of all of them, those first that most backends have.
    causes: tuple[SharedCauseJson, ...] = ()
    reports: tuple[Report, ...]


def side_by_side_text(results: Sequence[RunResult], not_started: Mapping[str, str]) -> str:
    """Return the document as JSON text: a case a line, as in a single report. `not_started` has
    the reason of each backend that could not be started.
    """
    failed = tuple(NotStartedJson(address=a, error=why) for a, why in not_started.items())
    head = ReportsJson(
        format=SEVERAL,
        convcheck=__version__,
        not_started=failed,
        causes=_shared(results),
        reports=(),
    )
    reports = ",\n".join(encode.text(result).rstrip() for result in results)
    return json_text(head).replace('"reports": []', f'"reports": [\n{reports}\n ]')


def _shared(results: Sequence[RunResult]) -> tuple[SharedCauseJson, ...]:
    """Return the causes of several runs, each with the backends that have it."""
    found = {one.backend.address: gathered(one.cases, one.causes) for one in results}
    return tuple(
        SharedCauseJson(
            together=one.causes,
            backends=tuple(
                SideJson(address=address, cases=tuple(c.case.id for e in mine for c in e.cases))
                for address, mine in one.sides.items()
            ),
        )
        for one in shared_causes(found)
    )
