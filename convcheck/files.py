"""Files are written whole or not at all, and read only where they are regular and not too large."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO

from convcheck.errors import ConvcheckError, SystemLimitError, UsageError
from convcheck.streams import ClosedError, lost_stdout, silence

# what is wrong with the machine, not with the name of a file
LIMITS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE}

# the most bytes that are read of a file: of one that people write, of a list or a user's inputs,
# and of what programs write
MOST_OF_SPEC, MOST_OF_LIST, MOST_OF_REPORT = 1 << 22, 1 << 28, 1 << 30


def read_file(path: Path, most: int) -> bytes:
    """Return what a regular file has, at most so many bytes.

    It waits for nobody: a pipe or a device is not read. Raises OSError for one, for a folder, for a
    file that is larger, and for one that cannot be read.
    """
    with open(path, "rb", opener=_opened_at_once) as file:
        check_regular(file.fileno(), most)
        return read_within(file, most)


def check_regular(handle: int, most: int) -> None:
    """Raise OSError unless what is open is a regular file of at most so many bytes."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
    if found.st_size > most:
        raise _too_large(most)


def read_within(stream: BinaryIO, most: int) -> bytes:
    """Return all that comes, at most so many bytes. Raises OSError for more."""
    content = stream.read(most + 1)
    if len(content) > most:
        raise _too_large(most)
    return content


def read_text(path: Path, most: int) -> str:
    """Return the text of a regular file in UTF-8, whatever ends its lines.

    Raises OSError as `read_file` does, and UnicodeDecodeError.
    """
    return io.TextIOWrapper(io.BytesIO(read_file(path, most)), encoding="utf-8").read()


def _opened_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {most >> 20} MiB, the most that is read")


def unnamed_file() -> IO[bytes]:
    """Return a file that nobody has to remove, or can: in memory where there are such files.

    Elsewhere it is in the temporary folder: raises SystemLimitError where that is full, and
    UsageError where it cannot be written to for another reason.
    """
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("convcheck"), "r+b", buffering=0)
    import tempfile

    try:
        os.makedirs(tempfile.gettempdir(), exist_ok=True)  # a backend may have removed it
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        kind = SystemLimitError if error.errno in LIMITS else UsageError
        said = f"no temporary file can be written: {error.strerror or error}"
        raise kind(said, hint="name a folder in TMPDIR that can be written to") from error


def write_whole(path: Path, content: bytes, *, folders: bool = False) -> None:
    """Write a file whole or not at all; with `folders`, make the folders to it.

    A pipe or a device is written to, not replaced, but in such folders. Raises SystemLimitError
    where the device is full, and UsageError where it cannot be written for another reason.
    """
    try:
        target = path.resolve()
        if folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not (target.is_file() or folders):
            target.write_bytes(content)
        else:
            _replace(target, content)
    except (OSError, RuntimeError) as error:  # a RuntimeError of links that go in a circle
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError | RuntimeError) -> ConvcheckError:
    said = f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
    if isinstance(error, OSError) and error.errno in LIMITS:
        hint = "is the device full, or is there a limit on the size of files?"
        return SystemLimitError(said, hint=hint)
    return UsageError(said, hint="give a file in a folder that exists and can be written to")


def write_text(text: str, path: str) -> None:
    """Write a text to a file, whole or not at all; '-' is standard output.

    It is UTF-8, whatever a terminal has. Raises what `write_whole` does, and ClosedError where
    nobody reads stdout.
    """
    content = text.encode("utf-8", "backslashreplace")
    if path == "-":
        _write_stdout(content)
    else:
        write_whole(Path(path), content)


def write_all(texts: Iterable[tuple[str, Callable[[], str]]], page: Callable[[], None]) -> None:
    """Write texts to files, given as (path, what makes the text), then print a page.

    Whatever cannot be written, all else is, and files come before what stdout has: so nothing is
    lost that was asked for. Raises the first error, in which the others are named.
    """
    in_order = sorted(texts, key=lambda one: one[0] == "-")
    failed: list[Exception] = []
    tasks: list[Callable[[], None]] = [partial(_made, path, make) for path, make in in_order]
    for task in (*tasks, page):
        try:
            task()
        except (ConvcheckError, OSError, ClosedError) as error:
            failed.append(error)
    known = [error for error in failed if isinstance(error, ConvcheckError)]
    if known:
        said = "\n  and ".join(error.message for error in known)
        raise type(known[0])(said, hint=known[0].hint) from known[0]
    if failed:
        raise failed[0]


def _made(path: str, make: Callable[[], str]) -> None:
    write_text(make(), path)


def _write_stdout(content: bytes) -> None:
    if sys.stdout is None:
        raise UsageError("cannot write to stdout: it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError as error:
        silence(sys.stdout)
        raise lost_stdout(error) from error


def _replace(path: Path, content: bytes) -> None:
    name = path.with_name(f".convcheck-{os.urandom(8).hex()}")
    # not by tempfile, whose files are for their owner alone: the mode is as the umask has it
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
