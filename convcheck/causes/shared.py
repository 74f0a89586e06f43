"""Match the causes of several backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from convcheck.causes.gather import Diagnosis, Explanation, chosen_causes
from convcheck.judge.result import CauseInWords


@dataclass(frozen=True)
class SharedCause:
    """A cause, or two together, of one or more backends."""

    #: usually one; several act together
    causes: tuple[CauseInWords, ...]
    #: backend -> what the cause explains there
    sides: Mapping[str, tuple[Explanation, ...]]

    def cases(self, name: str) -> int:
        """Return the number of a backend's cases that it explains."""
        return sum(len(one.cases) for one in self.sides.get(name, ()))


def shared_causes(found: Mapping[str, Diagnosis]) -> list[SharedCause]:
    """Return the causes of several backends, most common first.

    One set cover over all backends gives one fault one name.
    """
    each = {(name, i): e for name, one in found.items() for i, e in enumerate(one.explanations)}
    told = {key: (one.causes, *one.others) for key, one in each.items()}
    by_name = {cause.name: cause for all_ in told.values() for fit in all_ for cause in fit}
    fits = {key: [tuple(c.name for c in fit) for fit in all_] for key, all_ in told.items()}
    shared: list[SharedCause] = []
    for names, keys in chosen_causes(fits, by_name):
        mine = {
            name: tuple(each[key] for key in keys if key[0] == name)
            for name in dict.fromkeys(name for name, _ in keys)
        }
        shared.append(SharedCause(tuple(by_name[name] for name in names), mine))
    return sorted(shared, key=lambda one: -len(one.sides))
