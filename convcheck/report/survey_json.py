"""A survey for programs: `survey_schema.json` beside this file describes it.

Two surveys with the same answers on the same machine give the same bytes.
"""

from __future__ import annotations

import json
from typing import Any

from convcheck import __version__
from convcheck.judge.result import CallExample, Strip, Word
from convcheck.judge.words import code, value
from convcheck.report.environment import environment
from convcheck.report.json import put
from convcheck.rules.model import Case, DType
from convcheck.survey.merge import Column, Difference, Row, Survey
from convcheck.survey.model import Shown, Surveyed

FORMAT = "convcheck-survey/1"


def document(survey: Survey) -> dict[str, Any]:
    """Give the survey as JSON's types."""
    return {
        "format": FORMAT,
        "convcheck": __version__,
        "backends": [_column(column) for column in survey.columns],
        "tier": survey.tier,
        "corpus": {"sha256": survey.corpus},
        "environment": environment(),
        "interrupted": survey.interrupted,
        "notes": list(survey.notes),
        "rows": [_row(row) for row in survey.rows],
    }


def write(survey: Survey, path: str) -> None:
    """Write the survey to a file, whole or not at all; '-' is standard output."""
    put(render(document(survey)), path)


def render(survey: dict[str, Any]) -> str:
    """Spell a survey: a case a line, so that a difference is a line too."""
    head = json.dumps({k: v for k, v in survey.items() if k != "rows"}, indent=1)
    rows = ",\n".join(_render_row(row) for row in survey["rows"])
    return f'{head[:-2]},\n "rows": [' + (f"\n{rows}\n " if rows else "") + "]\n}\n"


def _render_row(row: dict[str, Any]) -> str:
    head = json.dumps({k: v for k, v in row.items() if k != "cases"})
    cases = ",\n".join("   " + json.dumps(case) for case in row["cases"])
    return f'  {head[:-1]}, "cases": [\n{cases}]}}'


def _column(column: Column) -> dict[str, Any]:
    info = column.info
    return {
        "address": column.address,
        "name": info.name if info else None,
        "version": info.version if info else None,
        "error": column.error or None,
    }


def _row(row: Row) -> dict[str, Any]:
    by = row.decision
    differences = {d.case: d for d in row.differences()}
    pairs = zip(row.cases, row.answers, strict=True)
    return {
        "rule": by.rule,
        "row": by.row,
        "level": by.level,
        "place": str(by.place),
        "cite": by.cite,
        "source": by.source,
        "readings": list(by.readings) if by.level == "disputed" else [],
        "cases": [_case(case, here, differences.get(case)) for case, here in pairs],
    }


def _case(
    case: Case, here: tuple[Surveyed | None, ...], difference: Difference | None
) -> dict[str, Any]:
    shown = None
    if difference is not None:
        shown = [e if e is None else _shown(case, e) for e in difference.answers]
    return {
        "id": case.id,
        "differ": difference is not None,
        "difference": shown,
        "backends": [None if one is None else _surveyed(case, one) for one in here],
    }


def _surveyed(case: Case, one: Surveyed) -> dict[str, Any]:
    return {
        "unsupported": one.unsupported,
        "asked": 0 if one.unsupported else one.asked,
        "refused": one.refused,
        "crashed": one.crashed,
        "laws": [{"inputs": kind or "all", "fit": list(laws)} for kind, laws in one.fits],
        "elsewhere": one.elsewhere,
        "odd": one.odd,
        "message": one.message,
        "digest": one.digest,
        "examples": [_shown(case, example) for example in one.examples],
    }


def _shown(case: Case, example: Shown) -> dict[str, Any]:
    if isinstance(example, CallExample):
        got = None if example.got is None else [_tensor(strip) for strip in example.got]
        inputs = [_tensor(strip) for strip in example.inputs]
    else:
        pairs = zip(case.inputs, example.inputs, strict=False)  # a companion has no word
        inputs = [_element(dtype, word) for dtype, word in pairs]
        got = None if example.got is None else [_element(case.outputs[0], example.got)]
    return {"input": inputs, "got": got, "message": example.message}


def _element(dtype: DType, word: Word) -> dict[str, Any]:
    codes, values = [code(dtype.format, word)], [value(dtype.format, word)]
    return {"type": dtype.name, "shape": None, "codes": codes, "values": values}


def _tensor(strip: Strip) -> dict[str, Any]:
    fmt = strip.format
    return {
        "type": strip.type,
        "shape": list(strip.shape),
        "codes": [] if fmt is None else [code(fmt, word) for word in strip.words],
        "values": [] if fmt is None else [value(fmt, word) for word in strip.words],
    }
