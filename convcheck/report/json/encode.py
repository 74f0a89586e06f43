"""The result of a run as the structs of a report."""

from __future__ import annotations

from functools import partial

import msgspec

from convcheck import __version__
from convcheck.files import write_text
from convcheck.judge import result as judged
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.result import CallExample, CaseResult, RunResult
from convcheck.judge.words import code_text, value
from convcheck.report.counts import by_spec, counts_of
from convcheck.report.environment import environment
from convcheck.report.json import report as form
from convcheck.report.json.codec import json_text, plain, struct
from convcheck.report.json.tensor import tensor
from convcheck.rules.model import Case
from convcheck.semantics.expected import Quotation

text_of = partial(json_text, rows="cases")


def write(result: RunResult, path: str) -> None:
    """Write the report of a run to a file, whole or not at all; '-' is standard output."""
    write_text(text(result), path)


def text(result: RunResult) -> str:
    """Return the report of a run as JSON text."""
    return text_of(plain(report(result)))


def report(result: RunResult) -> form.ReportJson:
    """Return the report of a run."""
    from convcheck.causes.gather import gathered
    from convcheck.report.json.causes import cause_in_words, causes_json
    from convcheck.report.json.tally import encoded_part

    return form.ReportJson(
        format=form.FORMAT,
        convcheck=__version__,
        backend=backend(result.backend),
        tier=result.tier,
        corpus=form.CorpusJson(sha256=result.corpus, specs=dict(result.corpora)),
        environment=struct(dict(result.environment or environment()), form.EnvironmentJson),
        shard=_shard(result.shard),
        interrupted=result.interrupted,
        ended_early=result.ended_early,
        consistency=result.consistency,
        restarts=result.restarts,
        notes=result.notes,
        own_inputs=result.own_inputs,
        known=form.KnownJson(file=result.known, problems=tuple(map(_problem, result.problems))),
        summary=summary(result),
        causes=causes_json(gathered(result.cases, result.causes)),
        catalogue=tuple(map(cause_in_words, result.causes)),
        without_causes=result.without_causes,
        cases=tuple(map(case, result.cases)),
        parts=tuple(map(encoded_part, result.parts)),
    )


def backend(info: judged.BackendInfo) -> form.BackendJson:
    """Return a backend as it names itself."""
    return form.BackendJson(name=info.name, version=info.version, address=info.address)


def _shard(shard: judged.Shard | None) -> form.ShardJson | None:
    if shard is None:
        return None
    return form.ShardJson(
        index=shard.index, of=shard.of, plan=shard.plan, options=dict(shard.options)
    )


def _problem(problem: judged.Problem) -> form.ProblemJson:
    return form.ProblemJson(
        kind=problem.kind,
        place=str(problem.place),
        message=problem.message,
        repair=problem.repair,
    )


def _excuse(excuse: judged.Excuse | None) -> form.ExcuseJson | None:
    if excuse is None:
        return None
    place = str(excuse.place)
    return form.ExcuseJson(kind=excuse.kind, reason=excuse.reason, issue=excuse.issue, place=place)


def summary(result: RunResult) -> form.SummaryJson:
    """Return the counts of a run, in all and by spec."""
    level = result.level
    counts = {spec: counts_of(cases, level) for spec, cases in by_spec(result).items()}
    whole = sum(counts.values(), start=counts_of((), level))
    specs = {spec: form.CountsJson(**vars(one)) for spec, one in counts.items()}
    return form.SummaryJson(**vars(whole), level=level, specs=specs)


def case(result: CaseResult) -> form.CaseJson:
    """Return the result of a case."""
    return form.CaseJson(
        **msgspec.structs.asdict(case_head(result.case)),
        verdict=result.verdict,
        message=result.message,
        checked=result.checked,
        coverage=result.coverage,
        left_out=result.left_out,
        excuse=_excuse(result.excuse),
        finding=finding_id(failure_key_of_case(result)) if fails_whole(result) else "",
        diagnosis=_diagnosis(result.diagnosis),
        groups=tuple(group_json(result.case, one) for one in result.groups),
    )


def _diagnosis(found: judged.CaseDiagnosis | None) -> form.CaseDiagnosisJson | None:
    if found is None:
        return None
    near = tuple(form.NearJson(cause=one.name, answers=one.count) for one in found.near)
    return form.CaseDiagnosisJson(
        answers=found.answers,
        wrong=found.wrong,
        fits=found.fits,
        near=near,
        fault=found.fault,
        beside=found.beside,
        whole_vectors=found.whole_vectors,
        alone=dict(found.alone),
    )


def case_head(case: Case) -> form.CaseHeadJson:
    """Return what tells a case from others."""
    return form.CaseHeadJson(
        id=case.id,
        spec=case.spec,
        inputs=tuple(t.name for t in case.node_inputs),
        outputs=tuple(t.name for t in case.outputs),
        ranks=case.ranks or None,
        attributes=dict(case.attributes),
        middles=tuple(hop.outputs[0].name for hop in case.hops[:-1]),
        setting=dict(case.setting),
        fixed=dict(case.fixed),
    )


def group_json(case: Case, found: judged.Group) -> form.GroupJson:
    """Return a group of a case."""
    by, source = found.decision, case.inputs[0].format
    return form.GroupJson(
        rule=by.rule,
        row=by.row,
        level=by.level,
        place=str(by.place),
        cite=by.cite,
        source=by.source,
        gloss=by.gloss,
        quotations=tuple(map(_quotation, by.quotations)),
        row_in_words=by.row_in_words,
        verdict=found.verdict,
        kind=found.kind,
        reading=found.reading,
        placement=found.placement,
        count=found.count,
        of=found.of,
        digest=found.digest,
        ranges=tuple(
            (code_text(source, low), code_text(source, high)) for low, high in found.ranges
        ),
        more_ranges=found.more_ranges,
        examples=tuple(example(case, one) for one in found.examples),
        excuse=_excuse(found.excuse),
        finding=finding_of(found, case),
    )


def _quotation(one: Quotation) -> form.QuotationJson:
    return form.QuotationJson(of=one.of, cite=one.text, source=one.document, gloss=one.gloss)


def example(case: Case, shown: judged.Example | CallExample) -> form.ExampleJson | form.CallJson:
    """Return an example of a case, of an element or of a whole call."""
    return (
        call_example(case, shown)
        if isinstance(shown, CallExample)
        else element_example(case, shown)
    )


def element_example(case: Case, shown: judged.Example) -> form.ExampleJson:
    """Return an example of an element; of a companion input only the type counts, not a word."""
    target = case.outputs[0].format
    inputs = list(zip((t.format for t in case.inputs), shown.inputs, strict=False))
    return form.ExampleJson(
        input=tuple(code_text(fmt, word) for fmt, word in inputs),
        expected=code_text(target, shown.expected),
        got=None if shown.got is None else code_text(target, shown.got),
        input_value=tuple(value(fmt, word) for fmt, word in inputs),
        expected_value=value(target, shown.expected),
        got_value=value(target, shown.got),
        message=shown.message,
    )


def call_example(case: Case, shown: CallExample) -> form.CallJson:
    """Return an example of a whole call."""
    due, got = shown.expected, shown.got
    arguments = zip((t.format for t in case.inputs), shown.arguments, strict=False)
    return form.CallJson(
        input=tuple(map(tensor, shown.inputs)),
        expected=due if isinstance(due, str) else tuple(map(tensor, due)),
        got=None if got is None else tuple(map(tensor, got)),
        reading=shown.reading,
        difference=shown.difference,
        wrong=shown.wrong,
        message=shown.message,
        arguments=tuple(code_text(fmt, word) for fmt, word in arguments),
    )
