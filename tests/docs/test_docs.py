"""The documentation is true: links resolve, commands run, blocks parse.

Hidden HTML comments above a block control its test:

    <!-- not run: why -->      the commands are not run here
    <!-- exits 1 -->           the last command's exit code, if not 0
    <!-- file: known.toml -->  the block is written to that file, for later commands
    <!-- same as: PATH -->     the block equals that file of the checkout

A ```console block has commands after `$ ` and their output, with `...` for any lines. A ```sh block
has only commands. All commands of a page run in one folder with the checkout's docs/.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import click
import pytest
import yaml
from c_compiler import c_compiler
from catalogue import CATALOG
from command import convcheck
from doc_pages import PAGES, Block, anchors, blocks, links, name_of, prose
from places import ROOT

from convcheck.causes.catalogue import causes_of
from convcheck.cli import COMMANDS, group
from convcheck.judge.result import Verdict
from convcheck.numerics.modes import MODES
from convcheck.rules.model import LEVELS
from convcheck.semantics.vocabulary import known_cases, known_outcomes

SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1"}
SHELL = set("|&;<>$()`*?[]{}~")
ALL = [pytest.param(page, id=name_of(page)) for page in PAGES]
README = ROOT / "README.md"


@pytest.mark.parametrize("page", ALL)
def test_links_lead_somewhere(page):
    for link in links(page):
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no such file"
        assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"


@pytest.mark.parametrize("page", ALL)
def test_paths_that_are_named_are_there(page):
    rooms = "convcheck|tests|specs|docs|vectors|\\.ci|\\.github"
    for path in re.findall(rf"`((?:{rooms})/[\w./-]*)`", prose(page)):
        assert (ROOT / path).exists(), path


# Counts and times of runs. Code blocks are run anyway.
COUNTED = re.compile(
    r"\b[0-9](?:[0-9,]*[0-9])? of [0-9]|thousand|dozen|"
    r"\b[0-9][0-9,]* (failing )?(cases|answers|chains|findings|causes|reports|files|MB|GB)\b|"
    r"(about|half a|some \w+|of) (minute|seconds)"
)


@pytest.mark.parametrize("page", ALL)
def test_prose_has_no_number_that_a_run_would_change(page):
    if page.name == "CHANGELOG.md":  # was true of a release
        return
    found = [match[0] for match in COUNTED.finditer(prose(page))]
    assert not found


@pytest.mark.parametrize("page", ALL)
def test_code_blocks_are_what_they_say(page):
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        assert block.language, f"{where}: a block says which language it is"
        if (path := block.mark("same as")) is not None:
            assert block.text == (ROOT / path).read_text("utf-8"), f"{where} is not {path}"
        try:
            parse(block)
        except (ValueError, SyntaxError, yaml.YAMLError) as error:
            pytest.fail(f"{where}: {error}")


def parse(block):
    if block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        yaml.load(block.text, yaml.BaseLoader)
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "python":
        ast.parse(block.text)
    elif block.language == "c":
        check_c(block.text)
    else:
        assert block.language in ("console", "sh", "text"), block.language


def check_c(text):
    command = [c_compiler(), "-fsyntax-only", "-Wall", "-Werror", "-xc", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SyntaxError(done.stderr)


def has_commands(page):
    return any(b.language in ("console", "sh") and b.mark("not run") is None for b in blocks(page))


@pytest.mark.long
@pytest.mark.parametrize("page", [p for p in ALL if has_commands(p.values[0])])
def test_commands_do_what_the_page_shows(page, tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    for block in blocks(page):
        where = f"{name_of(page)}:{block.line}"
        if (name := block.mark("file")) is not None:
            (tmp_path / name).write_text(block.text)
        if block.language not in ("console", "sh"):
            continue
        if (reason := block.mark("not run")) is not None:
            assert reason, f"{where}: why is it not run?"
            continue
        check_commands(block, where, tmp_path)


def check_commands(block, where, folder):
    steps = shown(block.text) if block.language == "console" else listed(block.text)
    code, printed = 0, ""
    for number, (command, output) in enumerate(steps, 1):
        code, printed = run(command, folder)
        assert code == 0 or number == len(steps), f"{where}: {command} exits {code}\n{printed}"
        if output is not None:
            check_output(output, printed, f"{where}: $ {command}")
    assert str(code) == (block.mark("exits") or "0"), f"{where} exits {code}\n{printed}"


def listed(text):
    bare = re.sub(r"(^|\s+)#.*$", "", text, flags=re.MULTILINE)
    return [(line, None) for line in bare.replace("\\\n", "").splitlines() if line.strip()]


def shown(text):
    steps = []
    open_command = False
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line.removeprefix("$ "), ""))
        elif open_command:
            steps[-1] = (f"{steps[-1][0]}\n{line}", "")
        else:
            command, output = steps[-1]
            steps[-1] = (command, f"{output}{line}\n")
        open_command = line.endswith("\\") and (open_command or line.startswith("$ "))
    return steps


def check_output(wanted, printed, where):
    pieces = re.split(r"^ *\.\.\.\n", wanted, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(piece) for piece in pieces)
    tidy = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
    assert re.fullmatch(pattern, tidy), f"{where} prints\n{tidy}\nand not\n{wanted}"


def run(command, folder):
    if command.startswith("convcheck ") and not set(re.sub(r"'[^']*'", "", command)) & SHELL:
        done = convcheck(*shlex.split(command.replace("\\\n", " "))[1:], cwd=folder)
        return done.returncode, done.stdout + done.stderr
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "convcheck"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -W error -m convcheck "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, text=True, timeout=120, check=False,
        env={**os.environ, **SETTINGS, "PATH": f"{program.parent}:{path}"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_check_that_cannot_fail_is_none(tmp_path):
    block = Block("console", "$ convcheck show specs\nnothing\n", 1, ())
    with pytest.raises(AssertionError, match="prints"):
        check_commands(block, "page", tmp_path)
    with pytest.raises(AssertionError, match="exits 2"):
        check_commands(Block("sh", "convcheck show nothing\n", 1, ()), "page", tmp_path)
    with pytest.raises(AssertionError, match="exits 1"):
        check_commands(Block("sh", "false | cat; false\n", 1, ()), "page", tmp_path)
    with pytest.raises(SyntaxError):
        parse(Block("c", "int main(void) { return x; }\n", 1, ()))
    with pytest.raises(AssertionError):
        check_output("a\n...\nc\n", "a\nb\n", "page")
    check_output("a\n...\nc\n", "a\nb\nb\nc\n", "page")


def test_the_readme_is_short_and_its_test_command_is_what_ci_does():
    assert len(README.read_text("utf-8").splitlines()) <= 120
    install, test = next(
        b.text.strip().split(" && ") for b in blocks(README) if b.text.strip().endswith("pytest")
    )
    done = (ROOT / ".ci" / "run").read_text()
    assert install.removeprefix("pip install ") in done
    assert re.search(rf"\b{test}$", done, re.MULTILINE)


def keys_of_spec_files():
    found = []
    for path in (ROOT / "convcheck" / "rules").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                if ast.unparse(node.targets[0]).endswith("_KEYS"):
                    found += node.value.elts
            elif isinstance(node, ast.Call):
                method = ast.unparse(node.func).rpartition(".")[2]
                found += {"need": node.args[:1], "only": node.args}.get(method, [])
    return {e.value for e in found if isinstance(e, ast.Constant) and isinstance(e.value, str)}


def test_the_pages_have_every_key_and_word_of_spec_files():
    pages = [ROOT / "docs" / name for name in ("specs.md", "causes.md")]
    page = "\n".join(path.read_text("utf-8") for path in pages)
    words = {word for path in pages for word in re.findall(r"`([^`\n]+)`", prose(path))}
    keys = keys_of_spec_files()
    assert {"extends", "round", "refused-unless", "ask-a-little", "narrow", "says"} <= keys
    assert not {key for key in keys if f"{key}:" not in page and key not in words}
    named = words | {word.split(" ")[0] for word in words}
    outcomes = {word.split(" ")[0] for word in known_outcomes()}
    assert not ({*known_cases({}), *outcomes, *MODES, *LEVELS} - named)


def test_the_pages_have_every_option():
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert f"convcheck {name}" in pages, name
        for option in command.params:
            words = [word for word in option.opts if word.startswith("-")]
            assert not words or any(word in pages for word in words), f"{name} {words}"


def test_the_page_has_every_json_format():
    page = (ROOT / "docs" / "reports.md").read_text("utf-8")
    for path in (ROOT / "convcheck" / "documents" / "schemas").glob("*.json"):
        assert f"`{path.name}`" in page
        text = path.read_text("utf-8")
        assert all(name in page for name in re.findall(r'"(convcheck-[a-z]+/\d)"', text)), path


def test_the_nightly_run_has_the_slow_tests_and_ci_every_python():
    folder = ROOT / ".github" / "workflows"
    ci, nightly = (yaml.safe_load((folder / f"{n}.yml").read_text()) for n in ("ci", "nightly"))
    command = "pytest -m slow"
    assert command in [step.get("run") for step in nightly["jobs"]["slow"]["steps"]]
    assert command in (ROOT / "docs" / "contributing.md").read_text("utf-8")
    assert ci["jobs"]["pythons"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert ".ci/run" in [step.get("run") for step in ci["jobs"]["whole"]["steps"]]
    for left_out in re.findall(r"--ignore (\S+)", (folder / "ci.yml").read_text()):
        assert (ROOT / left_out.strip("'")).is_file()


def test_the_page_has_the_verdicts_in_their_order():
    page = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
    table = page.split("| verdict | meaning |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `([a-z]+)`", table, re.MULTILINE)) == get_args(Verdict)


PAGE = Path(__file__).parents[2] / "docs" / "causes.md"


def test_the_table_names_causes_of_the_catalogue():
    table = PAGE.read_text("utf-8").partition("| runtime | cause | source |")[2]
    cells = re.findall(r"^\|[^|]*\| (`.*?`) \| ", table, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert len(names) > 50
    assert names <= {cause.name for cause in causes_of(CATALOG)}
