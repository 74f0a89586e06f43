"""What a survey keeps of a backend's answers in one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED
from convcheck.judge.result import CallExample, CaseResult, Example, entry_word
from convcheck.numerics.codes import Bits
from convcheck.semantics.expected import Decision

OPEN = frozenset(("undefined", "disputed"))
EVERY_READING = "every reading"
SOME_READING = "one reading or another"  # of calls that no few readings explain together
NO_READING = "no reading, but: "  # before a law that fits where no reading does
EXAMPLES = 3  # answers kept that no law fits
Shown = Example | CallExample
Laws = tuple[str, ...]  # what fits, in words, the plainest first
Fits = tuple[tuple[str, Laws], ...]  # kinds of input ('' for all) with the laws that fit each


@dataclass(frozen=True, eq=False)
class Answered:
    """Elements of a row with what came of them: all, or a spread of very many.

    `state` is that of `Answers`; of codes, every NaN is the same. Arrays of shape (n,).
    """

    #: The codes of each input.
    inputs: tuple[Bits, ...]
    #: The code that was answered, where one was.
    got: Bits
    state: NDArray[np.uint8]
    #: The runtime's words, by the position of an element.
    messages: Mapping[int, str]

    def __getitem__(self, i: int) -> Example:
        """Return one element as an example; nothing was expected of it."""
        inputs = tuple(entry_word(tensor[i]) for tensor in self.inputs)
        got = entry_word(self.got[i]) if self.state[i] == ANSWERED else None
        return Example(inputs, "<undefined>", got, self.messages.get(i, ""))

    def __len__(self) -> int:
        return len(self.state)


Sample = Answered | tuple[CallExample, ...]


def unlike(samples: Sequence[Sample]) -> list[int]:
    """Return the positions at which samples of the same inputs differ; first those all answered."""
    arrays = [s for s in samples if isinstance(s, Answered)]
    if len(arrays) < len(samples):
        lists = [cast(tuple[CallExample, ...], s) for s in samples]
        same = range(min(map(len, lists), default=0))
        found = [i for i in same if len({s[i].got for s in lists}) > 1]
        return sorted(found, key=lambda i: any(s[i].got is None for s in lists))
    if not arrays or len({len(s) for s in arrays}) > 1:
        return []
    first, differ = arrays[0], np.zeros(len(arrays[0]), bool)
    silent = np.zeros(len(first), bool)
    for other in arrays:
        quiet = other.state != ANSWERED
        differ |= (other.state != first.state) | (~quiet & np.asarray(other.got != first.got, bool))
        silent |= quiet
    return [*np.flatnonzero(differ & ~silent).tolist(), *np.flatnonzero(differ & silent).tolist()]


@dataclass(frozen=True)
class Surveyed:
    """What a backend did with the inputs of one row in one case.

    `fits` are the laws (of a disputed row: the readings) that fit all its answers, by kind of
    input; () where it gave none. `message` are its words for the first input that it refused or
    that killed it, `unsupported` tells that the case could not be put to it at all. `elsewhere`
    counts inputs that another placement answered otherwise, `odd` answers that no law fits, of
    which `examples` are some; `sample` is a spread of all. Equal `digest`s mean equal answers,
    every NaN being the same.
    """

    decision: Decision
    #: How many inputs were asked.
    asked: int
    fits: Fits = ()
    refused: int = 0
    #: How many inputs killed it.
    crashed: int = 0
    elsewhere: int = 0
    odd: int = 0
    message: str = ""
    unsupported: bool = False
    digest: str = ""
    examples: tuple[Shown, ...] = ()
    sample: Sample = ()


@dataclass(frozen=True)
class CaseSurvey(CaseResult):
    """A case's result with a survey of its open rows."""

    rows: tuple[Surveyed, ...] = ()
