"""`convcheck repro`: turn a finding into code that runs without convcheck."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from convcheck.causes.gather import gathered
from convcheck.chains.asked import own_chain
from convcheck.chains.pairs import own_pair
from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import progress
from convcheck.errors import UsageError
from convcheck.files import write_text
from convcheck.judge.failure import finding_of
from convcheck.judge.result import Group, RunResult
from convcheck.judge.words import clean
from convcheck.plan.excerpt import explanations_of, shown_example
from convcheck.records import replace
from convcheck.report.causes import said_of, wrong_answers
from convcheck.report.json.decode import read
from convcheck.reproduce import emit as repro
from convcheck.reproduce.ask import ask_case, does_not_fail
from convcheck.reproduce.emit import check_backend
from convcheck.reproduce.emit.onnx import files
from convcheck.reproduce.shows import reported
from convcheck.reproduce.smallest import smallest
from convcheck.reproduce.witness import Witness, failing
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.streams import say
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.export import folder
from convcheck.vectors.model import CallSet, Vectors
from convcheck.wording import plural

ONNX = "onnx"  # the form's name in `convcheck export`
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
    if (backend is None) == (report is None):
        raise UsageError("give one of --backend NAME and --report FILE", hint="--backend ort")
    name, finding = _named(words, report, cause)
    _check_written(form, out, backend, report)
    loaded = catalog()
    if backend is not None:
        witness = _asked(loaded, str(name), backend, finding, timeout)
    elif cause is not None:
        witness = _explained(loaded, str(report), cause)
    else:
        witness = _reported(loaded, name, str(report), finding)
    if form == ONNX:
        folder.write_export(files(witness), Path(str(out)), ONNX)
    elif form == "c":
        write_text(repro.c(witness, _url(loaded, witness)), out or "-")
    else:
        url = _url(loaded, witness)
        write_text(repro.python(witness, loaded.types.types, url), out or "-")
    return 0


def _named(
    words: tuple[str, ...], report: str | None, cause: str | None
) -> tuple[str | None, str | None]:
    """Return the case and the finding named by words. Raises UsageError for none, or too many."""
    names = [word for word in words if "." in word or "/" in word]
    findings = [word for word in words if word not in names]
    if len(names) > 1 or len(findings) > 1:
        raise UsageError(f"{words[1]} is one too many", hint="give one CASE and one FINDING")
    if cause is not None and (words or report is None):
        hint = "leave CASE and FINDING out, and give --report FILE"
        raise UsageError("--cause chooses a case of a report", hint=hint)
    if not names and (report is None or not (findings or cause)):
        hint = "name one, or give --report FILE with a FINDING, or with --cause NAME"
        raise UsageError("which CASE?", hint=hint)
    return next(iter(names), None), next(iter(findings), None)


def _check_written(form: str, out: str | None, backend: str | None, report: str | None) -> None:
    if form == ONNX and out in (None, "-"):
        raise UsageError("an ONNX test is a folder", hint="--out DIR")
    if backend is not None and form == "python":
        check_backend(backend)
    if form == ONNX:
        folder.check(Path(str(out)), ONNX)
    else:
        check_outputs({"--out": out}, {"--report": report})


def _asked(
    loaded: Catalog, name: str, backend: str, finding: str | None, timeout: float
) -> Witness:
    case = find_case(loaded, name, None, None, ())
    with progress(1, f"ask {backend}"):
        found = ask_case(backend, loaded.specs[case.spec], _vectors(loaded, case), timeout)
    chosen = _chosen(found.groups, case, finding)
    with progress(1, "cut it down", "finding"):
        witness = smallest(found, chosen)
    named = replace(witness.backend, name=backend)  # the name selects the script's form
    return replace(witness, backend=named)


def _chosen(groups: Sequence[Group], case: Case, finding: str | None) -> Group:
    """Return the first group of the named finding, or of the first one.

    Other findings are listed on stderr. Raises UsageError.
    """
    ids = [finding_of(group, case) for group in groups]
    found = [i for i, one in enumerate(ids) if one.startswith((finding or "").lower())]
    if not found:
        has = ", ".join(dict.fromkeys(ids))
        raise UsageError(f"{case.id} has no finding {finding}", hint=f"it has {has}")
    others = {one: group for one, group in zip(ids, groups, strict=True) if one != ids[found[0]]}
    if others and finding is None:
        shown = [_line(one, group) for one, group in others.items()]
        more = [f"  and {len(shown) - _LISTED} more"] if len(shown) > _LISTED else []
        first = _line(ids[found[0]], groups[found[0]])
        say("\n".join([first, "", "other findings:", *shown[:_LISTED], *more]), err=True)
    return groups[found[0]]


def _line(name: str, group: Group) -> str:
    where = f", {group.placement} only" if group.placement else ""
    what = clean(group.kind or group.verdict)[:80]
    return f"  {name}  {what}: {group.decision.name}{where} ({group.count})"


def _explained(loaded: Catalog, path: str, cause: str) -> Witness:
    """Return the wrong answer that a report shows for a cause."""
    result = read(path, loaded.types.types)
    found = explanations_of(result, cause)[0]
    every = gathered(result.cases, result.causes).explanations
    answers = dict(zip((one.causes for one in every), wrong_answers(every), strict=True))
    shown, group, example = answers[found.causes]
    case = _own_case(loaded, shown)
    witness = _witness(loaded, result, case, replace(group, examples=(example,)))
    cases = plural(len(found.cases), "case")
    said = f"{said_of(found.causes)} (it gives every answer of {cases} of the run)"
    return replace(witness, cause=said)


def _reported(loaded: Catalog, name: str | None, path: str, finding: str | None) -> Witness:
    result = read(path, loaded.types.types)
    wanted = name or shown_example(result, str(finding))[0].id
    its = next((one for one in result.cases if one.case.id == wanted), None)
    case = _own_case(loaded, its.case) if its else find_case(loaded, wanted, None, None, ())
    its = its or next((one for one in result.cases if one.case.id == case.id), None)
    if its is None:
        raise UsageError(
            f"{path} does not have the case {case.id}", hint="is it the report of another run?"
        )
    groups = failing(its)
    if not groups:
        raise does_not_fail(its, f"{result.backend.name} in {path}")
    return _witness(loaded, result, case, _chosen(groups, case, finding))


def _witness(loaded: Catalog, result: RunResult, case: Case, group: Group) -> Witness:
    """Return the witness of a reported finding, with the whole call if the edge tier has it."""
    vectors = _vectors(loaded, case) if case.whole_calls else None
    calls = vectors.calls if isinstance(vectors, CallSet) else ()
    return reported(loaded.specs[case.spec], result.backend, case, group, calls)


def _vectors(loaded: Catalog, case: Case) -> Vectors:
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    corpus.check([case])
    return corpus.vectors(case)


def _own_case(loaded: Catalog, case: Case) -> Case:
    """Return the spec's case for a reported one. Raises UsageError if there is none."""
    if case.is_pair:
        return own_pair(loaded, case)
    return own_chain(loaded, case) if case.hops else find_case(loaded, case.id, None, None, ())


def _url(loaded: Catalog, witness: Witness) -> str:
    """Return the URL of the quoted document, '' if unknown."""
    own = loaded.specs[witness.case.spec]
    for spec in (own, *loaded.specs.values()):
        for source in spec.sources.values():
            if f"{source.title}, {source.section}" == witness.group.decision.source:
                return source.url
    return ""
