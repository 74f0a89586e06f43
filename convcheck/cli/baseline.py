"""`convcheck baseline`: write down what fails now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from convcheck.cli.ask_run import ask_run
from convcheck.cli.options import catalog, complete_backends, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import every_id
from convcheck.cli.run_options import RunOptions, corpus_of_run, run_options
from convcheck.errors import UsageError
from convcheck.streams import say

if TYPE_CHECKING:
    from convcheck.gate.baseline import Written
    from convcheck.judge.result import RunResult
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog

NOTHING_JUDGED, INTERRUPTED = 3, 130
_OF_NO_RUN = ("report", "out", "update", "prune", "specs", "no_progress")
EXAMPLE = """\b
Examples:
  convcheck baseline --backend ort --out known.toml
  convcheck baseline --backend ort --out known.toml --update     after a new version of it
  convcheck baseline --report run.json --out known.toml --prune  without options again
"""


@click.command("baseline", epilog=EXAMPLE)
@click.option(
    "--backend",
    metavar="NAME",
    shell_complete=complete_backends,
    help="Ask this backend: ort, openvino … or package.module:Class, 'process:COMMAND'.",
)
@click.option(
    "--report", metavar="FILE", help="Take a run's JSON report instead of asking a backend."
)
@click.option("--out", metavar="FILE", required=True, help="The list to write; - for stdout.")
@click.option("--update", is_flag=True, help="Update the existing list.")
@click.option("--prune", is_flag=True, help="Only remove what no longer holds.")
@selection_options
@run_options
@specs
def command(
    selection: Selection,
    backend: str | None,
    report: str | None,
    out: str,
    update: bool,
    prune: bool,
    options: RunOptions,
    specs: tuple[str, ...],
) -> int:
    """Record what fails now, so that a run with --known fails only on what is new.

    The list is TOML, to be read and edited: give each entry its reason, an issue, a day until
    which it is to be fixed. --update rewrites entries whose failures changed, removes those that
    pass now and adds what is new; --prune only removes and narrows. Both keep reasons, issues,
    days, comments and waivers. The list has what was judged, too: a run with --known fails where
    a case of it is declined. Exit codes: 0 written, 2 bad input, 3 nothing was judged and
    nothing written, 4 the backend could not be started.
    """
    loaded = catalog(specs)
    _check(backend, report, options)
    _check_out(loaded, out, update, prune)
    check_outputs({"--out": out}, {"--report": report})
    result = _result(loaded, selection, backend, report, options)
    if result.interrupted:
        say("interrupted: nothing was written", err=True)
        return INTERRUPTED
    if not any(case.verdict not in ("unsupported", "undefined") for case in result.cases):
        say("nothing was judged, and nothing was written", err=True)
        return NOTHING_JUDGED
    _write(result, loaded, out, update, prune)
    return 0


def _check(backend: str | None, report: str | None, options: RunOptions) -> None:
    """Refuse what does not go together."""
    if (backend is None) == (report is None):
        hint = "--backend ort; see `convcheck list backends`"
        raise UsageError("give --backend, or --report with a finished run", hint=hint)
    if report is not None and (given := _options_of_a_run()):
        raise UsageError(f"--report is a finished run: {given} has no effect on it")
    if options.inputs is not None:
        hint = "leave --inputs out"
        raise UsageError("a list is for the inputs of a tier, not for your own", hint=hint)


def _options_of_a_run() -> str:
    """Name the first option given that says how to ask, '' for none."""
    from click.core import ParameterSource

    context = click.get_current_context()
    for parameter in context.command.get_params(context):
        name = parameter.name or ""
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and name not in _OF_NO_RUN:
            return parameter.opts[0] if isinstance(parameter, click.Option) else "SPEC"
    return ""


def _check_out(loaded: Catalog, out: str, update: bool, prune: bool) -> None:
    """Refuse before the run what cannot be written after it, and a list that cannot be read."""
    from convcheck.gate.known_file import read_known

    if update and prune:
        hint = "--update includes what --prune does"
        raise UsageError("--update and --prune", hint=hint)
    if update or prune:
        read_known(out, loaded, outdated=True)
    elif out != "-" and os.path.isfile(out):  # no error of a name too long
        hint = "--update brings it up to date; --prune removes what no longer holds"
        raise UsageError(f"{out} already exists", hint=hint)


def _result(
    loaded: Catalog,
    selection: Selection,
    backend: str | None,
    report: str | None,
    options: RunOptions,
) -> RunResult:
    if report is not None:
        from convcheck.report.json.decode import read

        result = read(report, loaded.types.types)
        if result.interrupted or result.ended_early or result.shard:
            hint = "`convcheck report` puts the shards together" if result.shard else "run it again"
            raise UsageError(f"{report} has only a part of a run", hint=hint)
        return result
    from convcheck.cli.turns import selected

    assert backend is not None  # noqa: S101
    cases = selected(loaded, selection, [backend], options.tier)
    return ask_run(backend, cases, corpus_of_run(loaded, options, cases), options)


def _write(result: RunResult, loaded: Catalog, out: str, update: bool, prune: bool) -> None:
    from datetime import date

    from convcheck.files import write_text
    from convcheck.gate.baseline import baseline, updated
    from convcheck.gate.known_file import read_known

    if update or prune:
        known = read_known(out, loaded, outdated=True)
        written = updated(result, known, every_id(loaded), date.today(), prune)
    else:
        written = baseline(result)
    write_text(written.text, out)
    for line in _said(written):
        say(line, err=out == "-")


def _said(written: Written) -> list[str]:
    """Say what was done."""
    from convcheck.wording import plural

    kinds = {"new": written.new, "changed": written.changed, "narrowed": written.narrowed,
             "removed": written.removed}  # fmt: skip
    done = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    lines = [f"{plural(written.entries, 'entry', 'entries')}: {done or 'nothing changed'}"]
    if written.judged:
        are = "is" if written.judged == 1 else "are"
        cases = f"{plural(written.judged, 'case')} {are} to be judged"
        lines.append(f"{cases}: a run with this list fails if one is declined")
    if written.late:
        places = ", ".join(map(str, written.late))
        are, whose = ("is", "its") if len(written.late) == 1 else ("are", "their")
        entries = plural(len(written.late), "entry", "entries")
        lines.append(f"{entries} {are} past {whose} date: {places}")
    if written.partly:
        were, which = ("was", "its") if written.partly == 1 else ("were", "their")
        entries = plural(written.partly, "entry", "entries")
        lines.append(f"{entries} {were} left alone: the run has only some of {which} cases")
    return lines
