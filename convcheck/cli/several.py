"""Runs of several backends in one report: what they have in common, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from convcheck.cli.reports import FAILED, INTERRUPTED, NOTHING_JUDGED, Reports, exit_code
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.plan.runner import Turn

NOT_STARTED = 4


def refuse_what_is_of_one(reports: Reports, others: Mapping[str, object], of: str) -> None:
    """Refuse options that only go with one run. `others` are options beside the reports'; `of`
    says of what there has to be one. Raises UsageError.
    """
    given = {"--known": reports.known, **others,
             **{f"--{name}": path for name, path in reports.files.items() if name != "json"},
             "--github": reports.github}  # fmt: skip
    if option := next((name for name, value in given.items() if value), None):
        hint = "one at a time; side by side only the terminal and --json are written"
        raise UsageError(f"{option} works with one {of} only", hint=hint)


def show_side_by_side(turns: Sequence[Turn], reports: Reports) -> int:
    """Show the runs, and write them as JSON where that is asked for. Return the gravest of their
    exit codes.
    """
    from rich.console import Console

    from convcheck.files import write_all
    from convcheck.report.document import Document
    from convcheck.report.draw.console import is_terminal, put
    from convcheck.report.draw.side_by_side import Side, side_by_side_page
    from convcheck.report.json.encode import text_of_several
    from convcheck.report.short_names import short_names

    path = reports.files.get("json")
    names = short_names([turn.address for turn in turns])
    sides = [
        Side(name, Document(turn.run) if turn.run else None, turn.error)
        for name, turn in zip(names, turns, strict=True)
    ]
    console = Console(stderr=path == "-")

    def page() -> None:
        whole = not is_terminal(console)
        put(side_by_side_page(sides, reports.verbose, whole), console)

    def made() -> str:
        return text_of_several(turns)

    write_all([(path, made)] if path else [], page)
    codes = [NOT_STARTED if turn.run is None else exit_code(turn.run) for turn in turns]
    order = (INTERRUPTED, FAILED, NOT_STARTED, NOTHING_JUDGED, 0)
    return min(codes, key=order.index)
