"""What every report says of the causes of a run: letters, and the wrong answer that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from convcheck.causes.gather import Explanation
from convcheck.judge.result import FAILURES, CallExample, CaseResult, CauseInWords, Example, Group
from convcheck.rules.model import Case

Shown = tuple[Case, Group, Example | CallExample]


def with_letters(explanations: Sequence[Explanation]) -> Iterator[tuple[str, Explanation]]:
    """Yield causes with their letters: A to Z, then A2 and so on. Two that are at work together
    have those of both: A+C.
    """
    letters: dict[str, str] = {}
    for one in explanations:
        for cause in one.causes:
            letters.setdefault(cause.name, _letter(len(letters)))
        yield "+".join(letters[cause.name] for cause in one.causes), one


def _letter(place: int) -> str:
    again, at = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[at] + (str(again + 1) if again else "")


def said_of(causes: Sequence[CauseInWords]) -> str:
    """Say what causes do together."""
    return "; and ".join(cause.says for cause in causes)


def wrong_answer(cases: Sequence[CaseResult]) -> Shown:
    """Return the first wrong answer of the first case."""
    return next(
        (case.case, group, group.examples[0])
        for case in cases
        for group in case.groups
        if group.verdict in FAILURES and group.examples
    )
