"""Sentences that users read, as an engineer would write them."""

from __future__ import annotations

import click
import numpy as np
from places import ROOT
from report_runs import ELSE, answered, case, group, run

from convcheck.backends.process.probe import STEPS
from convcheck.cli import COMMANDS
from convcheck.cli import group as group_of_commands
from convcheck.judge.kinds import kinds_of
from convcheck.judge.result import Example, RunResult
from convcheck.numerics.format import Int
from convcheck.report.document import Document
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.finding import finding_blocks
from convcheck.semantics.expected import EXACT

INT8 = Int(8, signed=True)


def off_by_one(count: int) -> RunResult:
    """Make a run with a finding under one reading: so many of 156 inputs, each one too large."""
    got, due = np.array([6], np.uint8), np.array([5], np.uint8)
    [kind] = kinds_of(INT8, due, np.array([EXACT], np.uint8), got).tolist()
    example = Example((0x40B00000,), 5, 6)
    wrong = group(ELSE, "fail", kind, (count, 156), (), (example,), "nearest-even")
    return run(answered(case("onnx.Cast-21", "float32", "int8"), wrong))


def sentence(count: int) -> str:
    """Return what is printed of the finding, on one line."""
    [finding] = Document(off_by_one(count)).findings
    return " ".join(" ".join(plain_lines(finding_blocks(finding), 80)).split())


def test_in_which_way_and_by_which_reading() -> None:
    assert "off by one, too large; closest reading: nearest-even;" in sentence(5)


def test_what_a_changed_entry_asks_for() -> None:
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert (
        "if this is\n      intended, replace known.toml:4-12 with:\n" in text
    )  # tests/gate has it
    assert "An entry for another tier or version of the backend is\nignored." in text


def test_vectors_are_run_against_a_backend() -> None:
    assert COMMANDS["run"].startswith("Run test vectors against a backend ")
    context = click.Context(group_of_commands)
    said = " ".join(group_of_commands.get_help(context).split())
    assert "Test vectors are made from them and run against a backend" in said
    for name in COMMANDS:
        command = group_of_commands.get_command(context, name)
        assert command
        help_page = " ".join(command.get_help(click.Context(command)).split())
        assert "put to a backend" not in help_page, name


def test_what_the_protocol_says_of_requests() -> None:
    assert any("Requests may be pipelined; answer in order. " in said for said in STEPS.values())
