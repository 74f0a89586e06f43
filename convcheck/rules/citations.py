"""Find the citations of a spec."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from convcheck.rules.model import Cite, Spec

_WRITTEN = ("LATIN", "GREEK")  # Greek letters occur in formulas


def citations(spec: Spec) -> Iterator[Cite]:
    """Yield the citations of a spec."""
    for field in fields(spec):
        if field.name != "parent":  # it has its own
            yield from _citations(getattr(spec, field.name))


def _citations(value: object) -> Iterator[Cite]:
    if isinstance(value, Cite):
        yield value
    elif isinstance(value, Mapping):
        yield from _citations(tuple(value.values()))
    elif isinstance(value, tuple):
        for one in value:
            yield from _citations(one)
    elif is_dataclass(value):
        yield from _citations(tuple(getattr(value, field.name) for field in fields(value)))


def is_foreign(text: str) -> bool:
    """Return whether a text has letters that are neither Latin nor Greek."""
    return any(c.isalpha() and not unicodedata.name(c, "").startswith(_WRITTEN) for c in text)
