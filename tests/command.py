"""Run the command line in this process or a new one; compare golden files."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import chdir, contextmanager
from pathlib import Path
from unittest.mock import patch

from catalogue import CATALOG
from places import GOLDEN
from report_json import parsed

from convcheck.__main__ import main
from convcheck.cli import outputs
from convcheck.rules import load as loading
from convcheck.rules.load import load

Done = subprocess.CompletedProcess[str]


def convcheck(*arguments, cwd=None, stdout=None, **environment):
    """Run the command line in this process; warnings are errors.

    The environment is restored. Workers are processes; without --jobs there is one, since a second
    would load the runtime again. The built-in specs are loaded once.
    """
    words = ["convcheck", *map(str, arguments)]
    with (
        in_process(words, cwd, stdout, **environment) as streams,
        patch.object(outputs, "FIRST", 3600.0),  # a busy machine must not print progress
        patch.object(os, "cpu_count", lambda: 1),
    ):
        code = ended()
    return Done(words, code, *map(text_of, streams))


@contextmanager
def in_process(words, cwd=None, stdout=None, **environment):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        surroundings(cwd, environment),
        patch.multiple(sys, argv=words, stdin=io.StringIO(), stdout=stdout or out, stderr=err),
        patch.object(loading, "load", loaded),
    ):
        yield out, err


def loaded(folders=()):
    return load(folders) if folders else CATALOG


def ended():
    try:
        main(own=False)
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("the entry point returned")


@contextmanager
def surroundings(cwd, environment):
    folder = cwd or Path.cwd()
    with (
        chdir(folder),
        patch.dict(os.environ, variables(environment)),
        patch.multiple(sys, path=[str(folder), *sys.path], warnoptions=["error"]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        yield


def text_of(stream):
    stream.flush()
    held = stream.buffer
    assert isinstance(held, io.BytesIO)
    return held.getvalue().decode()


def convcheck_process(*arguments, cwd=None, **environment):
    command = [sys.executable, "-W", "error", "-m", "convcheck", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables(environment)}, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def refused(*arguments, **more):
    """Run a command line that is a mistake of its user, and return the message."""
    done = convcheck(*arguments, **more)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def run_shards(folder, of, *words, codes=(0,)):
    """Run each shard of a run, and return their reports."""
    paths = [folder / f"{number}.json" for number in range(1, of + 1)]
    for number, path in enumerate(paths, 1):
        done = convcheck("run", *words, "--shard", f"{number}/{of}", "-o", path)
        assert done.returncode in codes, done.stderr
    return paths


def variables(environment):
    return {"COLUMNS": "80", "NO_COLOR": "1", **environment}


def report_at(path):
    """Return a JSON report with defaults filled in."""
    return told(parsed(path.read_text()))


RUN = {"interrupted": False, "ended_early": False, "consistency": False, "notes": []}
CASE = {"message": "", "checked": 0, "coverage": "edge", "ranks": (), "attributes": {}}
GROUP = {"verdict": "pass", "kind": "", "digest": "", "reading": "", "placement": "", "ranges": []}


def bits(word):
    """Return a code in hexadecimal, a text or a pattern unchanged."""
    return str(word[0] if isinstance(word, list) else word)


def shown(example):
    whole = {"message": "", "got": None, "difference": None, **example}

    def side(found):
        if example["asked"] == "value" or found is None or isinstance(found, str):
            return None if found is None else bits(found)
        return [tensor(one) for one in found]

    def tensor(one):
        words = list(map(bits, one.get("words", ())))
        return {"shape": [], "first": 0, **one, "bits": words}

    given = [bits(w) if example["asked"] == "value" else tensor(w) for w in example["inputs"]]
    arguments = list(map(bits, example.get("arguments", ())))
    sides = {key: side(whole[key]) for key in ("expected", "got")}
    return {**whole, "input": given, "arguments": arguments, **sides}


def told(found):
    rules = found.get("rules", ())
    cases = [
        {
            **CASE,
            "spec": one["case"]["id"].partition("/")[0],
            **one["case"],
            **one,
            "groups": [
                {**GROUP, **rules[group["rule"]], **group}
                | {
                    "rule": rules[group["rule"]]["rule"],
                    "examples": [shown(example) for example in group.get("examples", ())],
                }
                for group in one.get("groups", ())
            ],
        }
        for one in found["cases"]
    ]
    return {**RUN, **found, "cases": cases}


def check_golden(name, text, width=80):
    """Compare a text with its golden file; lines have at most `width` characters unless None.

    CONVCHECK_UPDATE_GOLDEN=1 rewrites the file.
    """
    path = GOLDEN / name
    if os.environ.get("CONVCHECK_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert width is None or max(map(len, text.splitlines())) <= width
