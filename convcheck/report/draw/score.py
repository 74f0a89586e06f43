"""Draw how many wrong conversions the vectors catch."""

from collections.abc import Iterator, Sequence

from convcheck.causes.score import Score
from convcheck.report.blocks import BLANK, Block, Text, under
from convcheck.streams import number, plural
from convcheck.vectors.model import Tier

_WEAKEST = 3  # causes listed per spec
_MISSED = 20  # mutants listed


def score_page(found: Sequence[Score], tier: Tier, verbose: bool) -> Iterator[Block]:
    """Yield scores. `verbose` lists all causes and missed mutants."""
    missed = [mutant for score in found for mutant in score.missed]
    yield Text(_summary(found, tier), "bold", hang=2)
    yield BLANK
    for score in found:
        said = f"{number(score.caught)} of {number(score.observable)} caught"
        style = "bold red" if score.missed else ""
        yield Text(score.spec, style, right=[(said, "dim")])
        for mutant in score.weakest if verbose else score.weakest[:_WEAKEST]:
            noun = "call" if mutant.case.whole_calls else "vector"
            caught = plural(mutant.caught, noun)
            yield under(f"{caught}  {mutant.cause.name}: {mutant.case.name}", "dim", hang=2)
    if missed:
        yield BLANK
        yield Text(f"not caught: {number(len(missed))}", "bold")
        listed = missed if verbose else missed[:_MISSED]
        for mutant in listed:
            said = f"{mutant.case.id}: {mutant.cause.says} ({mutant.cause.name})"
            said += "" if mutant.witness is None else f"; {mutant.witness} shows it"
            yield Text(said, indent=3, hang=2)
        if len(listed) < len(missed):
            yield Text(f"   (and {number(len(missed) - len(listed))} more: -v)", "dim")


def _summary(found: Sequence[Score], tier: Tier) -> str:
    shows = sum(score.observable for score in found)
    caught = sum(score.caught for score in found)
    cases = plural(sum(score.cases for score in found), "case")
    if not shows:
        return f"no wrong conversion of the catalogue shows in {cases}"
    catch = "all of them" if caught == shows else f"{number(caught)} of them"
    show = f"{plural(shows, 'wrong conversion')} {'shows' if shows == 1 else 'show'} in {cases}"
    return f"{show}; the {tier} vectors catch {catch}"
