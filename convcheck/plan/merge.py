"""Merge the shards of a run. The result equals that of the whole run."""

from collections.abc import Callable, Sequence

from convcheck.causes.gather import names_told
from convcheck.errors import UsageError
from convcheck.judge.result import Part, RunResult, Shard
from convcheck.plan.units import (
    Rules,
    hand_of,
    joined,
    plan_digest,
    put_together,
    result_of,
    unit_ids,
)
from convcheck.records import replace

Named = Sequence[tuple[str, RunResult]]  # (file name, shard)
# What all shards of one run share.
_COMMON: tuple[tuple[str, Callable[[RunResult], object]], ...] = (
    ("number of shards", lambda r: _shard_of(r).of),
    ("plan", lambda r: _shard_of(r).plan),
    ("corpus", lambda r: r.corpora),
    ("backend", lambda r: (r.backend.name, r.backend.version)),
    ("tier", lambda r: r.tier),
    ("gate", lambda r: r.level),
    ("--consistency", lambda r: r.consistency),
    ("kind", lambda r: r.survey),
)
_HINT = "merge the shards of one run: same selection, specs, tier and backend"


def merge_shards(parts: Named, rules: Rules) -> RunResult:
    """Merge the shards of a run. Raises UsageError unless they are all and complete."""
    for name, result in parts:
        if result.shard is None:
            hint = "`convcheck run --shard 1/4 -o FILE.jsonl` makes one"
            raise UsageError(f"{name} is a whole run, not a shard of one", hint=hint)
        if result.ended_early:
            hint = "run it again without --fail-fast and --maxfail"
            raise UsageError(f"{name} was ended early: its shard is incomplete", hint=hint)
        if result.interrupted:
            hint = "run it again with --resume, or from the start"
            raise UsageError(f"{name} was interrupted: its shard is incomplete", hint=hint)
    _check_alike(parts)
    shards = _in_order(parts)
    found = _in_plan_order(shards)
    if found is None:
        hint = "was one ended by --fail-fast? run it again without"
        raise UsageError("the shards lack cases of their plan", hint=hint)
    cases = tuple(result_of(part, rules) for part in found)
    told = names_told(cases)
    every = {cause.name: cause for shard in shards for cause in shard.causes}
    causes = [cause for name, cause in every.items() if name in told]
    notes = dict.fromkeys(note for shard in shards for note in shard.notes)
    if (environments := len({str(shard.environment) for shard in shards})) > 1:
        notes[f"the shards ran in {environments} different environments"] = None
    return replace(
        shards[0], cases=cases, parts=(), notes=tuple(notes), shard=None,
        restarts=sum(shard.restarts for shard in shards),
        causes=tuple(sorted(causes, key=lambda cause: cause.order)),
    )  # fmt: skip


def _in_plan_order(shards: Sequence[RunResult]) -> list[Part] | None:
    dealt = []
    for shard in shards:
        known = {part.case.id: part for part in shard.parts}
        parts = (known.get(one.case.id, Part(one.case, vectors=one)) for one in shard.cases)
        dealt.append([part for part in parts for _ in range(part.units)])
    plan = _shard_of(shards[0]).plan

    def is_plan(units: list[Part]) -> bool:
        found = {part.case.id: part for part in units}
        return plan_digest([name for part in found.values() for name in unit_ids(part)]) == plan

    ordered = put_together(dealt, lambda part: "" if part.codes else hand_of(part.case.id), is_plan)
    found: dict[str, dict[int, Part]] = {}
    for part in ordered or ():
        found.setdefault(part.case.id, {})[id(part)] = part
    for name, its in found.items():
        if len({(part.codes, part.sampled) for part in its.values()}) > 1:
            raise UsageError(f"the shards split {name} differently")
    whole = [joined(list(its.values())) for its in found.values()]
    return whole if ordered is not None and all(part.complete for part in whole) else None


def _check_alike(parts: Named) -> None:
    (first, one), *others = parts
    mine = dict(_shard_of(one).options)
    for name, other in others:
        its = dict(_shard_of(other).options)
        differing = [o for o in dict.fromkeys((*mine, *its)) if mine.get(o) != its.get(o)]
        if differing:
            here, there = (", ".join(_given(o, of) for o in differing) for of in (mine, its))
            raise UsageError(f"{first} was run with {here}, and {name} with {there}", hint=_HINT)
        for what, of in _COMMON:
            if of(other) != of(one):
                raise UsageError(f"{name} and {first} differ in their {what}", hint=_HINT)


def _given(option: str, options: dict[str, str]) -> str:
    return f"{option} {options[option]}".rstrip() if option in options else f"no {option}"


def _in_order(parts: Named) -> list[RunResult]:
    of = _shard_of(parts[0][1]).of
    found: dict[int, tuple[str, RunResult]] = {}
    for name, one in parts:
        index = _shard_of(one).index
        if index in found:
            raise UsageError(f"{found[index][0]} and {name} are both shard {index}/{of}")
        found[index] = (name, one)
    missing = [f"{index}/{of}" for index in range(1, of + 1) if index not in found]
    if missing:
        few = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
        what = "shard" if len(missing) == 1 else "shards"
        raise UsageError(f"{what} {few} missing", hint="name the report of every shard")
    return [found[index][1] for index in range(1, of + 1)]


def _shard_of(result: RunResult) -> Shard:
    assert result.shard is not None  # noqa: S101
    return result.shard
