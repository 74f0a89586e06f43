"""Counts with nouns, and suggestions for misspelled words."""

from __future__ import annotations

from collections.abc import Iterable

GLUE = "\N{NO-BREAK SPACE}"  # a blank without a line break
_MOST = 3  # suggestions
_VERY_NEAR, _NEAR = 0.8, 0.6  # difflib ratios


def number(count: int) -> str:
    """Group a count's digits: 1,204,331."""
    return f"{count:,}"


def plural(count: int, noun: str, several: str = "") -> str:
    """Return a count with its noun: 1 case, 1,204 cases, 2 entries (with `several`)."""
    return f"{number(count)} {noun if count == 1 else several or noun + 's'}"


def meant(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint for an unknown word: known words with a similar spelling or the same beginning.

    Without a match, returns `otherwise`, or else all known words.
    """
    names = list(dict.fromkeys(known))
    if close := _close(word, names):
        return f"did you mean {' or '.join(close)}?"
    return otherwise or f"known: {', '.join(names) or 'none'}"


def _close(word: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in reversed(names)}
    said = word.casefold()
    if said in folded:
        return [folded[said]]
    longer = [name for name in names if said and name.casefold().startswith(said)]
    near = get_close_matches(said, folded, _MOST, _VERY_NEAR)
    near = near or get_close_matches(said, folded, _MOST, _NEAR)
    inside = [name for name in names if len(said) > 2 and said in name.casefold()]
    return (longer or [folded[low] for low in near] or inside)[:_MOST]
