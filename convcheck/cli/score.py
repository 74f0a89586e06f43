"""`convcheck score`: count the wrong conversions that vectors catch."""

from __future__ import annotations

from functools import partial

from convcheck.causes.catalogue import causes_of
from convcheck.causes.score import mutants, scores
from convcheck.cli.options import catalog
from convcheck.cli.outputs import Output, check_outputs, named, show, tracked
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.report.draw.score import score_page
from convcheck.report.json.score import score_text
from convcheck.rules.load import data_dir
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.model import Tier

MISSED, NOTHING = 1, 3


def main(selection: Selection, tier: Tier, verbose: bool, outputs: tuple[Output, ...]) -> int:
    """Plant every cause of the catalogue in the rules, and count the causes caught."""
    check_outputs(named(outputs))
    loaded = catalog()
    causes, cases = causes_of(loaded), select(loaded, selection)
    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    corpus.check(cases)
    found = scores(mutants(corpus, tracked(cases, "score"), causes), cases)
    text = partial(score_text, found, tier, len(causes))
    show(score_page(found, tier, verbose), *((one.path, text) for one in outputs))
    if not any(score.observable for score in found):
        return NOTHING
    return MISSED if any(score.missed for score in found) else 0
