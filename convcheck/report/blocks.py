"""What pages consist of. A page is a generator of blocks; only a renderer knows widths.

A style is in the words of rich: 'bold red'.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

#: A text, or pieces of one with their styles.
Said = str | Sequence[tuple[str, str]]
INDENT = 6  # of what stands below a heading
LABEL = 10  # columns of the label of a field


@dataclass(frozen=True)
class Text:
    """A paragraph; its later lines stand under its first, `hang` further to the right."""

    text: Said = ""
    style: str = ""
    indent: int = 0
    hang: int = 0
    #: What stands before the first line.
    label: Said = ""
    #: What stands at the right margin of the last line.
    right: Said = ""
    #: Whether a terminal shows one line of it.
    cut: bool = False
    #: How many characters of it a terminal shows; 0 for all.
    limit: int = 0
    #: Whether its lines are not to be broken, so that they can be copied.
    whole: bool = False


@dataclass(frozen=True)
class Command:
    """A command in parts that are not to be broken: its beginning, a name, and values."""

    parts: Sequence[str]


Role = Literal["plain", "sign", "exponent", "mantissa"]


@dataclass(frozen=True)
class Piece:
    """A piece of a line, what it is, and whether it is not as expected."""

    text: str
    role: Role = "plain"
    wrong: bool = False


Pieces = tuple[Piece, ...]


def line_of(letters: list[Piece]) -> Pieces:
    """Return a line of single letters as pieces, those that are alike put together."""
    found = groupby(letters, key=lambda letter: (letter.role, letter.wrong))
    return tuple(Piece("".join(letter.text for letter in some), *key) for key, some in found)


@dataclass(frozen=True)
class CodeInWords:
    """An input, an expectation or an answer: bits, value and code; or words, of what has none."""

    #: What it is: input, expected, got.
    label: str
    #: The bits; on two lines of an integer of 64 bits.
    bits: tuple[Pieces, ...] = ()
    value: str = ""
    #: In hexadecimal, in brackets; '' where it stands elsewhere.
    code: str = ""
    #: A pattern, a text, or why nothing came back.
    words: str = ""


@dataclass(frozen=True)
class Codes:
    """Codes under each other, bit by bit."""

    rows: Sequence[CodeInWords]
    indent: int = INDENT


@dataclass(frozen=True)
class Table:
    """Rows of cells, of which the first is a label."""

    heads: Sequence[Sequence[Said]]
    rows: Sequence[Sequence[Said]]
    indent: int = 0
    gap: int = 2
    #: The columns that stand at the right of theirs.
    right: Collection[int] = ()
    #: Whether columns but the labels stand in the middle.
    middle: bool = False
    #: A row that has nothing but this in a part is left out there; None to leave out none.
    empty: str | None = None
    #: Whether it is cut by columns where it is too wide; each part has the labels and heads.
    parts: bool = True
    #: Whether the last column is prose, of which a terminal shows one line.
    prose: bool = False


@dataclass(frozen=True)
class Fitting:
    """Ways to show the same: a terminal takes the first that has room, or else the last."""

    ways: Sequence[Sequence[Block]]


@dataclass(frozen=True)
class Beside:
    """Groups of blocks, side by side where there is room."""

    groups: Sequence[Sequence[Block]]


@dataclass(frozen=True)
class Dim:
    """Blocks that matter less."""

    blocks: Iterable[Block]


Block = Text | Command | Codes | Table | Fitting | Beside | Dim
BLANK = Text()


def item(label: str, style: str, text: Said, right: Said = "", *, cut: bool = False) -> Text:
    """Return a paragraph after a label in a style."""
    return Text(text, label=[(f"{label}  ", style)], right=right, cut=cut)


def under(text: Said, style: str = "", hang: int = 0, right: Said = "") -> Text:
    """Return a paragraph below a heading."""
    return Text(text, style, INDENT, hang, right=right)


def field(label: str, text: Said, style: str = "", right: Said = "") -> Text:
    """Return a paragraph beside a dim label, in the column of all fields."""
    padded = label.ljust(LABEL) if len(label) < LABEL else f"{label}  "
    return Text(text, style, label=[(padded, "dim")], right=right)


def styled(style: str, words: Iterable[str]) -> list[Said]:
    """Return words as cells, all in one style."""
    return [[(word, style)] for word in words]


def cut(text: str, room: int) -> str:
    """Cut a text that is longer than `room`."""
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def downwards(names: Sequence[str]) -> list[list[str]]:
    """Return names written downwards, a row a line of letters, so that columns can be narrow."""
    short = [abbreviated(name) for name in names]
    height = max(map(len, short))
    return [list(letters) for letters in zip(*(name.rjust(height) for name in short), strict=True)]


def abbreviated(name: str) -> str:
    """Return the name of a type in few letters: f32 for float32."""
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")
