"""Abuse cases: command lines and how they have to end."""

import os
import shlex
import shutil
from dataclasses import dataclass

from command import convcheck

ONE = "onnx.Cast-21 --from bool --to float32"
RUN = f"run --backend reference {ONE}"


@dataclass(frozen=True)
class Abuse:
    """A command line, run in a folder with the files of `FILES`, and its expected end."""

    command: str
    code: int
    said: str
    #: The only files that the command may create.
    written: tuple[str, ...] = ()

    def __str__(self):
        return self.command


def check_abuse(case, folder, stdout=None):
    """Run a command line and check its end. No existing file changes, and none is half-written."""
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


def contents(folder):
    return {
        str(path.relative_to(folder)): os.fsencode(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def copied(prepared, folder):
    shutil.copytree(prepared, folder, dirs_exist_ok=True, symlinks=True)
    return folder
