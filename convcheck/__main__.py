"""Run a command and map every ending to an exit code.

0: all well. 1: a finding. 2: bad input. 3: nothing was judged. 4: the backend could not start. 70:
an internal error. 74: a limit of the system, such as a full device. 130: interrupted. 141: stdout
was closed. 143: SIGTERM.
"""

import gc
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

FAULT, INTERRUPTED, CLOSED, TERMINATED = 70, 130, 141, 143
_YOUNG = 200_000  # objects before a garbage collection


def main(*, own: bool = True) -> None:
    """Run the command line. `own`: the process has no other purpose."""
    gc.set_threshold(_YOUNG)
    from convcheck import signals

    try:
        if own:
            signals.install()
        code = _ended()
    except KeyboardInterrupt:
        signals.handled()
        code = INTERRUPTED
    if own:
        gc.freeze()  # skips a last collection
    if code == INTERRUPTED and signals.is_terminated():
        code = TERMINATED
    sys.exit(code if isinstance(code, int) else 0)


def _ended() -> object:
    import click

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack a character

    from convcheck.errors import ConvcheckError
    from convcheck.streams import ClosedError, say, silence

    try:
        from convcheck.cli import group

        code: object = group.main(prog_name="convcheck", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except ConvcheckError as error:
        _complain(str(error))
        return error.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        say(said.getvalue().rstrip("\n"), err=True)
        return 2
    except click.Abort:
        raise KeyboardInterrupt from None
    except (BrokenPipeError, ClosedError):
        silence(sys.stdout)
        return CLOSED
    except OSError as error:
        from convcheck.errors import SystemLimitError
        from convcheck.files import LIMITS

        if error.errno not in LIMITS:
            return _own_fault()
        silence(sys.stdout)
        file = f" on {error.filename}" if error.filename else ""
        hint = "is the device full, or is there a limit on files (`ulimit -a`)?"
        refused = SystemLimitError(f"system error{file}: {error.strerror}", hint=hint)
        _complain(str(refused))
        return refused.exit_code
    except Exception:
        return _own_fault()


def _complain(message: str) -> None:
    from convcheck.streams import say

    say(f"convcheck: {message}", err=True)


def _own_fault() -> int:
    import traceback

    from convcheck import __version__
    from convcheck.streams import say

    say(traceback.format_exc(), err=True)
    _complain(
        f"this is a fault of convcheck {__version__} itself, not a finding about a backend.\n"
        "  Please report it, with the command line and the lines above."
    )
    return FAULT


if __name__ == "__main__":
    main()
