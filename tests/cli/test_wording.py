"""What messages share: a count with its noun is put together by one function, in every message; a
word that is not known is answered with what was probably meant.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import convcheck
from convcheck.wording import meant, number, plural

PACKAGE = Path(convcheck.__file__).parent

NOUNS = (
    "answers|arguments|attributes|backends|bits|bytes|calls|cases|cells|changes|characters|codes|"
    "columns|digits|dimensions|elements|entries|errors|failures|files|findings|globs|groups|inputs|"
    "lines|outputs|parts|patterns|points|questions|ranges|readings|requests|rows|rules|samples|"
    "shards|specs|tensors|texts|threads|times|types|units|values|vectors|workers"
)
COUNTED = re.compile(rf" (?:(?!has |have |is )[a-z-]+ )?(?:{NOUNS})\b")
TEXTS = {"which", "whose", "tier"}  # names of what stands before a noun and is no count


@cache
def files() -> dict[Path, ast.Module]:
    """Return the files of the package but programs that are data, each parsed once."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "data" not in path.parents]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def counted_by_hand(tree: ast.Module) -> list[int]:
    """Return the lines in which a count and its noun are put together without the function."""
    nodes = list(ast.walk(tree))
    found = [node.lineno for node in nodes if isinstance(node, ast.JoinedStr) and _counts(node)]
    return found + [n.lineno for n in nodes if isinstance(n, ast.IfExp) and _ends_by_hand(n)]


def _counts(text: ast.JoinedStr) -> bool:
    return any(
        isinstance(first, ast.FormattedValue)
        and _may_be_one(first)
        and isinstance(then, ast.Constant)
        and COUNTED.match(str(then.value)) is not None
        for first, then in zip(text.values, text.values[1:], strict=False)
    )


def _may_be_one(value: ast.FormattedValue) -> bool:
    name = ast.unparse(value.value)
    return value.conversion == -1 and not name.isupper() and name not in TEXTS


def _ends_by_hand(choice: ast.IfExp) -> bool:
    """Whether it is 's' or nothing, or what begins with '1 ', according to a count."""
    words = [n.value for n in (choice.body, choice.orelse) if isinstance(n, ast.Constant)]
    return set(words) == {"", "s"} or any(str(word).startswith("1 ") for word in words)


def test_counts_have_one_home() -> None:
    by_hand = [f"{path}:{line}" for path, tree in files().items() for line in counted_by_hand(tree)]
    assert by_hand == []


@pytest.mark.parametrize("planted", [
    "f'{len(cases)} cases'", "f'{count:,} new cases'", "f'bit{\"\" if n == 1 else \"s\"}'",
    "'1 entry' if n == 1 else several",
])  # fmt: skip
def test_a_count_by_hand_is_found(planted: str) -> None:
    assert counted_by_hand(ast.parse(planted)) == [1]


def test_what_is_no_count_is_let_be() -> None:
    fine = "(f'{PIECES:,} cases', f'{tier} vectors', f'{name!r} entries', f'{name} has no rows')"
    assert counted_by_hand(ast.parse(fine)) == []


def test_the_page_counts_by_one_function_too() -> None:
    """The HTML report's script has its twin, and `=== 1 ?` for a noun stands nowhere else."""
    scripts = sorted((PACKAGE / "report" / "html" / "templates").glob("*.js"))
    homes = [path.name for path in scripts if re.search(r'=== 1 \? "', path.read_text())]
    assert homes == ["dom.js"]


def test_counts() -> None:
    assert plural(0, "case") == "0 cases"
    assert plural(1, "case") == "1 case"
    assert plural(1204331, "case") == "1,204,331 cases"
    assert plural(1, "entry", "entries") == "1 entry"
    assert plural(2, "entry", "entries") == "2 entries"
    assert number(1204331) == "1,204,331"


@pytest.mark.parametrize(("word", "known", "hint"), [
    ("onnx", ["ort", "onnx-reference"], "did you mean onnx-reference?"),  # goes on so
    ("flaot32", ["float16", "float32", "float"], "did you mean float32?"),  # the nearest only
    ("Float32", ["float16", "float32"], "did you mean float32?"),  # case
    ("cast", ["onnx.Cast-1", "onnx.Range-11"], "did you mean onnx.Cast-1?"),  # a part of it
    ("a", ["aa", "ab", "ac", "ad"], "did you mean aa or ab or ac?"),
    ("zzz", ["aa", "ab"], "known: aa, ab"),
    ("", ["aa", "ab"], "known: aa, ab"),
    ("zzz", [], "known: none"),
])  # fmt: skip
def test_what_was_meant(word: str, known: list[str], hint: str) -> None:
    assert meant(word, known) == hint


def test_where_nothing_is_near() -> None:
    assert meant("zzz", ["aa"], "`convcheck list types`") == "`convcheck list types`"


def test_suggestions_have_one_home() -> None:
    users = [path.name for path in files() if "difflib" in path.read_text()]
    assert sorted(users) == ["problems.py", "wording.py"]  # of a hundred thousand case ids
