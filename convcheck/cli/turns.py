"""Several backends, one after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from convcheck.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import Tier

T = TypeVar("T")


@dataclass(frozen=True)
class Turn(Generic[T]):
    """A backend's turn: what came of it, or why it could not be started."""

    #: The backend's address, as it was given.
    address: str
    #: What came of it; None where the backend could not be started.
    done: T | None
    #: Why it could not be started, None where it was.
    error: UnavailableError | None = None

    @property
    def why_not(self) -> str:
        """Say on one line why the backend could not be started, '' where it was."""
        return "; ".join(filter(None, (self.error.message, self.error.hint))) if self.error else ""


def each(
    addresses: Sequence[str], ask: Callable[[str], T], ends: Callable[[T], bool]
) -> list[Turn[T]]:
    """Ask one backend after the other, until one `ends` it.

    Raises UsageError for a name that no backend has, before any is asked.
    """
    for address in addresses:
        _check(address)
    turns: list[Turn[T]] = []
    for address in dict.fromkeys(addresses):
        turns.append(_turn(address, ask))
        done = turns[-1].done
        if done is not None and ends(done):
            break
    return turns


def _turn(address: str, ask: Callable[[str], T]) -> Turn[T]:
    try:
        return Turn(address, ask(address))
    except UnavailableError as error:
        return Turn(address, None, error)


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
