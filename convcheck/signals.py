"""Raise KeyboardInterrupt repeatedly on Ctrl-C and SIGTERM, until it is handled.

An import or a C library may swallow one.
"""

import signal
import sys
from types import FrameType

_AGAIN = 0.02  # seconds until KeyboardInterrupt is raised again
_received: list[int] = []


def install() -> None:
    """Handle the signals of this process. Ignored signals stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def handled() -> None:
    """Stop raising."""
    if _received:
        signal.setitimer(signal.ITIMER_REAL, 0)


def is_terminated() -> bool:
    """Return whether SIGTERM was received."""
    return signal.SIGTERM in _received


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    if not _is_importing(frame) and not (number == signal.SIGALRM and _is_on_its_way()):
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _is_on_its_way() -> bool:
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
