"""A backend whose calls are noted, and whose answers are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from convcheck.ask.budget import NOTHING, CallNotes
from convcheck.ask.chains import in_sequence
from convcheck.ask.options import configured, options_of
from convcheck.backends.checked import AnswerError, bounded, checked_answer, checked_support
from convcheck.backends.protocol import (
    Answer,
    Backend,
    Bound,
    Declined,
    DiedError,
    ProtocolError,
    Raised,
    answers_of,
    bound,
    last_words,
)
from convcheck.errors import SpecError
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.model import Case

_END = object()


class WatchedBackend:
    """A backend whose calls are noted while they last. One that dies is still in its call.

    It is `broken` once it raised, or says that it is `spoiled` by what its runtime raised. Chains
    are put to it cast by cast unless it `takes_graphs`.
    """

    def __init__(self, backend: Backend, notes: CallNotes, takes_graphs: bool = False) -> None:
        self.name, self.version = backend.name, backend.version
        self._backend, self.notes, self._takes_graphs = backend, notes, takes_graphs
        self._own_fault = False
        self._others: list[WatchedBackend] = []
        self._supported: tuple[Case, Declined | None] | None = None  # of the case asked last

    @property
    def broken(self) -> bool:
        """Whether it is not to be used any more."""
        return self._own_fault or any(other.broken for other in self._others)

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The options that it takes, with their values."""
        return options_of(self._backend)

    def configured(self, choice: Mapping[str, str]) -> Backend:
        """Return the same backend with other options, watched like this one."""
        other = WatchedBackend(configured(self._backend, choice), self.notes)
        self._others = [*(o for o in self._others if o.broken), other]
        return cast(Backend, other)

    def _look(self) -> None:
        self._own_fault = self._own_fault or bool(getattr(self._backend, "spoiled", False))

    def support(self, case: Case) -> Declined | None:
        """Return what the backend says of a case, which it is asked once in a row."""
        if self._supported is None or self._supported[0] is not case:
            self._supported = case, self._support(case)
        return self._supported[1]

    def _support(self, case: Case) -> Declined | None:
        self.notes.begin("support", NOTHING)
        with self:
            each = case.hops if case.hops and not self._takes_graphs else (case,)
            each = tuple(one.call for one in each)
            found = next(filter(None, map(self._backend.support, each)), None)
        return checked_support(found)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Return the answer to a call that was noted."""

        def made() -> Answer:
            if case.hops and not self._takes_graphs:
                return in_sequence(self._backend, case, inputs)
            return self._backend.answer(case.call, inputs)

        return cast(Answer, self._called(made, case))

    def answer_if_any(self, case: Case, inputs: Sequence[Bits]) -> Answer | None:
        """Return an answer of which it is no matter whether there is one."""
        try:
            return self.answer(case, inputs)
        except DiedError:
            raise
        except BaseException:
            return None

    def answers(self, case: Case, questions: Iterable[Sequence[Bits]]) -> Iterator[Answer]:
        """Return the answers to calls, each of which is noted by whoever makes the questions."""
        if not callable(getattr(self._backend, "answers", None)):
            yield from (self.answer(case, inputs) for inputs in questions)
            return
        found = answers_of(self._backend, case.call, questions)
        while True:
            with self:
                answer = next(found, _END)
            if answer is _END:
                return
            self._look()
            yield checked_answer(answer, case)

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound:
        """Return a call on memory that stays. It is to be noted each time."""
        self.notes.begin("support", NOTHING)
        with self:
            call = bound(self._backend, case, codes, out)
        return lambda: self._called(call, case, is_bound=True)

    def _called(self, call: Bound, case: Case, is_bound: bool = False) -> Answer | None:
        """Return what a call returns, Raised if the adapter raises. A program that breaks its
        protocol does not answer any more: that is raised.
        """
        try:
            with self:
                answer = call()
            self._look()
            return None if answer is None and is_bound else checked_answer(answer, case)
        except (DiedError, SpecError, ProtocolError):
            raise
        except AnswerError as error:
            return Raised(f"no answer: {error}")
        except BaseException as error:  # SystemExit too
            return Raised(bounded(last_words(error)))

    def __enter__(self) -> None:
        """Begin a call; that it lasts was noted before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Note that the call came back, unless what answers has died of it."""
        if kind is not None and issubclass(kind, DiedError):
            return
        self.notes.end()
        self._own_fault = self._own_fault or kind is not None
