"""Libraries that have functions in the place of operators: what one cannot be asked."""

from __future__ import annotations

from collections.abc import Container, Sequence

from convcheck.backends.protocol import Declined
from convcheck.numerics.codes import Bits
from convcheck.rules.functions import why_not
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case


def cannot_call(
    catalog: Catalog, runtime: str, functions: Container[str], case: Case, types: str = ""
) -> Declined | None:
    """Say why a library cannot be asked a case, or a cast of its chain; None where it can.

    `functions` are those that the adapter calls, `types` the runtime by whose names the library
    calls its types, if these are not its own.
    """
    for cast in case.hops or (case,):
        spec = catalog.specs.get(cast.spec)
        reason = why_not(spec, runtime, cast, types)
        if not reason and spec and (name := spec.calls[runtime].function) not in functions:
            reason = f"this adapter calls no {name}"
        if reason:
            return Declined(reason, missing=True)
    return None


def function_of(catalog: Catalog, runtime: str, case: Case) -> str:
    """Return the name of the function that a runtime has in the place of a case's operator."""
    return catalog.specs[case.spec].calls[runtime].function


def numbers_of(case: Case, inputs: Sequence[Bits]) -> list[int | float]:
    """Return tensors of one element as Python's numbers, which are those of numpy's types exactly.

    Raises ValueError for a tensor of another size.
    """
    return [bits.view(dtype.name).item() for dtype, bits in zip(case.inputs, inputs, strict=True)]
