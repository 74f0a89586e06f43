"""Lines of a terminal report. They are made to fit, so that nothing is left to rewrapping."""

from __future__ import annotations

import re
from collections.abc import Iterator

from convcheck.report.draw.styled import StyledText, cell_len
from convcheck.wording import GLUE

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_CLOSING = "\u3001\u3002\u300d\uff09\uff0c\uff1a\uff1b"  # no line begins with these
_PART = re.compile(
    rf"[{_CJK}][{_CLOSING}]* *|(?:[^ ,/{_CJK}{_CLOSING}]|,(?=[0-9]))*[,/]?[{_CLOSING}]* *"
)
MAX_WIDTH = 100  # beyond, a count at the right margin is too far from what it counts
INDENT = 6


def to_margins(left: StyledText, right: StyledText, width: int) -> Iterator[StyledText]:
    """Put two texts at the margins of one line; on two lines where they do not fit."""
    gap = width - left.cell_len - right.cell_len
    if gap >= 2:
        yield StyledText.assemble(left, " " * gap, right)
        return
    yield left
    yield StyledText.assemble(" " * max(INDENT, width - right.cell_len), right)


def paragraph(
    text: str, width: int, indent: int = INDENT, hang: int = 0, style: str = ""
) -> Iterator[StyledText]:
    """Break a text at blanks, commas and slashes, and after any Chinese or Japanese character;
    later lines are indented `hang` further.
    """
    room, line = width - indent, ""
    for part in _PART.findall(text):
        if line and cell_len((line + part).rstrip()) > room:
            yield _line(line, indent, style)
            line = " " * hang
        line += part
    if line.strip():
        yield _line(line, indent, style)


def labelled(label: str, style: str, text: str, width: int) -> Iterator[StyledText]:
    """Break a text after a label, with its later lines under its first."""
    first, *more = paragraph(text, width, indent=len(label) + 2)
    yield StyledText.assemble((label, style), first.after(len(label)))
    yield from more


def _line(line: str, indent: int, style: str) -> StyledText:
    return StyledText(" " * indent + line.rstrip().replace(GLUE, " "), style)


def cut(text: str, room: int) -> str:
    """Cut a text that is longer than `room`."""
    return text if cell_len(text) <= room else text[: max(room - 1, 0)] + "…"
