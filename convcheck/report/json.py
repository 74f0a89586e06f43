"""The report of a run for programs: `schema.json` beside this file describes it.

Two runs with the same answers on the same machine give the same bytes: the order is the plan's,
and nothing in it is a time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from convcheck import __version__
from convcheck.errors import UsageError
from convcheck.files import write_whole
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    Example,
    Excuse,
    Group,
    Problem,
    RunResult,
    Strip,
)
from convcheck.judge.words import code, value
from convcheck.report.environment import environment
from convcheck.report.tally import by_spec, tally
from convcheck.rules.model import Case, Level

FORMAT = "convcheck-report/1"


def document(result: RunResult) -> dict[str, Any]:
    """Give the report as JSON's types."""
    cases = [case_document(case) for case in result.cases]
    return {**head(result), "cases": cases, **_parts(result)}


def _parts(result: RunResult) -> dict[str, Any]:
    """Give what is to be added of cases that are not done."""
    if not result.parts:
        return {}
    from convcheck.report.tally_json import part_document

    return {"parts": [part_document(part) for part in result.parts]}


def head(result: RunResult) -> dict[str, Any]:
    """Give all but the cases."""
    shard = result.shard
    return {
        "format": FORMAT,
        "convcheck": __version__,
        "backend": {"name": result.backend.name, "version": result.backend.version},
        "tier": result.tier,
        "corpus": {"sha256": result.corpus, "specs": dict(result.corpora)},
        "environment": dict(result.environment or environment()),
        "shard": {"index": shard.index, "of": shard.of, "plan": shard.plan} if shard else None,
        "interrupted": result.interrupted,
        "ended_early": result.ended_early,
        "consistency": result.consistency,
        "restarts": result.restarts,
        "notes": list(result.notes),
        "selected": result.selected,
        "own_inputs": result.own_inputs,
        "known": {"file": result.known, "problems": [_problem(p) for p in result.problems]},
        "summary": _summary(result),
    }


def _problem(problem: Problem) -> dict[str, str]:
    return {
        "kind": problem.kind,
        "place": str(problem.place),
        "message": problem.message,
        "repair": problem.repair,
    }


def _excuse(excuse: Excuse | None) -> dict[str, Any]:
    """Give what is to be added to a group or case that is excused."""
    if excuse is None:
        return {}
    said = {"kind": excuse.kind, "reason": excuse.reason, "issue": excuse.issue}
    return {"excuse": {**said, "place": str(excuse.place)}}


def write(result: RunResult, path: str) -> None:
    """Write the report to a file, whole or not at all; '-' is standard output."""
    put(render(document(result)), path)


def put(text: str, path: str) -> None:
    """Write a text to a file, whole or not at all; '-' is standard output. Raises UsageError."""
    if path == "-":
        _to_stdout(text.encode("utf-8", "backslashreplace"))
        return
    write_whole(Path(path), text.encode("utf-8", "backslashreplace"))


def _to_stdout(content: bytes) -> None:
    """Write a file's content: UTF-8, whatever a terminal has."""
    if sys.stdout is None:
        raise UsageError("cannot write to stdout: it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write to stdout: {error.strerror or error}") from error


def render(report: dict[str, Any]) -> str:
    """Spell a report: a case a line, so that a difference is a line too."""
    head = json.dumps({k: v for k, v in report.items() if k != "cases"}, indent=1)
    cases = ",\n".join("  " + json.dumps(case) for case in report["cases"])
    return f'{head[:-2]},\n "cases": [' + (f"\n{cases}\n " if cases else "") + "]\n}\n"


def _summary(result: RunResult) -> dict[str, Any]:
    specs = by_spec(result)
    return {
        "level": result.level,
        **_counts(result.cases, result.level),
        "specs": {spec: _counts(cases, result.level) for spec, cases in specs.items()},
    }


def _counts(cases: tuple[CaseResult, ...], level: Level) -> dict[str, Any]:
    counts = tally(cases, level)
    return {
        "cases": counts.cases,
        "judged": counts.judged,
        "gated": counts.gated,
        "checked": counts.checked,
        "wrong": counts.wrong,
        "known": counts.known,
        "waived": counts.waived,
        "verdicts": dict(counts.verdicts),
    }


def case_head(case: Case) -> dict[str, Any]:
    """Give what tells a case from others as JSON's types."""
    return {
        "id": case.id,
        "spec": case.spec,
        "inputs": [t.name for t in case.inputs],
        "outputs": [t.name for t in case.outputs],
        "ranks": list(case.ranks) if case.whole_calls else None,
        "attributes": dict(case.attributes),
    }


def case_document(result: CaseResult) -> dict[str, Any]:
    """Give a case's result as JSON's types."""
    case = result.case
    return {
        **case_head(case),
        "verdict": result.verdict,
        "message": result.message,
        "checked": result.checked,
        "coverage": result.coverage,
        **({"left_out": result.left_out} if result.left_out else {}),
        **_excuse(result.excuse),
        "groups": [group_document(case, group) for group in result.groups],
    }


def group_document(case: Case, group: Group) -> dict[str, Any]:
    """Give a group of a case as JSON's types."""
    by = group.decision
    return {
        "rule": by.rule,
        "row": by.row,
        "level": by.level,
        "place": str(by.place),
        "cite": by.cite,
        "source": by.source,
        "verdict": group.verdict,
        "kind": group.kind,
        "reading": group.reading,
        "placement": group.placement,
        "count": group.count,
        "of": group.of,
        "digest": group.digest,
        "ranges": [[code(case.inputs[0].format, word) for word in span] for span in group.ranges],
        "more_ranges": group.more_ranges,
        "examples": [example_document(case, example) for example in group.examples],
        **_excuse(group.excuse),
    }


def example_document(case: Case, example: Example | CallExample) -> dict[str, Any]:
    """Give an example of a case as JSON's types."""
    if isinstance(example, CallExample):
        return _call(case, example)
    target = case.outputs[0].format
    inputs = list(zip((t.format for t in case.inputs), example.inputs, strict=False))
    got = None if example.got is None else code(target, example.got)
    return {
        "input": [code(fmt, word) for fmt, word in inputs],
        "expected": code(target, example.expected),
        "got": got,
        "input_value": [value(fmt, word) for fmt, word in inputs],
        "expected_value": value(target, example.expected),
        "got_value": value(target, example.got),
        "message": example.message,
    }


def _call(case: Case, example: CallExample) -> dict[str, Any]:
    due = example.expected
    arguments = zip((t.format for t in case.inputs), example.arguments, strict=False)
    return {
        "input": [_tensor(strip) for strip in example.inputs],
        "expected": due if isinstance(due, str) else [_tensor(strip) for strip in due],
        "got": None if example.got is None else [_tensor(strip) for strip in example.got],
        "reading": example.reading,
        "difference": list(example.difference) if example.difference else None,
        "wrong": example.wrong,
        "message": example.message,
        "arguments": [code(fmt, word) for fmt, word in arguments],
    }


def _tensor(strip: Strip) -> dict[str, Any]:
    """Give the part of a tensor that is shown; of a type that the spec does not know, raw codes."""
    fmt = strip.format
    return {
        "type": strip.type,
        "shape": list(strip.shape),
        "first": strip.first,
        "bits": [hex(int(w)) if fmt is None else code(fmt, w) for w in strip.words],
        "values": [None if fmt is None else value(fmt, w) for w in strip.words],
    }
