"""Lines of a page printed as they are: they fit, and nothing in them is markup."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from convcheck.report.layout import MAX_WIDTH


def width_of(console: Console) -> int:
    """Give the width that text is broken to."""
    return min(console.width, MAX_WIDTH)


def put(lines: Iterable[Text], console: Console) -> None:
    """Print lines; what is longer than the console is wide stays whole, to be copied."""
    for line in lines:
        line.rstrip()
        console.print(line, highlight=False, no_wrap=True, overflow="ignore", crop=False)
