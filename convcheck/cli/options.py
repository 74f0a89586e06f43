"""Options that commands share, what completes them, and the specs that they load."""

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

from convcheck.cli.progress import progress_option
from convcheck.errors import UsageError
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.plan.selection import Selection

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog

F = TypeVar("F", bound=Callable[..., Any])
_SPECS = "convcheck.specs"


def catalog(*, decided: bool = True) -> Catalog:
    """Return the built-in specs, those of --specs, and those of a pyproject.toml here or above.

    Raises UsageError, or SpecError: where `decided`, also for a case of a user's own spec that no
    rule decides, and for the user's own causes, so that no command stumbles over them later.
    """
    from convcheck.rules.cause_files import has_own_causes
    from convcheck.rules.load import SPECS_VARIABLE, load, user_folders

    folders = [Path(folder).resolve() for folder in _given(_SPECS)] or [
        *user_folders(),
        *_configured(),
    ]
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
        found = names(catalog(decided=False))
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


def _keep(context: click.Context, option: click.Parameter, folders: tuple[str, ...]) -> None:
    """Keep the folders of --specs, given before a command or after it, for `catalog`."""
    context.meta[_SPECS] = (*context.meta.get(_SPECS, ()), *folders)


def _given(name: str) -> tuple[str, ...]:
    context = click.get_current_context(silent=True)
    return context.meta.get(name, ()) if context else ()


def _colour(context: click.Context, option: click.Parameter, when: str | None) -> None:
    """Have consoles draw with colours, or without; they and runtimes obey these variables."""
    if when in ("always", "never"):
        name, other = (
            ("FORCE_COLOR", "NO_COLOR") if when == "always" else ("NO_COLOR", "FORCE_COLOR")
        )
        os.environ[name] = "1"
        os.environ.pop(other, None)


# They stand before a command or after it.
GLOBAL_OPTIONS = (
    click.option(
        "--specs",
        multiple=True,
        metavar="DIR",
        expose_value=False,
        callback=_keep,
        help="A folder of your own spec files, which are added to the built-in ones.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_colour,
        help="Whether to print colours; by default on a terminal.",
    ),
    progress_option,
)
spec_arguments = click.argument(
    "patterns", nargs=-1, metavar="[SPEC|CASE]...", shell_complete=complete_specs
)


def backend_option(text: str) -> Callable[[F], F]:
    """Return the option of a command that takes one backend."""
    return click.option("--backend", metavar="NAME", shell_complete=complete_backends, help=text)


backends_option = click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_backends,
    help="ort, openvino, pypto, torch … (`convcheck show backends`), process:COMMAND, or "
    "module:Class. May be repeated: the results are shown side by side.",
)
SOURCE = click.option(
    "--from", "source", metavar="T", shell_complete=complete_types, help="From this type."
)
TARGET = click.option(
    "--to", "target", metavar="T", shell_complete=complete_types, help="To this type."
)
WHERE = click.option(
    "--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value."
)
JSON = click.option("--json", "json_path", metavar="FILE", help="Write it as JSON; - for stdout.")
VERBOSE = click.option("--verbose", "-v", is_flag=True, help="Show all of it.")
JOBS = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1),
    help="Number of worker processes; one per core by default.",
)
TIMEOUT = click.option(
    "--timeout",
    type=SECONDS,
    default=30.0,
    show_default=True,
    help="Seconds that one call to the backend may take.",
)
SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random part of the inputs.",
)


def _tier(*names: str) -> Callable[[F], F]:
    return click.option(
        "--tier",
        type=click.Choice(names),
        default="edge",
        show_default=True,
        help="Which inputs: the notable ones, every rounding boundary, or every bit pattern of "
        "sources of up to 32 bits.",
    )


TIER = _tier("edge", "boundary", "exhaustive")
EDGE_OR_BOUNDARY = _tier("edge", "boundary")


_SELECTION = (
    spec_arguments,
    click.option("--from", "sources", multiple=True, metavar="T", shell_complete=complete_types,
                 help="Only from this type or family of types."),
    click.option("--to", "targets", multiple=True, metavar="T", shell_complete=complete_types,
                 help="Only to this type or family of types."),
    click.option("--where", multiple=True, metavar="NAME=VALUE",
                 help="Only with this attribute value."),
    click.option("--case", "-k", "globs", multiple=True, metavar="GLOB",
                 help="Only cases whose id matches the glob."),
)  # fmt: skip


def selection_options(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add the arguments and options that select cases; the command gets them as `selection`."""

    @functools.wraps(function)
    def packed(**given: Any) -> int | None:
        names = ("patterns", "sources", "targets", "where", "globs")
        return function(selection=_selection(*(given.pop(name) for name in names)), **given)

    for option in reversed(_SELECTION):
        packed = option(packed)
    return packed


def report_files(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add the files of runs: the first word, and each further one that ends in .json; the others
    are patterns.
    """

    @functools.wraps(function)
    def packed(path: str, patterns: tuple[str, ...], **given: Any) -> int | None:
        files = (path, *(word for word in patterns if word.endswith(".json")))
        left = tuple(word for word in patterns if word not in files)
        return function(files=tuple(dict.fromkeys(files)), patterns=left, **given)

    return click.argument("path", metavar="FILE...")(packed)


def _selection(
    patterns: tuple[str, ...],
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    where: tuple[str, ...],
    globs: tuple[str, ...],
) -> Selection:
    """Return a selection in which the patterns with a slash are of cases. With one of them, the
    others stand for all cases of their specs.
    """
    if any("/" in one for one in patterns):
        globs = (*globs, *(one if "/" in one else f"{one}/*" for one in patterns))
        patterns = tuple(dict.fromkeys(one.partition("/")[0] for one in patterns))
    return Selection(patterns, sources, targets, where, globs)


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
