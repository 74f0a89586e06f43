"""Libraries that have functions in the place of operators: what one cannot be asked."""

from __future__ import annotations

from collections.abc import Container

from convcheck.backends.protocol import Declined
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
