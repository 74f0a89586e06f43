"""`convcheck-run/3`: the log of a run, lines of JSON.

The first line is the head, the last line the end, absent in an unfinished run. Between them are
results of cases; each row precedes its first use. Logs of several backends are concatenated.

Runs with the same answers on the same machine give the same bytes. A code is written as spelling
and value, a row as its place among the rows so far.
"""

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import msgspec

from convcheck.judge.reading import plain
from convcheck.judge.result import (
    BackendInfo,
    CallExample,
    CaseResult,
    CauseInWords,
    Environment,
    Example,
    ExplainedCase,
    Part,
    Problem,
    Required,
    Shard,
)
from convcheck.records import Count, Record, by_hook
from convcheck.report.counts import Summary
from convcheck.rules.model import Case, Level
from convcheck.semantics.expected import Decision
from convcheck.streams import OBEYED

FORMAT: Final = "convcheck-run/3"


class ExplainedCause(Record, frozen=True, kw_only=True):
    """A cause of failures, or several together, with the cases that it fully explains."""

    #: A, B and so on, as in other reports.
    letter: str
    #: The causes acting together, usually one.
    together: tuple[CauseInWords, ...]
    #: Other causes that explain all answers of these cases, as lists like `together`.
    others: tuple[tuple[CauseInWords, ...], ...]
    #: How many answers it gives, right and wrong: all that a rule decides.
    explained: Count
    #: A wrong answer that it explains.
    example: Example | CallExample
    example_case: str
    cases: tuple[ExplainedCase, ...]


class Head(Record, frozen=True, kw_only=True):
    """The facts known before a run: the first line of its log."""

    format: Literal["convcheck-run/3"]
    convcheck: str
    backend: BackendInfo
    #: The tier of the vectors.
    tier: str = ""
    #: The gate: failures of rules at this level or stronger fail the run.
    level: Level = "disputed"
    #: A sha256 of each spec's vectors in the plan.
    corpora: tuple[tuple[str, str], ...] = ()
    #: A hash of all vectors in the plan.
    corpus_sha256: str = ""
    #: The machine and libraries.
    environment: Environment | None = None
    #: The tested part of the plan; absent for the whole.
    shard: Shard | None = None
    #: Whether the inputs are the user's (--inputs) instead of the tier's.
    own_inputs: bool = False
    #: Whether answers were rechecked in other ways.
    consistency: bool = False
    #: Whether causes of failures were not searched.
    without_causes: bool = False
    #: Whether it is a survey of undefined and disputed behaviour, without judgement.
    survey: bool = False
    #: The requirement set; absent for none.
    required: Required | None = None
    #: Why the backend did not start; nothing follows. Absent if it started.
    error: str = ""


class End(Record, frozen=True, kw_only=True):
    """The facts known after a run: the last line of its log."""

    summary: Summary | None = None
    #: Remarks on the run, such as regenerated vectors of an edited spec.
    notes: tuple[str, ...] = ()
    #: Whether the run ended before all cases were done.
    interrupted: bool = False
    #: Whether a limit of failures ended the run. Only finished cases are listed.
    ended_early: bool = False
    #: How often a worker was restarted.
    restarts: Count = 0
    #: The list of known failures.
    known: str = ""
    #: Problems of that list.
    problems: tuple[Problem, ...] = ()
    #: The causes of unexcused failures, the most harmful first; absent if none.
    causes: tuple[ExplainedCause, ...] = ()
    #: The causes named in diagnoses of cases.
    catalogue: tuple[CauseInWords, ...] = ()


class Line(Record, frozen=True, kw_only=True):
    """A line after the first, with one of these fields."""

    #: A row. Groups refer to it by its place among the rows of the log, from 0.
    rule: Decision | None = None
    case: CaseResult | None = None
    #: The results so far of an unfinished case, such as a shard's tallies.
    part: Part | None = None
    #: The unit of the plan of a part in a --resume file.
    unit: str = ""
    end: End | None = None


S = TypeVar("S")

if TYPE_CHECKING:
    Named = str
    Pairs = dict[str, str]
else:
    Named = by_hook(str)  # a case, type or cause by its name
    Pairs = by_hook(dict)  # pairs as an object


def derived(kind: type[S], found: object) -> S:
    """Convert a result to a struct with attributes of the same names, or to a tuple of structs."""
    return msgspec.convert(found, kind, from_attributes=True, dec_hook=_named)


def _named(kind: type, found: Any) -> Any:
    if kind is Pairs:
        return dict(found)
    return found.id if isinstance(found, Case) else found.name


def encoded(struct: object) -> bytes:
    """Return a struct as JSON on a line."""
    try:
        return msgspec.json.encode(struct, enc_hook=plain)
    except UnicodeEncodeError:  # a lone surrogate, for example in a file name
        data = msgspec.to_builtins(struct, enc_hook=plain, str_keys=True)
        return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def line_text(struct: object) -> str:
    """Return a struct as a line of JSON, with control characters and CI commands escaped."""
    return _inert(encoded(struct).decode()) + "\n"


def json_text(struct: object, rows: str = "") -> str:
    """Return a struct as JSON text, with each member of the list `rows` on its own line."""
    lines = []
    for key, raw in msgspec.json.decode(encoded(struct), type=dict[str, msgspec.Raw]).items():
        said = msgspec.json.format(bytes(raw), indent=1).decode().replace("\n", "\n ")
        if key == rows and said != "[]":
            members = msgspec.json.decode(raw, type=list[msgspec.Raw])
            said = "[\n  " + ",\n  ".join(bytes(one).decode() for one in members) + "\n ]"
        lines.append(f'"{key}": {said}')
    return _inert("{\n " + ",\n ".join(lines) + "\n}\n")


def _inert(text: str) -> str:
    if not text.isascii() or "\x7f" in text:  # JSON escapes the others
        text = OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.replace("##", "#\\u0023")  # only texts have ##, and CI systems obey ##[ in a log
