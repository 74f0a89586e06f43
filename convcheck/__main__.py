"""The entry point: runs a command and turns every way of ending into its exit code.

0 all well, 1 a finding, 2 bad input, 3 nothing was judged, 4 the backend could not be started,
70 a fault of convcheck itself (a traceback must not look like a finding), 130 interrupted,
141 nobody read all that was written to stdout (as a shell has it for SIGPIPE).
"""

from __future__ import annotations

import io
import os
import sys

FAULT, INTERRUPTED, CLOSED = 70, 130, 141


def main() -> None:
    """Run the command line."""
    import click

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not have a character

    from convcheck.cli import ClosedError, group
    from convcheck.errors import ConvcheckError

    try:
        code = group.main(prog_name="convcheck", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except ConvcheckError as error:
        _complain(str(error))
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = 2
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (BrokenPipeError, ClosedError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where what is left to flush may go
        code = CLOSED
    except Exception:
        code = _own_fault()
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> None:
    print(f"convcheck: {message}", file=sys.stderr)


def _own_fault() -> int:
    import traceback

    from convcheck import __version__

    traceback.print_exc()
    _complain(
        f"this is a fault of convcheck {__version__} itself, not a finding about a backend.\n"
        "  Please report it, with the command line and the lines above."
    )
    return FAULT


if __name__ == "__main__":
    main()
