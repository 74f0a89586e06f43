"""Draw the history of a runtime, a column for each release."""

from collections.abc import Iterator, Sequence

from convcheck.causes.gather import letter_of
from convcheck.history.matrix import (
    Bisected,
    CauseHistory,
    History,
    ReleaseTurn,
    RowHistory,
    State,
)
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, INDENT, Block, Text, downwards
from convcheck.report.findings import said_of
from convcheck.streams import plural

_SIGNS: dict[State | None, tuple[str, str]] = {
    "fails": ("X", "bold red"), "otherwise": ("~", "yellow"), "passes": (".", "green"),
    "lacks": ("-", "dim"), None: ("!", "bold red"),
}  # fmt: skip
_MEANS: dict[State | None, str] = {
    "fails": "fails by this cause", "otherwise": "fails otherwise", "passes": "passes",
    "lacks": "lacks it, or nothing is due", None: "could not be asked",
}  # fmt: skip
_TURNS: tuple[tuple[State, State, str], ...] = (
    ("passes", "fails", "breaks in"),
    ("lacks", "fails", "comes with its kernel in"),
    ("otherwise", "fails", "fails so, and otherwise before, from"),
    ("fails", "passes", "fixed in"),
    ("fails", "otherwise", "fails otherwise from"),
    ("fails", "lacks", "gone with its kernel in"),
)


def history_page(found: History) -> Iterator[Block]:
    """Yield missing releases, a line for each cause, then the rows of changed causes, or of all."""
    for one in found.asked:
        if one.why:
            said = f"! {one.release}: {one.why}"
            yield Text(said, "red", hang=4)
    lettered = list(_lettered(found.causes))
    if lettered:
        yield from _overview(found, lettered)
    changed = any(cause.changes for _, cause in lettered)
    for letters, cause in lettered:
        if cause.changes or not changed:
            yield BLANK
            yield from _cause(letters, cause, found)


def _lettered(causes: Sequence[CauseHistory]) -> Iterator[tuple[str, CauseHistory]]:
    letters: dict[str, str] = {}
    for one in sorted(causes, key=lambda one: not one.changes):
        for cause in one.causes:
            letters.setdefault(cause.name, letter_of(len(letters)))
        yield "+".join(letters[cause.name] for cause in one.causes) or "?", one


def _overview(found: History, lettered: Sequence[tuple[str, CauseHistory]]) -> Iterator[Block]:
    releases = [one.release for one in found.asked]
    label = max(len(letters) for letters, _ in lettered) + 2
    for column in downwards([release.version for release in releases]):
        yield Text("".join(column), "dim", label, whole=True)
    seen = set()
    for letters, cause in lettered:
        states = [cause.state(release) for release in releases]
        seen.update(states)
        signs = [(letters.ljust(label), "bold"), *(_SIGNS[state] for state in states), ("  ", "")]
        yield Text(cause_in_words(cause), "dim", label=signs)
    known = "   ".join(f"{_SIGNS[one][0]} {means}" for one, means in _MEANS.items() if one in seen)
    yield Text(known, "dim", label)


def cause_in_words(cause: CauseHistory) -> str:
    """Return the effects of causes, if known."""
    return said_of(cause.causes) or "no cause is known"


def _cause(letters: str, cause: CauseHistory, found: History) -> Iterator[Block]:
    yield Text(f"{letters}  {cause_in_words(cause)}", "bold", hang=3)
    alike = grouped((tuple(row_story(row, found)), row) for row in cause.rows)
    for told, rows in alike.items():
        for row in rows:
            name = f"{row.key.rule} / {row.key.row}  {row.key.place}".rstrip()
            signs = [_SIGNS[row.state(one.release)] for one in found.asked]
            yield Text(name, label=[("   ", ""), *signs, ("  ", "")])
        yield from (Text(line, "dim", INDENT, hang=2) for line in told)


def row_story(row: RowHistory, found: History) -> Iterator[str]:
    """Yield the first bad release, each change, and whether it still fails."""
    releases, first = list(row.states), row.first_bad
    count = plural(row.failing(first), "case")
    if first == releases[0]:
        yield f"first bad: {first}, {count}; nothing before it was asked"
    for turn in row.turns:
        for before, after, said in _TURNS:
            if number := turn.count(before, after):
                start = "first bad: " if turn.after == first and after == "fails" else ""
                yield f"{start}{said} {turn.after}, {plural(number, 'case')}{_gap(turn, found)}"
    if left := row.failing(releases[-1]):
        yield f"still so in {releases[-1]}, {plural(left, 'case')}"


def _gap(turn: ReleaseTurn, found: History) -> str:
    all_of_them = [one.release for one in found.asked]
    between = all_of_them[all_of_them.index(turn.before) + 1 : all_of_them.index(turn.after)]
    names = ", ".join(release.version for release in between)
    return f", or in {names}, which could not be asked" if names else ""


def bisected_page(found: Bisected, cause: str) -> Iterator[Block]:
    """Yield the tested releases and the pair with the change."""
    for step in found.steps:
        said = f"in {step.count} of {plural(found.cases, 'case')}"
        said += "" if step.judged else "; it lacks them all"
        if step.asked.why:
            said = f"could not be asked: {step.asked.why}"
        yield Text(f"{step.asked.release}: {said}", hang=2)
    yield Text(_conclusion(found, cause), "bold", hang=2)


def _conclusion(found: Bisected, cause: str) -> str:
    if found.between is None:
        first, last = found.steps[:2]
        if first.asked.why or last.asked.why:
            return "an end of the range could not be asked: choose another"
        both = "both ends show it" if first.count else "neither end shows it"
        return f"nothing to bisect for {cause}: {both}"
    low, high = found.between
    gap = f"; {', '.join(found.missing)} could not be asked" if found.missing else ""
    if high.count:
        how = "passes them" if low.judged else "lacks them"
        return f"{cause}: first bad in {high.asked.release}; {low.asked.release} {how}{gap}"
    how = "fixed in" if high.judged else "gone with the kernels in"
    return f"{cause}: {how} {high.asked.release}; {low.asked.release} is the last that has it{gap}"
