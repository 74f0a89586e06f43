"""`convcheck score`: whether the vectors catch every wrong conversion of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress, progress_option

if TYPE_CHECKING:
    from convcheck.causes.score import Mutant, Score
    from convcheck.plan.selection import Selection
    from convcheck.rules.causes import Cause
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Tier

MISSED, NOTHING = 1, 3
EXAMPLE = """\b
Examples:
  convcheck score onnx.Cast-21
  convcheck score --specs my-specs acme.Cast-1 --from float32 -v
"""


@click.command("score", epilog=EXAMPLE)
@selection_options
@click.option(
    "--tier", type=click.Choice(["edge", "boundary"]), default="edge", show_default=True,
    help="The vectors that have to catch them.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Name every cause, and all that is missed.")
@click.option("--json", "json_path", metavar="FILE", help="Write it as JSON; - for stdout.")
@progress_option
@specs
def command(
    selection: Selection,
    tier: Tier,
    verbose: bool,
    json_path: str | None,
    specs: tuple[str, ...],
) -> int:
    """Plant every cause of the catalogue in the rules, and tell which ones the vectors catch.

    A mutant is a cause in a case. It counts where it can be observed: some vector, any code of a
    source of up to 16 bits, or what the edge vectors ask of a wider one on the way to any type,
    gets an answer that is judged wrong; of whole calls, some call of the boundary tier. Exit codes:
    0 the vectors catch every mutant; 1 they miss one; 2 bad input; 3 none can be observed.
    """
    from convcheck.causes.catalogue import causes_of
    from convcheck.causes.score import scores
    from convcheck.plan.select import select
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    check_outputs({"--json": json_path})
    loaded = catalog(specs)
    causes, cases = causes_of(loaded), select(loaded, selection)
    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    corpus.check(cases)
    found = scores(_planted(corpus, cases, causes), cases)
    _report(found, tier, len(causes), verbose, json_path)
    if not any(score.observable for score in found):
        return NOTHING
    return MISSED if any(score.missed for score in found) else 0


def _planted(
    corpus: Corpus, cases: Sequence[Case], causes: Sequence[Cause]
) -> Iterator[tuple[Case, list[Mutant]]]:
    from convcheck.causes.mutants import mutants

    with progress(len(cases), "score") as advance:
        for planted in mutants(corpus, cases, causes):
            yield planted
            advance()


def _report(
    found: Sequence[Score], tier: Tier, causes: int, verbose: bool, json_path: str | None
) -> None:
    """Write scores as JSON where that is asked for, and print them (on stderr where stdout has the
    JSON).
    """
    from functools import partial

    from convcheck.report.draw.score import score_page
    from convcheck.report.json.score import score_text

    text = partial(score_text, found, tier, causes)
    show(score_page(found, tier, verbose), (json_path, text))
