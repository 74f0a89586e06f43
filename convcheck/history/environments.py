"""Environments, one for each release: made with uv or pip, and kept.

An environment has numpy and the runtime, and more only where the runtime does not start without. A
release that was built before numpy 2 does not go with it, so that such a one is tried with numpy 1.
A mark, which is written last, tells an environment that is whole from one whose making was
interrupted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from convcheck.backends.installed import cache_folder
from convcheck.backends.process import headers
from convcheck.backends.process.environment import SERVER
from convcheck.errors import UnavailableError, UsageError
from convcheck.files import write_whole
from convcheck.history.releases import Release, Wanted

NUMPY_2 = "2024-06-16"  # the day on which numpy 2.0.0 was released
INSTALLING = 1800.0  # seconds
STARTING = 120.0  # seconds
MARK = "convcheck-made"
LAST = 300  # characters of what an installer or a Python said


class NotInstalledError(Exception):
    """A release that cannot be installed, or whose runtime does not start; and why."""


def environments_folder(given: str | None) -> Path:
    """Return the folder of environments and reports, made where it is not there: the one given, or
    one in the user's cache. Raises UsageError.
    """
    folder = Path(given) if given else cache_folder("history")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is a file" if folder.is_file() else error.strerror or str(error)
        hint = "--env-dir names a folder for environments, which is made if it is not there"
        raise UsageError(f"cannot make the folder {folder}: {why}", hint=hint) from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write to the folder {folder}", hint="name another with --env-dir")
    return folder.absolute()


def made_environment(wanted: Wanted, release: Release, folder: Path) -> Path:
    """Return the Python of a release's environment, which is made if it is not there.

    Raises NotInstalledError, and UnavailableError where there is nothing to install with.
    """
    home = folder / f"{wanted.package}-{release.version}"
    python = home / "bin" / "python"
    if not ((home / MARK).is_file() and python.exists()):
        if release.lacks:
            raise NotInstalledError(release.lacks)
        _make(home, python, wanted, release)
        write_whole(home / MARK, f"{wanted.package}=={release.version}\n".encode())
    return python


def _make(home: Path, python: Path, wanted: Wanted, release: Release) -> None:
    """Try one way after the other until the runtime starts. Raises NotInstalledError."""
    why = ""
    for requirements, alone in _ways(wanted, release):
        if home.exists():
            shutil.rmtree(home)
        made = _installed(home, python, requirements, alone)
        if made and not why:
            why = made
        if not made:
            unable = _unable(python, wanted.runtime)
            if not unable:
                return
            why = unable
    shutil.rmtree(home, ignore_errors=True)
    raise NotInstalledError(why)


def _ways(wanted: Wanted, release: Release) -> Iterator[tuple[list[str], bool]]:
    """Yield what to install, and whether without what that depends on."""
    of_then = ["numpy<2", "numpy"] if release.date and release.date < NUMPY_2 else ["numpy"]
    if not release.date:
        of_then.append("numpy<2")
    for alone in (True, False):
        for numpy in of_then:
            yield [f"{wanted.package}=={release.version}", numpy], alone


def _installed(home: Path, python: Path, requirements: list[str], alone: bool) -> str:
    """Make an environment; gives why it could not be made, '' where it was."""
    for command in _commands(home, python, requirements, alone):
        done = _run(command, INSTALLING)
        if done.returncode:
            return _last_words(done.stderr or done.stdout)
    return ""


def _commands(
    home: Path, python: Path, requirements: list[str], alone: bool
) -> Iterator[list[str]]:
    """Yield the commands that make an environment: of uv where there is one, else of pip.

    Raises UnavailableError where there is neither.
    """
    without = ["--no-deps"] if alone else []
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--python", sys.executable, str(home)]
        yield [uv, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", str(python),
               *without, *requirements]  # fmt: skip
        return
    if _run([sys.executable, "-m", "pip", "--version"], STARTING).returncode:
        said = "nothing is there to install releases with"
        raise UnavailableError(said, hint="install uv, or pip beside convcheck")
    yield [sys.executable, "-m", "venv", "--without-pip", str(home)]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    yield [*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", *without,
           *requirements]  # fmt: skip


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command in its own surroundings: those of this Python are not for another."""
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        return subprocess.run(  # noqa: S603
            command, input=headers.HELLO.decode(), capture_output=True, text=True, check=False,
            timeout=seconds, env=own, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        said = f"{Path(command[0]).name}: no end within {seconds:g} s"
        return subprocess.CompletedProcess(command, 1, "", said)


def _unable(python: Path, runtime: str) -> str:
    """Return why a runtime does not start in its environment, '' where it does."""
    done = _run([str(python), "-I", str(SERVER), runtime], STARTING)
    try:
        hello = json.loads(done.stdout)
        return str(hello.get("unavailable", ""))
    except (ValueError, AttributeError):
        return f"its server exits with status {done.returncode}: {_last_words(done.stderr)}"


def _last_words(text: str) -> str:
    """Return the last line of what was printed that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["it does not say why"])[-1][:LAST]
