"""The formats of a run's report. A new one is a file that draws it, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from convcheck.streams import no_commands

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
    from convcheck.report.document import Document

#: Returns the text of a report, given its document and the command line that made it.
Drawer = Callable[["Document", str], str]
#: Returns the text of the run itself, from which a document can be made again.
Writer = Callable[["RunResult"], str]


@dataclass(frozen=True)
class ReportFormat:
    """A format that a report is written to a file in; - is standard output."""

    name: str
    #: The module that has a function `render`, imported when used.
    module: str
    #: Whether it has the run itself, and in place of `render` a function `text`.
    whole: bool = False

    def draw(self, result: RunResult, document: Document, command: str) -> str:
        """Return the text of the report of a run, of which `document` was made. `command` is the
        command line, '' where not known. It may be shown in the log of a CI system.
        """
        module = import_module(self.module)
        if self.whole:
            return cast(Writer, module.text)(result)
        return no_commands(cast(Drawer, module.render)(document, command))


_FORMATS = (
    ReportFormat("json", "convcheck.report.json.encode", whole=True),
    ReportFormat("junit", "convcheck.report.draw.junit"),
    ReportFormat("markdown", "convcheck.report.draw.markdown"),
    ReportFormat("html", "convcheck.report.html"),
)
FORMATS = {one.name: one for one in _FORMATS}
