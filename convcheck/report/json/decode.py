"""A report read back: from its structs, the result of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from convcheck.causes.gather import names_told
from convcheck.errors import Place, UsageError
from convcheck.judge import result as judged
from convcheck.judge.result import CallExample, CaseResult, RunResult, case_verdict
from convcheck.plan.units import Rules
from convcheck.report.json import report as form
from convcheck.report.json.codec import parsed, plain, struct, struct_in, text_in, word_of
from convcheck.report.json.tensor import strip_of
from convcheck.rules.model import Attributes, Case, DType, Level, op_and_version, version_key
from convcheck.semantics.expected import Decision, Quotation

Types = Mapping[str, DType]
_BEFORE = "convcheck-report/1"  # its examples do not say whether a value or a call was asked
_WHOLE = ("error", "crashed", "refused", "unsupported")  # verdicts of a case without groups
_ALIKE = 1 << 15  # cases and groups that reports of several releases share: as many are kept
_HINT = "a report is what `convcheck run --json FILE` writes"


def read(path: str, types: Types, rules: Rules | None = None) -> RunResult:
    """Return the run of a report. `types` are those of the specs; with the rules of cases, parts of
    cases are read too.

    Raises UsageError for a file that is no report, is of another version, or has other types.
    """
    text = text_in(path, _HINT)
    return _quickly_read(text, path, types, rules) or _read(
        parsed(text, path, _HINT), path, types, rules
    )


def read_each(path: str, types: Types) -> Iterator[RunResult]:
    """Yield the run of a report, or of each report in a document of several backends.

    Raises UsageError as `read` does, and for a document without a report.
    """
    text = text_in(path, _HINT)
    if found := _quickly_read(text, path, types, None):
        yield found
        return
    document = parsed(text, path, _HINT)
    if not (isinstance(document, dict) and document.get("format") == form.SEVERAL):
        yield _read(document, path, types, None)
        return
    reports = document.get("reports")
    if not (isinstance(reports, list) and reports):
        raise UsageError(f"{path} has no report in it", hint=_HINT)
    for one in reports:
        yield _read(one, path, types, None)


def _quickly_read(text: str, path: str, types: Types, rules: Rules | None) -> RunResult | None:
    """Return the run of a report; None for text that is none of this version, or not at first
    sight. Raises UsageError for a damaged one.
    """
    report = struct_in(text, form.ReportJson)
    return None if report is None else _checked(report, path, types, rules)


def _read(document: Any, path: str, types: Types, rules: Rules | None) -> RunResult:
    named = document.get("format") if isinstance(document, dict) else None
    if named not in (form.FORMAT, _BEFORE):
        said = f"{path} is not a {form.FORMAT}" + (f" but a {named}" if named is not None else "")
        raise UsageError(said, hint=_HINT)
    try:
        report = report_of(document)
    except (ValueError, OverflowError) as error:
        raise _damaged(path, error) from None
    return _checked(report, path, types, rules)


def _checked(report: form.ReportJson, path: str, types: Types, rules: Rules | None) -> RunResult:
    try:
        result = run_of(report, types, rules)
        _check_agreement(report, result)
        return result
    except (ValueError, OverflowError) as error:
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> UsageError:
    return UsageError(f"{path} is a damaged report: {error}", hint=_HINT)


def _check_agreement(report: form.ReportJson, result: RunResult) -> None:
    """Hold what a report says of its groups to what they say. Raises ValueError."""
    from convcheck.report.json.encode import summary

    _check_named(result)
    _check_once([case.case.id for case in result.cases])
    _check_once([part.case.id for part in result.parts])
    in_parts = (one for part in result.parts for one in (part.vectors, part.lost) if one)
    for case in (*result.cases, *in_parts):
        _check_verdict(case)
        _check_counts(case)
        _check_explained(case)
    if report.summary != summary(result):
        raise ValueError("its summary is not that of its cases")
    if report.corpus.sha256 != result.corpus:
        raise ValueError("its corpus is not that of its specs")


def _check_named(result: RunResult) -> None:
    """Hold the diagnoses of cases to causes that the report has. Raises ValueError."""
    known = {cause.name for cause in result.causes}
    named = names_told(result.cases, result.parts)
    if missing := sorted(named - known):
        raise ValueError(f"it does not say what the cause {missing[0]} is")


def _check_once(ids: list[str]) -> None:
    if twice := [one for one, count in Counter(ids).items() if count > 1]:
        raise ValueError(f"{twice[0]} stands twice")


def _check_verdict(case: CaseResult) -> None:
    """Hold a verdict to that of the groups, or to one that a case may have as a whole."""
    due = case_verdict(case.groups)
    whole = ("error",) if case.groups else _WHOLE
    if case.verdict != due and case.verdict not in whole:
        raise ValueError(f"the verdict of {case.case.id} is {case.verdict}, of its groups {due}")


def _check_counts(case: CaseResult) -> None:
    """Hold the groups of a case to counting each value that was asked, and each once."""
    counted = sum(group.count for group in case.groups if not group.placement)
    if counted != case.checked:
        raise ValueError(f"the groups of {case.case.id} have {counted} of {case.checked} asked")
    if wrong := [group for group in case.groups if not 0 < group.count <= group.of]:
        said = f"{wrong[0].count} of {wrong[0].of}"
        raise ValueError(f"{case.case.id} has {said} under {wrong[0].decision.name}")


def _check_explained(case: CaseResult) -> None:
    """Hold an explained case to a wrong answer, by which causes are told. Raises ValueError."""
    failing = (group for group in case.groups if group.verdict in judged.FAILURES)
    fits = case.diagnosis.fits if case.diagnosis else ()
    if fits and case.verdict in judged.FAILURES and not any(one.examples for one in failing):
        raise ValueError(f"{case.case.id} has no example of what its causes explain")


def report_of(document: dict[str, Any]) -> form.ReportJson:
    """Return a report's JSON data as structs. Raises ValueError."""
    if document.get("format") == _BEFORE:
        document = _upgraded(document) | {"format": form.FORMAT}
    return struct(document, form.ReportJson)


def run_of(report: form.ReportJson, types: Types, rules: Rules | None = None) -> RunResult:
    """Return the run of a report. Raises ValueError, and UsageError for other types."""
    from convcheck.report.json.tally import parts_of

    result = _run(report, types)
    return replace(result, parts=parts_of(report.parts, types, rules)) if rules else result


def _upgraded(node: Any) -> Any:
    """Return data of the version before as this one has it."""
    if isinstance(node, list):
        return [_upgraded(one) for one in node]
    if not isinstance(node, dict):
        return node
    if "got" in node and "expected" in node:
        return {"asked": "call" if "difference" in node else "value", **node}
    return {key: _upgraded(one) for key, one in node.items()}


def _run(report: form.ReportJson, types: Types) -> RunResult:
    return RunResult(
        judged.BackendInfo(report.backend.name, report.backend.version, report.backend.address),
        report.tier,
        report.summary.level,
        tuple(report.corpus.specs.items()),
        tuple(case_of(case, types) for case in report.cases),
        report.notes,
        report.interrupted,
        report.restarts,
        _shard(report.shard),
        plain(report.environment),
        report.known.file,
        tuple(
            judged.Problem(p.kind, place_of(p.place), p.message, p.repair)
            for p in report.known.problems
        ),
        report.own_inputs,
        ended_early=report.ended_early,
        consistency=report.consistency,
        causes=tuple(
            judged.CauseInWords(c.name, c.says, c.order, tuple(c.under.items()))
            for c in report.catalogue
        ),
        without_causes=report.without_causes,
    )


def _shard(shard: form.ShardJson | None) -> judged.Shard | None:
    if shard is None:
        return None
    if shard.index > shard.of:
        raise ValueError(f"{shard.index}/{shard.of} is not a shard")
    return judged.Shard(shard.index, shard.of, shard.plan, tuple(shard.options.items()))


def case_of(found: form.CaseJson, types: Types) -> CaseResult:
    """Return the result of a case. Raises ValueError for codes and names that do not fit it."""
    case = case_named(found, types)
    return CaseResult(
        case,
        found.verdict,
        found.checked,
        found.coverage,
        tuple([group_of(group, case, types) for group in found.groups]),
        found.message,
        found.left_out,
        _excuse(found.excuse),
        _diagnosis(found.diagnosis),
    )


def _diagnosis(found: form.CaseDiagnosisJson | None) -> judged.CaseDiagnosis | None:
    if found is None:
        return None
    near = tuple(judged.Near(one.cause, one.answers) for one in found.near)
    return judged.CaseDiagnosis(
        answers=found.answers,
        wrong=found.wrong,
        fits=found.fits,
        near=near,
        fault=found.fault,
        beside=found.beside,
        whole_vectors=found.whole_vectors,
        alone=tuple(found.alone.items()),
    )


def case_named(head: form.CaseHeadJson, types: Types) -> Case:
    """Return a case made of its parts; what its id has besides them is the layout.

    Raises ValueError for an id that is not that of its parts.
    """
    return _case(
        head.id,
        head.spec,
        _types(head.inputs, types),
        _types(head.middles, types),
        _types(head.outputs, types),
        head.ranks or (),
        tuple(head.attributes.items()),
        tuple(head.setting.items()),
        tuple(head.fixed.items()),
    )


@lru_cache(_ALIKE)
def _case(
    name: str,
    spec: str,
    inputs: tuple[DType, ...],
    middles: tuple[DType, ...],
    outputs: tuple[DType, ...],
    ranks: tuple[int, ...],
    attributes: Attributes,
    setting: tuple[tuple[str, str], ...],
    fixed: tuple[tuple[str, str], ...],
) -> Case:
    named = name.split("/")
    op, version = op_and_version(spec)
    values = len(attributes) + len(setting) + len(fixed)
    number = next(iter(version_key(version)), 0)
    ends = pairwise((inputs, *((one,) for one in (*middles, *outputs[:1])))) if middles else ()
    case = Case(
        spec,
        op,
        number,
        inputs[:1] if middles else inputs,
        outputs,
        attributes,
        layout="/".join(named[2 : len(named) - values]),
        ranks=ranks,
        bound="-to-" not in "".join(named[1:2]),
        hops=tuple(Case(spec, op, number, a, b, ()) for a, b in ends),
        setting=setting,
        fixed=fixed,
    )
    if case.id != name or not case.inputs:
        raise ValueError(f"the case {name} is not what it says")
    return case


def _types(names: Sequence[str], types: Types) -> tuple[DType, ...]:
    if unknown := [name for name in names if name not in types]:
        hint = "if a spec of your own has it, name the folder with --specs DIR"
        raise UsageError(f"the report has a type that no spec has: {unknown[0]}", hint=hint)
    return tuple([types[name] for name in names])


def group_of(group: form.GroupJson, case: Case, types: Types) -> judged.Group:
    """Return a group of a case. Raises ValueError for codes that do not fit it."""
    shown = group.examples
    if shown and (not case.outputs or any(isinstance(one, form.CallJson) for one in shown)):
        return _group(group, case.inputs, tuple(shown_of(one, case, types) for one in shown))
    return _group_of_elements(group, case.inputs, case.outputs)


@lru_cache(_ALIKE)
def _group_of_elements(
    group: form.GroupJson, inputs: tuple[DType, ...], outputs: tuple[DType, ...]
) -> judged.Group:
    """Return a group whose examples tell nothing but codes of these types."""
    values = (one for one in group.examples if isinstance(one, form.ExampleJson))
    return _group(group, inputs, tuple(_example(one, inputs, outputs) for one in values))


def _group(
    group: form.GroupJson,
    inputs: tuple[DType, ...],
    examples: tuple[judged.Example | CallExample, ...],
) -> judged.Group:
    source = inputs[0].format
    return judged.Group(
        _decision(
            group.rule,
            group.row,
            group.level,
            group.cite,
            group.source,
            group.place,
            group.quotations,
            group.row_in_words,
            group.gloss,
        ),
        group.verdict,
        group.kind,
        group.count,
        group.of,
        group.digest,
        group.reading,
        group.placement,
        tuple((word_of(low, source), word_of(high, source)) for low, high in group.ranges),
        group.more_ranges,
        examples,
        _excuse(group.excuse),
    )


@cache
def _decision(
    rule: str,
    row: str,
    level: Level,
    cite: str,
    source: str,
    place: str,
    quotations: tuple[form.QuotationJson, ...],
    row_in_words: str,
    gloss: str,
) -> Decision:
    cites = tuple(Quotation(one.cite, one.source, one.of, one.gloss) for one in quotations)
    return Decision(
        rule, row, level, cite, source, place_of(place),
        quotations=cites, row_in_words=row_in_words, gloss=gloss,
    )  # fmt: skip


def place_of(text: str) -> Place:
    """Return a place that was written FILE:LINE."""
    file, colon, line = text.rpartition(":")
    return Place(file, int(line)) if colon and line.isdigit() else Place(text, 0)


def _excuse(excuse: form.ExcuseJson | None) -> judged.Excuse | None:
    if excuse is None:
        return None
    return judged.Excuse(excuse.kind, excuse.reason, excuse.issue, place_of(excuse.place))


def shown_of(
    one: form.ExampleJson | form.CallJson, case: Case, types: Types
) -> judged.Example | CallExample:
    """Return an example of an element, or of a whole call. Raises ValueError for codes that do not
    fit the case.
    """
    return call_of(one, case, types) if isinstance(one, form.CallJson) else example_of(one, case)


def example_of(one: form.ExampleJson, case: Case) -> judged.Example:
    """Return an example of an element. Raises ValueError for codes that do not fit the case."""
    if not case.outputs:
        raise ValueError(f"{case.id} has no elements that are asked one by one")
    return _example(one, case.inputs, case.outputs)


def _example(
    one: form.ExampleJson, inputs: tuple[DType, ...], outputs: tuple[DType, ...]
) -> judged.Example:
    target = outputs[0].format
    return judged.Example(
        tuple(word_of(w, t.format) for w, t in zip(one.input, inputs, strict=False)),
        word_of(one.expected, target),
        None if one.got is None else word_of(one.got, target),
        one.message,
    )


def call_of(one: form.CallJson, case: Case, types: Types) -> CallExample:
    """Return an example of a whole call. Raises ValueError for codes that do not fit the case."""
    due, got = one.expected, one.got
    arguments = zip(one.arguments, case.inputs, strict=False)
    return CallExample(
        tuple(strip_of(tensor, types) for tensor in one.input),
        due if isinstance(due, str) else tuple(strip_of(tensor, types) for tensor in due),
        None if got is None else tuple(strip_of(tensor, types) for tensor in got),
        one.reading,
        one.difference,
        one.wrong,
        one.message,
        tuple(word_of(word, dtype.format) for word, dtype in arguments),
    )
