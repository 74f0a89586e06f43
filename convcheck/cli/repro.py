"""`convcheck repro`."""

from collections.abc import Sequence
from pathlib import Path

from convcheck.causes.gather import gathered
from convcheck.chains.asked import own_chain, own_pair
from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs, progress
from convcheck.documents.decode import read
from convcheck.errors import UsageError
from convcheck.files import write_text
from convcheck.judge.failure import finding_of
from convcheck.judge.result import Group, RunResult
from convcheck.judge.words import clean
from convcheck.plan.select import explanations_of, shown_example
from convcheck.records import replace
from convcheck.report.findings import said_of, wrong_answers
from convcheck.reproduce.emit.c import c
from convcheck.reproduce.emit.onnx import files_of_witness, urls_of
from convcheck.reproduce.emit.python import check_backend, python
from convcheck.reproduce.witness import (
    Witness,
    ask_case,
    does_not_fail,
    failing,
    reported,
    smallest,
)
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.streams import plural, say
from convcheck.vectors import folder
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.model import CallSet, Vectors

ONNX = "onnx"  # the form's name in `convcheck export`
_CASE = "onnx.Cast-21/float64-to-float16"
_LISTED = 12  # other findings listed on stderr


def main(
    words: tuple[str, ...],
    backend: str | None,
    report: str | None,
    cause: str | None,
    form: str,
    out: str | None,
    timeout: float,
) -> int:
    """Write a witness of a finding as code."""
    name, finding = _named(words, report, cause)
    if (backend is None) == (report is None):
        raise UsageError("give one of --backend NAME and --report FILE", hint="--backend ort")
    if form == ONNX and out in (None, "-"):
        raise UsageError("an ONNX test is a folder", hint="--out DIR")
    if form == ONNX:
        folder.check(Path(str(out)), ONNX)
    else:
        check_outputs({"--out": out}, {"--report": report})
    loaded = catalog()
    if report is None:
        if form == "python":
            check_backend(str(backend))
        witness = _asked(loaded, name, str(backend), finding, timeout)
    else:
        result = read(report, loaded.types.types)
        if cause is not None:
            witness = _explained(loaded, result, cause)
        else:
            witness = _reported(loaded, result, report, name, finding)
    if form == ONNX:
        folder.write_export(files_of_witness(witness), Path(str(out)), ONNX)
    else:
        urls = urls_of([loaded.specs[witness.case.spec], *loaded.specs.values()])
        write_text({"c": c, "python": python}[form](witness, urls), out or "-")
    return 0


def _named(words: tuple[str, ...], report: str | None, cause: str | None) -> tuple[str, str]:
    names = [word for word in words if "." in word or "/" in word]
    findings = [word for word in words if word not in names]
    if len(names) > 1 or len(findings) > 1:
        raise UsageError(f"{words[1]} is one too many", hint="give one CASE and one FINDING")
    if cause is not None and (words or report is None):
        hint = "leave CASE and FINDING out, and give --report FILE"
        raise UsageError("--cause chooses a case of a report", hint=hint)
    if findings and not names and report is None:
        hint = f"a case is SPEC/TYPES, such as {_CASE}; a finding alone needs --report FILE"
        raise UsageError(f"{findings[0]} is neither a case nor a finding of a report", hint=hint)
    if not words and cause is None:
        hint = "name one, or give --report FILE with a FINDING, or with --cause NAME"
        raise UsageError("which CASE?", hint=hint)
    return "".join(names), "".join(findings)


def _asked(loaded: Catalog, name: str, backend: str, finding: str, timeout: float) -> Witness:
    case = find_case(loaded, name)
    with progress(1, f"ask {backend}"):
        found = ask_case(backend, loaded.specs[case.spec], _vectors(loaded, case), timeout)
    chosen = _chosen(found.groups, case, finding)
    with progress(1, "cut it down", "finding"):
        witness = smallest(found, chosen)
    named = replace(witness.backend, name=backend)  # the name selects the script's form
    return replace(witness, backend=named)


def _explained(loaded: Catalog, result: RunResult, cause: str) -> Witness:
    found = explanations_of(result, cause)[0]
    every = gathered(result.cases, result.causes).explanations
    answers = dict(zip((one.causes for one in every), wrong_answers(every), strict=True))
    shown, group, example = answers[found.causes]
    only = replace(group, examples=(example,))
    witness = _witness(loaded, result, _own_case(loaded, shown), only)
    cases = plural(len(found.cases), "case")
    said = f"{said_of(found.causes)} (it gives every answer of {cases} of the run)"
    return replace(witness, cause=said)


def _reported(loaded: Catalog, result: RunResult, path: str, name: str, finding: str) -> Witness:
    ids = (i for one in result.cases for i in (one.finding, *(g.finding for g in one.groups)))
    if not name and not any(each.startswith(finding.lower()) for each in ids):
        hint = f"reports print the id in the heading of each finding; a case is such as {_CASE}"
        raise UsageError(f"{finding} is neither a finding of {path} nor a case", hint=hint)
    wanted = name or shown_example(result, finding)[0].id
    cases = {one.case.id: one for one in result.cases}
    its = cases.get(wanted)
    case = _own_case(loaded, its.case) if its else find_case(loaded, wanted)
    its = its or cases.get(case.id)
    if its is None:
        said = f"{path} does not have the case {case.id}"
        raise UsageError(said, hint="is it the report of another run?")
    groups = failing(its)
    if not groups:
        raise does_not_fail(its, f"{result.backend.name} in {path}")
    return _witness(loaded, result, case, _chosen(groups, case, finding))


def _chosen(groups: Sequence[Group], case: Case, finding: str) -> Group:
    by_id: dict[str, Group] = {}
    for group in groups:
        by_id.setdefault(finding_of(group, case), group)
    found = [one for one in by_id if one.startswith(finding.lower())]
    if not found:
        has = ", ".join(by_id)
        raise UsageError(f"{case.id} has no finding {finding}", hint=f"it has {has}")
    if len(by_id) > 1 and not finding:
        first, *others = (_line(one, group) for one, group in by_id.items())
        more = [f"  and {len(others) - _LISTED} more"] if len(others) > _LISTED else []
        say("\n".join([first, "", "other findings:", *others[:_LISTED], *more]), err=True)
    return by_id[found[0]]


def _line(name: str, group: Group) -> str:
    where = f", {group.placement} only" if group.placement else ""
    what = clean(group.kind or group.verdict)[:80]
    return f"  {name}  {what}: {group.decision.name}{where} ({group.count})"


def _witness(loaded: Catalog, result: RunResult, case: Case, group: Group) -> Witness:
    vectors = _vectors(loaded, case) if case.whole_calls else None
    calls = vectors.calls if isinstance(vectors, CallSet) else ()
    return reported(loaded.specs[case.spec], result.backend, case, group, calls)


def _vectors(loaded: Catalog, case: Case) -> Vectors:
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    corpus.check([case])
    return corpus.vectors(case)


def _own_case(loaded: Catalog, case: Case) -> Case:
    if case.is_pair:
        return own_pair(loaded, case)
    return own_chain(loaded, case) if case.hops else find_case(loaded, case.id)
