"""`convcheck-reports/2`: the reports of several backends in one document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from convcheck import __version__
from convcheck.judge.result import RunResult
from convcheck.report.json import encode
from convcheck.report.json.codec import Shape
from convcheck.report.json.report import ReportJson

FORMAT: Final = "convcheck-reports/2"


class NotStartedJson(Shape, frozen=True, kw_only=True):
    """A backend that could not be started."""

    #: As on the command line.
    address: str
    #: Why.
    error: str


class ReportsJson(Shape, frozen=True, kw_only=True):
    """What a run of several backends found: a report of each, in the order of the command line."""

    format: Literal["convcheck-reports/2"]
    #: The version of convcheck.
    convcheck: str
    #: Backends without a report.
    not_started: tuple[NotStartedJson, ...]
    reports: tuple[ReportJson, ...]


def side_by_side_text(results: Sequence[RunResult], not_started: Mapping[str, str]) -> str:
    """Return the document as JSON text: a case a line, as in a single report. `not_started` has
    the reason of each backend that could not be started.
    """
    failed = [{"address": address, "error": why} for address, why in not_started.items()]
    head = {"format": FORMAT, "convcheck": __version__, "not_started": failed}
    reports = ",\n".join(encode.text(result).rstrip() for result in results)
    return f'{json.dumps(head, indent=1)[:-2]},\n "reports": [\n{reports}\n]}}\n'
