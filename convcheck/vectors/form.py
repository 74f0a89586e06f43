"""The decision on the type and shape of an answer."""

from __future__ import annotations

from convcheck.rules.model import Spec
from convcheck.semantics.expected import Decision


def form_decision(spec: Spec) -> Decision:
    """Return the spec's sentence on its output as a decision."""
    cite, names = spec.output_cite, ("output", "type and shape")
    document = spec.document_of(cite)
    return Decision(*names, "normative", cite.text, document, cite.place, gloss=cite.gloss)
