"""Several backends, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from convcheck.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
    from convcheck.plan.runner import Turn
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import Tier


def each(
    addresses: Sequence[str], ask: Callable[[str], RunResult], ends: Callable[[RunResult], bool]
) -> list[Turn]:
    """Ask one backend after the other, until one `ends` it.

    Raises UsageError for a name that no backend has, before any is asked.
    """
    for address in addresses:
        _check(address)
    turns: list[Turn] = []
    for address in dict.fromkeys(addresses):
        turns.append(_turn(address, ask))
        run = turns[-1].run
        if run is not None and ends(run):
            break
    return turns


def _turn(address: str, ask: Callable[[str], RunResult]) -> Turn:
    from convcheck.plan.runner import Turn

    try:
        return Turn(address, ask(address))
    except UnavailableError as error:
        return Turn(address, None, "; ".join(filter(None, (error.message, error.hint))))


def _check(address: str) -> None:
    from convcheck.backends.protocol import backend_names, is_class, open_backend

    if address.partition(":")[0] not in backend_names() and not is_class(address):
        open_backend(address)  # says what names there are


def selected(
    loaded: Catalog, selection: Selection, backends: Sequence[str], tier: Tier = "edge"
) -> list[Case]:
    """Select cases of a tier; without a choice of specs, of those that any of the backends has to
    do with, unless the choice of cases is among the others.
    """
    from convcheck.backends.protocol import takes
    from convcheck.plan.select import select
    from convcheck.records import replace

    if selection.specs:
        return select(loaded, selection, tier)
    own = tuple(s.id for s in loaded.specs.values() if any(takes(b, s) for b in backends))
    if own:
        with contextlib.suppress(UsageError):
            return select(loaded, replace(selection, specs=own), tier)
    return select(loaded, selection, tier)
