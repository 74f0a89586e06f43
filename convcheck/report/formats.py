"""The formats of a run's report. Each is a module, and a line here."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from convcheck.streams import no_commands

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
    from convcheck.report.document import Document

#: Returns the text of a report from its document and the command line.
Drawer = Callable[["Document", str], str]
#: Returns a run as text that can be read again.
Writer = Callable[["RunResult"], str]


@dataclass(frozen=True)
class ReportFormat:
    """A file format of reports."""

    name: str  # also the ending of its files
    module: str  # the module with a function `render`, imported when used
    #: Whether it holds the run itself. The module then has `text` instead of `render`.
    whole: bool = False

    def draw(self, result: "RunResult", document: "Document", command: str) -> str:
        """Return the text of a report, safe in CI logs. `command` is '' if unknown."""
        module = import_module(self.module)
        if self.whole:
            return cast(Writer, module.text)(result)
        return no_commands(cast(Drawer, module.render)(document, command))


_FORMATS = (
    ReportFormat("jsonl", "convcheck.documents.encode", whole=True),
    ReportFormat("xml", "convcheck.documents.junit"),
    ReportFormat("md", "convcheck.report.draw.markdown"),
    ReportFormat("html", "convcheck.report.html"),
)
FORMATS = {one.name: one for one in _FORMATS}
LOG = _FORMATS[0].name
