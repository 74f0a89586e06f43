"""What makes two failures the same: one key, of which each user takes the fields that it needs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache

from convcheck.judge.result import FAILURES, CallExample, CaseResult, Group, Verdict
from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.rules.model import Case

ANOTHER, MISSING, EXTRA = (
    "another type than expected", "an answer instead of a refusal",
    "a refusal instead of an answer",
)  # fmt: skip
_REFUSED = "refused"
_ANYWHERE = ("verdict", "level", "placement", "operator")  # what counts in whichever row


@dataclass(frozen=True)
class FailureKey:
    """What a failure is told from others by. A field that does not count is blank."""

    #: a failing one
    verdict: Verdict | None = None
    #: the rule and the row that are broken, blank for a case that fails as a whole
    rule: str = ""
    #: The label of the row that is broken.
    row: str = ""
    #: how strong the row is: a rules.model.Level, in words
    level: str = ""
    #: in what way it is wrong; of a case that fails as a whole, its message
    kind: str = ""
    #: where it shows, blank where everywhere
    placement: str = ""
    #: the reading that was taken as the backend's
    reading: str = ""
    #: of a refusal, the runtime's own words on one line
    words: str = ""
    #: the operator that is asked, in whichever version: onnx.Cast
    operator: str = ""
    #: whether most of the values that the row decides are wrong
    most: bool = False

    @property
    def name(self) -> str:
        """Rule and row together, blank for a case that fails as a whole."""
        return f"{self.rule} / {self.row}" if self.rule else ""

    def only(self, *names: str) -> FailureKey:
        """Return the key of these fields, the others blank."""
        return FailureKey(**{name: getattr(self, name) for name in names})

    def without(self, *names: str) -> FailureKey:
        """Return the key with these fields blank."""
        return self.only(*(field.name for field in fields(self) if field.name not in names))


def failure_key(verdict: Verdict, group: Group | None, message: str = "") -> FailureKey:
    """Return the whole key of a failing group, or of a case that fails as a whole: of it there is
    no group, but a message.
    """
    if group is None:
        return FailureKey(verdict, kind=message)
    by, words = group.decision, ""
    if verdict == _REFUSED and group.examples:
        words = clean(group.examples[0].message)
    return FailureKey(
        verdict, by.rule, by.row, by.level, group.kind, group.placement, group.reading, words
    )


def failure_key_of_cause(group: Group, case: Case) -> FailureKey:
    """Return the key of failures that look like one cause in several cases of an operator: by rule
    row, in whichever file that stands, apart where most of the values that it decides are wrong.

    Refusals are one in the same words. Of whole calls, a death is one by whichever row. Of
    promotions, a wrong type or refusal is one in whichever cell, and so are wrong elements by one
    row: one cause shows in each type in its own kind.
    """
    key, types = replace(failure_key(group.verdict, group), operator=case.op), of_types(case)
    if types and (sort := sort_of(group)):
        return replace(key.only(*_ANYWHERE), kind=sort)
    whole = any(isinstance(example, CallExample) for example in group.examples)
    if whole and group.verdict == "crashed":
        return key.only(*_ANYWHERE, "kind")
    if types and _of_elements(group):
        return key.only(*_ANYWHERE, "rule", "row")
    if group.verdict == _REFUSED and group.examples:
        return key.only(*_ANYWHERE, "words")
    return replace(key.without("words"), most=is_of_most(group))


def is_of_most(group: Group) -> bool:
    """Return whether half or more of the values that its row decides are in a group.

    Then the row is not followed; where it is fewer, it is, but for some inputs.
    """
    return 2 * group.count >= group.of


def failure_key_of_whole(verdict: Verdict, message: str, case: Case) -> FailureKey:
    """Return the key of a case that fails as a whole, with the runtime's words."""
    return replace(failure_key(verdict, None, clean(message)), operator=case.op)


def failure_key_of_case(case: CaseResult) -> FailureKey:
    """Return the key of the result of a case that fails as a whole."""
    return failure_key_of_whole(case.verdict, case.message, case.case)


@lru_cache(4096)
def finding_id(cause: FailureKey) -> str:
    """Return the short id of the findings of a cause: eight digits, the same in every run.

    Fields that do not count are left out, so that a new one changes no id of those without it.
    """
    said = {name: value for name, value in vars(cause).items() if value}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]


def finding_of(group: Group, case: Case) -> str:
    """Return the id of the finding that a group of a case is of, '' where nothing is wrong."""
    failing = group.verdict in FAILURES
    return finding_id(failure_key_of_cause(group, case)) if failing else ""


def fails_whole(case: CaseResult) -> bool:
    """Return whether a case fails in another way than its groups do."""
    if case.verdict not in FAILURES:
        return False
    return not any(group.verdict == case.verdict for group in case.groups)


def _of_elements(group: Group) -> bool:
    """Return whether a group is of whole calls, right in type and shape and wrong in elements."""
    found = (e.difference for e in group.examples if isinstance(e, CallExample))
    return any(difference is not None and difference[1] >= 0 for difference in found)


# Where the type of the output is the answer -------------------------------------------------------


def of_types(case: Case) -> bool:
    """Return whether the question is which type two inputs have in common."""
    return case.whole_calls and not case.outputs and len(case.inputs) == 2


def sort_of(group: Group) -> str:
    """Return in what way a group's type or refusal is wrong; '' where that is not what is wrong."""
    found = types_of(group)
    if found is None:
        return ""
    got, due = found
    return MISSING if due == _REFUSED else EXTRA if got == _REFUSED else ANOTHER


def types_of(group: Group) -> tuple[str, str] | None:
    """Return the types that came and those that were due, or 'refused'; None where they agree."""
    example = group.examples[0] if group.examples else None
    if not isinstance(example, CallExample) or group.verdict not in ("fail", "refused"):
        return None
    if isinstance(example.expected, str):
        due = _REFUSED if example.expected == "<refused>" else ""
    else:
        due = "+".join(dict.fromkeys(strip.type for strip in example.expected))
    if example.got is not None:
        got = "+".join(dict.fromkeys(strip.type for strip in example.got))
    else:
        got = _REFUSED if group.verdict == "refused" else ""
    return (got, due) if got and due and got != due else None
