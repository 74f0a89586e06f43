"""Run repro scripts as a maintainer would, several per interpreter."""

import json
import subprocess
import sys

_MANY = """
import contextlib, io, json, runpy, sys
done = []
for path in sys.argv[1:]:
    said = io.StringIO()
    sys.argv = [path]
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(path, run_name="__main__")
            code = "none"
        except SystemExit as end:
            code = end.code
    done.append((code, said.getvalue()))
print(json.dumps(done))
"""


def run_many(paths):
    done = subprocess.run(
        [sys.executable, "-c", _MANY, *map(str, paths)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads(done.stdout)]


def run_one(path):
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout
