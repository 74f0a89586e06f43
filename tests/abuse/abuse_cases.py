"""What a case of abuse is: a line of a table, and how it is put to the command line."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from command import Done, convcheck

ONE = "onnx.Cast-21 --from bool --to float32"
RUN = f"run --backend reference {ONE}"


@dataclass(frozen=True)
class Abuse:
    """A command line, put where there are the files of `FILES`, and what has to come of it."""

    #: Its words, as for a shell.
    command: str
    #: The exit code that is due.
    code: int
    #: What has to be in what is said.
    said: str
    #: Files that have to be there when it has ended, and none else that were not before.
    written: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.command


def check_abuse(case: Abuse, folder: Path, stdout: IO[str] | None = None) -> Done:
    """Hold a command line to how it has to end: no file that was there is touched, and nothing is
    half-written.
    """
    before = contents(folder)
    done = convcheck(*shlex.split(case.command), cwd=folder, stdout=stdout)
    said = done.stdout + done.stderr
    assert done.returncode == case.code, said
    assert case.said in said
    assert "Traceback" not in said
    after = contents(folder)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) == set(case.written)
    return done


def contents(folder: Path) -> dict[str, bytes]:
    """Return what the files of a folder hold; a link holds where it leads to."""
    return {
        str(path.relative_to(folder)): os.fsencode(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def copied(prepared: Path, folder: Path) -> Path:
    """Return a folder of a case's own, with the files that there are."""
    shutil.copytree(prepared, folder, dirs_exist_ok=True, symlinks=True)
    return folder
