"""What messages share: counts with their nouns, and what was probably meant by an unknown word."""

from __future__ import annotations

import pytest

from convcheck.wording import meant, number, plural


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
    assert meant("zzz", ["aa"], "`convcheck show types`") == "`convcheck show types`"
