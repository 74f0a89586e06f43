"""Find the wrong answers that one of two causes explains alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.causes.search import Search
from convcheck.causes.trial import Trial
from convcheck.judge.result import FAILURES, Example, Group, Names
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.evaluate import evaluate


def given_alone(
    search: Search, case: Case, groups: Sequence[Group], fits: Sequence[Names]
) -> tuple[tuple[str, Names], ...]:
    """Return the causes that explain the example of each failing group alone, by its digest."""
    names = tuple(dict.fromkeys(name for fit in fits if len(fit) > 1 for name in fit))
    failing = [group for group in groups if group.verdict in FAILURES and group.examples]
    shown = [one for group in failing if isinstance(one := group.examples[0], Example)]
    if not names or len(shown) < len(failing):
        return ()
    spec = search.catalog.specs[case.spec]
    bits = np.array([one.inputs[0] for one in shown], case.inputs[0].format.storage)
    got = np.array([one.got or 0 for one in shown], case.outputs[0].format.storage)
    refused = np.array([one.got is None for one in shown])
    due = evaluate(spec, case, bits).readings
    trial = Trial(spec, case, points_of(case, bits), got, refused, due)
    masks = {}
    for cause in search.named(names):
        said = trial.said_by((cause,))
        masks[cause.name] = np.zeros(len(shown), bool) if said is None else trial.given(said)
    return tuple(
        (group.digest, tuple(name for name in names if masks[name][i]))
        for i, group in enumerate(failing)
    )
