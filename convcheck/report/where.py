"""Describe judged cases as a few products of versions, types and attributes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby
from operator import and_, or_

from convcheck.records import grouped
from convcheck.rules.model import Case, op_and_version, version_key
from convcheck.rules.types import Types
from convcheck.streams import plural

_FEW = 3  # types listed in a short text; more are counted
_RANGE = 3  # consecutive versions that become a range
# Factors other than attributes. Input types have numbers.
_SPEC, _MIDDLES, _OUTPUT, _LAYOUT = "@spec", "@middles", "@output", "@layout"
Row = Mapping[str, str]  # factor -> value of a case
Box = Mapping[str, list[str]]  # factor -> values: all judged cases with these values
Shape = tuple[int, bool]  # how many inputs distinguish cases, and whether the output does


@dataclass(frozen=True)
class Where:
    """Some cases in words, a text per product of versions, types and attributes."""

    lines: tuple[str, ...]  # they determine the cases
    short: tuple[str, ...]  # the same, with long lists of types counted


@dataclass(frozen=True)
class JudgedCases:
    """All judged cases."""

    cases: Sequence[Case]
    types: Types | None = None

    def where(self, chosen: Sequence[Case]) -> Where:
        """Describe some cases unambiguously, the largest product first.

        Versions are always named; an attribute is not if all of several judged values are meant. A
        family stands for its judged members.
        """
        if len(chosen) == 1:
            return Where((chosen[0].id,), (chosen[0].id,))
        ids = {case.id for case in chosen}
        found: list[tuple[int, str, str]] = []
        for (inputs, _), table in self._tables.items():
            words = _Words(table, inputs, self._versions, self.types)
            for box in table.boxes(ids):
                size = table.cases(box).bit_count()
                found.append((-size, words.text(box), words.text(box, short=True)))
        found.sort()
        return Where(tuple(one for _, one, _ in found), tuple(one for _, _, one in found))

    @cached_property
    def _tables(self) -> "Mapping[Shape, _Table]":
        groups = grouped(((len(_inputs(c)), bool(_output(c))), c) for c in self.cases)
        return {shape: _Table(cases) for shape, cases in groups.items()}

    @cached_property
    def _versions(self) -> Mapping[str, list[str]]:
        return _versions_of(dict.fromkeys(case.spec for case in self.cases))


def _versions_of(specs: Iterable[str]) -> Mapping[str, list[str]]:
    found = grouped(map(op_and_version, specs))
    return {op: sorted(some, key=version_key) for op, some in found.items()}


def _inputs(case: Case) -> tuple[str, ...]:
    some = case.node_inputs if case.ranks or case.is_pair else case.inputs[:1]
    return tuple(dtype.name for dtype in some)


def _output(case: Case) -> str:
    said = case.outputs and not (case.bound and case.ranks)
    return case.outputs[0].name if said else ""


def _row(case: Case) -> Row:
    return {
        _SPEC: case.spec,
        **{str(i): name for i, name in enumerate(_inputs(case))},
        _MIDDLES: "-to-".join(hop.outputs[0].name for hop in case.hops[:-1]),
        _OUTPUT: _output(case),
        _LAYOUT: case.layout,
        **{k: str(value) for k, value in (*case.attributes, *case.fixed, *case.setting)},
    }


class _Table:
    """Cases by factor. Sets of cases are integers, a bit per case."""

    def __init__(self, cases: Sequence[Case]) -> None:
        rows = [_row(case) for case in cases]
        self.factors = list(dict.fromkeys(name for row in rows for name in row))
        self._rows = [{name: row.get(name, "") for name in self.factors} for row in rows]
        self._bits = {case.id: 1 << i for i, case in enumerate(cases)}
        self._having: dict[str, dict[str, int]] = {name: {} for name in self.factors}
        for bit, row in zip(self._bits.values(), self._rows, strict=True):
            for name, value in row.items():
                self._having[name][value] = self._having[name].get(value, 0) | bit

    def boxes(self, ids: Iterable[str]) -> list[Box]:
        """Return few products that cover exactly the cases with the given ids."""
        chosen = left = sum(self._bits.get(one, 0) for one in ids)
        found: list[Box] = []
        while left:
            first = self._rows[(left & -left).bit_length() - 1]
            grown = [self._grown(first, order, chosen) for order in self._orders(chosen)]
            found.append(max(grown, key=lambda box: (self.cases(box) & left).bit_count()))
            left &= ~self.cases(found[-1])
        for box in found[::-1]:  # later products can cover an earlier one
            rest = [self.cases(other) for other in found if other is not box]
            if rest and not self.cases(box) & ~reduce(or_, rest):
                found.remove(box)
        return found

    def _orders(self, chosen: int) -> Iterator[list[str]]:
        """Yield orders of growth: each factor is first once and last once."""
        several = [name for name in self.factors if len(self.values(name, chosen)) > 1]
        for i in range(max(len(several), 1)):
            yield several[i:] + several[:i]
            yield (several[i:] + several[:i])[::-1]

    def _grown(self, first: Row, order: Sequence[str], chosen: int) -> Box:
        box = {name: [value] for name, value in first.items()}
        for name in order:
            rest = self.cases(box, but=(name,))
            mine, others = rest & chosen, rest & ~chosen
            box[name] = [v for v, m in self._having[name].items() if m & mine and not m & others]
        return box

    def cases(self, box: Box, but: Collection[str] = ()) -> int:
        return reduce(and_, (
            reduce(or_, map(self._having[name].__getitem__, values))
            for name, values in box.items() if name not in but
        ))  # fmt: skip

    def values(self, name: str, cases: int) -> list[str]:
        return [value for value, having in self._having[name].items() if having & cases]


@dataclass(frozen=True)
class _Words:
    table: _Table
    inputs: int  # distinguishing inputs
    versions: Mapping[str, list[str]]  # judged versions of each operator
    types: Types | None

    def text(self, box: Box, *, short: bool = False) -> str:
        names = [self._types(box, str(i), short) for i in range(self.inputs)]
        braced = (f"{{{name}}}" if " " in name else name for name in names)
        said = names[0] if self.inputs == 1 else "-".join(braced)
        said += f" via {', '.join(box[_MIDDLES])}" if any(box[_MIDDLES]) else ""
        said += f" to {self._types(box, _OUTPUT, short)}" if any(box[_OUTPUT]) else ""
        parts = [said]
        for name in self._needed(box):
            either = "|".join(value or "absent" for value in box[name])
            parts.append(f"{name.removeprefix('@')}={either}")
        return f"{self._specs(box[_SPEC])}: {', '.join(parts)}"

    def _types(self, box: Box, factor: str, short: bool) -> str:
        judged = self.table.values(factor, self.table.cases({_SPEC: box[_SPEC]}))
        names = self.types.folded(box[factor], judged) if self.types else box[factor]
        return plural(len(box[factor]), "type") if short and len(names) > _FEW else ", ".join(names)

    def _needed(self, box: Box) -> list[str]:
        """Return attributes that are needed to exclude other cases or have one judged value."""
        types = {_SPEC, _MIDDLES, _OUTPUT, *map(str, range(self.inputs))}
        names = [name for name in self.table.factors if name not in types]
        free: set[str] = set()
        for name in sorted(names, key=lambda one: any(box[one])):
            cases = self.table.cases(box, but={*free, name})
            values = self.table.values(name, cases)
            if cases == self.table.cases(box) and (len(values) > 1 or values == [""]):
                free.add(name)
        return [name for name in names if name not in free]

    def _specs(self, specs: Sequence[str]) -> str:
        found: dict[str, list[str]] = {}
        for op, mine in _versions_of(specs).items():
            standard, _, name = op.partition(".")
            said = ",".join(_ranges(mine, self.versions[op]))
            found.setdefault(standard, []).append(f"{name}-{said}" if said else name)
        return ", ".join(f"{standard}.{', '.join(ops)}" for standard, ops in found.items())


def _ranges(mine: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Yield versions, runs of several as ranges: 6, 19…25."""
    for here, some in groupby(known, key=mine.__contains__):
        row = list(some) if here else []
        yield from [f"{row[0]}…{row[-1]}"] if len(row) >= _RANGE else row
