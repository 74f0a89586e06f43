"""Tallies, and what a shard has of cases, for a journal and for reports, and read back.

`#/$defs/tally` and `#/$defs/part` of `schema.json` describe them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from convcheck.judge.answers import PLACEMENTS
from convcheck.judge.part import Part
from convcheck.judge.ranges import Pair, Ranges, joining
from convcheck.judge.result import CaseResult, Example, Group
from convcheck.judge.tally import SORTS, Entry, Key, Sample, Tally
from convcheck.numerics.format import Text
from convcheck.plan.units import Rules
from convcheck.report.json import case_document, case_head, example_document, group_document
from convcheck.report.read import Types, case_named, case_of, example_of, group_of, number
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision

MOST_CODES = 10**12
Document = Mapping[str, Any]
Decisions = tuple[Decision, ...]

# Writing ------------------------------------------------------------------------------------------


def tally_document(tally: Tally, case: Case, decisions: Decisions) -> dict[str, Any]:
    """Give a tally of a case as JSON's types. `decisions` are those of the case's program."""
    return {
        "asked": [
            {"decision": i, "rule": decisions[i].rule, "row": decisions[i].row, "count": count}
            for i, count in sorted(tally.asked.items())
        ],
        "entries": [_entry(case, key, tally.entries[key]) for key in sorted(tally.entries)],
        "covered": _pairs(tally.covered),
        "faults": [group_document(case, fault) for fault in tally.faults],
        "declined": tally.declined,
        "vectors": tally.vectors,
    }


def _entry(case: Case, key: Key, entry: Entry) -> dict[str, Any]:
    """Give an entry; what it does not have is left out: of what is right, all but the count."""
    ranges, samples = entry.ranges, {"first": entry.first, "extreme": entry.extreme}
    spelt = {"kept": _pairs(ranges.kept), "count": ranges.count, "loose": _pairs(ranges.loose)}
    return {
        "decision": key.decision,
        "reading": key.reading,
        "sort": key.sort,
        "kind": key.kind,
        "count": entry.count,
        "digest": f"{entry.digest:032x}",
        **({"placement": key.placement} if key.placement else {}),
        **({"ranges": spelt} if ranges != Ranges() else {}),
        **{name: _sample(case, sample) for name, sample in samples.items() if sample},
    }


def _sample(case: Case, sample: Sample) -> dict[str, Any]:
    example = example_document(case, sample.example)
    return {"position": sample.position, "error": float.hex(sample.error), "example": example}


def _pairs(pairs: Iterable[Pair]) -> list[list[int]]:
    return [list(pair) for pair in pairs]


def part_document(part: Part) -> dict[str, Any]:
    """Give what there is of a case as JSON's types."""
    case, vectors, tally = part.case, part.vectors, part.tally
    return {
        "case": case_head(case),
        "codes": part.codes,
        "sampled": part.sampled,
        "units": part.units,
        "vectors": None if vectors is None else case_document(vectors),
        "tally": None if tally is None else tally_document(tally, case, part.decisions),
        "lost": None if part.lost is None else case_document(part.lost),
    }


# Reading ------------------------------------------------------------------------------------------


def tally_of(document: Document, case: Case, decisions: Decisions) -> Tally:
    """Make a tally of a case. `decisions` are those of the case's program.

    Raises KeyError, TypeError, ValueError for what is not as it should be: malformed, of other
    rules than those of `decisions`, or with other counts than it has asked.
    """
    try:
        return _Reading(case, decisions).tally(document)
    except (AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"a damaged tally of {case.id}: {error}") from None


class _Reading:
    """Holds numbers to the case and its decisions: they mean nothing to others."""

    def __init__(self, case: Case, decisions: Decisions) -> None:
        source = case.inputs[0].format
        if isinstance(source, Text):
            raise ValueError(f"{case.id} has texts, of which there are no tallies")
        self.case, self.decisions, self.size = case, decisions, 1 << source.bits
        self.types = {dtype.name: dtype for dtype in (*case.inputs, *case.outputs)}

    def tally(self, document: Document) -> Tally:
        asked = dict(self._asked(row) for row in document["asked"])
        entries = dict(self._entry(entry) for entry in document["entries"])
        if len(asked) < len(document["asked"]) or len(entries) < len(document["entries"]):
            raise ValueError("something is counted twice")
        self._check(asked, entries)
        covered = self._pairs(document["covered"])
        if covered != joining(covered):
            raise ValueError("what is covered overlaps")
        faults = tuple(map(self._fault, document["faults"]))
        declined, vectors = number(document["declined"]), number(document["vectors"])
        if vectors > sum(asked.values()):
            raise ValueError("it has more vectors than were asked")
        return Tally(asked, entries, covered, faults, declined, vectors)

    def _check(self, asked: Mapping[int, int], entries: Mapping[Key, Entry]) -> None:
        """Hold to each element being counted once under every reading of its decision."""
        found: Counter[tuple[int, int]] = Counter()
        for key, entry in entries.items():
            if not key.placement:
                found[key.decision, key.reading] += entry.count
        due = {(i, r): n for i, n in asked.items() for r in range(len(self.decisions[i].readings))}
        if found != due:
            raise ValueError("its counts are not those of what was asked")

    def _decision(self, index: Any) -> int:
        if number(index) >= len(self.decisions):
            raise ValueError(f"{self.case.id} has no decision {index}")
        return int(index)

    def _asked(self, document: Document) -> tuple[int, int]:
        index = self._decision(document["decision"])
        due, name = self.decisions[index], (document["rule"], document["row"])
        if name != (due.rule, due.row):
            raise ValueError(f"decision {index} of {self.case.id} is {due.name}, not {name}")
        return index, _positive(document["count"])

    def _entry(self, document: Document) -> tuple[Key, Entry]:
        index, sort, kind = self._decision(document["decision"]), document["sort"], document["kind"]
        if sort not in SORTS or not isinstance(kind, str):
            raise ValueError(f"{sort!r} of kind {kind!r} is no sort")
        ranges = document.get("ranges", {"kept": [], "count": 0, "loose": []})
        kept, loose = self._pairs(ranges["kept"]), self._pairs(ranges["loose"])
        entry = Entry(
            _positive(document["count"]), _digest(document["digest"]),
            Ranges(kept, number(ranges["count"]), loose),
            self._sample(document.get("first")), self._sample(document.get("extreme")),
        )  # fmt: skip
        placement = document.get("placement", "")
        if placement not in PLACEMENTS:
            raise ValueError(f"{placement!r} is no placement")
        reading = number(document["reading"])
        if reading >= len(self.decisions[index].readings):
            raise ValueError(f"decision {index} of {self.case.id} has no reading {reading}")
        return Key(index, reading, sort, kind, placement), entry

    def _pairs(self, pairs: Any) -> tuple[Pair, ...]:
        return tuple((self._position(first), self._position(last, first)) for first, last in pairs)

    def _position(self, value: Any, least: int = 0) -> int:
        if not least <= number(value) < self.size:
            raise ValueError(f"{value} is no position among {self.size}, or not in order")
        return int(value)

    def _sample(self, document: Document | None) -> Sample | None:
        if document is None:
            return None
        example = example_of(document["example"], self.case, self.types)
        if not isinstance(example, Example):
            raise TypeError("a whole call is no example of an element")
        at, error = self._position(document["position"]), float.fromhex(document["error"])
        if not error >= 0:
            raise ValueError(f"{document['error']} is no error")
        return Sample(at, error, example)

    def _fault(self, document: Document) -> Group:
        """Make a group; readings are not written with it: the program has them."""
        group = group_of(document, self.case, self.types)
        named = (d for d in self.decisions if _written(d) == _written(group.decision))
        return Group(**{**vars(group), "decision": next(named, group.decision)})


def _written(decision: Decision) -> tuple[str, ...]:
    """Give what is written of a decision."""
    by = decision
    return by.rule, by.row, by.level, by.cite, by.source, str(by.place)


def _positive(value: Any) -> int:
    if number(value) == 0:
        raise ValueError("nothing is counted")
    return int(value)


def _digest(text: str) -> int:
    if len(text) != 32 or set(text) - set("0123456789abcdef"):
        raise ValueError(f"{text!r} is no digest")
    return int(text, 16)


def parts_of(documents: Iterable[Document], types: Types, rules: Rules) -> tuple[Part, ...]:
    """Make what there is of cases. Raises as `tally_of` and `case_of` do."""
    return tuple(_part_of(document, types, rules) for document in documents)


def _part_of(document: Document, types: Types, rules: Rules) -> Part:
    case = case_named(document["case"], types)
    vectors, lost = (_result_of(document[key], case, types) for key in ("vectors", "lost"))
    given, sampled = document["tally"], document["sampled"]
    decisions = rules(case)[0].decisions
    tally = None if given is None else tally_of(given, case, decisions)
    units = number(document["units"])
    part = Part(case, number(document["codes"]), sampled is True, vectors, tally, lost, units)
    odd = not sampled and part.codes != 1 << getattr(case.inputs[0].format, "bits", 0)
    if odd or part.codes > MOST_CODES or not isinstance(sampled, bool):
        raise ValueError(f"{case.id} has no {part.codes} inputs")
    if not 1 <= units <= 1 + len(part.firsts):
        raise ValueError(f"{case.id} has {1 + len(part.firsts)} units, not {units}")
    if vectors is None and tally is None and lost is None:
        raise ValueError(f"{case.id} has nothing")
    return replace(part, decisions=decisions)


def _result_of(document: Document | None, case: Case, types: Types) -> CaseResult | None:
    if document is None:
        return None
    found = case_of(document, types)
    if found.case != case:
        raise ValueError(f"{found.case.id} is not {case.id}")
    return found
