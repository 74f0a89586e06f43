"""Lines of a page printed as they are: they fit, and nothing in them is markup."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from convcheck.report.draw.layout import MAX_WIDTH
from convcheck.report.draw.styled import StyledText
from convcheck.streams import no_commands, put_out, visible

# What a terminal that is not of Unicode has instead, as wide where there is such a thing.
_INSTEAD = {
    "…": "...", "—": "-", "–": "-", "→": ">", "“": '"', "”": '"', "‘": "'", "’": "'",
    "×": "x", "✗": "x", "✓": "ok", "≠": "!=", "≤": "<=", "≥": ">=", "±": "+-", "·": ".", "−": "-",
}  # fmt: skip
_WIDER = 6  # by so much a line grows at most, in sensible text


def width_of(console: Console) -> int:
    """Return the width that text is broken to."""
    return min(room(console), MAX_WIDTH)


def room(console: Console) -> int:
    """Return the width of a page: less than the console's where it has not all letters."""
    return console.width - (_WIDER if encodable("…", console.encoding) != "…" else 0)


def is_terminal(console: Console) -> bool:
    """Return whether someone looks on: colours in a log (FORCE_COLOR) make it no terminal."""
    return console.file.isatty()


def put(lines: Iterable[StyledText], console: Console) -> None:
    """Print lines; what is longer than the console is wide stays whole, to be copied.

    No character fails that the console's encoding has not: it is replaced, or escaped. Nothing in
    them is obeyed, by a terminal or by a CI system.
    """
    for line in (lines := list(lines)):
        line.rstrip()
    drawn = _plain(lines, console) if console.color_system is None else _styled(lines, console)
    put_out(no_commands(drawn), console.file, needed=not console.stderr)


def _plain(lines: Iterable[StyledText], console: Console) -> str:
    """Return lines as a console without colours draws them, of which rich is not asked."""
    made = (visible(line.plain) for line in lines)
    return "".join(f"{_fitting_plain(text, console)}\n" for text in made)


def _fitting_plain(text: str, console: Console) -> str:
    if encodable(text, console.encoding) == text:
        return text
    return _fitting(Text(text), console).plain


def _styled(lines: Iterable[StyledText], console: Console) -> str:
    with console.capture() as drawn:
        for line in lines:
            pieces = ((visible(text), style) for text, style in line.pieces)
            fit = _fitting(Text.assemble(*pieces), console)
            console.print(fit, highlight=False, no_wrap=True, overflow="ignore", crop=False)
    return drawn.get()


def encodable(text: str, encoding: str) -> str:
    """Return a text in the characters of an encoding: others are replaced, or escaped (\\u0416)."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_instead(char, encoding) for char in text)
    return text


def _instead(char: str, encoding: str) -> str:
    """Return what stands for a character, itself where the encoding has it."""
    for candidate in (char, _INSTEAD.get(char, char)):
        try:
            candidate.encode(encoding)
        except UnicodeEncodeError:
            continue
        return candidate
    return char.encode(encoding, "backslashreplace").decode(encoding)


def _fitting(line: Text, console: Console) -> Text:
    """Return a line in the characters that the console has, its columns where they were."""
    encoding = console.encoding
    if encodable(line.plain, encoding) == line.plain:
        return line
    fit, owed = Text(style=line.style), 0  # owed: how much wider it is than it was
    for part in line.divide(_edges(line.plain)):
        said = _paying(part, owed) if part.plain.isspace() else _translated(part, encoding)
        owed += said.cell_len - part.cell_len
        fit.append_text(said)
    over = fit.cell_len - max(console.width, line.cell_len)
    if over > 0 and line.plain.endswith("…"):  # what was cut to the width is cut to it again
        return fit[: -over - len("...")] + Text("...")
    return fit


def _paying(blanks: Text, owed: int) -> Text:
    """Return as many blanks fewer as the line has become wider, but one."""
    return blanks[: max(len(blanks) - owed, 1)]


def _edges(text: str) -> list[int]:
    """Return the offsets at which runs of blanks begin and end, and those about special letters."""
    cuts = {edge for found in re.finditer(r" {2,}|[^\x00-\x7f]", text) for edge in found.span()}
    return sorted(cuts - {0, len(text)})


def _translated(part: Text, encoding: str) -> Text:
    said = encodable(part.plain, encoding)
    if said == part.plain:
        return part
    style = part.spans[0].style if part.spans else part.style
    return Text(said, style)
