"""Write the vectors of some specs into a folder that keeps those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from convcheck.errors import UsageError
from convcheck.rules.model import Spec
from convcheck.vectors.store.manifest import MANIFEST, Manifest, read_manifest
from convcheck.vectors.store.write import may_share

_HINT = "--out with another folder"


def with_kept(
    selected: Sequence[Spec], specs: Mapping[str, Spec], folder: Path, tier: str, seed: int,
    check: bool,
) -> tuple[list[Spec], Manifest | None]:  # fmt: skip
    """Return the specs to write and the part of the manifest to keep, None if there is none.

    In addition to the selected specs, the specs in the folder that share files with them are
    written. With `check`, only those whose files the selected specs share. Raises UsageError if the
    others cannot stay: another tier or seed, or shared files of an unknown spec.
    """
    if not (folder / MANIFEST).exists():
        return list(selected), None
    manifest = read_manifest(folder)
    chosen = {spec.id for spec in selected}
    if (manifest.tier, manifest.seed) != (tier, seed) and manifest.specs.keys() - chosen:
        said = f"{folder} has vectors of other specs, of tier {manifest.tier}, seed {manifest.seed}"
        raise UsageError(said, hint=_HINT)
    there = specs.keys() & manifest.specs.keys()
    chosen |= there & {name for spec in selected for name in _sharing(spec, specs)}
    if not check:
        chosen |= {name for name in there if chosen & _sharing(specs[name], specs)}
        _check_unknown(manifest, chosen, manifest.specs.keys() - there)
    kept = manifest.only(name for name in manifest.specs if name not in chosen)
    return [spec for name, spec in specs.items() if name in chosen], kept


def _sharing(spec: Spec, specs: Mapping[str, Spec]) -> set[str]:
    direct = {*may_share(spec, specs)}
    return direct.union(*(_sharing(specs[name], specs) for name in direct))


def _check_unknown(manifest: Manifest, chosen: set[str], unknown: set[str]) -> None:
    files = {name: set(entry["cases"].values()) for name, entry in manifest.specs.items()}
    written = set[str]().union(*(files.get(name, ()) for name in chosen))
    for name in sorted(unknown):
        if files[name] & written:
            said = f"{manifest.folder} has vectors of {name}, in files that are to be written"
            raise UsageError(said, hint=f"--specs with the folder of that spec, or {_HINT}")
