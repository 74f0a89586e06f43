"""An environment with an old ONNX Runtime and the numpy that it needs, made once a session."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from pathlib import Path

RELEASE = "1.16.3"
WANTED = (f"onnxruntime=={RELEASE}", "numpy==1.26.4")


def old_environment(folder: Path) -> Path:
    """Return the Python of the environment, which is made in a folder that all processes of a
    session share, by the first of them.
    """
    home = folder / "onnxruntime-old"
    with (folder / "onnxruntime-old.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = home / "bin" / "python"
        if not (home / "made").exists():
            venv.create(home, with_pip=False, clear=True, symlinks=True)
            command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet",
                       "--no-deps", "--no-compile", *WANTED]  # fmt: skip
            subprocess.run(command, check=True, timeout=300)
            (home / "made").touch()
        return python
