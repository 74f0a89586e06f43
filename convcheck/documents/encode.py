"""Write results as the lines of a log."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any

from msgspec.structs import replace

from convcheck import __version__
from convcheck.causes.gather import Diagnosis, gathered, with_letters
from convcheck.documents.report import FORMAT, End, ExplainedCause, Head, Line, line_text
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.reading import case_head
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CallExample,
    CaseResult,
    Example,
    Group,
    Part,
    RunResult,
    Strip,
    Surveyed,
    Word,
)
from convcheck.judge.words import code_text, value
from convcheck.numerics.format import Format
from convcheck.plan.diff import explained_cases
from convcheck.plan.runner import Turn
from convcheck.report.counts import summary_of
from convcheck.report.document import environment
from convcheck.report.findings import wrong_answers
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision


def text(result: RunResult) -> str:
    """Return the log of a finished run."""
    written = Writing()
    lines = [line_text(head_of(result))]
    for case in result.cases:
        lines += written.lines(Line(case=written.case(case)))
    for part in result.parts:
        lines += written.lines(Line(part=written.part(part)))
    causes = _causes(gathered(result.cases, result.causes))
    given = _given(result, End) | {"causes": causes, "catalogue": result.causes}
    lines.append(line_text(Line(end=End(**given, summary=summary_of(result)))))
    return "".join(lines)


def text_of_several(turns: Iterable[Turn]) -> str:
    """Return the logs of several backends. If one did not start, its head has the error."""
    return "".join(text(turn.run) if turn.run else _not_started(turn) for turn in turns)


def _not_started(turn: Turn) -> str:
    backend = BackendInfo(turn.address, "", turn.address)
    head = Head(format=FORMAT, convcheck=__version__, backend=backend, error=turn.error)
    return line_text(head)


def head_of(result: RunResult) -> Head:
    """Return the first line of a run's log."""
    return Head(
        **_given(result, Head) | {"environment": result.environment or environment()},
        format=FORMAT,
        convcheck=__version__,
        corpus_sha256=result.corpus,
    )


def _causes(found: Diagnosis) -> tuple[ExplainedCause, ...]:
    lettered, answers = with_letters(found.explanations, {}), wrong_answers(found.explanations)
    return tuple(
        ExplainedCause(
            letter=letter,
            together=one.causes,
            others=one.others,
            explained=one.answers,
            example=_spelled(case, shown),
            example_case=case.id,
            cases=explained_cases(one.cases),
        )
        for (letter, one), (case, _, shown) in zip(lettered, answers, strict=True)
    )


def _given(result: RunResult, kind: type[Head] | type[End]) -> dict[str, Any]:
    names = kind.__struct_fields__
    return {name: getattr(result, name) for name in names if name in RunResult.__struct_fields__}


class Writing:
    """Prepares results for encoding: rows become places, codes are spelled."""

    def __init__(self, rules: Iterable[Decision] = ()) -> None:
        self.rules = {by: place for place, by in enumerate(rules)}
        self._written = len(self.rules)

    def lines(self, line: Line) -> list[str]:
        """Return a line, preceded by the lines of its new rows."""
        new = islice(self.rules, self._written, None) if len(self.rules) > self._written else ()
        made = [*(line_text(Line(rule=by)) for by in new), line_text(line)]
        self._written = len(self.rules)
        return made

    def case(self, result: CaseResult) -> CaseResult:
        """Return the result of a case or its survey."""
        finding = finding_id(failure_key_of_case(result)) if fails_whole(result) else ""
        groups = tuple(self._group(result.case, group) for group in result.groups)
        head: Any = case_head(result.case)
        rows = tuple(self._surveyed(result.case, row) for row in result.rows)
        return replace(result, case=head, finding=finding, groups=groups, rows=rows)

    def _place(self, by: Decision) -> Any:
        return self.rules.setdefault(by, len(self.rules))

    def _surveyed(self, case: Case, row: Surveyed) -> Surveyed:
        examples = tuple(_spelled(case, example) for example in row.examples)
        return replace(row, decision=self._place(row.decision), examples=examples)

    def _group(self, case: Case, group: Group) -> Group:
        place = self._place(group.decision)
        if group.verdict not in FAILURES and not (group.ranges or group.examples):
            return replace(group, decision=place)
        source = case.inputs[0].format
        return replace(
            group,
            decision=place,
            ranges=tuple((code_text(source, a), code_text(source, b)) for a, b in group.ranges),
            examples=tuple(_spelled(case, example) for example in group.examples),
            finding=finding_of(group, case),
        )

    def part(self, part: Part) -> Part:
        """Return an unfinished case. Codes of tallies stay numbers."""
        head: Any = case_head(part.case)
        results = (None if one is None else self.case(one) for one in (part.vectors, part.lost))
        vectors, lost = results
        return replace(part, case=head, vectors=vectors, lost=lost)


def _spelled(case: Case, example: Example | CallExample) -> Example | CallExample:
    if isinstance(example, CallExample):
        due, got = example.expected, example.got
        given = zip((t.format for t in case.inputs), example.arguments, strict=False)
        return replace(
            example,
            inputs=tuple(map(_strip, example.inputs)),
            expected=due if isinstance(due, str) else tuple(map(_strip, due)),
            got=None if got is None else tuple(map(_strip, got)),
            arguments=tuple(_word(fmt, word) for fmt, word in given),
        )
    target = case.outputs[0].format
    inputs = zip((t.format for t in case.inputs), example.inputs, strict=False)
    return replace(
        example,
        inputs=tuple(_word(fmt, word) for fmt, word in inputs),
        expected=_word(target, example.expected),
        got=None if example.got is None else _word(target, example.got),
    )


def _strip(strip: Strip) -> Strip:
    return replace(strip, words=tuple(_word(strip.format, word) for word in strip.words))


@lru_cache(1 << 15)  # most codes stand in many cases
def _word(fmt: Format | None, word: Word) -> Any:
    if isinstance(word, str):
        return word
    return (hex(word), None) if fmt is None else (code_text(fmt, word), value(fmt, word))
