"""Judge answers under another attribute value, and by other versions of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.errors import SpecError, UsageError
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES, CallExample, CaseResult, Group
from convcheck.judge.words import pattern, value
from convcheck.records import replace
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import DEFAULT, Attribute, Case, Spec
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT
from convcheck.vectors.generate import expecting
from convcheck.vectors.model import CallSet, Vectors

RIGHT = ("pass", "tolerated")


def named_in(name: str, where: tuple[str, ...]) -> frozenset[str]:
    """Return the attributes given in a case id or by --where."""
    return frozenset(word.partition("=")[0] for word in (*name.split("/")[2:], *where))


def reversals(
    catalog: Catalog, vectors: Vectors, answers: Answers, named: frozenset[str]
) -> Iterator[str]:
    """Yield a sentence for each attribute that can change the verdict by another value.

    Right answers are only reported if the attribute was not given.
    """
    spec = catalog.specs[vectors.case.spec]
    now = judged_as(spec, vectors.case, vectors, answers).verdict
    for attribute in spec.attributes:
        for case in _siblings(spec, vectors.case, attribute):
            with suppress(SpecError):
                found = judged_as(spec, case, vectors, answers)
                left_out = _left_out(attribute, vectors.case, named)
                if said := _reversed(now, found, attribute.name, bool(left_out)):
                    yield left_out + said


def expected_answers(vectors: Vectors) -> Answers | None:
    """Return the answers expected by the first reading; None if they are not codes."""
    if isinstance(vectors, CallSet):
        [call] = vectors.expected
        if call.readings[0].pattern != EXACT:
            return None
        due = call.readings[0].outputs
        outputs = Outputs(tuple(one.answer for one in due), tuple(one.dtype.name for one in due))
        return Answers(np.array([outputs]), np.array([ANSWERED], np.uint8), {})
    [first, *_] = vectors.expected.readings
    return Answers(first.codes, np.full(len(vectors), ANSWERED, np.uint8), {})


def right_versions(catalog: Catalog, vectors: Vectors, answers: Answers) -> Iterator[str]:
    """Yield other versions of the operator under which all answers are right."""
    for spec in catalog.specs.values():
        if spec.op == vectors.case.op and spec.id != vectors.case.spec:
            with suppress(SpecError, UsageError):
                case = find_case(catalog, f"{spec.id}/{vectors.case.name}", None, None, ())
                if judged_as(spec, case, vectors, answers).verdict in RIGHT:
                    yield spec.id


def judged_as(spec: Spec, case: Case, vectors: Vectors, answers: Answers) -> CaseResult:
    """Judge answers as those of another case with the same inputs. Raises SpecError."""
    if isinstance(vectors, CallSet):
        calls = expecting(spec, case, vectors.calls, "sampled")
        return judge(calls, answers, show_all=True)
    expected = evaluate(spec, case, vectors.inputs[0])
    return judge(replace(vectors, case=case, expected=expected), answers, show_all=True)


def _siblings(spec: Spec, case: Case, attribute: Attribute) -> Iterator[Case]:
    """Yield the cases with other values of an attribute that applies."""
    now = dict(spec.in_force(case.attributes)).get(attribute.name)
    for other in attribute.values if now is not None else ():
        if other != now:
            pairs = {**dict(case.attributes), attribute.name: other}.items()
            yield replace(case, attributes=tuple(pairs))


def _left_out(attribute: Attribute, case: Case, named: frozenset[str]) -> str:
    """Return a sentence on the default, '' if the attribute was given."""
    if attribute.name in named and case.attribute(attribute.name) != DEFAULT:
        return ""
    return f"`{attribute.name}` was not given: its default {attribute.default}. "


def _reversed(now: str, found: CaseResult, attribute: str, left_out: bool) -> str:
    """Return how another attribute value changes the verdict, '' if it does not."""
    chosen = f"{attribute}={found.case.attribute(attribute)}"
    if now in FAILURES and found.verdict in RIGHT:
        return f"Right under {chosen}."
    failing = [group for group in found.groups if group.verdict in FAILURES]
    if now not in RIGHT or not failing or not left_out:
        return ""
    words = _in_words(failing[0], found.case)
    if words is None:
        return f"With {chosen} this answer is wrong."
    return f"With {chosen} {words[0]} is expected, and {words[1]} is wrong."


def _in_words(group: Group, case: Case) -> tuple[str, str] | None:
    """Return the expected value and the answer of the first wrong element; None if none."""
    example = group.examples[0]
    if not isinstance(example, CallExample):
        fmt = case.outputs[0].format
        words = (example.expected, example.got)
    else:
        output, element = example.difference or (0, -1)
        if element < 0 or isinstance(example.expected, str) or example.got is None:
            return None
        both = (example.expected[output], example.got[output])
        fmt = case.outputs[output].format
        words = tuple(one.words[element - one.first] for one in both)  # type: ignore[assignment]
    said = [pattern(word or "") or value(fmt, word) or "the refusal" for word in words]
    return said[0], said[1]
