"""What asking and judging costs, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from convcheck import __version__
from convcheck.judge.words import clean
from convcheck.plan.bench import Bench, Measured
from convcheck.report.draw.layout import INDENT, paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import cells, table_lines
from convcheck.report.environment import environment
from convcheck.vectors.span import WHOLE_SPAN
from convcheck.wording import number, plural

_HEAD = ("", "backend", "inputs", "judging", "whole", "ratio", "by hand")
_GAP = 2


def bench_lines(bench: Bench, width: int, room: int) -> Iterator[StyledText]:
    """Yield the page: a table for each spec and source, and what was measured how.

    Sentences are broken to the width; tables may be as wide as there is room.
    """
    for title, cases in groupby(bench.cases, _title):
        yield from _table(title, list(cases), room)
        yield StyledText("")
    yield from _why_not(bench, width)
    for line in _footer(bench):
        yield from paragraph(line, width, indent=0, hang=2)


def _title(measured: Measured) -> str:
    """Name the cases that have a table together."""
    return f"{measured.case.spec}  {measured.case.inputs[0]} →"


def _table(title: str, cases: Sequence[Measured], room: int) -> Iterator[StyledText]:
    """Yield a line a case; a name that is too long for that has a line of its own above it."""
    names = [case.case.name.partition("-to-")[2] or case.case.name for case in cases]
    figures = [_figures(case) for case in cases]
    beside = sum(max(map(len, c)) + _GAP for c in zip(_HEAD[1:], *figures, strict=True))
    labels = [name if len(name) + beside <= room else "" for name in names]
    rows = [cells([label, *row]) for label, row in zip(labels, figures, strict=True)]
    heads = [cells([title, *_HEAD[1:]], "bold")]
    lines = table_lines(heads, rows, room, gap=_GAP, right=range(1, len(_HEAD)))
    yield next(lines)
    for name, label, line in zip(names, labels, lines, strict=True):
        if not label:
            yield StyledText(name)
        yield line


def _figures(measured: Measured) -> tuple[str, ...]:
    if not measured.parts:
        return ("-",) * (len(_HEAD) - 1)
    by_hand = "/".join("-" if ns is None else f"{ns:.2f}" for ns in measured.by_hand)
    times = (measured.backend, measured.inputs, measured.judging, measured.whole)
    return (
        *(f"{ns:.2f}" for ns in times),
        f"{measured.ratio:.2f}",
        "-" if by_hand == "-/-" else by_hand,
    )


def _why_not(bench: Bench, width: int) -> Iterator[StyledText]:
    """Say which cases have no figures, by reason."""
    reasons: dict[str, list[str]] = {}
    for case in bench.cases:
        if not case.parts:
            reasons.setdefault(clean(case.why_not), []).append(case.case.id)
    for reason, ids in reasons.items():
        more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        yield from paragraph(f"not measured: {ids[0]}{more}: {reason}", width, 0, hang=INDENT)
    for reason, count in bench.left_out:
        yield from paragraph(f"left out: {plural(count, 'case')}: {reason}", width, 0, hang=INDENT)
    if reasons or bench.left_out:
        yield StyledText("")


def _footer(bench: Bench) -> Iterator[str]:
    facts = environment()
    measured = "one core, values in cache; times are in nanoseconds a value"
    if bench.spans:
        parts = plural(len(bench.spans), "part")
        yield (
            f"{plural(bench.values, 'value')} a case, in {parts} of {number(bench.spans[0].count)} "
            f"spread over the source; {measured}"
        )
    if bench.spans and bench.spans[0].count < WHOLE_SPAN:
        yield f"a run's spans have {number(WHOLE_SPAN)}: the judging of these costs more, a value"
    if bench.samples:
        said = f"{plural(bench.samples, 'sample')} a case of 64 bits, as `run --samples` asks them"
        yield f"{said}; {measured}"
    yield "backend: its calls alone, the buffers in place; inputs: making them; whole: all of it"
    yield "ratio: how many times the backend's own time the whole takes"
    if bench.by_hand:
        yield (
            f"by hand: inputs, backend, astype of {bench.by_hand} and array_equal, "
            "in chunks in cache / in large arrays"
        )
    yield f"{bench.backend.name}: {bench.backend.version}"
    versions = facts["versions"]
    yield (
        f"{facts['cpu']['model']}, {facts['cpu']['count']} cores; convcheck {__version__}, "
        f"Python {versions['python']}, numpy {versions['numpy']}"
    )
