"""Lint a spec by its body."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from convcheck.errors import SpecError
from convcheck.numerics.words import OutsideFormatError
from convcheck.records import grouped
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, Spec
from convcheck.rules.rule import citations, is_foreign
from convcheck.semantics.body import compile_calls
from convcheck.semantics.body.table_lint import Diagnostic, Proof
from convcheck.semantics.compile import unknown_words
from convcheck.semantics.evaluate import compile_case


def check_decided(spec: Spec) -> None:
    """Raise SpecError for the first undecided case."""
    for error in _compiled(spec, {}):
        said, place = f"{spec.id}: {error.message}", error.place or spec.place
        raise SpecError(said, place=place, hint=error.hint)


def _compiled(spec: Spec, found: dict[Case, Any]) -> Iterator[SpecError]:
    decide: Callable[[Spec, Case], Any] = compile_calls if spec.body.whole_calls else compile_case
    for case in cases(spec):
        try:
            found[case] = decide(spec, case)
        except SpecError as error:
            yield error


def lint_spec(spec: Spec) -> Proof:
    """Lint a spec: unknown words, else `check`, `prove` and `replay` of its body, and the rest."""
    proof = Proof(spec.id, len([*cases(spec)]))
    found = [Diagnostic.of_error(error, spec) for error in unknown_words(spec.rules, spec.literals)]
    if not found:
        body = import_module(f"convcheck.semantics.body.{spec.body.name}_lint")
        found += [Diagnostic.of_error(error, spec) for error in _compiled(spec, proof.compiled)]
        found += body.check(spec, proof)
        proved = found or [*body.prove(spec, proof)]
        for example in () if found else spec.body.examples:
            try:
                proved += body.replay(spec, example, proof)
            except (OutsideFormatError, SpecError, ValueError) as error:
                proved.append(Diagnostic(example.place, f"example: {error}"))
        found = [*proved, *_glosses(spec), *_never_left_out(spec)]
    proof.diagnostics = list(dict.fromkeys(found))
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
    return grouped((found, proof.spec) for proof in proofs for found in proof.diagnostics)
