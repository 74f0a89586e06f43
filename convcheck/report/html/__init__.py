"""Draw a run as an HTML page without network access.

Texts are escaped or in compressed data: JSON with names, in which passing groups are only counted.
The page forbids foreign scripts and all connections.
"""

import base64
import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from convcheck import __version__
from convcheck.judge.result import FAILURES, CallExample, Example, Group, RunResult, Word
from convcheck.judge.words import cited, clean, explain_arguments, pair, translated
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.modes import BeyondError, grid_of
from convcheck.numerics.order import code_at_index, index_of
from convcheck.numerics.words import parse_decimal, spell, value_of
from convcheck.report.counts import FAILING, STATUSES
from convcheck.report.document import Document, environment
from convcheck.report.draw.finding import NOT_TRIED, causes_summary, unexplained_summary
from convcheck.report.examples import (
    call_in_words,
    code_in_words,
    element_in_words,
    labels,
    marked,
    with_deciding_words,
)
from convcheck.report.findings import CaseFailure, CaseReport, Finding, ToldCause
from convcheck.report.matrix import cell_of, family, matrix
from convcheck.rules.model import LEVELS, Case
from convcheck.semantics.expected import Decision

_SCRIPTS = (
    "dom", "model", "state", "filters", "specs", "matrix", "figures", "example", "findings",
    "causes", "cell", "page",
)  # fmt: skip


def render(document: Document, command: str = "") -> str:
    """Return the page, deterministically. `command` is '' if unknown."""
    script = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    script = f'"use strict";\n(async () => {{\n{script}}})();\n'
    surroundings = Environment(
        loader=PackageLoader("convcheck.report.html"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    run = document.result
    return surroundings.get_template("report.html").render(
        document=document,
        run=run,
        name=clean(run.backend.name),
        version=clean(run.backend.version),
        causes=causes_summary(document) if document.causes else "",
        not_tried=NOT_TRIED,
        unexplained=unexplained_summary(document) if document.unexplained else "",
        facts=list(_facts(run, command)),
        convcheck=__version__,
        data=_packed(data(document)),
        script=Markup(script),  # noqa: S704 our own
        style=Markup(with_colours(_asset("report.css"))),  # noqa: S704 our own
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _packed(content: dict[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"))  # ASCII, since text can have lone surrogates
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def with_colours(style: str) -> str:
    """Insert light and dark colours into a style sheet."""
    for name in ("light.css", "dark.css"):
        style = style.replace(f"/* {name} */", "\n" + _asset(name))
    return style


def _asset(name: str) -> str:
    return (files("convcheck.report.html") / "templates" / name).read_text(encoding="utf-8")


def _facts(run: RunResult, command: str) -> list[tuple[str, str]]:
    where = run.environment or environment()
    cpu, versions = where.cpu, where.versions.items()
    facts = [
        ("Command", command),
        ("Shard", f"{run.shard.index} of {run.shard.of}" if run.shard else ""),
        ("Vectors", "\n".join(f"{spec}  {digest}" for spec, digest in run.corpora)),
        ("Platform", where.platform),
        ("Processor", f"{cpu.model}, {cpu.count} cores, {where.threads} used"),
        ("Features", " ".join(cpu.features)),
        ("Versions", ", ".join(f"{name} {v}" for name, v in versions if v)),
        ("Made with", f"convcheck {__version__}"),
    ]  # fmt: skip
    return [(name, fact) for name, fact in facts if fact]


ACROSS = 1000
INFINITY = float("inf")
_NEAR = 4  # steps from the input at which an answer is still drawn
_EDGE = Fraction(1, 16)  # part of the picture that is free on each side
_ROOM = 11  # letters at an end of the line
_DECADES = ((-1, "-1"), (0, "0"), (1, "1"))

Real = Fraction | float | None  # an exact value, an infinity, or None
Span = tuple[Word, Word]
_Window = tuple[Fraction, Fraction]  # the shown values


def real(fmt: Format, word: Word | None) -> Real:
    """Return the value of a code or decimal text; None for patterns and NaN."""
    if isinstance(fmt, Text):
        return parse_decimal(word) if isinstance(word, str) else None
    if word is None or isinstance(word, str) or nan(fmt, word):
        return None
    if isinstance(fmt, Float) and fmt.infinity and word & fmt.magnitude_mask == fmt.infinity_code:
        return -INFINITY if word & fmt.sign_bit else INFINITY
    return value_of(fmt, word)


def nan(fmt: Format, word: Word) -> bool:
    """Return whether a word is the code of a NaN."""
    return isinstance(fmt, Float) and isinstance(word, int) and fmt.has_nan_at(word)


def ends(fmt: Numeric) -> tuple[int, int]:
    """Return the indices of a format's lowest and largest values."""
    if isinstance(fmt, Float):
        return -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    return int(fmt.min), int(fmt.max)


def value_at(fmt: Numeric, index: int) -> Fraction:
    """Return the value at an index, which can be beyond the ends."""
    if not isinstance(fmt, Float):
        return Fraction(index)
    return fmt.value(index) if index >= 0 else -fmt.value(-index)


def index_below(fmt: Numeric, value: Fraction) -> int:
    """Return the index of the largest value not above `value`, or beyond the ends."""
    try:
        return index_of(fmt, grid_of(fmt, "floor").code(value))
    except BeyondError:
        first, last = ends(fmt)
        return first - 1 if value < fmt.min else last + 1


def _place_in(window: _Window, value: Real) -> int | None:
    low, high = window
    if value is None:
        return None
    if isinstance(value, float) or not low <= value <= high:
        return -1 if value < low else ACROSS + 1
    part = (value - low) / (high - low) * ACROSS
    return (2 * part.numerator + part.denominator) // (2 * part.denominator)


def near(
    source: Format,
    target: Format,
    words: tuple[Word | None, Word, Word | None],
    spans: Iterable[Span] = (),
) -> dict[str, Any] | None:
    """Return ticks, marks and failing stretches around an input.

    `words` are input, expected value and answer; marks are their places. A tick is a place and a
    value, '' beyond the format. None without a finite number, or if an answer has no counterpart.
    """
    if isinstance(target, Text):
        return None
    values = [real(source, words[0]), real(target, words[1]), real(target, words[2])]
    indices = _indices(target, values)
    if indices is None or (values[0] is None and None in values[1:]):
        return None
    window = _window(target, indices, values[0])
    return {
        "ticks": [(_place_in(window, value_at(target, i)), _spelled(target, i)) for i in indices],
        "marks": [_place_in(window, value) for value in values],
        "failing": [] if isinstance(source, Text) else _stretches(window, source, spans),
    }


def _indices(fmt: Numeric, values: Sequence[Real]) -> range | None:
    finite = [index_below(fmt, v) for v in values if isinstance(v, Fraction)]
    if not finite:
        return None
    first, last = ends(fmt)
    anchor = min(finite[0], last)
    beside = [i for i in finite if abs(i - anchor) <= _NEAR]
    low, high = min([anchor, *beside]) - 1, max([anchor, *beside]) + 2
    return range(max(low, first - 1), min(high, last + 1) + 1)


def _window(fmt: Numeric, indices: range, value: Real) -> _Window:
    low, high = value_at(fmt, indices[0]), value_at(fmt, indices[-1])
    if isinstance(value, Fraction):  # the target can lack zero
        reach = high - low
        low = min(low, value) if low - value <= reach else low
        high = max(high, value) if value - high <= reach else high
    edge = (high - low) * _EDGE
    return low - edge, high + edge


def _spelled(fmt: Numeric, index: int) -> str:
    first, last = ends(fmt)
    return spell(fmt, code_at_index(fmt, index)) if first <= index <= last else ""


def _stretches(window: _Window, fmt: Numeric, spans: Iterable[Span]) -> list[list[int]]:
    low, high = (index_below(fmt, end) for end in window)
    return [
        [min(max(_place_in(window, value_at(fmt, index)) or 0, 0), ACROSS) for index in indices]
        for indices in _indexed(fmt, spans)
        if indices[0] <= high and indices[1] >= low
    ]


def _indexed(fmt: Numeric, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    for span in spans:
        low, high = (word for word in span if isinstance(word, int))
        if not nan(fmt, low):
            start = index_of(fmt, low)
            end = ends(fmt)[1] + 1 if nan(fmt, high) else index_of(fmt, high)
            yield min(start, end), max(start, end)


def overview(source: Format, spans: Sequence[Span]) -> dict[str, Any] | None:
    """Return the failing ranges of source values, and whether NaNs fail."""
    if isinstance(source, Text):
        return None
    found: list[tuple[int, int]] = []
    for low, high in _indexed(source, spans):
        start, end = _place(source, low), _place(source, high)
        if found and found[-1][0] <= start <= found[-1][1] + 1:
            start, end = found[-1][0], max(found.pop()[1], end)
        found.append((start, end))
    return {"spans": found, "nan": any(nan(source, low) for low, _ in spans)}


def axis(source: Format, target: Format) -> dict[str, Any] | None:
    """Return labelled places of the source's line; None for texts."""
    if isinstance(source, Text):
        return None
    low, high = ends(source)
    decades = [(v, said) for v, said in _DECADES if value_at(source, low) < v < source.max]
    ticks = [
        (0, _short(source, low)),
        *((_place(source, index_below(source, Fraction(v))), said) for v, said in decades),
        (ACROSS, _short(source, high)),
    ]
    if isinstance(target, Text):
        return {"ticks": ticks, "reach": None}
    reach = [
        (_place(source, index_below(source, value_at(target, index))), _short(target, index))
        for index in ends(target)
    ]
    return {"ticks": ticks, "reach": reach}


def _short(fmt: Numeric, index: int) -> str:
    said = spell(fmt, code_at_index(fmt, index))
    return said if len(said) <= _ROOM else f"{float(value_at(fmt, index)):.4g}"


def _place(fmt: Numeric, index: int) -> int:
    low, high = ends(fmt)
    index = min(max(index, low), high)
    if isinstance(fmt, Float):
        return ((index - low) * 2 * ACROSS + high - low) // (2 * (high - low))
    start, end = _log(low), _log(high)
    return round((_log(index) - start) / (end - start) * ACROSS)


def _log(value: int) -> float:
    size = math.log2(1 + abs(value))
    return -size if value < 0 else size


_SHOWN = 3  # examples of a cause
Json = dict[str, Any]


def data(document: Document) -> Json:
    """Return the cases of a run and their failures."""
    rules: dict[Decision, int] = {}  # each with its place
    every = [case for cases in document.cases.values() for case in cases]
    places = {one.case.id: place for place, one in enumerate(every)}
    failures = {one.case.id: one.failures for one in every}
    made = {
        "statuses": [
            {"word": s.word, "symbol": s.symbol, "failing": s.word in FAILING} for s in STATUSES
        ],
        "levels": LEVELS,
        "families": [
            _family(document, name) for name in dict.fromkeys(map(family, document.cases))
        ],
        "specs": [_spec(spec, cases) for spec, cases in document.cases.items()],
        "cases": [_case(rules, one) for one in every],
        "findings": [_finding(rules, places, one) for one in document.findings],
        "causes": [_cause(rules, places, failures, one) for one in document.causes],
    }
    return made | {"rules": [_rule(by) for by in rules]}


def _spec(spec: str, cases: Iterable[CaseReport]) -> Json:
    noun = "calls" if any(case.case.whole_calls for case in cases) else "values"
    return {"id": spec, "family": family(spec), "noun": noun}


def _family(document: Document, name: str) -> Json:
    every = (cases for spec, cases in document.cases.items() if family(spec) == name)
    one = matrix((case.case, case.status) for cases in every for case in cases)
    return {"name": name, "rows": one.sources, "columns": one.targets}


def _case(rules: dict[Decision, int], one: CaseReport) -> Json:
    case, found = one.case, one.found
    row, column = cell_of(case)
    layout = [("layout", case.layout)] if case.layout else []
    return {
        "id": case.id,
        "spec": case.spec,
        "row": row,
        "column": column,
        "inputs": [t.name for t in case.inputs],
        "outputs": [t.name for t in case.outputs],
        "setting": case.name.partition("/")[2],
        "attributes": [*layout, *((name, str(value)) for name, value in case.attributes)],
        "status": one.status.word,
        "judged": found.values_judged,
        "coverage": found.coverage,
        "message": clean(found.message),
        "entries": _counted(rules, found.groups),
    }


def _counted(rules: dict[Decision, int], groups: Iterable[Group]) -> list[Json]:
    counts: Counter[Hashable] = Counter()
    for one in groups:
        if one.verdict not in FAILURES:
            passes, by = one.verdict == "pass", one.decision
            rule = None if passes else rules.setdefault(by, len(rules))
            kind = "" if passes else one.reading or one.kind
            counts[one.verdict, by.level, rule, kind] += one.count
    names = ("status", "level", "rule", "kind")
    return [{**dict(zip(names, key, strict=True)), "count": n} for key, n in counts.items()]  # type: ignore[call-overload]


def _rule(by: Decision) -> Json:
    return {
        **{name: getattr(by, name) for name in ("rule", "name", "level", "row_in_words")},
        "place": str(by.place),
        "sentences": [
            {
                "of": one.of,
                "cite": one.text and cited(one.text, "“", "”"),
                "source": f"{one.document} {one.id}".rstrip(),
                "gloss": translated(one.gloss) if one.gloss else "",
            }
            for one in by.sentences
        ],
    }


def _finding(rules: dict[Decision, int], places: Mapping[str, int], finding: Finding) -> Json:
    first, excuse = finding.members[0].group, finding.excuse
    told = ("id", "status", "verdict", "kind", "places", "where", "message")
    return {
        **{name: getattr(finding, name) for name in told},
        "names": finding.cases,
        "rules": [rules.setdefault(by, len(rules)) for by in finding.decisions],
        "reading": first.reading if first else "",
        "placement": first.placement if first else "",
        "excuse": excuse and [excuse.kind, excuse.reason, excuse.issue, str(excuse.place)],
        "members": [_member(rules, places, one) for one in finding.members],
    }


def _member(rules: dict[Decision, int], places: Mapping[str, int], one: CaseFailure) -> Json:
    by, group = one.decision, one.group
    return {
        "case": places[one.case.id],
        "count": one.count,
        "of": one.of if by else 0,
        "rule": rules.setdefault(by, len(rules)) if by else None,
        "kind": clean(", ".join(each.kind for each in one.groups)),
        "evidence": _evidence(one.case, group) if group else None,
    }


def _evidence(case: Case, found: Group) -> Json:
    source = case.inputs[0].format
    single = found.ranges and len(case.outputs) == 1
    return {
        "digest": found.digest,
        "ranges": [pair(source, span) for span in found.ranges],
        "more": found.more_ranges,
        "examples": [_example(case, found, one) for one in found.examples],
        "overview": overview(source, found.ranges) if single else None,
        "axis": axis(source, case.outputs[0].format) if single else None,
    }


def _example(case: Case, group: Group, shown: Example | CallExample) -> Json:
    made = _call(group, shown) if isinstance(shown, CallExample) else _element(case, group, shown)
    return {
        **made,
        "reading": shown.reading if isinstance(shown, CallExample) else "",
        "message": clean(shown.message),
        "words": " ".join(explain_arguments(case, with_deciding_words(shown))),
    }


def _element(case: Case, group: Group, shown: Example) -> Json:
    rows, line = element_in_words(case, shown, group.verdict), None
    if len(shown.inputs) == 1:
        words = (shown.inputs[0], shown.expected, shown.got)
        line = near(case.inputs[0].format, case.outputs[0].format, words, group.ranges)
    types = [t.name for t in (*case.inputs[: len(shown.inputs)], *case.outputs * 2)]
    return {"rows": msgspec.to_builtins(rows), "types": types, "line": line}


def _call(group: Group, shown: CallExample) -> Json:
    told: Json = msgspec.to_builtins(call_in_words(shown, group.verdict, named=False))
    output, element = shown.difference or (0, -1)
    if isinstance(shown.expected, str) or shown.got is None or element < 0:
        return told
    due, got = shown.expected[output], shown.got[output]
    fmt, i = due.format, element - due.first
    if fmt is None or not 0 <= i < min(len(due.words), len(got.words)):
        return told
    one, other = labels(group.verdict)
    wanted = code_in_words(one, fmt, due.words[i])
    came = marked(code_in_words(other, fmt, got.words[i]), wanted)
    line = near(fmt, fmt, (None, due.words[i], got.words[i]))
    rows = msgspec.to_builtins((wanted, came))
    return {**told, "rows": rows, "types": [due.type, due.type], "line": line}


def _cause(
    rules: dict[Decision, int],
    places: Mapping[str, int],
    failures: Mapping[str, Sequence[CaseFailure]],
    one: ToldCause,
) -> Json:
    shown = shown_failures(one, failures)
    told = ("letter", "label", "says", "whole", "names", "gated")
    return {
        **{name: getattr(one, name) for name in told},
        "scope": one.scope.removesuffix(" (-v)"),
        "where": one.where.lines,
        "answers": one.found.answers,
        "others": tuple(one.others.values()),
        "wrong": one.wrong_answer,
        "shown": [{**_member(rules, places, each), "verdict": each.verdict} for each in shown],
        "cases": [places[case.id] for case in one.cases],
    }


def shown_failures(
    one: ToldCause, failures: Mapping[str, Sequence[CaseFailure]]
) -> list[CaseFailure]:
    """Return a cause's main failure and up to two of other types, preferably of two other types."""
    kept = [one.finding.members[0]]
    for fresh in (all, any):
        for case in one.cases:
            seen = zip(*(cell_of(shown.case) for shown in kept), strict=True)
            new = [side not in some for side, some in zip(cell_of(case), seen, strict=True)]
            asked = [each for each in failures[case.id] if each.groups and not each.excuse]
            if len(kept) < _SHOWN and fresh(new) and asked:
                kept.append(max(asked, key=lambda each: each.count))
    return kept
