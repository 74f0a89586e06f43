"""The causes of a run for a terminal, alone: then what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.causes.gather import Diagnosis
from convcheck.causes.search import CLOSEST
from convcheck.judge.result import CaseResult, CauseInWords, search_failed
from convcheck.judge.words import clean
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.report.causes import ToldCause, said_of
from convcheck.report.draw.causes import cause_blocks, summary_line
from convcheck.wording import number, plural

_MANY = 12  # unexplained cases that are listed
_TRIED = 16  # causes that are told of a single case


def diagnosis_page(found: Diagnosis, causes: Sequence[ToldCause], verbose: bool) -> Iterator[Block]:
    """Yield a diagnosis, given its causes in words; `verbose`: every name, none only counted."""
    yield Text(summary_line(found.failing, len(found.judged), causes), "bold", hang=2)
    if causes:
        yield from (BLANK, *cause_blocks(causes, verbose))
    if cases := found.unexplained:
        yield from (BLANK, Text(f"not explained: {plural(len(cases), 'case')}", "bold"))
        listed = cases if verbose else cases[:_MANY]
        for case in listed:
            yield Text(f"{case.case.id}: {_closest(case)}", indent=3, hang=2)
        if len(listed) < len(cases):
            yield Text(f"   (and {number(len(cases) - len(listed))} more: -v)", "dim")


def _closest(case: CaseResult) -> str:
    """Say what comes closest to the answers of a case."""
    found = case.diagnosis
    if found and found.fault:
        return search_failed(found.fault)
    if found is None or not found.near:
        return f"{case.verdict}  {clean(case.message)}".rstrip()
    tried = [f"{near.name} {near.count}" for near in found.near[:CLOSEST]]
    return f"the rule {found.answers - found.wrong} of {found.answers}, {', '.join(tried)}"


def tried(case: CaseResult, causes: Sequence[CauseInWords], verbose: bool) -> Iterator[Block]:
    """Yield what was tried on a single case that fails: how many answers each cause
    gives that gives a wrong one, and how many the rules. `verbose`: each of them.
    """
    found, by_name = case.diagnosis, {cause.name: cause for cause in causes}
    if found is None or found.fault:
        return
    together = [fit for fit in found.fits if len(fit) > 1]
    each = [(found.answers, said_of([by_name[name] for name in fit])) for fit in together]
    each += [(near.count, said_of([by_name[near.name]])) for near in found.near]
    right = found.answers - found.wrong
    place = sum(count >= right for count, _ in each)
    each.insert(place, (right, "the rules"))
    shown = each if verbose else each[: max(_TRIED, place + 1)]
    yield BLANK
    head = f"tried, and how many of {plural(found.answers, 'answer')} each gives"
    yield Text(head, "bold")
    widest = max(len(number(count)) for count, _ in shown)
    for count, said in shown:
        yield Text(said, label=f"   {number(count):>{widest}}  ")
    if len(shown) < len(each):
        yield Text(f"   (and {number(len(each) - len(shown))} more: -v)", "dim")
