"""Shared options."""

import contextlib
import functools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click
from click import Choice, IntRange, argument, option
from click.shell_completion import CompletionItem

from convcheck.cli.outputs import GITHUB, Output, check_outputs, named, out_option, progress_option
from convcheck.errors import UsageError
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.plan.selection import Selection
from convcheck.report import FORMATS, LOG

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Level
    from convcheck.vectors.model import Tier

Call = Callable[..., Any]
Option = Callable[[Call], Call]
_SPECS = "convcheck.specs"
ANSWERS = "answers:"  # prefix of backends that are files
_MOST_SAMPLES = 10**12


def catalog(*, decided: bool = True) -> "Catalog":
    """Load the built-in specs and those of --specs or pyproject.toml.

    If `decided`, check user specs and causes. Raises UsageError or SpecError.
    """
    from convcheck.rules.causes import has_own_causes
    from convcheck.rules.load import SPECS_VARIABLE, load, user_folders

    context = click.get_current_context(silent=True)
    given = context.meta.get(_SPECS, ()) if context else ()
    folders = [Path(folder).resolve() for folder in given] or [*user_folders(), *_configured()]
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
    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        found = float(super().convert(value, parameter, context))
        if found != found:
            self.fail(f"{value} is not a number of seconds.", parameter, context)
        return found


SECONDS = _Seconds(0.1, 86_400.0)


def _completer(
    names: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]

    return complete


def _types() -> Iterable[str]:
    types = catalog(decided=False).types
    return [*types.types, *types.sets]


complete_backends = _completer(lambda: resolve_name("convcheck.backends.protocol:backend_names")())
complete_specs = _completer(lambda: catalog(decided=False).specs)
complete_types = _completer(_types)


def _keep(context: click.Context, option: click.Parameter, folders: tuple[str, ...]) -> None:
    context.meta[_SPECS] = (*context.meta.get(_SPECS, ()), *folders)


def _colour(context: click.Context, option: click.Parameter, when: str | None) -> None:
    variables = {"always": "FORCE_COLOR", "never": "NO_COLOR"}
    if when in variables:
        for name in variables.values():
            os.environ.pop(name, None)
        os.environ[variables[when]] = "1"


# They stand before a command or after it. Help lists them by name.
GLOBAL_OPTIONS = (
    option("--specs", multiple=True, metavar="DIR", expose_value=False, callback=_keep),
    option(
        "--color",
        metavar="WHEN",
        type=Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_colour,
    ),
    progress_option,
)
spec_arguments = argument(
    "patterns", nargs=-1, metavar="[SPEC|CASE]...", shell_complete=complete_specs
)


def backend_option(text: str) -> Option:
    """Return the option for one backend."""
    return option("--backend", metavar="NAME", shell_complete=complete_backends, help=text)


backends_option = option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_backends,
    help="Test ort, process:COMMAND, … (repeatable).",
)
_BETWEEN = "Convert between these types."
SOURCE = option("--from", "source", metavar="T", shell_complete=complete_types, help=_BETWEEN)
TARGET = option("--to", "target", metavar="T", shell_complete=complete_types, help=_BETWEEN)
WHERE = option("--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value.")
JSON = out_option("json", text="Write JSON to FILE.json (- is stdout).")
VERBOSE = option("--verbose", "-v", is_flag=True, help="Show all details.")
JOBS = option(
    "--jobs",
    "-j",
    metavar="N",
    type=IntRange(1),
    help="Worker processes (default: one per core).",
)
TIMEOUT = option(
    "--timeout",
    metavar="SECONDS",
    type=SECONDS,
    default=30.0,
    help="Limit of one backend call (default: 30).",
)
SEED = option("--seed", metavar="N", type=IntRange(0), default=0, help="Seed of the random inputs.")


def _tier(*names: str) -> Option:
    return option(
        "--tier",
        metavar="TIER",
        type=Choice(names),
        default="edge",
        help=f"Inputs: {', '.join(names[:-1])} or {names[-1]}.",
    )


TIER = _tier("edge", "boundary", "exhaustive")
EDGE_OR_BOUNDARY = _tier("edge", "boundary")


def _packed(name: str, make: Call, *options: Option) -> Option:

    def add(function: Call) -> Call:
        @functools.wraps(function)
        def gather(**given: Any) -> Any:
            return function(**{name: make(**{own: given.pop(own) for own in names})}, **given)

        command: Call = gather
        before = len(getattr(function, "__click_params__", ()))
        for one in reversed(options):
            command = one(command)
        added: list[click.Parameter] = command.__click_params__[before:]  # type: ignore[attr-defined]
        names = [str(parameter.name) for parameter in reversed(added)]
        return command

    return add


def selection_of(
    patterns: tuple[str, ...],
    sources: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    where: tuple[str, ...] = (),
    globs: tuple[str, ...] = (),
) -> Selection:
    """Return a selection. Patterns with a slash select cases."""
    if any("/" in one for one in patterns):
        globs = (*globs, *(one if "/" in one else f"{one}/*" for one in patterns))
        patterns = tuple(dict.fromkeys(one.partition("/")[0] for one in patterns))
    return Selection(patterns, sources, targets, where, globs)


_ONLY_TYPES = "Only these types or families of types."
selection_options = _packed(
    "selection",
    selection_of,
    spec_arguments,
    option("--from", "sources", multiple=True, metavar="T", shell_complete=complete_types,
                 help=_ONLY_TYPES),
    option("--to", "targets", multiple=True, metavar="T", shell_complete=complete_types,
                 help=_ONLY_TYPES),
    option("--where", multiple=True, metavar="NAME=VALUE",
                 help="Only with this attribute value."),
    option("--case", "-k", "globs", multiple=True, metavar="GLOB",
                 help="Only cases whose id matches the glob."),
)  # fmt: skip


def report_files(function: Call) -> Call:
    """Split reports (.jsonl, .json, and the first argument) from patterns."""

    @functools.wraps(function)
    def call(path: str, patterns: tuple[str, ...], **given: Any) -> Any:
        files = (path, *(word for word in patterns if word.endswith((".jsonl", ".json"))))
        left = tuple(word for word in patterns if word not in files)
        return function(files=tuple(dict.fromkeys(files)), patterns=left, **given)

    return argument("path", metavar="FILE...")(call)


@dataclass(frozen=True)
class RunOptions:
    """Options of a run. `timeout` is in seconds; `jobs` None is a worker per core."""

    jobs: int | None
    timeout: float
    tier: "Tier" = "edge"
    level: "Level" = "disputed"
    seed: int = 0
    inputs: str | None = None  # a file with the user's inputs, None for the tier's
    samples: int = 0  # the number of samples of sources too wide for all codes
    executor: str | None = None  # the address of a cluster, None for local processes
    consistency: bool = False
    no_causes: bool = False
    require: str | None = None  # the name of a requirement set, None for none


def _samples(context: click.Context, parameter: click.Parameter, text: str) -> int:
    """Parse 268435456, 2^28 or 1e9. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,15})(?:([e^])([0-9]{1,2}))?", text)
    number, sign, power = match.group(1, 2, 3) if match else ("0", "", "")
    base, exponent = int(number), int(power or 0)
    found = int(base**exponent if sign == "^" else base * 10**exponent)
    if match is None or found > _MOST_SAMPLES:
        said = f"--samples {text}: not a count from 0 to {_MOST_SAMPLES:,}"
        raise UsageError(said, hint="--samples 2^20")
    return found


run_options = _packed(
    "options",
    RunOptions,
    TIER,
    option(
        "--level",
        metavar="LEVEL",
        default="disputed",
        type=Choice(["normative", "implied", "disputed"]),
        help="Fail on rules of LEVEL (disputed) and above.",
    ),
    JOBS,
    TIMEOUT,
    SEED,
    option("--inputs", metavar="FILE", help="Test the hex bit patterns in FILE."),
    option(
        "--samples",
        callback=_samples,
        default="0",
        metavar="N",
        help="Add N inputs per 64-bit type (boundary).",
    ),
    option("--executor", metavar="URL"),
    option("--consistency", is_flag=True, help="Vary positions, lengths and backend options."),
    option("--no-causes", is_flag=True, help="Do not search for the causes of failures."),
    option("--require", metavar="NAME", help="Test the cases of a requirement set."),
)


def _part(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", value)
    index, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= index <= of:
        raise UsageError(f"--shard {value}: not K/N with K from 1 to N", hint="--shard 3/16")
    return index, of


shard_option = option(
    "--shard",
    "part",
    metavar="K/N",
    callback=_part,
    help="Run shard K of N; `report` merges the logs.",
)


@dataclass(frozen=True)
class Reports:
    """The reports of a run."""

    files: tuple[Output, ...]
    known: str | None
    verbose: bool
    quiet: bool

    @property
    def besides_log(self) -> Mapping[str, str]:
        """The outputs except logs, by option."""
        return {f"-o {one.word}": one.word for one in self.files if one.form != LOG}


def _reports(known: str | None, outputs: tuple[Output, ...], verbose: bool, quiet: bool) -> Reports:
    check_outputs(named(outputs), {"--known": known})
    source_date()
    if verbose and quiet:
        raise UsageError("--verbose and --quiet", hint="choose one")
    return Reports(outputs, known, verbose, quiet)


def refuse_given(options: Mapping[str, object], why: str, hint: str) -> None:
    """Raise UsageError for the first option with a value."""
    if option := next((name for name, value in options.items() if value), None):
        raise UsageError(f"{option} {why}", hint=hint.format(option))


def source_date() -> datetime | None:
    """Return the time in SOURCE_DATE_EPOCH, if set. Raises UsageError unless it is in seconds."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not said:
        return None
    if not re.fullmatch(r"[0-9]{1,11}", said):
        hint = "seconds since 1970, or leave it unset"
        raise UsageError(f"SOURCE_DATE_EPOCH is {said!r} in the environment", hint=hint)
    return datetime.fromtimestamp(int(said), UTC)


def start_worker(
    backends: tuple[str, ...], options: RunOptions, is_open: bool, dry_run: bool, **_: object
) -> None:
    """Start the fork server and the first worker, before heavy imports."""
    from convcheck.pool.forkserver import start_server

    started = [] if dry_run or is_open else [b for b in backends if not b.startswith(ANSWERS)]
    if started and not options.executor:
        with contextlib.suppress(OSError):  # the first worker will report it
            start_server()
        from convcheck.pool.process import end_ahead, start_ahead

        start_ahead(started[0])
        click.get_current_context().call_on_close(end_ahead)


_DETAIL = "Print every case, or only failures."
report_options = _packed(
    "reports",
    _reports,
    option("--known", metavar="FILE", help="Excuse the failures that FILE lists."),
    out_option(
        *FORMATS,
        GITHUB,
        text="Write FILE.jsonl (the log), .html, .md, .xml (JUnit) or - (stdout); "
        "github: annotates.",
    ),
    option("--verbose", "-v", is_flag=True, help=_DETAIL),
    option("--quiet", "-q", is_flag=True, help=_DETAIL),
)
