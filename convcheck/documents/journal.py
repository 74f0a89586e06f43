"""Write a log during a run, so that a killed run can be resumed.

A line cut short by a kill is removed from the file.
"""

import contextlib
import fcntl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from convcheck.documents.decode import DAMAGE, Reading, check_case, check_part
from convcheck.documents.encode import Writing, head_of
from convcheck.documents.report import FORMAT, Head, Line, encoded, line_text
from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_REPORT, check_regular
from convcheck.judge.reading import Types
from convcheck.judge.result import BackendInfo, Part, RunResult
from convcheck.plan.units import Unit
from convcheck.records import replace
from convcheck.streams import plural

_START = f'{{"format":"{FORMAT}"'
# Fields that identify a run.
_COMMON = (
    "convcheck", "tier", "corpora", "shard", "own_inputs", "consistency", "without_causes",
    "survey", "required",
)  # fmt: skip


@dataclass
class Journal:
    """An open log, with the results so far (`done`, by unit id) and the `backend`, None if not
    started.
    """

    path: Path
    #: The open, locked file.
    file: IO[str]
    #: The run without results.
    run: RunResult
    done: Mapping[str, Part] = field(default_factory=dict)
    backend: BackendInfo | None = None
    writing: Writing = field(default_factory=Writing)

    def name(self, backend: BackendInfo) -> None:
        """Record the backend. Raises UsageError if earlier results are from another one."""
        if self.backend is None:
            self.backend = replace(backend, address=self.run.backend.address)
            self._write(line_text(head_of(replace(self.run, backend=self.backend))))
        elif _name(self.backend) != _name(backend):
            was, now = _name(self.backend), _name(backend)
            hint = f"remove {self.path} to begin anew"
            raise UsageError(f"{self.path} has results of {was}, and this is {now}", hint=hint)

    def add(self, unit: Unit, part: Part) -> None:
        """Record the result of a unit."""
        if part.vectors and not unit.codes:
            line = Line(case=self.writing.case(part.vectors))
        else:
            line = Line(unit=unit.id, part=self.writing.part(part))
        self._write(*self.writing.lines(line))

    def _write(self, *lines: str) -> None:
        try:
            self.file.write("".join(lines))
            self.file.flush()  # flushed data survives a kill
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from None

    def remove(self) -> None:
        """Remove the file after the reports are written."""
        self.path.unlink(missing_ok=True)  # while the lock is held
        self.file.close()


def open_journal(path: str, run: RunResult, types: Types, plan: Sequence[Unit]) -> Journal:
    """Open or create the log of a run. `run` has the known facts.

    Raises UsageError if the file is not a log, is damaged, or belongs to another run.
    """
    with contextlib.ExitStack() as stack:
        try:
            journal = Journal(Path(path), stack.enter_context(_opened(Path(path))), run)
            lines = _whole_lines(journal.file, path)
        except (OSError, UnicodeDecodeError) as error:
            said = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot use {path}: {said}", hint="--resume FILE") from None
        if lines:
            _read(journal, lines, types, {unit.id: unit for unit in plan})
        stack.pop_all()  # keep the file open
    return journal


def _opened(path: Path) -> IO[str]:
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


def _whole_lines(file: IO[str], path: str) -> list[str]:
    """Return the complete lines of a log, and remove a partial last line from the file."""
    check_regular(file.fileno(), MOST_OF_REPORT)
    file.seek(0)
    text = file.read()
    if not (text.startswith(_START) or _START.startswith(text)):
        hint = "--resume names a file of its own, which the run makes"
        raise UsageError(f"{path} is not the log of a run", hint=hint)
    whole = text[: text.rfind("\n") + 1]
    file.truncate(len(whole.encode()))
    return whole.splitlines()


def _read(journal: Journal, lines: Sequence[str], types: Types, plan: Mapping[str, Unit]) -> None:
    reading, done = Reading(types), dict[str, Part]()
    hint = f"remove {journal.path} to begin anew"
    place = Place(str(journal.path), 1)
    try:
        head = reading.head(lines[0].encode())
        _check_alike(journal, head, hint)
        for number, text in enumerate(lines[1:], 2):
            place = Place(str(journal.path), number)
            line = reading.add(text.encode())
            if not line.rule:
                unit, part = _done(line, plan)
                if line.part:
                    check_part(line.part)
                elif line.case and not journal.run.survey:
                    check_case(line.case)
                done[unit.id] = part
    except DAMAGE as error:
        raise UsageError(f"not a line of this run: {error}", place=place, hint=hint) from None
    journal.done, journal.backend = done, head.backend
    journal.writing = Writing(reading.rules)


def _check_alike(journal: Journal, head: Head, hint: str) -> None:
    due = head_of(journal.run)
    pairs = [(name, getattr(head, name), getattr(due, name)) for name in _COMMON]
    pairs.append(("backend", head.backend.address, due.backend.address))
    for name, was, now in pairs:
        if was != now:
            said = f"{journal.path} is of another run: its {name} is {_short(was)}"
            raise UsageError(f"{said}, not {_short(now)}", hint=hint)


def _short(value: object) -> str:
    text = encoded(value).decode()
    return text if len(text) <= 80 else text[:77] + "…"


def _done(line: Line, plan: Mapping[str, Unit]) -> tuple[Unit, Part]:
    """Return the unit and result of a line. Raises ValueError if it belongs to another run."""
    name = line.case.case.id if line.case else line.unit
    unit = plan.get(name)
    if unit is None:
        raise ValueError(f"{name!r} is of another run")
    part = line.part or Part(unit.case, vectors=line.case)
    told = (part.case.id, part.codes, part.sampled, part.units)
    if told != (unit.case.id, unit.codes, unit.sampled, 1):
        raise ValueError(f"{name} is another part of the plan")
    if unit.span is not None and (tally := part.tally):
        if tally.vectors or sum(tally.asked.values()) + tally.declined > unit.span.count:
            raise ValueError(f"it has more than {plural(unit.span.count, 'input')}")
        if tally.covered and tally.covered != unit.span.positions(unit.case):
            raise ValueError("it is of another span")
    return unit, part


def _name(backend: BackendInfo) -> str:
    return f"{backend.name} {backend.version}"
