"""Lines of text in styles, for a console (`console.py`); formats without styles take the text."""

from __future__ import annotations

from unicodedata import category, east_asian_width


class StyledText:
    """A line: pieces of text, each with a style in words such as 'bold red', '' for none."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.pieces = [(text, style)] if text else []

    @classmethod
    def assemble(cls, *parts: str | tuple[str, str] | StyledText) -> StyledText:
        """Return a line of several parts."""
        line = cls()
        for part in parts:
            if isinstance(part, StyledText):
                line.pieces += part.pieces
            else:
                line.append(*(part if isinstance(part, tuple) else (part,)))
        return line

    @property
    def plain(self) -> str:
        """The text without its styles."""
        return "".join(text for text, _ in self.pieces)

    def __str__(self) -> str:
        return self.plain

    @property
    def cell_len(self) -> int:
        """How many columns the line takes."""
        return cell_len(self.plain)

    def append(self, text: str, style: str = "") -> None:
        """Add text at the end."""
        if text:
            self.pieces.append((text, style))

    def after(self, start: int) -> StyledText:
        """Return what stands after the first `start` characters."""
        rest, passed = StyledText(), 0
        for text, style in self.pieces:
            rest.append(text[max(start - passed, 0) :], style)
            passed += len(text)
        return rest

    def stylize(self, style: str, start: int = 0) -> None:
        """Add a style to what stands after the first `start` characters."""
        before, passed = StyledText(), 0
        for text, own in self.pieces:
            before.append(text[: max(start - passed, 0)], own)
            passed += len(text)
        after = self.after(start).pieces
        self.pieces = before.pieces + [(text, f"{own} {style}".strip()) for text, own in after]

    def rstrip(self) -> None:
        """Take off the blanks at the end."""
        while self.pieces:
            text, style = self.pieces.pop()
            if kept := text.rstrip():
                self.pieces.append((kept, style))
                return


def cell_len(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese character takes two."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if category(char) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
