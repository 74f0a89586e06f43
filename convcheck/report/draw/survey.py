"""Draw a survey: a block per row, a line per backend."""

from collections.abc import Iterator, Mapping, Sequence

from convcheck.judge.result import Surveyed
from convcheck.judge.words import cited, clean, translated
from convcheck.report.blocks import BLANK, Block, Text, cut, item
from convcheck.report.examples import answer_in_words, question_in_words
from convcheck.report.matrix import compact_specs, short_names
from convcheck.report.where import JudgedCases
from convcheck.rules.model import Case
from convcheck.rules.types import Types
from convcheck.streams import GLUE, number, plural
from convcheck.survey.survey import (
    CRASHES,
    EVERY_READING,
    MALFORMED,
    NO_READING,
    REFUSES,
    SOME,
    SOME_READING,
    UNSUPPORTED,
    Survey,
    SurveyRow,
    Telling,
    Told,
    tell,
)

_NO_LAW, _NO_READING, _DIFFER = "no simple law", "no reading", "they differ"
_SILENT: tuple[Told, ...] = ((("", UNSUPPORTED),), (("", REFUSES),))
_MANY = 2  # lines of silent cases; more are only counted
_WORDS = frozenset((REFUSES, CRASHES, UNSUPPORTED, MALFORMED))
_LABEL, _MESSAGE = 16, 110


def survey_page(survey: Survey, types: Types) -> Iterator[Block]:
    """Yield a survey's report."""
    names = short_names([column.address for column in survey.columns])
    yield from _title(survey, names)
    for row in survey.rows:
        yield from (BLANK, *_block(row, names, types))
    yield from (BLANK, _summary(survey))


def _title(survey: Survey, names: Sequence[str]) -> Iterator[Block]:
    tier = next((run.tier for run in survey.runs), "no")
    yield Text(f"Survey of what the texts leave open, {tier} tier", "bold")
    room = max(map(len, names), default=0)
    for name, column in zip(names, survey.columns, strict=True):
        said = f"could not be started: {column.error}"
        if column.run:
            said = column.run.backend.version or "nothing to ask"
        style = "bold" if column.run else "bold red"
        yield item(name.ljust(room), style, clean(said))
    for note in survey.notes:
        yield Text(f"note: {clean(note)}", "yellow", hang=6)


def _block(row: SurveyRow, names: Sequence[str], types: Types) -> Iterator[Block]:
    by = row.decision
    yield Text(by.name, "bold", hang=2, right=[(str(by.place), "dim")])
    source = f" — {by.source}" if by.source else ""
    quoted = cited(by.cite) if by.cite else "no text"
    yield Text(f"{by.level}: {quoted}{source}", "italic", 2)
    if by.gloss:
        yield Text(translated(by.gloss), "italic", 2)
    if len(by.readings) > 1:
        readings = ", ".join(f"“{name}”" for name in by.readings)
        yield Text(f"readings: {readings}", indent=2, hang=2)
    specs = compact_specs(dict.fromkeys(case.spec for case in row.answers))
    count = plural(len(row.answers), "case").replace(" ", GLUE)
    yield Text(f"asked of {specs}, {count}", "dim", 2)
    told = list(_told(row, names, types))
    told += [(_DIFFER, lines)] if (lines := _differences(row, names)) else []
    room = max((len(label) for label, _ in told if len(label) <= _LABEL), default=2)
    for label, lines in told:
        style = "bold yellow" if label == _DIFFER else "bold"
        if len(label) > room:
            yield Text(label, style, 2)
            label = ""
        for i, line in enumerate(lines):
            said = f"  {'' if i else label}".ljust(room + 4)
            yield Text(line, hang=2, label=[(said, style)])


def _told(row: SurveyRow, names: Sequence[str], types: Types) -> Iterator[tuple[str, list[str]]]:
    found = [row.of(backend) for backend in range(len(names))]
    together: dict[tuple[str, ...], list[str]] = {}
    one_by_one = len(row.decision.readings) > 1  # each is told by the reading that fits best
    tellings = [tell([cases])[0] for cases in found] if one_by_one else tell(found)
    for name, cases, told in zip(names, found, tellings, strict=True):
        if told:
            together.setdefault(tuple(_lines(told, cases, row, types)), []).append(name)
    for lines, labels in together.items():
        yield ", ".join(labels), list(lines)


def _lines(
    told: Telling, found: Mapping[Case, Surveyed], row: SurveyRow, types: Types
) -> Iterator[str]:
    for telling, cases in told:
        law = _words(telling, row)
        beheld = _beheld(telling, told)
        where = JudgedCases(beheld, types).where(cases).lines if len(cases) < len(beheld) else ()
        if len(where) > _MANY and telling in _SILENT:
            where = (plural(len(cases), "case"),)
        yield f"{law}: {'; '.join(where)}" if where else law
        yield from _beside(telling, cases, [found[case] for case in cases])
    if varies := sum(one.elsewhere for one in found.values()):
        yield f"({plural(varies, 'input')} answered otherwise in another placement)"


def _beheld(telling: Told, told: Telling) -> list[Case]:
    graver = _SILENT[_SILENT.index(telling) :] if telling in _SILENT else ()
    return [case for t, cases in told for case in cases if t in graver or t not in _SILENT]


def _words(told: Told, row: SurveyRow) -> str:
    some = [f"{law} some" for kind, law in told if kind == SOME]
    rest = [_law(law, row) + (f" ({kind})" if kind else "") for kind, law in told if kind != SOME]
    return ", else ".join(filter(None, [", ".join(some), ", ".join(rest)]))


def _law(law: str, row: SurveyRow) -> str:
    if not law:
        return _NO_READING if row.decision.level == "disputed" else _NO_LAW
    if law == EVERY_READING:
        return "as every reading has it"
    if law == SOME_READING:
        return f"by {law}"
    plain = law in _WORDS or law.startswith(NO_READING) or row.decision.level != "disputed"
    return law if plain else f"reads it as “{law}”"


def _beside(told: Told, cases: list[Case], found: list[Surveyed]) -> Iterator[str]:
    laws = {law for _, law in told}
    if "" in laws:
        odd, asked = sum(one.odd for one in found), sum(one.asked for one in found)
        yield f"  {number(odd)} of {plural(asked, 'answer')}, such as"
        unlike: dict[object, str] = {}
        for case, example in ((c, e) for c, one in zip(cases, found, strict=True)
                              for e in one.examples):  # fmt: skip
            said = f"{question_in_words(case, example)} gives {answer_in_words(case, example)}"
            unlike.setdefault(said, f"  {case.name}: {said}")
        some = list(unlike.values())
        yield from dict.fromkeys((some[0], some[len(some) // 2], some[-1]))
    if laws & _WORDS:
        messages = dict.fromkeys(clean(one.message) for one in found if one.message)
        such = ", such as" if len(messages) > 1 else ""
        silent, asked = sum(o.refused + o.crashed for o in found), sum(o.asked for o in found)
        count = f"{number(silent)} of {plural(asked, 'input')}, " if SOME in dict(told) else ""
        for message in list(messages)[:1]:
            yield f"  {count}in its words{such}: {cut(message, _MESSAGE)}"


def _differences(row: SurveyRow, names: Sequence[str]) -> list[str]:
    differences = row.differences
    if not differences:
        return []
    shown = max(differences, key=lambda d: d.clear)
    inputs = sum(d.inputs for d in differences)
    said = f"in {number(len(differences))} of {plural(row.compared, 'case')}"
    said += f", {plural(inputs, 'input')}" if inputs else ""
    if not shown.answers:
        return [f"{said}, such as {shown.case.id}, in inputs that were not kept"]
    asked = next(e for e in shown.answers if e is not None)
    pairs = zip(names, shown.answers, strict=True)
    answers = [f"{name} {answer_in_words(shown.case, e)}" for name, e in pairs if e is not None]
    return [f"{said}, such as {shown.case.id}",
            f"{question_in_words(shown.case, asked)}: {', '.join(answers)}"]  # fmt: skip


def _summary(survey: Survey) -> Text:
    cases = {case for row in survey.rows for case in row.answers}
    answers = sum(one.asked for row in survey.rows for here in row.answers.values() for one in here
                  if one is not None and not one.unsupported)  # fmt: skip
    if not survey.rows:
        return Text("NOTHING SURVEYED", "bold yellow")
    said = [plural(len(survey.rows), "row"), plural(len(cases), "case")]
    differ = sum(bool(row.differences) for row in survey.rows)
    remark = f"; backends differ in {plural(differ, 'row')}" if len(survey.columns) > 1 else ""
    end = "; interrupted, results are partial" if survey.interrupted else ""
    text = f"{', '.join(said)}, {plural(answers, 'answer')}{remark}{end}"
    return item("SURVEYED", "bold", text)
