"""Shards of a survey put together: the result is the survey in one piece, byte for byte.

A shard has every row that its cases have, even where no backend took one, and the ids of its cases:
from these follow the order of cases and of rows in the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

import msgspec

from convcheck.errors import UsageError
from convcheck.plan.deal import hand_of, plan_digest, put_together
from convcheck.plan.merge import check_alike, check_options, shards_in_order
from convcheck.report.json.codec import parse, struct
from convcheck.report.json.survey import (
    FORMAT,
    SurveyedCaseJson,
    SurveyJson,
    SurveyRowJson,
    SurveyShardJson,
)
from convcheck.rules.model import op_and_version

_HINT = "`convcheck survey --shard 1/4 --json FILE` makes a shard"
# What the shards of one survey have in common, and how it is said.
_COMMON: tuple[tuple[str, Callable[[SurveyJson], object]], ...] = (
    ("number of shards", lambda s: _shard(s).of),
    ("plan", lambda s: _shard(s).plan),
    ("corpus", lambda s: (s.corpus, s.tier)),
    ("backends", lambda s: s.backends),
    ("version of convcheck", lambda s: s.convcheck),
)
_Key = tuple[str, str, str, str, str]  # operator, rule, row, level, cite
_Order = tuple[int, int, int]  # first backend asked, position in the plan, row of the shard
_Placed = tuple[_Order, SurveyRowJson, SurveyedCaseJson]


def read_shard(path: str) -> SurveyJson:
    """Return a shard of a survey. Raises UsageError for a file that is none."""
    document = parse(path, _HINT)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageError(f"{path} is not a {FORMAT}", hint=_HINT)
    try:
        found = struct(document, SurveyJson)
    except ValueError as error:
        raise UsageError(f"{path} is a damaged survey: {error}", hint=_HINT) from None
    if found.shard is None:
        raise UsageError(f"{path} is a whole survey, not a shard of one", hint=_HINT)
    if found.interrupted:
        said = f"{path} was interrupted: it has a part of its shard"
        raise UsageError(said, hint="survey the shard again")
    return found


def merge_surveys(parts: Sequence[tuple[str, SurveyJson]]) -> SurveyJson:
    """Return the survey of which these are the shards, each with its file's name.

    Raises UsageError unless every shard is there once, and of the same survey.
    """
    one_survey = "one survey: same selection, specs, tier and backends"
    check_options([(name, _shard(part).options) for name, part in parts], one_survey)
    check_alike(parts, _COMMON, one_survey)
    shards = shards_in_order(parts, _shard)
    plan, dealt = _shard(shards[0]).plan, [_shard(shard).cases for shard in shards]
    names = put_together(dealt, hand_of, lambda names: plan_digest(names) == plan)
    if names is None:
        raise UsageError("the shards do not have all cases of their plan", hint=_HINT)
    rows: dict[_Key, list[_Placed]] = {}
    for key, placed in _placed(shards, names):
        rows.setdefault(key, []).append(placed)
    ordered = (sorted(one, key=itemgetter(0)) for one in rows.values())
    notes = sorted({note for shard in shards for note in shard.notes})
    whole = tuple(_row(one) for one in sorted(ordered, key=lambda one: one[0][0]) if _taken(one))
    return msgspec.structs.replace(shards[0], notes=tuple(notes), rows=whole, shard=None)


def _placed(shards: Sequence[SurveyJson], names: Sequence[str]) -> Iterator[tuple[_Key, _Placed]]:
    positions = {name: n for n, name in enumerate(names)}
    for shard in shards:
        for at, row in enumerate(shard.rows):
            for case in row.cases:
                first = next((b for b, one in enumerate(case.backends) if one is not None), 0)
                key = (_operator(case.id), row.rule, row.row, row.level, row.cite)
                yield key, ((first, positions.get(case.id, 0), at), row, case)


def _operator(case: str) -> str:
    return op_and_version(case.partition("/")[0])[0]


def _taken(row: Sequence[_Placed]) -> bool:
    found = (one for _, _, case in row for one in case.backends)
    return any(one is not None and not one.unsupported and one.asked for one in found)


def _row(row: Sequence[_Placed]) -> SurveyRowJson:
    """Return a row with the cases of all shards; its place is that of its first case."""
    return msgspec.structs.replace(row[0][1], cases=tuple(case for _, _, case in row))


def _shard(survey: SurveyJson) -> SurveyShardJson:
    assert survey.shard is not None  # noqa: S101
    return survey.shard
