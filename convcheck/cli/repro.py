"""`convcheck repro`: make a finding something to run without convcheck."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import SECONDS, catalog, complete_backends
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.records import replace
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.judge.result import Group, RunResult
    from convcheck.reproduce.witness import Witness
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.semantics.expected_calls import Call
    from convcheck.vectors.model import Vectors

ONNX = "onnx-backend"  # the form, as `convcheck export` names it
_SHORTEST = 4  # digits of a digest
_LISTED = 12  # other findings named on stderr
EXAMPLE = """\b
Examples:
  convcheck repro onnx.Cast-21/float64-to-float16 --backend ort --out repro.py
  python repro.py                      exits 1 while the answer is wrong, 0 once it is right
  convcheck repro onnx.Cast-21/float64-to-float16 --report run.json --emit c
  convcheck repro --report run.json --finding 3f2a91c4 --out repro.py
  convcheck repro --report run.json --cause A --out repro.py
  convcheck repro onnx.Cast-21/float64-to-float16 --backend ort --emit onnx --out /tmp/cast
  convcheck repro openvino.Range-4/int32-int32-int32-to-int32 --backend openvino --group 2
"""


@click.command("repro", epilog=EXAMPLE)
@click.argument("name", metavar="[CASE]", required=False)
@click.option(
    "--backend", metavar="NAME", shell_complete=complete_backends,
    help="Ask this backend, and cut the finding down to the smallest inputs that show it.",
)  # fmt: skip
@click.option(
    "--report",
    metavar="FILE",
    help="Take the finding from a run's JSON instead of asking a backend.",
)
@click.option(
    "--group", metavar="N|DIGEST", default="1", show_default=True,
    help="Which finding of the case: its number, or the first digits of its digest.",
)  # fmt: skip
@click.option(
    "--finding", metavar="ID",
    help="The finding of that id, as reports show it; with --report, CASE may be left out.",
)  # fmt: skip
@click.option(
    "--cause", metavar="NAME",
    help="With --report, in the place of CASE: a wrong answer that this cause explains, the one "
    "that the report shows; its letter there, or its name in the catalogue.",
)  # fmt: skip
@click.option(
    "--emit", type=click.Choice(["python", "onnx", "c"]), default="python", show_default=True,
    help="A script; a test in the layout of ONNX's own backend tests; a C header.",
)  # fmt: skip
@click.option("--out", metavar="PATH", help="A file; - is stdout, the default. Of onnx a folder.")
@click.option(
    "--timeout",
    type=SECONDS,
    default=30.0,
    show_default=True,
    help="Seconds that one call to the backend may take.",
)
@progress_option
@specs
def command(
    name: str | None,
    backend: str | None,
    report: str | None,
    group: str,
    finding: str | None,
    cause: str | None,
    emit: str,
    out: str | None,
    timeout: float,
    specs: tuple[str, ...],
) -> int:
    """Turn a finding into a script that a maintainer of the runtime can run without convcheck.

    Asks the edge tier's inputs of the case, and then fewer and fewer of them. Where the case has
    several findings, the first is taken, and stderr names the others. Exit codes: 0 it is written,
    2 bad input, or there is no such finding, 4 the backend could not be started.
    """
    if (backend is None) == (report is None):
        raise UsageError("give one of --backend NAME and --report FILE", hint="--backend ort")
    _check_named(name, report, finding, cause)
    _check_written(emit, out, backend, report)
    loaded = catalog(specs)
    if backend is not None:
        witness = _asked(loaded, str(name), backend, group, finding, timeout)
    elif cause is not None:
        witness = _explained(loaded, str(report), cause)
    else:
        witness = _reported(loaded, name, str(report), group, finding)
    _write(loaded, witness, emit, out)
    return 0


def _check_written(emit: str, out: str | None, backend: str | None, report: str | None) -> None:
    """Refuse what cannot be written."""
    from convcheck.reproduce.emit import check_backend
    from convcheck.vectors.export.folder import check

    if emit == "onnx" and out in (None, "-"):
        raise UsageError("an ONNX test is a folder", hint="--out DIR")
    if backend is not None and emit == "python":
        check_backend(backend)
    if emit == "onnx":
        check(Path(str(out)), ONNX)
    else:
        check_outputs({"--out": out}, {"--report": report})


def _check_named(
    name: str | None, report: str | None, finding: str | None, cause: str | None
) -> None:
    """Refuse what names no finding, and what names two."""
    if cause is not None and (name or finding or report is None):
        hint = "leave CASE and --finding out, and give --report FILE"
        raise UsageError("--cause chooses a case of a report", hint=hint)
    if name is None and (report is None or not (finding or cause)):
        hint = "name one, or give --report FILE and --finding ID, or --cause NAME"
        raise UsageError("which CASE?", hint=hint)


def _asked(
    loaded: Catalog, name: str, backend: str, group: str, finding: str | None, timeout: float
) -> Witness:
    from convcheck.reproduce import ask, smallest
    from convcheck.rules.find import find_case

    case = find_case(loaded, name, None, None, ())
    with progress(1, f"ask {backend}"):
        found = ask.ask_case(backend, loaded.specs[case.spec], _vectors(loaded, case), timeout)
    chosen = _chosen(_of_finding(found.groups, case, finding), group)
    with progress(1, "cut it down", "finding"):
        witness = smallest.smallest(found, chosen)
    named = replace(witness.backend, name=backend)  # by it the form of a script is chosen
    return replace(witness, backend=named)


def _of_finding(groups: Sequence[Group], case: Case, finding: str | None) -> Sequence[Group]:
    """Return the groups of a case that are of a finding, if one is named. Raises UsageError."""
    from convcheck.judge.failure import finding_of

    if finding is None:
        return groups
    found = [g for g in groups if finding_of(g, case).startswith(finding.lower())]
    if not found:
        has = ", ".join(dict.fromkeys(finding_of(group, case) for group in groups))
        raise UsageError(f"{case.id} has no finding {finding}", hint=f"it has {has}")
    return found


def _explained(loaded: Catalog, path: str, cause: str) -> Witness:
    """Return the wrong answer by which a report tells a cause."""
    from convcheck.causes.gather import gathered
    from convcheck.plan.excerpt import explanations_of
    from convcheck.report.causes import said_of, wrong_answers
    from convcheck.report.json.decode import read

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


def _reported(
    loaded: Catalog, name: str | None, path: str, group: str, finding: str | None
) -> Witness:
    from convcheck.plan.excerpt import shown_example
    from convcheck.report.json.decode import read
    from convcheck.reproduce.ask import does_not_fail
    from convcheck.reproduce.witness import failing
    from convcheck.rules.find import find_case

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
    return _witness(loaded, result, case, _chosen(_of_finding(groups, case, finding), group))


def _witness(loaded: Catalog, result: RunResult, case: Case, group: Group) -> Witness:
    """Return the witness of a report's finding, with the whole call where the vectors have it."""
    from convcheck.reproduce.shows import reported

    return reported(loaded.specs[case.spec], result.backend, case, group, _calls(loaded, case))


def _calls(loaded: Catalog, case: Case) -> Sequence[Call]:
    """Return the calls of a case in the edge tier, in which a report's are looked up."""
    from convcheck.vectors.model import CallSet

    vectors = _vectors(loaded, case) if case.whole_calls else None
    return vectors.calls if isinstance(vectors, CallSet) else ()


def _vectors(loaded: Catalog, case: Case) -> Vectors:
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    corpus.check([case])
    return corpus.vectors(case)


def _own_case(loaded: Catalog, case: Case) -> Case:
    """Return a case that a report has, as its spec has it. Raises UsageError where it has none."""
    from convcheck.chains.asked import own_chain
    from convcheck.chains.pairs import own_pair
    from convcheck.rules.find import find_case

    if case.is_pair:
        return own_pair(loaded, case)
    return own_chain(loaded, case) if case.hops else find_case(loaded, case.id, None, None, ())


def _chosen(groups: Sequence[Group], said: str) -> Group:
    """Choose a finding by number or digest, and name the others on stderr."""
    listed = [_line(number, group) for number, group in enumerate(groups, 1)]
    found = [g for g in groups if len(said) >= _SHORTEST and g.digest.startswith(said.lower())]
    if not found:
        found = [group for n, group in enumerate(groups, 1) if said == str(n)]
    if len(found) != 1:
        what = "several findings" if found else "no finding"
        raise UsageError(
            f"--group {said} names {what} of the case", hint="one of\n" + "\n".join(listed)
        )
    others = [line for group, line in zip(groups, listed, strict=True) if group is not found[0]]
    if others:
        shown = [_line(groups.index(found[0]) + 1, found[0]), "", "others, for --group:"]
        more = [f"  and {len(others) - _LISTED} more"] if len(others) > _LISTED else []
        say("\n".join([*shown, *others[:_LISTED], *more]), err=True)
    return found[0]


def _line(number: int, group: Group) -> str:
    from convcheck.judge.words import clean

    where = f", {group.placement} only" if group.placement else ""
    what = clean(group.kind or group.verdict)[:80]
    return f"  {number}  {group.digest[:8]}  {what}: {group.decision.name}{where} ({group.count})"


def _write(loaded: Catalog, witness: Witness, emit: str, out: str | None) -> None:
    from convcheck.files import write_text
    from convcheck.reproduce import emit as repro
    from convcheck.vectors.export import folder

    if emit == "onnx":
        from convcheck.reproduce.emit.onnx import files

        folder.write_export(files(witness), Path(str(out)), ONNX)
        return
    url = _url(loaded, witness)
    if emit == "c":
        write_text(repro.c(witness, url), out or "-")
    else:
        write_text(repro.python(witness, loaded.types.types, url), out or "-")


def _url(loaded: Catalog, witness: Witness) -> str:
    """Return the address of the document that is quoted, '' where no spec has it."""
    own = loaded.specs[witness.case.spec]
    for spec in (own, *loaded.specs.values()):
        for source in spec.sources.values():
            if f"{source.title}, {source.section}" == witness.group.decision.source:
                return source.url
    return ""
