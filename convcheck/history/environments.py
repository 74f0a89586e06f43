"""Create an environment for each release with uv or pip, and keep it.

An environment has numpy and the runtime, and its dependencies only if the runtime does not start
without them. Releases from before numpy 2 are first tried with numpy 1. A mark file, written last,
shows that an environment is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from convcheck.backends.native import cache_folder
from convcheck.backends.process import headers
from convcheck.backends.process.environment import SERVER
from convcheck.errors import UnavailableError, UsageError
from convcheck.files import write_whole
from convcheck.history.releases import Release, Wanted

NUMPY_2 = "2024-06-16"  # release date of numpy 2.0.0
INSTALLING = 1800.0  # seconds
STARTING = 120.0  # seconds
MARK = "convcheck-made"
LAST = 300  # characters of an installer's or Python's output


class NotInstalledError(Exception):
    """A release cannot be installed, or its runtime does not start."""


def environments_folder(given: str | None) -> Path:
    """Return the folder of environments, after creating it: `given`, or one in the user's cache.

    Raises UsageError.
    """
    folder = Path(given) if given else cache_folder("history")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is a file" if folder.is_file() else error.strerror or str(error)
        hint = "--env-dir names a folder for environments; it is created if missing"
        raise UsageError(f"cannot create the folder {folder}: {why}", hint=hint) from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write to the folder {folder}", hint="name another with --env-dir")
    return folder.absolute()


def made_environment(wanted: Wanted, release: Release, folder: Path) -> Path:
    """Return the Python of a release's environment, after creating it if needed.

    Raises NotInstalledError, or UnavailableError without an installer.
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
    """Yield requirements, and whether to install them without dependencies."""
    of_then = ["numpy<2", "numpy"] if release.date and release.date < NUMPY_2 else ["numpy"]
    if not release.date:
        of_then.append("numpy<2")
    for alone in (True, False):
        for numpy in of_then:
            yield [f"{wanted.package}=={release.version}", numpy], alone


def _installed(home: Path, python: Path, requirements: list[str], alone: bool) -> str:
    for command in _commands(home, python, requirements, alone):
        done = _run(command, INSTALLING)
        if done.returncode:
            return _last_words(done.stderr or done.stdout)
    return ""


def _commands(
    home: Path, python: Path, requirements: list[str], alone: bool
) -> Iterator[list[str]]:
    """Yield the commands that create an environment with uv, or else pip.

    Raises UnavailableError without either.
    """
    without = ["--no-deps"] if alone else []
    if uv := shutil.which("uv"):
        yield [uv, "venv", "--quiet", "--python", sys.executable, str(home)]
        yield [uv, "pip", "install", "--quiet", "--only-binary", ":all:", "--python", str(python),
               *without, *requirements]  # fmt: skip
        return
    if _run([sys.executable, "-m", "pip", "--version"], STARTING).returncode:
        said = "no installer for releases"
        raise UnavailableError(said, hint="install uv or pip")
    yield [sys.executable, "-m", "venv", "--without-pip", str(home)]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    yield [*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", *without,
           *requirements]  # fmt: skip


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command without PYTHONPATH and PYTHONHOME."""
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        return subprocess.run(  # noqa: S603
            command, input=headers.HELLO.decode(), capture_output=True, text=True, check=False,
            timeout=seconds, env=own, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        said = f"{Path(command[0]).name}: not finished within {seconds:g} s"
        return subprocess.CompletedProcess(command, 1, "", said)


def _unable(python: Path, runtime: str) -> str:
    done = _run([str(python), "-I", str(SERVER), runtime], STARTING)
    try:
        hello = json.loads(done.stdout)
        return str(hello.get("unavailable", ""))
    except (ValueError, AttributeError):
        return f"its server exits with status {done.returncode}: {_last_words(done.stderr)}"


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no error message"])[-1][:LAST]
