"""Lint a spec by its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pkgutil import resolve_name

from convcheck.errors import SpecError
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.citations import citations, is_foreign
from convcheck.rules.model import Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.body.table_lint import Diagnostic, Proof
from convcheck.semantics.compile import unknown_words
from convcheck.semantics.evaluate import compile_case

# Body -> its linter, imported on use.
LINTS: Mapping[str, str] = {
    "table": "convcheck.semantics.body.table_lint:lint_table",
    "matrix": "convcheck.semantics.body.matrix_lint:lint_matrix",
    "formula": "convcheck.semantics.body.formula_lint:lint_formula",
    "steps": "convcheck.semantics.body.steps_lint:lint_steps",
}


def check_decided(spec: Spec) -> None:
    """Raise SpecError for the first undecided case."""
    decide = compile_calls if spec.body.whole_calls else compile_case
    for case in cases(spec):
        try:
            decide(spec, case)
        except SpecError as error:
            said, place = f"{spec.id}: {error.message}", error.place or spec.place
            raise SpecError(said, place=place, hint=error.hint) from None


def lint_spec(spec: Spec) -> Proof:
    """Lint a spec. Unknown words are reported alone."""
    unknown = {Diagnostic(e.place or spec.place, e.message, e.hint): 0 for e in unknown_words(spec)}
    if unknown:
        return Proof(spec.id, count_cases(spec), diagnostics=list(unknown))
    check: Callable[[Spec], Proof] = resolve_name(LINTS[spec.body.name])
    proof = check(spec)
    proof.diagnostics += [*_glosses(spec), *_never_left_out(spec)]
    return proof


def _never_left_out(spec: Spec) -> Iterator[Diagnostic]:
    for attribute in spec.attributes:
        if attribute.default is None or not attribute.stated:
            continue
        asked = (c for c in cases(spec) if all(map(attribute.applies_to, c.outputs[:1])))
        if all(attribute.name in dict(case.given) for case in asked):
            message = f"{attribute.name} has a default, and no case leaves it out"
            hint = "`also: [{values: [default], …}]` asks it; a default of no text is `usual`"
            yield Diagnostic(attribute.place, message, hint)


def _glosses(spec: Spec) -> Iterator[Diagnostic]:
    cited = list(citations(spec))
    for text, cite in {cite.text: cite for cite in cited}.items():
        if is_foreign(text) and not cite.gloss.strip():
            hint = "under `glosses`: the sentence, a colon, and what it says in English"
            message = f"a sentence in another language has no translation: {text}"
            yield Diagnostic(cite.place, message, hint)
    unused = spec.glosses.keys() - {cite.text for cite in cited}
    for text, place in spec.glosses.items():
        # a version that extends may cite fewer
        if text in unused and place.file == spec.place.file:
            yield Diagnostic(place, f"no citation has this sentence: {text}", "leave it out")


def faults(proofs: Iterable[Proof]) -> dict[Diagnostic, list[str]]:
    """Return each diagnostic with the ids of the specs that have it."""
    found: dict[Diagnostic, list[str]] = {}
    for proof in proofs:
        for diagnostic in proof.diagnostics:
            found.setdefault(diagnostic, []).append(proof.spec)
    return found
