"""Files of causes as text; they are parsed when something fails."""

from __future__ import annotations

from dataclasses import dataclass

from convcheck.rules.load import CAUSES, Catalog, data_dir
from convcheck.rules.source import read_all, yaml_text


@dataclass(frozen=True)
class CauseFile:
    """A file of causes, to be sent to workers."""

    #: the name to show
    name: str
    text: str
    #: whether the user supplied it
    own: bool = False


def cause_files(catalog: Catalog) -> tuple[CauseFile, ...]:
    """Return the files of built-in causes, then those of a catalogue's folders.

    Raises SpecError for a file that is not text.
    """
    roots = [data_dir("specs"), *catalog.folders]
    paths = [(root, path) for root in roots for path in sorted((root / CAUSES).glob("*.yaml"))]
    names = [f"{root.name}/{path.relative_to(root).as_posix()}" for root, path in paths]
    texts = read_all(lambda each: yaml_text(each[0][1], each[1]), zip(paths, names, strict=True))
    own = [root != roots[0] for root, _ in paths]
    return tuple(map(CauseFile, names, texts, own))


def has_own_causes(catalog: Catalog) -> bool:
    """Return whether a catalogue's folders have causes."""
    return any((folder / CAUSES).is_dir() for folder in catalog.folders)
