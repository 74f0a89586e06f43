"""What a command line selects, in its own words. It imports nothing, so that a run can have workers
started before anything is read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """Patterns: spec globs, source and target types or families, NAME=VALUE, case globs.

    An empty tuple selects everything; within one kind any may match, all kinds have to.
    """

    #: Globs of spec ids.
    specs: tuple[str, ...] = ()
    #: Names of input types, or of families of types.
    sources: tuple[str, ...] = ()
    #: Names of output types, or of families of types.
    targets: tuple[str, ...] = ()
    #: NAME=VALUE of an attribute.
    where: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
