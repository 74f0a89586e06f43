"""Backends that truncate, with an internal error in the search for causes."""

from __future__ import annotations

from unittest.mock import patch

from convcheck.causes.held import Held
from convcheck.rules.load import Catalog
from tests.planted.rounding_backends import Truncating


def _raising(*given: object) -> None:
    raise KeyError("planted")


class NoSearch(Truncating):
    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        patch("convcheck.causes.search._found", _raising).start()


class NoHolding(Truncating):
    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog)
        patch.object(Held, "_gives_chunk", _raising).start()
