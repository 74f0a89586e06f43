"""Tallies, and what a shard has of cases: the structs of a journal and of a shard's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from convcheck.judge import tally as judged
from convcheck.judge.answers import PLACEMENTS
from convcheck.judge.part import Part
from convcheck.judge.ranges import Pair, Ranges, joining
from convcheck.judge.result import CaseResult, Example, Fit, Group
from convcheck.judge.tally import Key, Tally, named
from convcheck.numerics.format import Text
from convcheck.plan.units import Rules
from convcheck.report.json import report as form
from convcheck.report.json.decode import Types, case_named, case_of, example_of, group_of
from convcheck.report.json.encode import case, case_head, element_example, group_json
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.wording import plural

# Writing ------------------------------------------------------------------------------------------


def encoded_tally(tally: Tally, case: Case, decisions: tuple[Decision, ...]) -> form.TallyJson:
    """Return the tally of a case as structs. `decisions` are those of the case's program."""
    return form.TallyJson(
        asked=tuple(
            form.AskedJson(decision=i, rule=decisions[i].rule, row=decisions[i].row, count=count)
            for i, count in sorted(tally.asked.items())
        ),
        entries=tuple(_entry(case, key, tally.entries[key]) for key in sorted(tally.entries)),
        covered=tally.covered,
        faults=tuple(group_json(case, fault) for fault in tally.faults),
        declined=tally.declined,
        vectors=tally.vectors,
        fits=None if tally.fits is None else tuple(map(_fit, tally.fits)),
        search_fault=tally.search_fault,
    )


def _fit(fit: Fit) -> form.FitJson:
    return form.FitJson(causes=fit.names, reading=fit.reading, whole_vectors=fit.whole_vectors)


def _entry(case: Case, key: Key, entry: judged.TallyEntry) -> form.EntryJson:
    found = entry.ranges
    ranges = form.RangesJson(kept=found.kept, count=found.count, loose=found.loose)
    return form.EntryJson(
        **{name: value for name, value in vars(key).items() if name != "named"},  # of calls
        count=entry.count,
        digest=f"{entry.digest:032x}",
        ranges=None if found == Ranges() else ranges,
        first=_sample(case, entry.first),
        extreme=_sample(case, entry.extreme),
    )


def _sample(case: Case, sample: judged.PlacedExample | None) -> form.SampleJson | None:
    if sample is None:
        return None
    assert isinstance(sample.example, Example)  # noqa: S101 calls are finished when they come
    example = element_example(case, sample.example)
    return form.SampleJson(position=sample.position, error=float.hex(sample.error), example=example)


def encoded_part(part: Part) -> form.PartJson:
    """Return what there is of a case as structs."""
    tally = part.tally
    return form.PartJson(
        case=case_head(part.case),
        codes=part.codes,
        sampled=part.sampled,
        units=part.units,
        vectors=None if part.vectors is None else case(part.vectors),
        tally=None if tally is None else encoded_tally(tally, part.case, part.decisions),
        lost=None if part.lost is None else case(part.lost),
    )


# Reading ------------------------------------------------------------------------------------------


def decoded_tally(found: form.TallyJson, case: Case, decisions: tuple[Decision, ...]) -> Tally:
    """Return the tally of a case. `decisions` are those of the case's program.

    Raises ValueError for what is of other rules than those of `decisions`, has other counts than
    it has asked, or positions that the source does not have.
    """
    return _Reading(case, decisions).tally(found)


class _Reading:
    """Holds numbers to the case and its decisions: they mean nothing to others."""

    def __init__(self, case: Case, decisions: tuple[Decision, ...]) -> None:
        source = case.inputs[0].format
        if isinstance(source, Text):
            raise ValueError(f"{case.id} is of texts, and those have no tallies")
        self.case, self.decisions, self.size = case, decisions, 1 << source.bits
        self.types = {dtype.name: dtype for dtype in (*case.inputs, *case.outputs)}

    def tally(self, found: form.TallyJson) -> Tally:
        asked = dict(map(self._asked, found.asked))
        entries = dict(map(self._entry, found.entries))
        if len(asked) < len(found.asked) or len(entries) < len(found.entries):
            raise ValueError("something is counted twice")
        self._check(asked, entries)
        covered = self._pairs(found.covered)
        if covered != joining(covered):
            raise ValueError("what is covered overlaps")
        faults = tuple(map(self._fault, found.faults))
        if found.vectors > sum(asked.values()):
            raise ValueError("it has more vectors than were asked")
        decisions = named(self.decisions, entries)
        declined, vectors = found.declined, found.vectors
        made = Tally(asked, entries, covered, faults, declined, vectors, decisions)
        made = replace(made, search_fault=found.search_fault)
        if found.fits is None:
            return made
        fits = (Fit(fit.causes, fit.reading, fit.whole_vectors) for fit in found.fits)
        return replace(made, fits=tuple(fits))

    def _check(self, asked: Mapping[int, int], entries: Mapping[Key, judged.TallyEntry]) -> None:
        """Hold to each element being counted once under every reading of its decision."""
        found: Counter[tuple[int, int]] = Counter()
        for key, entry in entries.items():
            if not key.placement:
                found[key.decision, key.reading] += entry.count
        due = {(i, r): n for i, n in asked.items() for r in range(len(self.decisions[i].readings))}
        if found != due:
            raise ValueError("its counts are not those of what was asked")

    def _decision(self, index: int) -> Decision:
        if index >= len(self.decisions):
            raise ValueError(f"{self.case.id} has no decision {index}")
        return self.decisions[index]

    def _asked(self, row: form.AskedJson) -> tuple[int, int]:
        due = self._decision(row.decision)
        if (row.rule, row.row) != (due.rule, due.row):
            said = f"decision {row.decision} of {self.case.id} is {due.name}"
            raise ValueError(f"{said}, not {row.rule} / {row.row}")
        return row.decision, row.count

    def _entry(self, found: form.EntryJson) -> tuple[Key, judged.TallyEntry]:
        if found.placement not in PLACEMENTS:
            raise ValueError(f"{found.placement!r} is not a placement")
        if found.reading >= len(self._decision(found.decision).readings):
            said = f"decision {found.decision} of {self.case.id} has no reading {found.reading}"
            raise ValueError(said)
        key = Key(found.decision, found.reading, found.sort, found.kind, found.placement)
        return key, judged.TallyEntry(
            found.count,
            int(found.digest, 16),
            self._ranges(found.ranges),
            self._sample(found.first),
            self._sample(found.extreme),
        )

    def _ranges(self, found: form.RangesJson | None) -> Ranges:
        if found is None:
            return Ranges()
        return Ranges(self._pairs(found.kept), found.count, self._pairs(found.loose))

    def _pairs(self, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
        for first, last in pairs:
            if not first <= last < self.size:
                raise ValueError(f"{first} to {last} is not a range of {self.size} positions")
        return tuple(pairs)

    def _sample(self, found: form.SampleJson | None) -> judged.PlacedExample | None:
        if found is None:
            return None
        error = float.fromhex(found.error)
        if found.position >= self.size or not error >= 0:
            raise ValueError(f"no sample: position {found.position}, error {found.error}")
        return judged.PlacedExample(found.position, error, example_of(found.example, self.case))

    def _fault(self, found: form.GroupJson) -> Group:
        """Return a group; readings are not written with it: the program has them."""
        group = group_of(found, self.case, self.types)
        named = (d for d in self.decisions if _written(d) == _written(group.decision))
        return replace(group, decision=next(named, group.decision))


def _written(decision: Decision) -> tuple[str, ...]:
    """Return what is written of a decision."""
    by = decision
    return by.rule, by.row, by.level, by.cite, by.source, str(by.place)


def parts_of(found: Iterable[form.PartJson], types: Types, rules: Rules) -> tuple[Part, ...]:
    """Return what there is of cases. Raises ValueError as `decoded_tally` and `case_of` do."""
    return tuple(_part_of(part, types, rules) for part in found)


def _part_of(found: form.PartJson, types: Types, rules: Rules) -> Part:
    case = case_named(found.case, types)
    vectors, lost = (_result_of(one, case, types) for one in (found.vectors, found.lost))
    decisions = rules(case)[0].decisions
    tally = None if found.tally is None else decoded_tally(found.tally, case, decisions)
    part = Part(case, found.codes, found.sampled, vectors, tally, lost, found.units, decisions)
    if not part.sampled and part.codes != 1 << getattr(case.inputs[0].format, "bits", 0):
        raise ValueError(f"{case.id} does not have {plural(part.codes, 'input')}")
    if not 1 <= part.units <= 1 + len(part.firsts):
        raise ValueError(f"{case.id} has {plural(1 + len(part.firsts), 'unit')}, not {part.units}")
    if vectors is None and tally is None and lost is None:
        raise ValueError(f"{case.id} has nothing")
    return part


def _result_of(found: form.CaseJson | None, case: Case, types: Types) -> CaseResult | None:
    if found is None:
        return None
    result = case_of(found, types)
    if result.case != case:
        raise ValueError(f"{result.case.id} is not {case.id}")
    return result
