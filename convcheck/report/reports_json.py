"""The reports of several backends in one document: `reports_schema.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from convcheck import __version__
from convcheck.judge.result import RunResult
from convcheck.report.json import document, put
from convcheck.report.json import render as render_report

FORMAT = "convcheck-reports/1"


def write(results: Sequence[RunResult], not_started: Mapping[str, str], path: str) -> None:
    """Write reports, and the backends that could not be started with the reason, to a file."""
    put(render(results, not_started), path)


def render(results: Sequence[RunResult], not_started: Mapping[str, str]) -> str:
    """Spell the document: a case a line, as in a single report."""
    failed = [{"address": address, "error": why} for address, why in not_started.items()]
    head = {"format": FORMAT, "convcheck": __version__, "not_started": failed}
    reports = ",\n".join(render_report(document(result)).rstrip() for result in results)
    return f'{json.dumps(head, indent=1)[:-2]},\n "reports": [\n{reports}\n]}}\n'
