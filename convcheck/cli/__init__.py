"""The command line: one file per command, loaded when it is used."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from convcheck import __version__
from convcheck.errors import UsageError
from convcheck.streams import ClosedError
from convcheck.wording import meant

# Command -> its one line in `convcheck --help`, kept here so that help imports no command.
COMMANDS = {
    "run": "Run test vectors against a backend and report where it departs from the standard.",
    "survey": "Show what backends do where the standard leaves it open.",
    "baseline": "List what fails now, so that later runs fail only on what is new.",
    "report": "Render a run's report again, from its JSON; put shards together.",
    "diff": "Show what changed between two runs.",
    "diagnose": "Say why a backend fails: the few causes of all failures.",
    "history": "Ask every release of a runtime, and tell which causes came and went.",
    "site": "Write static pages of what runtimes do, release by release, from JSON reports.",
    "repro": "Turn a finding into a script that runs without convcheck.",
    "explain": "Show what the standard requires for one input, and why.",
    "judge": "Judge answers that somebody reports, without a backend.",
    "chain": "Say whether casts one after the other are the direct cast, and prove it.",
    "model": "List the conversions of an ONNX model, and what is known of each.",
    "list": "List specs, cases, backends or types.",
    "show": "Print a spec's rule tables, or what changed between two versions.",
    "export": "Write a case's vectors for other tools.",
    "emit": "Write suites in C, CUDA, HIP or Rust for the repository where a kernel lives.",
    "verify": "Judge answers from a file, one per line.",
    "example": "Print a program to start from, in C or Python, that convcheck can ask.",
    "serve": "Serve any backend over the process protocol.",
    "probe": "Check, step by step, that a program speaks the process protocol.",
    "generate": "Generate the test vectors from the specs, or check that they are up to date.",
    "score": "Plant every known wrong conversion, and tell which ones the vectors catch.",
    "lint": "Check spec files: complete, unambiguous, reachable, cited, true to their examples.",
}
# Commands that are gone -> what to use.
REMOVED = {
    "bench": "benchmarks live in tests/bench of the checkout",
    "merge": "`convcheck report shard-*.json` puts the shards of a run together",
}


def _not_empty(context: click.Context, option: click.Parameter, given: Any) -> Any:
    """Return what an option was given. Raises UsageError for an empty text: a variable of a script
    that was not set.
    """
    if "" in (given if isinstance(given, tuple) else (given,)):
        raise UsageError(f"{option.opts[0]} is empty", hint="leave it out, or say what it is")
    return given


class LazyGroup(click.Group):
    """A group whose commands are modules, imported when asked for."""

    def invoke(self, context: click.Context) -> object:
        """Run a command. Raises ClosedError where what it prints has nowhere to go."""
        try:
            os.getcwd()
        except OSError as error:
            hint = "change to a folder that exists"
            raise UsageError("the working folder is gone", hint=hint) from error
        try:
            return super().invoke(context)
        except BrokenPipeError as error:  # of click's own pages of help
            raise ClosedError from error
        except SystemExit as error:  # something that a command called; it has not done its work
            raise RuntimeError(
                f"something inside the command ended it, with {error.code!r}"
            ) from error

    def list_commands(self, context: click.Context) -> list[str]:
        """Name the commands in the order in which they are most used."""
        return [*COMMANDS]  # `list` is a command here, once it is imported

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"convcheck.cli.{name}").command
        for option in command.params:
            if isinstance(option, click.Option) and option.type is click.STRING:
                option.callback = option.callback or _not_empty
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for one that is not there, suggest what to use."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = REMOVED.get(args[0]) or meant(args[0], COMMANDS)
            raise UsageError(f"unknown command {args[0]!r}", hint=hint)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: convcheck run --backend ort onnx.Cast-21 --to float8e4m3fn",
)
@click.version_option(__version__, prog_name="convcheck")
def group() -> None:
    """Conformance tests for numeric type conversion in machine-learning runtimes.

    The rules of the standards are in spec files. Test vectors are made from them and run against
    a backend; the report says which rule the backend departs from, where the standard says so,
    and in which bits. Exit codes: 0 pass, 1 a failure, 2 bad input, 3 nothing was judged, 4 no
    backend, 70 a fault of convcheck itself, 74 the system refuses (a full device, too many open
    files), 130 interrupted, 143 ended by SIGTERM.
    """
