"""The command line. Each command imports its module when called."""

import os

import click

from convcheck import __version__
from convcheck.cli.commands import GROUPS, REMOVED, REMOVED_OPTIONS
from convcheck.cli.options import GLOBAL_OPTIONS
from convcheck.errors import UsageError
from convcheck.streams import ClosedError, meant

COMMANDS = {str(one.name): one for some in GROUPS.values() for one in some}


class _Group(click.Group):
    def invoke(self, context: click.Context) -> object:
        try:
            os.getcwd()
        except OSError as error:
            hint = "change to a folder that exists"
            raise UsageError("the working folder is gone", hint=hint) from error
        try:
            return super().invoke(context)
        except click.NoSuchOption as error:
            if gone := REMOVED_OPTIONS.get(error.option_name):
                hint = f"use {gone}"
                raise UsageError(f"unknown option {error.option_name}", hint=hint) from None
            raise
        except BrokenPipeError as error:  # from click's own help pages
            raise ClosedError from error
        except SystemExit as error:  # raised inside the command, which has not finished
            raise RuntimeError(
                f"something inside the command ended it, with {error.code!r}"
            ) from error

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            gone = REMOVED.get(args[0])
            hint = f"use {gone}" if gone else meant(args[0], self.commands)
            raise UsageError(f"unknown command {args[0]!r}", hint=hint)
        return super().resolve_command(context, args)

    def format_help(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(context, formatter)
        formatter.write(f"\n{self.help}\n\n")
        for title, some in GROUPS.items():
            rows = [(str(one.name), one.get_short_help_str(60)) for one in some]
            for name, text in rows:
                formatter.write(f"  {title:<8}{name:<10}{text.rstrip('.')}\n")
                title = ""
        options = "  ".join(one.opts[-1] for one in self.get_params(context))
        formatter.write(f"\nOptions: {options}\n{self.epilog}\n")


@click.group(
    cls=_Group,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: convcheck run --backend ort onnx.Cast-21 --to float8e4m3fn",
)
@click.version_option(__version__, prog_name="convcheck")
def group() -> None:
    """Conformance tests for numeric type conversion in machine-learning runtimes."""


for _option in GLOBAL_OPTIONS:
    _option(group)
