"""Read logs and check their consistency."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from convcheck.causes.gather import names_told
from convcheck.documents.report import FORMAT, End, Head, Line
from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text
from convcheck.judge.answers import PLACEMENTS
from convcheck.judge.ranges import Pair, joining
from convcheck.judge.reading import Types, hook_of, hooks
from convcheck.judge.result import (
    BY_CALL,
    FAILURES,
    SORTS,
    CallExample,
    CaseResult,
    Part,
    RunResult,
    Tally,
    case_verdict,
)
from convcheck.numerics.format import Format, Text
from convcheck.records import replace
from convcheck.report.counts import summary_of
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.streams import plural

_WHOLE = ("error", "crashed", "refused", "unsupported")  # verdicts without groups
_HINT = "a report is what `convcheck run -o FILE.jsonl` writes"
_EARLIER = ("convcheck-report/1", "convcheck-report/2", "convcheck-reports/2")
_START = b'{"format":'  # of a head
DAMAGE = (ValueError, LookupError, TypeError, OverflowError, RecursionError)


class _Format(msgspec.Struct):
    format: str = ""


def read(path: str, types: Types) -> RunResult:
    """Return the run in a log.

    Raises UsageError unless the file is the log of one run, of this version, with known types.
    """
    runs = list(read_each(path, types))
    if len(runs) != 1:
        said = f"{path} has the runs of {plural(len(runs), 'backend')}"
        raise UsageError(said, hint="name the report of one")
    return runs[0]


def read_each(path: str, types: Types, *, surveys: bool = False) -> Iterator[RunResult]:
    """Yield the run of each log in a file, and surveys if `surveys`.

    Unfinished runs have only their finished cases. Raises UsageError like `read`.
    """
    try:
        text = read_text(Path(path), MOST_OF_REPORT).encode()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=_HINT) from None
    lines = text.splitlines()
    _check_format(path, lines)
    if not text.endswith((b"\n", b"}")):  # the last line is cut short, for example by a kill
        lines.pop()
    starts = [at for at, line in enumerate(lines) if line.startswith(_START)]
    found = 0
    for start, end in pairwise([*starts, len(lines)]):
        reading = Reading(types)
        at = start
        try:
            head = reading.head(lines[start])
            for at in range(start + 1, end):
                reading.add(lines[at])
            at = start
            if head.survey and not surveys:
                raise UsageError(f"{path} is a survey", hint="`convcheck report` shows it")
            if not head.error:
                yield reading.run(head)
                found += 1
        except DAMAGE as error:
            said = f"line {at + 1}: {error}" if at > start else str(error)
            raise UsageError(f"{path} is a damaged report: {said}", hint=_HINT) from None
    if not found:
        raise UsageError(f"{path} has no report in it", hint=_HINT)


def _check_format(path: str, lines: Sequence[bytes]) -> None:
    several = lines[:1] == [b"{"]  # another format, or an earlier version
    try:
        found = msgspec.json.decode(
            b"\n".join(lines if several else lines[:1]), type=_Format
        ).format
    except msgspec.ValidationError:
        found = ""
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", hint=_HINT) from None
    if found in _EARLIER:
        said = f"{path} is a {found}, which an earlier version of convcheck wrote"
        raise UsageError(said, hint="run again with this version")
    if found != FORMAT:
        said = f"{path} is not a {FORMAT}" + (f" but a {found}" if found else "")
        raise UsageError(said, hint=_HINT)


class Reading:
    """Reads a log, line by line."""

    def __init__(self, types: Types) -> None:
        self.rules: list[Decision] = []
        self.cases: list[CaseResult] = []
        self.parts: list[Part] = []
        self.end: End | None = None
        self._line = msgspec.json.Decoder(Line, dec_hook=hook_of(hooks(types, rules=self.rules)))

    def head(self, text: bytes) -> Head:
        """Return the head. Raises ValueError with the path."""
        return msgspec.json.decode(text, type=Head)

    def add(self, text: bytes) -> Line:
        """Read another line. Raises ValueError with the path, or UsageError for unknown types."""
        line = self._line.decode(text)
        if self.end:
            raise ValueError("it goes on after its end")
        if line.rule:
            self.rules.append(line.rule)
        elif line.case:
            self.cases.append(line.case)
        elif line.part:
            if not line.unit:
                self.parts.append(line.part)
        elif line.end:
            self.end = line.end
        else:
            raise ValueError("the line says nothing")
        return line

    def run(self, head: Head) -> RunResult:
        """Return the run. Raises ValueError if its parts disagree."""
        cases, parts, end = tuple(self.cases), tuple(self.parts), self.end
        if end is None:  # its catalogue of causes is missing
            cases = tuple(replace(case, diagnosis=None) for case in cases)
            end = End(interrupted=True)
        given = {
            name: getattr(source, name)
            for source in (head, end)
            for name in source.__struct_fields__
            if name in RunResult.__struct_fields__
        }
        result = RunResult(**given | {"cases": cases, "parts": parts, "causes": end.catalogue})
        _check(result)
        if self.end and end.summary != summary_of(result):
            raise ValueError("its summary is not that of its cases")
        if head.corpus_sha256 != result.corpus:
            raise ValueError("its corpus is not that of its specs")
        return result


def _check(result: RunResult) -> None:
    known = {cause.name for cause in result.causes}
    if missing := sorted(names_told(result.cases, result.parts) - known):
        raise ValueError(f"it does not say what the cause {missing[0]} is")
    for ids in ([c.case.id for c in result.cases], [p.case.id for p in result.parts]):
        if twice := [one for one, count in Counter(ids).items() if count > 1]:
            raise ValueError(f"{twice[0]} stands twice")
    if result.shard and not 1 <= result.shard.index <= result.shard.of:
        raise ValueError(f"{result.shard.index}/{result.shard.of} is not a shard")
    for case in result.cases if not result.survey else ():
        check_case(case)
    for part in result.parts:
        check_part(part)


def check_case(result: CaseResult) -> None:
    """Raise ValueError unless a case's groups match its verdict and counts."""
    name, groups = result.case.id, result.groups
    due = case_verdict(groups)
    if result.verdict not in (due, "error", *(() if groups else _WHOLE)):
        raise ValueError(f"the verdict of {name} is {result.verdict}, of its groups {due}")
    counted = sum(group.count for group in groups if not group.placement)
    if counted != result.checked:
        raise ValueError(f"the groups of {name} have {counted} of {result.checked} asked")
    for group in groups:
        if not 0 < group.count <= group.of:
            raise ValueError(f"{name} has {group.count} of {group.of} under {group.decision.name}")
        _check_codes(result.case, group.examples, group.ranges)
    fits = result.diagnosis.fits if result.diagnosis else ()
    failing = [group for group in groups if group.verdict in FAILURES]
    if fits and result.verdict in FAILURES and not any(group.examples for group in failing):
        raise ValueError(f"{name} has no example of what its causes explain")


def _check_codes(case: Case, examples: Iterable[Any], ranges: Iterable[Any]) -> None:
    source = case.inputs[0].format
    for pair in ranges:
        _check_words(source, pair)
    for one in examples:
        if isinstance(one, CallExample):
            due = () if isinstance(one.expected, str) else one.expected
            for strip in (*one.inputs, *due, *(one.got or ())):
                _check_words(strip.format, strip.words)
        elif not case.outputs:
            raise ValueError(f"{case.id} has no elements that are asked one by one")
        else:
            for dtype, word in zip(case.inputs, one.inputs, strict=False):
                _check_words(dtype.format, (word,))
            _check_words(case.outputs[0].format, (one.expected, one.got))


def _check_words(fmt: Format | None, words: Iterable[Any]) -> None:
    for word in words:
        if isinstance(word, int) and fmt is not None:
            if isinstance(fmt, Text) or word >> 8 * fmt.storage.itemsize:
                raise ValueError(f"{word:#x} is not a code of its type")
        elif isinstance(word, str) and not isinstance(fmt, Text) and word[:1] != "<":
            raise ValueError(f"{word!r} is not a code of its type")


def check_part(part: Part) -> None:
    """Raise ValueError if an unfinished case does not match its units."""
    name, bits = part.case.id, getattr(part.case.inputs[0].format, "bits", 0)
    for result in (part.vectors, part.lost):
        if result is not None:
            check_case(result)
            if result.case != part.case:
                raise ValueError(f"{result.case.id} is not {name}")
    if part.tally is not None:
        check_tally(part.case, part.tally)
    if not 0 <= part.codes <= 10**12 or (not part.sampled and part.codes != 1 << bits):
        raise ValueError(f"{name} does not have {plural(part.codes, 'input')}")
    if not 1 <= part.units <= 1 + len(part.firsts):
        raise ValueError(f"{name} has {plural(1 + len(part.firsts), 'unit')}, not {part.units}")
    if not (part.vectors or part.tally or part.lost):
        raise ValueError(f"{name} has nothing")


def check_tally(case: Case, tally: Tally) -> None:
    """Raise ValueError if a tally has wrong counts or positions.

    Each element counts once under each reading of its decision.
    """
    source = case.inputs[0].format
    if isinstance(source, Text):
        raise ValueError(f"{case.id} is of texts, and those have no tallies")
    if len(dict(tally.entries)) < len(tally.entries):
        raise ValueError("something is counted twice")
    found: Counter[tuple[int, int]] = Counter()
    pairs: list[Pair] = [*tally.covered]
    for key, entry in tally.entries:
        known = key.sort in SORTS and key.placement in PLACEMENTS
        if not known or key.reading == BY_CALL or entry.count < 1:
            raise ValueError(f"{key} is not counted")
        if key.reading >= len(tally.decisions[key.decision].readings):
            raise ValueError(f"decision {key.decision} of {case.id} has no reading {key.reading}")
        if not key.placement:
            found[key.decision, key.reading] += entry.count
        pairs += (*entry.ranges.kept, *entry.ranges.loose)
        for sample in filter(None, (entry.first, entry.extreme)):
            pairs.append((sample.position, sample.position))
            _check_codes(case, [sample.example], ())
            if not sample.error >= 0:
                raise ValueError(f"no sample: position {sample.position}, error {sample.error}")
    asked = tally.asked.items()
    due = {(i, r): n for i, n in asked for r in range(len(tally.decisions[i].readings))}
    if found != due:
        raise ValueError("its counts are not those of what was asked")
    size = 1 << source.bits
    if wrong := [(a, b) for a, b in pairs if not 0 <= a <= b < size]:
        raise ValueError(f"{wrong[0][0]} to {wrong[0][1]} is not a range of {size} positions")
    if tally.covered != joining(tally.covered):
        raise ValueError("what is covered overlaps")
    if not 0 <= tally.vectors <= sum(tally.asked.values()) or tally.declined < 0:
        raise ValueError("it has more vectors than were asked")
    for fault in tally.faults:
        _check_codes(case, fault.examples, fault.ranges)
