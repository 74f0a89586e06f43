"""What a folder keeps where the vectors of some specs alone are written to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from convcheck.errors import UsageError
from convcheck.rules.model import Spec
from convcheck.vectors.store.read import Manifest, read_manifest
from convcheck.vectors.store.write import MANIFEST

_HINT = "--out with another folder"


def with_kept(
    selected: Sequence[Spec], specs: Mapping[str, Spec], folder: Path, tier: str, seed: int,
    check: bool,
) -> tuple[list[Spec], Manifest | None]:  # fmt: skip
    """Return the specs to make vectors of so that some selected come right in a folder, and the
    part of its manifest that stays; None where there is none.

    They are the selected, what they extend of those in the folder and, unless it is only to `check`
    what is there, what extends one of these: such specs share files. Raises UsageError where the
    others cannot stay: of another tier or seed, or sharing files though no spec is known.
    """
    if not (folder / MANIFEST).exists():
        return list(selected), None
    manifest = read_manifest(folder)
    chosen = {spec.id for spec in selected}
    if (manifest.tier, manifest.seed) != (tier, seed) and manifest.specs.keys() - chosen:
        said = f"{folder} has vectors of other specs, of tier {manifest.tier}, seed {manifest.seed}"
        raise UsageError(said, hint=_HINT)
    there = specs.keys() & manifest.specs.keys()
    chosen |= {name for spec in selected for name in _extended(spec, specs) if name in there}
    if not check:
        chosen |= {name for name in there if chosen & {*_extended(specs[name], specs)}}
        _check_unknown(manifest, chosen, manifest.specs.keys() - there)
    kept = manifest.only(name for name in manifest.specs if name not in chosen)
    return [spec for name, spec in specs.items() if name in chosen], kept


def _extended(spec: Spec, specs: Mapping[str, Spec]) -> Iterator[str]:
    while spec.extends:
        yield spec.extends
        spec = specs[spec.extends]


def _check_unknown(manifest: Manifest, chosen: set[str], unknown: set[str]) -> None:
    """Refuse to write files that specs share of which no more is known than their vectors."""
    files = {name: set(entry["cases"].values()) for name, entry in manifest.specs.items()}
    written = set[str]().union(*(files.get(name, ()) for name in chosen))
    for name in sorted(unknown):
        if files[name] & written:
            said = f"{manifest.folder} has vectors of {name}, in files that are to be written"
            raise UsageError(said, hint=f"--specs with the folder of that spec, or {_HINT}")
