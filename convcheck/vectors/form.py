"""What the type and shape of an answer are held against."""

from __future__ import annotations

from convcheck.rules.model import Spec
from convcheck.semantics.expected import Decision


def form_decision(spec: Spec) -> Decision:
    """Return the decision on the type and shape of an answer: the spec's sentence on its output."""
    cite = spec.output_cite
    document = spec.document_of(cite)
    return Decision("output", "type and shape", "normative", cite.text, document, cite.place)
