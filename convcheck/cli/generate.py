"""`convcheck generate`: generate the test vectors from the specs."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from convcheck.cli.options import catalog
from convcheck.cli.outputs import tracked
from convcheck.errors import UsageError
from convcheck.plan.select import select_specs
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir, user_folders
from convcheck.streams import plural, say
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Tier
from convcheck.vectors.store.write import Files, by_file, differing, others_in, write_folder

DIFFERENT = 1


def main(patterns: tuple[str, ...], tier: Tier, out: str | None, check: bool, seed: int) -> int:
    """Generate the test vectors from the specs, or check that they are up to date."""
    loaded = catalog()
    folder = _folder(out, tier, partial=bool(patterns), check=check)
    selected = select_specs(loaded, patterns)
    kept = others_in(folder, selected, tier, seed) if patterns else None
    asked = by_file(chain.from_iterable(map(cases, selected)), loaded.specs)
    make = Corpus(loaded, tier, seed, ()).vectors
    files = Files(selected, tracked(asked, f"{tier} vectors"), make, tier, seed, kept)
    if check:
        return _check(differing(files, folder), folder)
    changed = write_folder(files, folder)
    say(
        f"{plural(files.vectors, 'vector')}, {files.size / 1e6:.1f} MB, in {folder}: "
        f"{plural(changed, 'file')} changed"
    )
    return 0


def _folder(out: str | None, tier: str, partial: bool, check: bool) -> Path:
    """Return the output folder. Raises UsageError if it must not be written."""
    hint = "--out DIR"
    if out is None and (tier != "edge" or (partial and not check)):
        said = "which folder? the default one is only for the edge tier of all specs"
        raise UsageError(said, hint=hint)
    folder = Path(out) if out else data_dir("vectors")
    if not check and out is None and user_folders():
        raise UsageError("which folder? the default one is not for your own specs", hint=hint)
    if not check and {"site-packages", "dist-packages"} & {*folder.resolve().parts}:
        hint = "--out with a folder of yours"
        raise UsageError(f"{folder} is part of an installation, and not written to", hint=hint)
    return folder


def _check(differ: list[str], folder: Path) -> int:
    for name in differ:
        say(name)
    if differ:
        verb = "differs" if len(differ) == 1 else "differ"
        say(f"{plural(len(differ), 'file')} in {folder} {verb} from what the specs "
            "give; run `convcheck generate`", err=True)  # fmt: skip
        return DIFFERENT
    say(f"{folder} is up to date")
    return 0
