"""The causes of a run for a terminal: a block a cause, then what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from convcheck.causes.gather import Diagnosis, Explanation
from convcheck.judge.result import FAILURES, CaseResult, CauseInWords, Example, Group, Word
from convcheck.judge.words import GLUE, cited, clean, pattern, shown, translated, value
from convcheck.numerics.format import Format
from convcheck.report.case_names import name_cases
from convcheck.report.draw.finding import command_lines
from convcheck.report.draw.layout import INDENT, cut, paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.report.findings import explain_command
from convcheck.report.short_names import compact_specs
from convcheck.rules.model import Case
from convcheck.rules.types import Types
from convcheck.wording import number, plural

_SENTENCE = 160  # of a citation, more of which `explain` shows
_CASES = 3  # lines of names of cases
_MANY = 12  # unexplained cases that are listed
_OTHERS = 4  # causes that nothing tells from the first, more of which are only counted


def diagnosis_lines(
    diagnosis: Diagnosis, address: str, types: Types, width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of a diagnosis; `verbose`: every name, none only counted."""
    yield from paragraph(_summary(diagnosis), width, indent=0, hang=2, style="bold")
    row = [case.case for one in diagnosis.explanations for case in one.cases]
    row += [case.case for case in diagnosis.unexplained]
    letters: dict[str, str] = {}
    for one in diagnosis.explanations:
        yield StyledText()
        yield from _block(_heading(one, letters), one, address, (row, types), width, verbose)
    if diagnosis.unexplained:
        yield StyledText()
        yield from _unexplained(diagnosis.unexplained, width, verbose)


def _summary(diagnosis: Diagnosis) -> str:
    judged = plural(diagnosis.judged, "case")
    if not diagnosis.failing:
        return f"none of {judged} fails: there is nothing to explain"
    count = len({cause.name for one in diagnosis.explanations for cause in one.causes})
    fails = "fails" if diagnosis.failing == 1 else "fail"
    said = f"{number(diagnosis.failing)} of {judged} {fails}; "
    if not count:
        return said + "no cause gives every answer of any of them"
    does = "cause explains" if count == 1 else "causes explain"
    return f"{said}{count} {does} {number(diagnosis.explained)} of them, every answer of each"


def _letter(place: int) -> str:
    """Name causes A to Z, then A2, B2 and so on."""
    again, at = divmod(place, len(ascii_uppercase))
    return ascii_uppercase[at] + (str(again + 1) if again else "")


def _heading(one: Explanation, letters: dict[str, str]) -> str:
    """Return the letter of a cause with what it does: 'A  truncates'. Of two together, what those
    do that were not told before: 'A with B  B truncates'.
    """
    new = [cause for cause in one.causes if cause.name not in letters]
    for cause in new:
        letters[cause.name] = _letter(len(letters))
    names = " with ".join(letters[cause.name] for cause in one.causes)
    several = len(one.causes) > 1
    told = (f"{letters[c.name]} {c.says}" if several else c.says for c in new)
    return "  ".join(filter(None, (names, ", ".join(told))))


def sentence(causes: Sequence[CauseInWords]) -> str:
    """Say what causes do together."""
    return "; and ".join(cause.says for cause in causes)


def _block(
    heading: str,
    one: Explanation,
    address: str,
    among: tuple[Sequence[Case], Types],
    width: int,
    verbose: bool,
) -> Iterator[StyledText]:
    *front, last = paragraph(heading, width, 0, 3, "bold red")
    yield from front
    cases = plural(len(one.cases), "case")
    said = f"{cases}  {number(one.answers)} of {number(one.answers)}"
    yield from to_margins(last, StyledText(said.replace(" ", GLUE), "dim"), width)
    yield from _where(one, among, width, verbose)
    yield from _evidence(one, address, width)
    others = [sentence(causes) for causes in one.others]
    if len(others) > _OTHERS and not verbose:
        others = [*others[:_OTHERS], f"{len(others) - _OTHERS} more"]
    if others:
        said = f"no input asked tells it from: {'; '.join(others)}"
        yield from paragraph(said, width, hang=2, style="dim")


def _where(
    one: Explanation, among: tuple[Sequence[Case], Types], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the names of the cases, shortly."""
    row, types = among
    mine = [case.case for case in one.cases]
    specs = compact_specs(dict.fromkeys(case.spec for case in mine))
    lines = list(paragraph(specs, width, hang=2))
    for name in name_cases(mine, row, types):
        lines += paragraph(name, width, hang=2)
    hidden = 0 if verbose else max(len(lines) - _CASES, 0)
    yield from lines[: len(lines) - hidden]
    if hidden:
        yield StyledText(" " * INDENT + f"(and {plural(hidden, 'more line')}: -v)", "dim")


def _evidence(one: Explanation, address: str, width: int) -> Iterator[StyledText]:
    """Yield an answer that is wrong, the sentence that says so, and how to see it again."""
    case, group, example = _wrong(one.cases)
    fmt, target = case.inputs[0].format, case.outputs[0].format
    due = _in_words(target, example.expected)
    came = group.verdict if example.got is None else _in_words(target, example.got)
    said = f"{shown(fmt, example.inputs[0])} → {came}, due {due}"
    yield from paragraph(said, width, hang=2)
    by = group.decision
    quoted = cut(translated(by.gloss) if by.gloss else cited(by.cite), _SENTENCE)
    yield from paragraph(f"{quoted} — {by.source}, {by.level}", width, hang=2, style="italic")
    for line in command_lines(explain_command(case, example, address), width - INDENT):
        yield StyledText(" " * INDENT + line, "cyan")


def _wrong(cases: Sequence[CaseResult]) -> tuple[Case, Group, Example]:
    """Return the first wrong answer of the first case."""
    return next(
        (case.case, group, example)
        for case in cases
        for group in case.groups
        if group.verdict in FAILURES
        for example in group.examples
        if isinstance(example, Example)
    )


def _in_words(fmt: Format, word: Word) -> str:
    """Return a code with its value, or a pattern in words."""
    said = value(fmt, word)
    return f"{shown(fmt, word)} ({said})" if said is not None else pattern(word)


def _unexplained(cases: Sequence[CaseResult], width: int, verbose: bool) -> Iterator[StyledText]:
    said = f"not explained: {plural(len(cases), 'case')}"
    yield StyledText(said, "bold")
    listed = cases if verbose else cases[:_MANY]
    for case in listed:
        said = f"{case.case.id}: {_closest(case)}"
        yield from paragraph(said, width, indent=3, hang=2)
    if len(listed) < len(cases):
        yield StyledText(f"   (and {number(len(cases) - len(listed))} more: -v)", "dim")


def _closest(case: CaseResult) -> str:
    """Say what comes closest to the answers of a case."""
    found = case.diagnosis
    if found is None or not found.near:
        return f"{case.verdict}  {clean(case.message)}".rstrip()
    tried = [f"{near.name} {near.count}" for near in found.near]
    return f"the rule {found.answers - found.wrong} of {found.answers}, {', '.join(tried)}"
