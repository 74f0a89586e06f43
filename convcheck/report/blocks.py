"""Blocks of a page. Only renderers know widths. Styles are rich's, such as 'bold red'."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

#: A text, or pieces with styles.
Said = str | Sequence[tuple[str, str]]
INDENT = 6  # indent below a heading
LABEL = 10  # columns of a field's label


@dataclass(frozen=True)
class Text:
    """A paragraph. Later lines align with the first, indented by `hang`."""

    text: Said = ""
    style: str = ""
    indent: int = 0
    hang: int = 0
    label: Said = ""  # printed before the first line
    right: Said = ""  # printed at the right margin of the last line
    cut: bool = False  # whether a terminal shows one line only
    limit: int = 0  # the number of characters on a terminal; 0 for all
    whole: bool = False  # whether lines are never broken, so that they can be copied


@dataclass(frozen=True)
class Command:
    """A command in unbreakable parts: its beginning, a name, and values."""

    parts: Sequence[str]


Role = Literal["plain", "sign", "exponent", "mantissa"]


@dataclass(frozen=True)
class Piece:
    """A piece of a line."""

    text: str
    role: Role = "plain"
    wrong: bool = False


Pieces = tuple[Piece, ...]


def line_of(letters: list[Piece]) -> Pieces:
    """Merge equal neighbours among single letters."""
    found = groupby(letters, key=lambda letter: (letter.role, letter.wrong))
    return tuple(Piece("".join(letter.text for letter in some), *key) for key, some in found)


@dataclass(frozen=True)
class CodeInWords:
    """An input, expected value or answer."""

    label: str  # input, expected or got
    #: The bits. 64-bit integers have two lines.
    bits: tuple[Pieces, ...] = ()
    value: str = ""
    code: str = ""  # hexadecimal, in brackets; '' if it is printed elsewhere
    words: str = ""  # a pattern, a text, or the reason for a missing answer


@dataclass(frozen=True)
class Codes:
    """Codes below each other, bit by bit."""

    rows: Sequence[CodeInWords]
    indent: int = INDENT


@dataclass(frozen=True)
class Table:
    """Rows of cells. The first cell is a label."""

    heads: Sequence[Sequence[Said]]
    rows: Sequence[Sequence[Said]]
    indent: int = 0
    gap: int = 2
    right: Collection[int] = ()  # the right-aligned columns
    middle: bool = False  # whether all columns except labels are centred
    #: The empty cell: rows with only such cells are skipped. None keeps all rows.
    empty: str | None = None
    parts: bool = True  # whether a wide table is split by columns, with labels and heads repeated
    prose: bool = False  # whether the last column is prose, cut to one line on a terminal


@dataclass(frozen=True)
class Fitting:
    """Alternatives: the first that fits, or else the last."""

    ways: "Sequence[Sequence[Block]]"


@dataclass(frozen=True)
class Dim:
    """Blocks of less importance."""

    blocks: "Iterable[Block]"


Block = Text | Command | Codes | Table | Fitting | Dim
BLANK = Text()


def item(label: str, style: str, text: Said, right: Said = "", *, cut: bool = False) -> Text:
    """Return a paragraph after a styled label."""
    return Text(text, label=[(f"{label}  ", style)], right=right, cut=cut)


def under(text: Said, style: str = "", hang: int = 0, right: Said = "") -> Text:
    """Return a paragraph below a heading."""
    return Text(text, style, INDENT, hang, right=right)


def field(label: str, text: Said, style: str = "", right: Said = "", indent: int = 0) -> Text:
    """Return a paragraph after a dim label."""
    padded = label.ljust(LABEL) if len(label) < LABEL else f"{label}  "
    return Text(text, style, indent, label=[(padded, "dim")], right=right)


def styled(style: str, words: Iterable[str]) -> list[Said]:
    """Return words as cells in one style."""
    return [[(word, style)] for word in words]


def cut(text: str, room: int) -> str:
    """Cut a text longer than `room`."""
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def downwards(names: Sequence[str]) -> list[list[str]]:
    """Return names as rows of letters, for narrow columns."""
    short = [abbreviated(name) for name in names]
    height = max(map(len, short))
    return [list(letters) for letters in zip(*(name.rjust(height) for name in short), strict=True)]


def abbreviated(name: str) -> str:
    """Abbreviate a type's name: f32 for float32."""
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")
