"""`convcheck known`."""

import os
from datetime import date

from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import every_id
from convcheck.documents.decode import read
from convcheck.errors import UsageError
from convcheck.files import write_text
from convcheck.gate.baseline import Written, baseline, updated
from convcheck.gate.known_file import read_known
from convcheck.gate.problems import is_judged
from convcheck.judge.result import RunResult
from convcheck.rules.load import Catalog
from convcheck.streams import plural, say

NOTHING_JUDGED = 3


def main(out: str, report: str, update: bool, prune: bool) -> int:
    """Write or update a list of known failures."""
    loaded = catalog()
    if update and prune:
        raise UsageError("--update and --prune", hint="--update includes what --prune does")
    if not (update or prune) and os.path.isfile(out):
        hint = "--update brings it up to date; --prune removes what no longer holds"
        raise UsageError(f"{out} already exists", hint=hint)
    check_outputs({"FILE": out}, {"the report": report})
    result = read(report, loaded.types.types)
    if result.interrupted or result.ended_early or result.shard:
        hint = "`convcheck report` puts the shards together" if result.shard else "run it again"
        raise UsageError(f"{report} has only a part of a run", hint=hint)
    if result.own_inputs:
        hint = "report a run without --inputs"
        raise UsageError("a list is for the inputs of a tier, not for your own", hint=hint)
    if not any(map(is_judged, result.cases)):
        say("nothing was judged, and nothing written", err=True)
        return NOTHING_JUDGED
    write_list(result, loaded, out, update, prune)
    return 0


def write_list(
    result: RunResult, loaded: Catalog, out: str, update: bool, prune: bool = False
) -> None:
    """Write or update a list, and print changes."""
    if update or prune:
        known = read_known(out, loaded)
        written = updated(result, known, every_id(loaded), date.today(), prune)
    else:
        written = baseline(result)
    write_text(written.text, out)
    for line in _said(written):
        say(line, err=True)


def _said(written: Written) -> list[str]:
    kinds = {"new": written.new, "changed": written.changed, "narrowed": written.narrowed,
             "removed": written.removed}  # fmt: skip
    done = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    lines = [f"{plural(written.entries, 'entry', 'entries')}: {done or 'nothing changed'}"]
    if written.judged:
        cases = plural(written.judged, "case")
        lines.append(f"{cases} judged: a run with this list fails if one of them is declined")
    if written.late:
        entries, places = plural(len(written.late), "entry", "entries"), map(str, written.late)
        lines.append(f"{entries} past the date until which it holds: {', '.join(places)}")
    if written.partly:
        entries = plural(written.partly, "entry", "entries")
        lines.append(f"{entries} left alone: the run has only some of the cases")
    return lines
