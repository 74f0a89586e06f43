"""Write files atomically, and read only regular files of limited size."""

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

# errors of the machine, not of a file name
LIMITS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE}

# size limits in bytes: of a spec, of a list or a user's inputs, and of generated files
MOST_OF_SPEC, MOST_OF_LIST, MOST_OF_REPORT = 1 << 22, 1 << 28, 1 << 30


def read_file(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes. Raises OSError.

    Never blocks on a pipe or a device.
    """
    with open(path, "rb", opener=_opened_at_once) as file:
        check_regular(file.fileno(), most)
        return read_within(file, most)


def check_regular(handle: int, most: int) -> None:
    """Raise OSError unless a file is regular and has at most `most` bytes."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
    if found.st_size > most:
        raise _too_large(most)


def read_within(stream: BinaryIO, most: int) -> bytes:
    """Return at most `most` bytes of a stream. Raises OSError if there are more."""
    content = stream.read(most + 1)
    if len(content) > most:
        raise _too_large(most)
    return content


def read_text(path: Path, most: int) -> str:
    """Return the UTF-8 text of a regular file. Raises OSError, UnicodeDecodeError."""
    return io.TextIOWrapper(io.BytesIO(read_file(path, most)), encoding="utf-8").read()


def _opened_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than the limit of {most >> 20} MiB")


def unnamed_file() -> IO[bytes]:
    """Return a temporary file without a name, in memory if possible.

    Raises SystemLimitError if the temporary folder is full, UsageError if it is not writable.
    """
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("convcheck"), "r+b", buffering=0)
    import tempfile

    try:
        os.makedirs(tempfile.gettempdir(), exist_ok=True)  # a backend may remove it
        return tempfile.TemporaryFile(buffering=0)
    except OSError as error:
        kind = SystemLimitError if error.errno in LIMITS else UsageError
        said = f"no temporary file can be written: {error.strerror or error}"
        raise kind(said, hint="name a folder in TMPDIR that can be written to") from error


def write_whole(path: Path, content: bytes, *, folders: bool = False) -> None:
    """Write a file atomically. `folders`: also create its folders.

    A pipe or a device is written to, not replaced, unless `folders`. Raises SystemLimitError,
    UsageError.
    """
    try:
        target = path.resolve()
        if folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not (target.is_file() or folders):
            target.write_bytes(content)
        else:
            _replace(target, content)
    except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of links
        said = f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, OSError) and error.errno in LIMITS:
            hint = "is the device full, or is there a limit on the size of files?"
            raise SystemLimitError(said, hint=hint) from error
        hint = "give a file in a folder that exists and can be written to"
        raise UsageError(said, hint=hint) from error


def write_text(text: str, path: str) -> None:
    """Write a UTF-8 text to a file atomically, '-' for stdout.

    Raises like `write_whole`, and ClosedError if stdout is closed.
    """
    content = text.encode("utf-8", "backslashreplace")
    if path == "-":
        if sys.stdout is None:
            raise UsageError("cannot write to stdout: it is closed")
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        except OSError as error:
            silence(sys.stdout)
            raise lost_stdout(error) from error
    else:
        write_whole(Path(path), content)


def write_all(texts: Iterable[tuple[str, Callable[[], str]]], page: Callable[[], None]) -> None:
    """Write texts, given as (path, function that makes the text), then print a page.

    An error does not stop the others. Raises the first error, with the messages of all.
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


def _replace(path: Path, content: bytes) -> None:
    name = path.with_name(f".convcheck-{os.urandom(8).hex()}")
    # tempfile would ignore the umask
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
