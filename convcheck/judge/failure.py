"""Failure keys: failures with equal keys are the same."""

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
_ANYWHERE = ("verdict", "level", "placement", "operator")  # fields that count regardless of the row


@dataclass(frozen=True)
class FailureKey:
    """The identity of a failure. Blank fields do not count."""

    verdict: Verdict | None = None
    rule: str = ""
    row: str = ""
    #: the level of the row: a rules.model.Level, in words
    level: str = ""
    #: the kind of error, or the message of a case that fails as a whole
    kind: str = ""
    placement: str = ""
    reading: str = ""
    #: the runtime's message for a refusal, on one line
    words: str = ""
    operator: str = ""
    #: whether the failure affects most values that the row decides
    most: bool = False

    @property
    def name(self) -> str:
        """Rule and row, blank for a case that fails as a whole."""
        return f"{self.rule} / {self.row}" if self.rule else ""

    def only(self, *names: str) -> "FailureKey":
        """Return a key with all other fields blank."""
        return FailureKey(**{name: getattr(self, name) for name in names})

    def without(self, *names: str) -> "FailureKey":
        """Return a key with these fields blank."""
        return self.only(*(field.name for field in fields(self) if field.name not in names))


def failure_key(verdict: Verdict, group: Group | None, message: str = "") -> FailureKey:
    """Return the full key of a failing group, or of a case that fails as a whole."""
    if group is None:
        return FailureKey(verdict, kind=message)
    by, words = group.decision, ""
    if verdict == _REFUSED and group.examples:
        words = clean(group.examples[0].message)
    return FailureKey(
        verdict, by.rule, by.row, by.level, group.kind, group.placement, group.reading, words
    )


def failure_key_of_cause(group: Group, case: Case) -> FailureKey:
    """Return a key shared by the cases of an operator that seem to fail for one cause.

    Refusals are keyed by message. Crashes of whole calls share a key across rows. In type
    promotions a wrong type or refusal shares a key across the table, and wrong elements across
    kinds.
    """
    key, types = replace(failure_key(group.verdict, group), operator=case.op), of_types(case)
    if types and (sort := sort_of(group)):
        return replace(key.only(*_ANYWHERE), kind=sort)
    whole = any(isinstance(example, CallExample) for example in group.examples)
    if whole and group.verdict == "crashed":
        return key.only(*_ANYWHERE, "kind")
    found = (e.difference for e in group.examples if isinstance(e, CallExample))
    if types and any(difference and difference[1] >= 0 for difference in found):
        return key.only(*_ANYWHERE, "rule", "row")
    if group.verdict == _REFUSED and group.examples:
        return key.only(*_ANYWHERE, "words")
    return replace(key.without("words"), most=is_of_most(group))


def is_of_most(group: Group) -> bool:
    """Return whether a group holds half or more of the values of its row.

    If so, the backend does not implement the row.
    """
    return 2 * group.count >= group.of


def failure_key_of_case(case: CaseResult) -> FailureKey:
    """Return the key of a result that fails as a whole."""
    return replace(failure_key(case.verdict, None, clean(case.message)), operator=case.case.op)


@lru_cache(4096)
def finding_id(cause: FailureKey) -> str:
    """Return the finding id: eight hexadecimal digits, stable across runs.

    Blank fields are omitted, so that new fields change no ids.
    """
    said = {name: value for name, value in vars(cause).items() if value}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]


def finding_of(group: Group, case: Case) -> str:
    """Return the finding id of a group, '' if it passes."""
    failing = group.verdict in FAILURES
    return finding_id(failure_key_of_cause(group, case)) if failing else ""


def fails_whole(case: CaseResult) -> bool:
    """Return whether a case fails with a verdict that none of its groups has."""
    if case.verdict not in FAILURES:
        return False
    return not any(group.verdict == case.verdict for group in case.groups)


def of_types(case: Case) -> bool:
    """Return whether a case asks for the common type of two inputs."""
    return case.whole_calls and not case.outputs and len(case.inputs) == 2


def sort_of(group: Group) -> str:
    """Return how a group's type or refusal is wrong, else ''."""
    found = types_of(group)
    if found is None:
        return ""
    got, due = found
    return MISSING if due == _REFUSED else EXTRA if got == _REFUSED else ANOTHER


def types_of(group: Group) -> tuple[str, str] | None:
    """Return the returned and expected types, or 'refused'. None if they agree."""
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
