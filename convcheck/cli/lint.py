"""`convcheck lint`: check spec files."""

from __future__ import annotations

from convcheck.causes.catalogue import observations_of, unseen
from convcheck.chains.pairs import turned_back_by_nothing
from convcheck.cli.options import catalog
from convcheck.cli.outputs import progress, tracked
from convcheck.plan.select import select_specs
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Spec
from convcheck.semantics.body.table_lint import Proof
from convcheck.semantics.lint import faults, lint_spec
from convcheck.streams import plural, say
from convcheck.vectors.corpus import open_corpus

BAD_SPEC = 2


def main(patterns: tuple[str, ...]) -> int:
    """Check that specs are complete, unambiguous, reachable, cited and true to their examples."""
    loaded = catalog(decided=False)  # report all errors, not only the first
    chosen = select_specs(loaded, patterns)
    if not patterns:
        observations_of(loaded)  # raises if observations or causes cannot be read
    proofs = [_proof(loaded, spec) for spec in tracked(chosen, "lint", "spec")]
    found = faults(proofs)
    with progress(1, "lint", "catalogue of causes") as advance:
        corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
        blind = [] if patterns else list(unseen(corpus))  # causes that no input exposes
        advance()
    for error in blind:
        say(str(error), err=True)
    for diagnostic, having in found.items():
        say(diagnostic.of(having), err=True)
    if found:
        bad = len({name for having in found.values() for name in having})
        say(f"{plural(len(found), 'error')} in {plural(bad, 'spec')}", err=True)
    if found or blind:
        return BAD_SPEC
    cases, points = sum(p.cases for p in proofs), sum(p.points for p in proofs)
    asked = f"{plural(len(proofs), 'spec')}, {plural(cases, 'case')}"
    say(f"{asked}: the first row that matches decides each of {plural(points, 'point')};")
    say("every row, cell and reading decides some point; every example holds")
    return 0


def _proof(catalog: Catalog, spec: Spec) -> Proof:
    """Lint a spec, including the specs that it names."""
    proof = lint_spec(spec)
    proof.diagnostics += turned_back_by_nothing(catalog, spec)
    return proof
