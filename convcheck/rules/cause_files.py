"""The files of causes, as texts: what is in them is read where something fails."""

from __future__ import annotations

from dataclasses import dataclass

from convcheck.rules.load import CAUSES, Catalog, data_dir
from convcheck.rules.source import read_all, yaml_text


@dataclass(frozen=True)
class CauseFile:
    """A file of causes, which travels to where it is read."""

    #: The file, as people know it.
    name: str
    #: All that is in it.
    text: str
    #: Whether it is in a folder of the user's own.
    own: bool = False


def cause_files(catalog: Catalog) -> tuple[CauseFile, ...]:
    """Return the files of the built-in causes, and those in the folders of a catalogue, in order.

    Raises SpecError for one that is no text.
    """
    roots = [data_dir("specs"), *catalog.folders]
    paths = [(root, path) for root in roots for path in sorted((root / CAUSES).glob("*.yaml"))]
    names = [f"{root.name}/{path.relative_to(root).as_posix()}" for root, path in paths]
    texts = read_all(lambda each: yaml_text(each[0][1], each[1]), zip(paths, names, strict=True))
    own = [root != roots[0] for root, _ in paths]
    return tuple(map(CauseFile, names, texts, own))


def has_own_causes(catalog: Catalog) -> bool:
    """Return whether folders of a catalogue have causes besides the built-in ones."""
    return any((folder / CAUSES).is_dir() for folder in catalog.folders)
