"""Options that several commands share, what completes them, and what they load."""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_SPEC, read_text

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog

F = TypeVar("F", bound=Callable[..., Any])


def catalog(specs: tuple[str, ...], decided: bool = True) -> Catalog:
    """Return the built-in specs, those of --specs, and those of a pyproject.toml here or above.

    Raises UsageError, or SpecError: where `decided`, also for a case of a user's own spec that no
    rule decides, and for the user's own causes, so that no command stumbles over them later.
    """
    from convcheck.rules.cause_files import has_own_causes
    from convcheck.rules.load import SPECS_VARIABLE, load, user_folders

    folders = [Path(folder).resolve() for folder in specs] or [*user_folders(), *_configured()]
    loaded = load(folders)
    if decided and loaded.own:
        from convcheck.semantics.lint import check_decided

        for name in loaded.own:
            check_decided(loaded.specs[name])
    if decided and has_own_causes(loaded):
        from convcheck.causes.catalogue import causes_of

        causes_of(loaded)
    os.environ[SPECS_VARIABLE] = os.pathsep.join(str(folder) for folder in folders)
    return loaded


def _configured() -> list[Path]:
    """Read `specs` of [tool.convcheck] in the nearest pyproject.toml."""
    here = Path.cwd()
    found = (p / "pyproject.toml" for p in (here, *here.parents))
    path = next((p for p in found if p.is_file()), None)
    if path is None:
        return []
    try:
        settings = tomllib.loads(read_text(path, MOST_OF_SPEC)).get("tool", {}).get("convcheck", {})
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: {error}", hint="convcheck reads [tool.convcheck] there"
        ) from None
    unknown = settings.keys() - {"specs"}
    folders = settings.get("specs", [])
    if unknown or not isinstance(folders, list) or not all(isinstance(f, str) for f in folders):
        raise UsageError(f"{path}: [tool.convcheck] takes only `specs`, a list of folders")
    return [path.parent / folder for folder in folders]


class _Seconds(click.FloatRange):
    """Seconds: neither nothing, nor more than a day, nor no number at all."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        """Read them. A number that is none is in any range for click."""
        found = float(super().convert(value, parameter, context))
        if found != found:
            self.fail(f"{value} is not a number of seconds.", parameter, context)
        return found


SECONDS = _Seconds(0.1, 86_400.0)


def _completer(
    names: Callable[[Catalog], list[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = names(catalog(context.params.get("specs") or (), decided=False))
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return complete


def complete_backends(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the name of an installed backend."""
    from convcheck.backends.protocol import backend_names

    return [CompletionItem(name) for name in backend_names() if name.startswith(incomplete)]


complete_specs = _completer(lambda c: list(c.specs))
complete_types = _completer(lambda c: [*c.types.types, *c.types.sets])

specs_option = click.option(
    "--specs",
    multiple=True,
    metavar="DIR",
    help="A folder of your own spec files, which are added to the built-in ones.",
)
spec_arguments = click.argument(
    "patterns", nargs=-1, metavar="[SPEC]...", shell_complete=complete_specs
)
backends_option = click.option(
    "--backend", "backends", multiple=True, metavar="NAME", shell_complete=complete_backends,
    help="ort, openvino, pypto, torch … (`convcheck list backends`), process:COMMAND, or "
    "module:Class. May be repeated: the results are shown side by side.",
)  # fmt: skip


_SELECTION = (
    spec_arguments,
    click.option("--from", "sources", multiple=True, metavar="T", shell_complete=complete_types,
                 help="Only from this type or family of types."),
    click.option("--to", "targets", multiple=True, metavar="T", shell_complete=complete_types,
                 help="Only to this type or family of types."),
    click.option("--where", multiple=True, metavar="NAME=VALUE",
                 help="Only with this attribute value."),
    click.option("--case", "globs", multiple=True, metavar="GLOB",
                 help="Only cases whose id matches the glob."),
)  # fmt: skip


def selection_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add the arguments and options that select cases; the command gets them as `selection`."""

    @functools.wraps(function)
    def packed(**given: Any) -> int | None:
        from convcheck.plan.selection import Selection

        names = ("patterns", "sources", "targets", "where", "globs")
        return function(selection=Selection(*(given.pop(name) for name in names)), **given)

    for option in reversed(_SELECTION):
        packed = option(packed)
    return packed


def _part(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Read K/N. Raises UsageError."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", value)
    index, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= of:
        raise UsageError(f"--shard {value}: not K/N with K from 1 to N", hint="--shard 3/16")
    return index, of


shard_option = click.option(
    "--shard",
    "part",
    metavar="K/N",
    callback=_part,
    help="Run one of N shards; `convcheck report` puts their JSON together.",
)
