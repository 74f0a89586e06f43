"""The results of a run in a file as they come, a line each, for a run that is killed to go on.

The first line tells which run it is; then come the backend's name, once it is open, and the
results of cases, and tallies of parts of a case.
A line that was cut short by the kill is not there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from convcheck import __version__
from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_REPORT, check_regular
from convcheck.judge.part import Part
from convcheck.judge.reading import Types, hook_of, hooks, with_id
from convcheck.judge.result import BackendInfo, CaseResult
from convcheck.judge.tally import Tally
from convcheck.plan.units import Unit, part_of
from convcheck.records import Record, replace
from convcheck.report.json.codec import encoded
from convcheck.report.json.decode import check_case, check_tally
from convcheck.wording import plural

FORMAT = "convcheck-journal/5"


class Line(Record, frozen=True, kw_only=True):
    """A line after the first: the backend, or the result of a unit, by its vectors or tallied."""

    backend: BackendInfo | None = None
    unit: str = ""
    vectors: CaseResult | None = None
    #: What was found in it.
    tally: Tally | None = None


@dataclass
class Journal:
    """An open journal: what it had (`done`, by id of a unit; `backend`, None where none was
    opened).
    """

    path: Path
    #: The file, open and locked.
    file: IO[str]
    done: Mapping[str, Part] = field(default_factory=dict)
    backend: BackendInfo | None = None

    def name(self, backend: BackendInfo) -> None:
        """Note the backend. Raises UsageError if it is another than that of the results so far."""
        if self.backend is None:
            self._write(encoded(Line(backend=replace(backend, address=""))))
            self.backend = backend
        elif _name(self.backend) != _name(backend):
            was, now = _name(self.backend), _name(backend)
            hint = f"remove {self.path} to begin anew"
            raise UsageError(f"{self.path} has results of {was}, and this is {now}", hint=hint)

    def add(self, unit: Unit, part: Part) -> None:
        """Note the result of a unit."""
        if result := part.vectors or part.lost:
            self._write(encoded(Line(unit=unit.id, vectors=with_id(result))))
        else:
            self._write(encoded(Line(unit=unit.id, tally=part.tally)))

    def _write(self, line: bytes) -> None:
        try:
            self.file.write(line.decode() + "\n")
            self.file.flush()  # what the system has outlives a kill of this process
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from None

    def remove(self) -> None:
        """Remove the file: the run is done, and its reports are written."""
        self.path.unlink(missing_ok=True)  # while no other run can have it
        self.file.close()


def open_journal(path: str, run: Mapping[str, Any], types: Types, plan: Sequence[Unit]) -> Journal:
    """Open the journal of a run of some units, or begin it. `run` is what tells it from others.

    Raises UsageError for a file that is the journal of another run, or none, or damaged.
    """
    head = {"format": FORMAT, "convcheck": __version__, **run}
    with contextlib.ExitStack() as stack:
        try:
            journal = Journal(Path(path), stack.enter_context(_opened(Path(path))))
            lines = _whole_lines(journal.file, head, path)
        except (OSError, UnicodeDecodeError) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot use {path}: {said}", hint="--resume FILE") from None
        except (ValueError, RecursionError) as error:
            said = f"{path} is not the journal of a run: {error}"
            raise UsageError(said, hint="--resume FILE") from None
        if lines:
            _read(journal, lines[1:], types, {unit.id: unit for unit in plan})
        else:
            journal._write(json.dumps(head).encode())
        stack.pop_all()  # it stays open
    return journal


def _opened(path: Path) -> IO[str]:
    """Open a file for this run alone."""
    if path.exists() and not path.is_file():  # a device would be removed at the end
        raise UsageError(f"cannot use {path}: it is not a regular file", hint="--resume FILE")
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        hint = "wait for it, or name another file"
        raise UsageError(f"another run is writing {path}", hint=hint) from None
    except OSError:
        pass  # a file system without locks
    return file


def _whole_lines(file: IO[str], head: Mapping[str, Any], path: str) -> list[str]:
    """Return the lines of a journal, and take one that was cut short out of the file."""
    check_regular(file.fileno(), MOST_OF_REPORT)
    file.seek(0)
    text = file.read()
    whole = text[: text.rfind("\n") + 1]
    lines = whole.splitlines(keepends=True)
    if lines:
        _check(json.loads(lines[0]) if lines[0].startswith("{") else None, head, path)
    elif not json.dumps(head).startswith(text):
        _check(None, head, path)
    file.truncate(len(whole.encode()))
    return lines


def _check(found: Any, head: Mapping[str, Any], path: str) -> None:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        hint = "--resume names a file of its own, which the run makes"
        raise UsageError(f"{path} is not the journal of a run", hint=hint)
    for key, due in head.items():
        if found.get(key) != due:
            said = f"{path} is of another run: its {key} is {_short(found.get(key))}"
            raise UsageError(f"{said}, not {_short(due)}", hint=f"remove {path} to begin anew")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _read(journal: Journal, lines: Sequence[str], types: Types, plan: Mapping[str, Unit]) -> None:
    done: dict[str, Part] = {}
    hook = hook_of(hooks(types, {unit.case.id: unit.case for unit in plan.values()}))
    decoder = msgspec.json.Decoder(Line, dec_hook=hook)
    for number, text in enumerate(lines, 2):
        try:
            line = decoder.decode(text)
            if line.backend:
                journal.backend = line.backend
            else:
                done[line.unit] = _part(line, plan)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            place = Place(str(journal.path), number)
            hint = f"remove {journal.path} to begin anew"
            raise UsageError(f"not a case's result: {error}", place=place, hint=hint) from None
    journal.done = done


def _part(line: Line, plan: Mapping[str, Unit]) -> Part:
    unit = plan.get(line.unit)
    if unit is None:
        raise ValueError(f"{line.unit!r} is of another run")
    if line.vectors:
        if line.vectors.groups:  # what is surveyed has none
            check_case(line.vectors)
        return _fitting(unit, line.vectors)
    if line.tally is None:
        raise ValueError(f"{line.unit} has no result")
    check_tally(unit.case, line.tally)
    return _fitting(unit, line.tally)


def _name(backend: BackendInfo) -> str:
    return f"{backend.name} {backend.version}"


def _fitting(unit: Unit, found: CaseResult | Tally) -> Part:
    """Make the part of a unit. Raises ValueError for what is of another."""
    part, of = part_of(unit, found), found.case if isinstance(found, CaseResult) else unit.case
    if of.id != unit.case.id:
        raise ValueError(f"{of.id} is not {unit.case.id}")
    if unit.span is not None and isinstance(found, Tally):
        if found.vectors or sum(found.asked.values()) + found.declined > unit.span.count:
            raise ValueError(f"it has more than {plural(unit.span.count, 'input')}")
        if found.covered and found.covered != unit.span.positions(unit.case):
            raise ValueError("it is of another span")
    return part
