"""What there is to say of entries that are not true any more, and the text that repairs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convcheck.gate.compare import CheckedEntry, Comparison
from convcheck.gate.inputs import new_inputs
from convcheck.judge.result import FAILURES, Fault, Problem
from convcheck.wording import plural

ABOUT = "known failures: "  # the notes begin so
_SHOWN = 3


def problem(finding: CheckedEntry, fault: Fault, comparison: Comparison) -> Problem:
    """Return the problem of a finding's fault."""
    message, repair = {
        "stale": _stale, "unmatched": _unmatched, "expired": _expired,
        "changed": _changed, "too broad": _too_broad,
    }[fault](finding, comparison)  # fmt: skip
    return Problem(fault, finding.entry.place, message, repair)


def _stale(finding: CheckedEntry, comparison: Comparison) -> tuple[str, str]:
    return f"{_instead(finding, comparison)}; {_remove(finding)}", ""


def _remove(finding: CheckedEntry) -> str:
    return f"remove the entry, {finding.entry.table.span}"


def _instead(finding: CheckedEntry, comparison: Comparison) -> str:
    """Say what the cases of a stale entry do now."""
    if finding.by:
        return f"{finding.by.place} lists it already"
    cases = [comparison.failures.cases[name] for name in finding.here]
    failing = sum(case.verdict in FAILURES for case in cases)
    silent = sum(case.verdict in ("unsupported", "undefined") for case in cases)
    if not failing and not silent:
        return "passes now" + (f", in all {plural(len(cases), 'case')}" if len(cases) > 1 else "")
    of = f" of {len(cases)}" if len(cases) > 1 else ""
    parts = [(failing, "fail differently"), (silent, "give nothing to judge")]
    said = " and ".join(f"{count}{of} {what}" for count, what in parts if count)
    if len(cases) == 1:
        said = "it fails differently" if failing else "it gives nothing to judge"
    return f"no case fails like this now ({said})"


def _unmatched(finding: CheckedEntry, comparison: Comparison) -> tuple[str, str]:
    globs = finding.unmatched
    close = comparison.index.nearest(globs[0])
    meant = f" (did you mean {close}?)" if close else ""
    said = f"no case matches {_few([repr(glob) for glob in globs])}{meant}"
    if len(globs) == len(finding.entry.globs):
        return f"{said}; {_remove(finding)}", ""
    what = "this glob" if len(globs) == 1 else "these globs"
    said += f"; leave {what} out of {finding.entry.table.span}"
    return said, comparison.repaired(finding)


def _expired(finding: CheckedEntry, comparison: Comparison) -> tuple[str, str]:
    until = finding.entry.until
    said = f"should have been fixed by {until}, but still fails; fix it, or set another date"
    return said, comparison.repaired(finding, late=True)


def _changed(finding: CheckedEntry, comparison: Comparison) -> tuple[str, str]:
    entry, now = finding.entry, finding.now
    if entry.cause:
        return _changed_cause(finding), comparison.repaired(finding)
    if entry.count == now.count:
        said = f"{plural(now.count, 'failure')} as listed, but other inputs or other answers"
    else:
        few = f"in {_few(now.ids)}"
        said = f"{plural(entry.count or 0, 'failure')} listed, {now.count:,} now, {few}"
    if new := new_inputs(entry.inputs, now.failing):
        said += f"; not among the inputs listed: {', '.join(new)}"
    if finding.by:
        said += f"; {finding.by.place} lists other cases of it"
    if finding.moved:
        said += "; the vectors have changed since"
    elif entry.count == now.count:
        said += "; leave the digest out where answers depend on the processor"
    said += f"; if this is intended, replace {entry.table.span} with:"
    return said, comparison.repaired(finding)


def _changed_cause(finding: CheckedEntry) -> str:
    ids, cause = finding.otherwise, " with ".join(finding.entry.cause)
    fails = "case fails" if len(ids) == 1 else "cases fail"
    return (f"{len(ids):,} {fails} otherwise than {cause} predicts: {_few(ids)}; "
            f"if this is intended, replace {finding.entry.table.span} with:")  # fmt: skip


def _too_broad(finding: CheckedEntry, comparison: Comparison) -> tuple[str, str]:
    free = finding.free
    does = "does" if len(free) == 1 else "do"
    said = f"covers {plural(len(free), 'case')} that {does} not fail like this: {_few(free)}"
    said += f"; name only what fails, in {finding.entry.table.span}"
    return said, comparison.repaired(finding)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def notes(comparison: Comparison, path: str, unversioned: int) -> tuple[str, ...]:
    """Say what else there is to know. `unversioned` counts entries for some versions of a
    backend that does not say its own.
    """
    return tuple(ABOUT + note for note in _notes(comparison, path, unversioned))


def _notes(comparison: Comparison, path: str, unversioned: int) -> Iterable[str]:
    findings = comparison.findings
    if unversioned:
        are = "is" if unversioned == 1 else "are"
        entries = plural(unversioned, "entry", "entries")
        yield f"{entries} {are} for some versions of the backend, and it does not say its own"
    if partly := sum(f.partly and bool(f.here) for f in findings):
        were, whose = ("was", "its") if partly == 1 else ("were", "their")
        entries = plural(partly, "entry", "entries")
        yield f"{entries} of {path} {were} compared in part: the run has only some of {whose} cases"
    for finding in findings:
        if finding.over:
            listed = plural(finding.entry.count or 0, "failure")
            yield (f"{finding.entry.place} lists {listed}, and some of its cases have "
                   f"{finding.now.count:,} already: not excused")  # fmt: skip
    if moved := sum(f.moved and f.fault is None and f.excused and not f.partly for f in findings):
        entries = plural(moved, "entry", "entries")
        yield (f"the vectors of {entries} of {path} have changed, but the failures have not; "
               "`convcheck baseline --update` writes that down")  # fmt: skip
