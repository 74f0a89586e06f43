"""Vectors in the form of the vector files: canonical JSON, a vector a line."""

from __future__ import annotations

from convcheck.rules.model import Spec
from convcheck.vectors.model import CallSet, Vectors
from convcheck.vectors.store.write import body, header
from convcheck.vectors.store.write_calls import body_of_calls


def vector_file_text(spec: Spec, vectors: Vectors, seed: int) -> str:
    """Return the vector file of one case."""
    return header(spec, seed, vectors) + (
        body_of_calls((vectors,)) if isinstance(vectors, CallSet) else body(vectors)
    )
