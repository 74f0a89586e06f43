"""Whether the same whole calls get the same outputs in whichever order and way they are asked.

What the standard leaves undefined counts too: an answer may be any, but not now this and now that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from convcheck.ask import other_ways as ways
from convcheck.ask.again import UNREPEATABLE
from convcheck.ask.calls import complaint
from convcheck.ask.elements import Note, inputs_at
from convcheck.ask.options import broken, configured, options_of
from convcheck.ask.two_answers import Came, alike, differs, digest, example
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Oversized, Refused
from convcheck.judge.answers import ANSWERED, EVERYWHERE, Avoid, CallAnswers
from convcheck.judge.digest import added, spell_digest
from convcheck.judge.result import CallExample, Group
from convcheck.vectors.model import CallSet

ORDER = "order-dependent"
REPEATED = ("first", "asked again")


def consistent_calls(
    backend: Backend,
    vectors: CallSet,
    answers: CallAnswers,
    note: Note,
    avoid: Avoid | None = None,
) -> tuple[Group, ...]:
    """Ask what was answered again, in reversed order and in other ways, and give a group of each
    sort of difference.

    `answers` are those of the same backend to the same calls. `note` is told placement and call
    before each call, as by `ask_calls`. What the backend died of in a placement is not asked in it
    again.
    """
    avoid = avoid or Avoid()
    if answers.declined or avoid.placements >= EVERYWHERE:
        return ()
    asking = _Asking(backend, vectors, answers, note, avoid)
    for way in asking.ways():
        asking.ask(way)
    return tuple(asking.groups())


@dataclass(frozen=True)
class _Way:
    """A way to ask the calls once more. A difference from the first answers is of the `kind`."""

    kind: str
    one: str  # the first way, and this one, in words
    other: str
    placement: str
    backend: Backend
    offset: int = 0


@dataclass
class _Found:
    """Calls of one row with one kind of difference, and the first of them as an example."""

    placement: str
    example: CallExample
    sums: dict[int, int] = field(default_factory=dict)  # by call, a hash of it and both answers


class _Asking:
    def __init__(
        self, backend: Backend, vectors: CallSet, answers: CallAnswers, note: Note, avoid: Avoid
    ) -> None:
        self.backend, self.vectors, self.note, self.avoid = backend, vectors, note, avoid
        self.reference: dict[int, Outputs] = {}
        for i in np.flatnonzero(answers.state == ANSWERED)[::-1].tolist():
            got = answers.got[i]
            if isinstance(got, Outputs):  # of others, there are no bits to be held against
                self.reference[i] = got
        self.asked = list(self.reference)
        self.found: dict[tuple[int, str], _Found] = {}
        deaths = (f for f in avoid.faults if f.kind == "crashed")
        self.deadly = {(fault.placement, fault.index) for fault in deaths}

    def ways(self) -> Iterator[_Way]:
        """Yield the ways in which the calls can be asked; the first is the first one, reversed."""
        if len(self.asked) > 1:
            yield _Way(ORDER, "in order", "in reverse order", "again", self.backend)
        else:
            yield _Way(UNREPEATABLE, *REPEATED, "again", self.backend)
        if any(tensor.shape for i in self.asked for tensor in self.vectors.calls[i]):
            words = "at the start of a buffer", "1 element into it"
            yield _Way(ways.ALIGNMENT, *words, "other place", self.backend, offset=1)
        for name, values in options_of(self.backend).items():
            for value in values[1:] if self.reference else ():
                other = configured(self.backend, {name: value})
                words = f"{name} {values[0]}", f"{name} {value}"
                yield _Way(f"{name}-dependent", *words, "other options", other)

    def ask(self, way: _Way) -> None:
        """Ask every call whose answers were the same so far in one more way."""
        before: int | None = None
        for i in list(self.reference):
            got = self._put(way, i)
            if got is None and way.placement == "again":
                del self.reference[i]  # it is not known whether it gives the same twice
            elif differs(self.reference[i], got):
                self._confirm(way, i, before, got)
            before = i

    def _put(self, way: _Way, i: int) -> Came:
        """Make a call; give what came, or why nothing did. None where it is to be avoided."""
        deadly = (way.placement, i) in self.deadly
        if way.placement in self.avoid.placements or deadly or broken(self.backend):
            return None
        index = np.array([i], np.intp)
        self.note(way.placement, index)
        inputs = [ways.at_offset(tensor, way.offset) for tensor in inputs_at(self.vectors, index)]
        return _returned(way.backend.answer(self.vectors.case, inputs))

    def _after(self, way: _Way, before: int | None, i: int) -> Came:
        """Make a call after the one that was made before it."""
        if before is not None:
            self._put(way, before)
        return self._put(way, i)

    def _confirm(self, way: _Way, i: int, before: int | None, got: Came) -> None:
        """Lay a difference to the way only where both ways give theirs twice."""
        due, again = self.reference[i], _Way(UNREPEATABLE, *REPEATED, "again", self.backend)
        at = self.asked.index(i) + 1  # they stand in reverse order
        first = self.asked[at] if at < len(self.asked) else None
        plain = self._after(again, first if way.placement == "again" else before, i)
        more = self._after(way, before, i)
        if differs(due, plain):
            way, got = again, plain
        elif not alike(got, more):
            way, due, got = _unrepeatable(way, due, got, more)
        self._add(way, i, due, got)
        if way.kind in (ORDER, UNREPEATABLE):
            del self.reference[i]  # nothing can be held against it

    def _add(self, way: _Way, i: int, due: Outputs, got: Came) -> None:
        kind = f"{way.kind}: refused" if isinstance(got, str) else way.kind
        key = self.vectors.expected[i].row, kind
        if key not in self.found:
            self.found[key] = self._found(way, i, due, got)
        self.found[key].sums.setdefault(i, digest(self.vectors.calls[i], due, got))

    def _found(self, way: _Way, i: int, due: Outputs, got: Came) -> _Found:
        return _Found(way.other, example(self.vectors, i, (way.one, way.other), due, got))

    def groups(self) -> Iterator[Group]:
        """Yield a group of each deciding row and kind, of differences and of refusals apart."""
        rows = [self.vectors.expected[i].row for i in self.asked]
        for (row, kind), found in sorted(self.found.items(), key=lambda item: item[0][0]):
            yield Group(
                self.vectors.decisions[row], "inconsistent", kind, len(found.sums),
                rows.count(row), spell_digest(added(found.sums.values())),
                placement=found.placement, examples=(found.example,),
            )  # fmt: skip


def _returned(answer: Answer) -> Came:
    if isinstance(answer, Refused | Declined):
        return answer.message
    if isinstance(answer, Oversized):
        return answer
    return complaint(answer) or answer


def _unrepeatable(way: _Way, due: Outputs, got: Came, more: Came) -> tuple[_Way, Outputs, Came]:
    """Return what differs from call to call: in one way, where there are two answers in it."""
    if not isinstance(got, Outputs):
        return replace(way, kind=UNREPEATABLE), due, got
    words = way.other, f"{way.other} once more"
    return _Way(UNREPEATABLE, *words, way.placement, way.backend), got, more
