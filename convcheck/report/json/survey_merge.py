"""Shards of a survey put together: the result is the survey in one piece, byte for byte.

A shard has every row that its cases have, even where no backend took one, and the ids of its cases:
from these follow the order of cases and of rows in the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

from convcheck.errors import UsageError
from convcheck.judge.reading import Types
from convcheck.plan.deal import hand_of, plan_digest, put_together
from convcheck.plan.merge import check_alike, check_options, shard_of, shards_in_order
from convcheck.records import replace
from convcheck.report.json.survey import read_survey
from convcheck.survey.merge import Survey, SurveyRow

_HINT = "`convcheck survey --shard 1/4 --json FILE` makes a shard"
# What the shards of one survey have in common, and how it is said.
_COMMON: tuple[tuple[str, Callable[[Survey], object]], ...] = (
    ("number of shards", lambda s: shard_of(s).of),
    ("plan", lambda s: shard_of(s).plan),
    ("corpus", lambda s: (s.corpus, s.tier)),
    ("backends", lambda s: s.columns),
)
_Key = tuple[str, str, str, str, str]  # operator, rule, row, level, cite
_Order = tuple[int, int, int]  # first backend asked, position in the plan, row of the shard
_Placed = tuple[_Order, SurveyRow, int]  # with the number of a case of the row


def read_shard(path: str, types: Types) -> Survey:
    """Return a shard of a survey. Raises UsageError for a file that is none."""
    found = read_survey(path, types)
    if found.shard is None:
        raise UsageError(f"{path} is a whole survey, not a shard of one", hint=_HINT)
    if found.interrupted:
        said = f"{path} was interrupted: it has a part of its shard"
        raise UsageError(said, hint="survey the shard again")
    return found


def merge_surveys(parts: Sequence[tuple[str, Survey]]) -> Survey:
    """Return the survey of which these are the shards, each with its file's name.

    Raises UsageError unless every shard is there once, and of the same survey.
    """
    one_survey = "one survey: same selection, specs, tier and backends"
    check_options([(name, dict(shard_of(part).options)) for name, part in parts], one_survey)
    check_alike(parts, _COMMON, one_survey)
    shards = shards_in_order(parts)
    plan, dealt = shard_of(shards[0]).plan, [shard.asked for shard in shards]
    names = put_together(dealt, hand_of, lambda names: plan_digest(names) == plan)
    if names is None:
        raise UsageError("the shards do not have all cases of their plan", hint=_HINT)
    rows: dict[_Key, list[_Placed]] = {}
    for key, placed in _placed(shards, names):
        rows.setdefault(key, []).append(placed)
    ordered = (sorted(one, key=itemgetter(0)) for one in rows.values())
    notes = sorted({note for shard in shards for note in shard.notes})
    whole = tuple(map(_row, sorted(ordered, key=lambda one: one[0][0])))
    return replace(shards[0], notes=tuple(notes), rows=whole, shard=None, asked=())


def _placed(shards: Sequence[Survey], names: Sequence[str]) -> Iterator[tuple[_Key, _Placed]]:
    positions = {name: n for n, name in enumerate(names)}
    for shard in shards:
        for at, row in enumerate(shard.rows):
            by = row.decision
            for n, (case, here) in enumerate(zip(row.cases, row.answers, strict=True)):
                first = next((b for b, one in enumerate(here) if one is not None), 0)
                key = (case.op, by.rule, by.row, by.level, by.cite)
                yield key, ((first, positions.get(case.id, 0), at), row, n)


def _row(placed: Sequence[_Placed]) -> SurveyRow:
    """Return a row with the cases of all shards; its place is that of its first case."""
    differences = {id(row): {d.case: d for d in row.differences} for _, row, _ in placed}
    found = [(differences[id(row)].get(row.cases[n])) for _, row, n in placed]
    return SurveyRow(
        placed[0][1].decision,
        tuple(row.cases[n] for _, row, n in placed),
        tuple(row.answers[n] for _, row, n in placed),
        tuple(filter(None, found)),
    )
