"""Case selection on a command line. Imports nothing, so that workers start first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Selection:
    """Patterns for cases. A case has to match one of each kind; () selects everything."""

    #: Globs of spec ids.
    specs: tuple[str, ...] = ()
    #: Input types or families.
    sources: tuple[str, ...] = ()
    #: Output types or families.
    targets: tuple[str, ...] = ()
    #: NAME=VALUE of an attribute.
    where: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
