"""A report read back: what `json.py` wrote, as the result of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from convcheck.errors import Place, UsageError
from convcheck.judge.result import (
    VERDICTS,
    BackendInfo,
    CallExample,
    CaseResult,
    Example,
    Excuse,
    Group,
    Problem,
    RunResult,
    Shard,
    Strip,
    Verdict,
    Word,
)
from convcheck.numerics.format import Format, Text
from convcheck.plan.units import Rules
from convcheck.report.json import FORMAT
from convcheck.rules.model import LEVELS, Case, DType, Level
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import COVERAGES, Coverage

Types = Mapping[str, DType]
MOST_SHARDS = 10**9
_HINT = "a report is what `convcheck run --json FILE` writes"


def read(path: str, types: Types, rules: Rules | None = None) -> RunResult:
    """Read a report. `types` are those of the specs; with the rules of cases, parts of them too.

    Raises UsageError for a file that is no report, is of another version, or has other types.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {_said(error)}", hint=_HINT) from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}", hint=_HINT) from None
    return _result(document, path, types, rules)


def _said(error: OSError | UnicodeDecodeError) -> str:
    return str(getattr(error, "strerror", None) or error)


def _result(document: Any, path: str, types: Types, rules: Rules | None) -> RunResult:
    form = document.get("format") if isinstance(document, dict) else None
    if form != FORMAT:
        said = f"{path} is not a {FORMAT}" + (f" but a {form}" if isinstance(form, str) else "")
        raise UsageError(said, hint=_HINT)
    try:
        return _with_parts(run_of(document, types), document, types, rules)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is a damaged report ({said})", hint=_HINT) from None


def _with_parts(
    result: RunResult, document: Mapping[str, Any], types: Types, rules: Rules | None
) -> RunResult:
    if rules is None or "parts" not in document:
        return result
    from convcheck.report.tally_json import parts_of

    return replace(result, parts=parts_of(document["parts"], types, rules))


def run_of(document: Mapping[str, Any], types: Types) -> RunResult:
    """Make the result of a report's document. Raises UsageError, KeyError, TypeError, ValueError
    for what is not as it should be.
    """
    backend, shard = document["backend"], document["shard"]
    return RunResult(
        BackendInfo(_text(backend["name"]), _text(backend["version"])),
        _text(document["tier"]),
        _level(document["summary"]["level"]),
        tuple((spec, _text(digest)) for spec, digest in document["corpus"]["specs"].items()),
        tuple(case_of(case, types) for case in document["cases"]),
        tuple(map(_text, document["notes"])),
        _flag(document["interrupted"]),
        number(document["restarts"]),
        _shard(shard) if shard else None,
        _environment(document["environment"]),
        _text(document["known"]["file"]),
        tuple(_problem(problem) for problem in document["known"]["problems"]),
        None if document["selected"] is None else number(document["selected"]),
        _flag(document["own_inputs"]),
        ended_early=_flag(document["ended_early"]),
        consistency=_flag(document["consistency"]),
    )


def _shard(document: Mapping[str, Any]) -> Shard:
    shard = Shard(number(document["index"]), number(document["of"]), _text(document["plan"]))
    if not 1 <= shard.index <= shard.of <= MOST_SHARDS:
        raise ValueError(f"{shard.index}/{shard.of} is no shard")
    return shard


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def number(value: Any) -> int:
    """Hold to being a count. Raises TypeError."""
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is no count")
    return value


def _verdict(value: Any) -> Verdict:
    if value not in VERDICTS:
        raise ValueError(f"{value!r} is no verdict")
    return cast(Verdict, value)


def _coverage(value: Any) -> Coverage:
    if value not in COVERAGES:
        raise ValueError(f"{value!r} is no coverage")
    return cast(Coverage, value)


def _level(value: Any) -> Level:
    if value not in LEVELS:
        raise ValueError(f"{value!r} is no level")
    return cast(Level, value)


def _environment(value: Any) -> Mapping[str, Any]:
    """Hold to its shape what reports print of it."""
    value["versions"].items()
    for feature in value["cpu"]["features"]:
        _text(feature)
    return cast(Mapping[str, Any], value)


def case_of(document: Mapping[str, Any], types: Types) -> CaseResult:
    """Make the result of a case. Raises as `run_of` does."""
    case = case_named(document, types)
    return CaseResult(
        case,
        _verdict(document["verdict"]),
        number(document["checked"]),
        _coverage(document["coverage"]),
        tuple(group_of(group, case, types) for group in document["groups"]),
        _text(document["message"]),
        number(document.get("left_out", 0)),
        _excuse(document.get("excuse")),
    )


def case_named(document: Mapping[str, Any], types: Types) -> Case:
    """Make a case from its parts; what its id has besides them is the layout. Raises as `run_of`
    does.
    """
    spec, named = document["spec"], document["id"].split("/")
    op, _, version = spec.rpartition("-")
    attributes = tuple(document["attributes"].items())
    rest = named[2 : len(named) - len(attributes)]
    case = Case(
        spec,
        op if version.isdigit() else spec,
        int(version) if version.isdigit() else 0,
        tuple(_type(name, types) for name in document["inputs"]),
        tuple(_type(name, types) for name in document["outputs"]),
        attributes,
        layout="/".join(rest),
        ranks=tuple(document["ranks"] or ()),
        bound="-to-" not in named[1],
    )
    if case.id != document["id"]:
        raise ValueError(f"the case {document['id']} is not what it says")
    return case


def _type(name: str, types: Types) -> DType:
    if name not in types:
        hint = "it is of a spec of your own? then name its folder with --specs DIR"
        raise UsageError(f"the report has a type that no spec has: {name}", hint=hint)
    return types[name]


def group_of(document: Mapping[str, Any], case: Case, types: Types) -> Group:
    """Make a group of a case. Raises as `run_of` does."""
    fmt = case.inputs[0].format
    return Group(
        _decision(
            document["rule"],
            document["row"],
            _level(document["level"]),
            _text(document["cite"]),
            document["source"],
            document["place"],
        ),
        _verdict(document["verdict"]),
        _text(document["kind"]),
        number(document["count"]),
        number(document["of"]),
        document["digest"],
        document["reading"],
        document["placement"],
        tuple((_word(low, fmt), _word(high, fmt)) for low, high in document["ranges"]),
        document["more_ranges"],
        tuple(example_of(example, case, types) for example in document["examples"]),
        _excuse(document.get("excuse")),
    )


@cache
def _decision(rule: str, row: str, level: Level, cite: str, source: str, place: str) -> Decision:
    return Decision(rule, row, level, cite, source, _place(place))


def _place(text: str) -> Place:
    file, colon, line = text.rpartition(":")
    return Place(file, int(line)) if colon and line.isdigit() else Place(text, 0)


def _excuse(document: Mapping[str, str] | None) -> Excuse | None:
    if document is None:
        return None
    kind: Any = document["kind"]
    return Excuse(kind, document["reason"], document["issue"], _place(document["place"]))


def _problem(document: Mapping[str, str]) -> Problem:
    kind: Any = document["kind"]
    return Problem(kind, _place(document["place"]), document["message"], document["repair"])


def example_of(document: Mapping[str, Any], case: Case, types: Types) -> Example | CallExample:
    """Make an example of a case. Raises as `run_of` does."""
    if "difference" in document:
        return _call(document, case, types)
    target = case.outputs[0].format
    return Example(
        tuple(_word(w, t.format) for w, t in zip(document["input"], case.inputs, strict=False)),
        _word(document["expected"], target),
        None if document["got"] is None else _word(document["got"], target),
        _text(document["message"]),
    )


def _call(document: Mapping[str, Any], case: Case, types: Types) -> CallExample:
    due, got = document["expected"], document["got"]
    arguments = zip(document["arguments"], case.inputs, strict=False)
    return CallExample(
        tuple(_strip(tensor, types) for tensor in document["input"]),
        due if isinstance(due, str) else tuple(_strip(tensor, types) for tensor in due),
        None if got is None else tuple(_strip(tensor, types) for tensor in got),
        document["reading"],
        None if document["difference"] is None else tuple(document["difference"]),
        document["wrong"],
        document["message"],
        tuple(_word(word, dtype.format) for word, dtype in arguments),
    )


def _strip(document: Mapping[str, Any], types: Types) -> Strip:
    dtype = types.get(document["type"])
    fmt = dtype.format if dtype else None
    words = tuple(_word(word, fmt) for word in document["bits"])
    return Strip(document["type"], fmt, tuple(document["shape"]), document["first"], words)


def _word(text: str, fmt: Format | None) -> Word:
    """Read a code; a text, or a pattern's word, is as it stands."""
    if isinstance(fmt, Text) or text.startswith("<"):
        return text
    code = int(text, 16)
    if code < 0 or (
        fmt is not None and code >> 8 * fmt.storage.itemsize
    ):  # no code, too, came back
        raise ValueError(f"{text} is no code of its type")
    return code
