"""Draw a quoted sentence."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from convcheck.errors import Place
from convcheck.judge.result import FAILURES, RunResult
from convcheck.judge.words import cited, clean
from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.rules.find import compact_names, ids_of
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision, Quotation
from convcheck.streams import plural
from convcheck.vectors.model import CallSet, VectorSet

_CASES = 6  # lines of case names


def citing(
    every: Iterable[VectorSet | CallSet], sentence: str
) -> tuple[dict[Decision, int], list[Case]]:
    """Return the vectors of each decision that cites a sentence, and their cases."""
    counts, cases = dict[Decision, int](), list[Case]()
    for vectors in every:
        rows = Counter(vectors.rows.tolist())
        mine = {by: rows[row] for row, by in enumerate(vectors.decisions) if _cites(by, sentence)}
        for by, count in mine.items():
            counts[by] = counts.get(by, 0) + count
        cases += [vectors.case] if any(mine.values()) else []
    return counts, cases


def _cites(by: Decision, sentence: str) -> Quotation | None:
    return next((one for one in by.sentences if one.id == sentence), None)


def sentence_page(
    name: str,
    sentence: str,
    counts: dict[Decision, int],
    cases: Sequence[Case],
    runs: Sequence[RunResult],
) -> Iterator[Block]:
    """Yield the sentence, the rows that rest on it, its vectors, and who breaks it."""
    quoted = next(filter(None, (_cites(by, sentence) for by in counts)))
    yield Text(f"{name}{sentence}", "bold")
    yield field("text", cited(quoted.text), "italic")
    yield field("", f"— {quoted.document}")
    levels = dict.fromkeys(by.level for by in counts)
    yield field("level", ", ".join(levels))
    for i, (row, by) in enumerate({by.name: by for by in counts}.items()):
        yield field("" if i else "rules", row, right=[(str(by.place), "dim")])
    yield field("vectors", f"{sum(counts.values()):,} in {plural(len(cases), 'case')}")
    yield from _names([case.id for case in cases])
    for run in runs:
        yield BLANK
        yield from _of_run(run, sentence)


def _of_run(run: RunResult, sentence: str) -> Iterator[Block]:
    groups = [
        (result.case, group)
        for result in run.cases
        for group in result.groups
        if _cites(group.decision, sentence)
    ]
    wrong = [(case, group) for case, group in groups if group.verdict in FAILURES]
    cases = {case.id for case, _ in groups}
    verdicts = {group.verdict for _, group in groups}
    broken = dict.fromkeys(case.id for case, _ in wrong)
    if broken:
        said = f"breaks it in {len(broken)} of {plural(len(cases), 'case')}"
    elif "tolerated" in verdicts:
        said = "follows a reading of it"
    else:
        said = "keeps it" if "pass" in verdicts else "was not judged by it"
    yield Text(f"{clean(run.backend.name)} {clean(run.backend.version)}: {said}", "bold")
    findings = Counter(group.finding for _, group in wrong if group.finding)
    if findings:
        yield field("findings", ", ".join(findings))
    yield from _names(broken)


def _names(ids: Collection[str]) -> Iterator[Block]:
    names = compact_names(ids)[:_CASES]
    yield from (field("", one) for one in names)
    listed = sum(len(ids_of(one, Place("", 0))) for one in names)
    if listed < len(ids):
        yield field("", f"and {plural(len(ids) - listed, 'case')} more")
