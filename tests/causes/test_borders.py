"""Every cause has an input that it gets wrong next to one that it gets right; -s prints both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS

from convcheck.causes.catalogue import causes_of, few_first
from convcheck.causes.score import AskedInputs, is_of, is_wrong
from convcheck.judge.examples import due_word
from convcheck.judge.matching import Mask
from convcheck.judge.result import Word, entry_word
from convcheck.judge.words import pattern, shown, value
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.numerics.number import FINITE, Bits
from convcheck.numerics.order import code_at, positions
from convcheck.rules.cases import cases as cases_of
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.semantics.program import Program
from convcheck.vectors.generate import inputs_of
from convcheck.vectors.model import CallSet

_CALLS = 96
_FEW = 4
# The rules leave these open for every input.
OPEN = {
    "true-unless-zero", "true-unless-empty", "prints-0-and-1", "prints-False-and-True",
    "prints-false-and-true",
}  # fmt: skip
CAUSES = [cause for cause in causes_of(CATALOG) if not cause.chain]


@dataclass(frozen=True)
class Planted:
    """A cause in a case whose elements are converted one by one."""

    spec: Spec
    case: Case
    program: Program
    open: bool = False  # whether to look at inputs that the rules leave open

    def departs(self, bits: Bits) -> Mask:
        asked = AskedInputs.of(self.spec, self.case, bits)
        free = np.logical_and.reduce([r.patterns == UNDEFINED for r in asked.due.readings])
        said = self.given(bits).patterns != UNDEFINED
        return free & said if self.open else np.logical_and.reduce(asked.wrong(self.program))

    def given(self, bits: Bits) -> Reading:
        return readings_at(self.program, points_of(self.case, bits))[0]

    def border(self) -> tuple[Bits, Bits] | None:
        source, bits = self.case.inputs[0].format, inputs_of(self.case, "edge")[0]
        if isinstance(source, Text):
            mask = self.departs(bits)
            return (bits[mask][:1], bits[~mask][:1]) if 0 < mask.sum() < len(mask) else None
        bits = bits[np.argsort(positions(source, bits))]
        mask, finite = self.departs(bits), decode(source, bits).kind == FINITE
        changes = np.flatnonzero(mask[1:] != mask[:-1]).tolist()
        if not changes:
            return None
        i = max(changes, key=lambda i: bool(finite[i] and finite[i + 1]))
        inside, outside = positions(source, bits[i : i + 2]).tolist()[:: 1 if mask[i] else -1]
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            is_inside = bool(self.departs(_code(source, middle))[0])
            inside, outside = (middle, outside) if is_inside else (inside, middle)
        return _code(source, inside), _code(source, outside)

    def line(self, bits: Bits) -> str:
        source, target = self.case.inputs[0].format, self.case.outputs[0].format
        due = AskedInputs.of(self.spec, self.case, bits).due.readings[0]
        words = (due_word(one, 0) for one in (due, self.given(bits)))
        x, rule, cause = (
            _word(fmt, word)
            for fmt, word in ((source, entry_word(bits[0])), *((target, w) for w in words))
        )
        return f"{x}: {cause}; by the rules {rule}"


def _word(fmt: Format, word: Word) -> str:
    said = value(fmt, word)
    return pattern(word) or (f"{said} ({shown(fmt, word)})" if said else shown(fmt, word))


def _code(fmt: Numeric, position: int) -> Bits:
    return np.array([code_at(fmt, position)], fmt.storage)


def planted(left: list[Cause], *, opened: bool) -> Iterator[tuple[Cause, Planted]]:
    specs = [spec for spec in CATALOG.specs.values() if not spec.body.whole_calls]
    for spec, cases in few_first(specs[::-1]):
        known = [c for c in left if is_of(c, spec) and (not c.version or spec.earlier(c.version))]
        for case in cases if known else ():
            for cause in known:
                program = compile_wrong(spec, case, (cause,)) if cause.applies_to(case) else None
                if program:
                    yield cause, Planted(spec, case, program, opened)
            known = [cause for cause in known if cause in left]
            if not known:
                break


def value_borders(causes: Sequence[Cause]) -> dict[Cause, tuple[Planted, Bits, Bits]]:
    found: dict[Cause, tuple[Planted, Bits, Bits]] = {}
    left = list(causes)
    for opened in (False, True):
        for cause, one in planted(left, opened=opened):
            if ends := one.border():
                found[cause] = one, *ends
                left.remove(cause)
    for cause, (one, inside, outside) in found.items():
        print(f"\n{cause.name}: {cause.says}  ({one.case.id})")
        print(f"  inside   {one.line(inside)}\n  outside  {one.line(outside)}")
        assert one.departs(inside).all()
        assert not one.departs(outside).any()
    return found


def test_each_cause_of_values_has_an_input_on_either_side_of_its_border() -> None:
    assert len(CAUSES) >= 150
    causes = [c for c in CAUSES if not (c.call or c.under or c.name in OPEN)]
    found = value_borders(causes)
    assert [cause.name for cause in causes if cause not in found] == []


def test_what_says_something_where_all_is_open_tells_inputs_apart() -> None:
    left = [cause for cause in CAUSES if cause.name in OPEN]
    for cause, one in planted(left, opened=True):
        bits = inputs_of(one.case, "edge")[0]
        codes = one.given(bits).codes
        if one.departs(bits).all() and len(set(codes.tolist())) > 1:
            left.remove(cause)
            other = int(np.argmax(codes != codes[0]))
            print(f"\n{cause.name}: {cause.says}  ({one.case.id})")
            print(f"  one    {one.line(bits[:1])}\n  other  {one.line(bits[other : other + 1])}")
    assert [cause.name for cause in left] == []


@pytest.mark.slow
def test_each_cause_of_calls_has_a_call_on_either_side_of_its_border() -> None:
    """Attributes included, which value conversions do not show."""
    under = [c for c in CAUSES if c.under and not c.call]
    shown_by_values = value_borders(under)
    left = [c for c in CAUSES if c.call or (c.under and c not in shown_by_values)]
    sides: dict[Cause, dict[bool, str]] = {cause: {} for cause in left}
    specs = [spec for spec in CATALOG.specs.values() if spec.body.whole_calls]
    for spec, cases in few_first(sorted(specs, key=lambda spec: len([*cases_of(spec)]))):
        mine = [cause for cause in left if is_of(cause, spec)]
        for case in cases if mine else ():
            calls = CORPUS.vectors(case)
            assert isinstance(calls, CallSet)
            for cause, here in _sides(spec, calls, mine):
                sides[cause] = here if len(here) > 1 else here | sides[cause]
            mine = [cause for cause in mine if len(sides[cause]) < 2]
            if not mine:
                break
        left = [cause for cause in left if len(sides[cause]) < 2]
    for cause, both in sides.items():
        print(f"\n{cause.name}: {cause.says}\n  inside   {both[True]}\n  outside  {both[False]}")
    assert [cause.name for cause in left] == []


def _sides(
    spec: Spec, calls: CallSet, causes: Sequence[Cause]
) -> Iterator[tuple[Cause, dict[bool, str]]]:
    """Yield causes with a call that each gets wrong, and one that it does not."""
    some = range(min(len(calls), _CALLS))
    edits = wrong_calls(spec, calls.case, calls.calls[:_CALLS])
    for cause in causes:
        made = next(iter(edits((cause,))), None)
        wrong = {made is not None and is_wrong(calls, i, made.answer(i)): i for i in some[::-1]}
        yield cause, {side: _call(calls, i) for side, i in wrong.items()}


def _call(calls: CallSet, i: int) -> str:
    both = zip(calls.case.inputs, calls.calls[i], strict=False)
    return f"{calls.case.id}: " + "; ".join(
        f"{dtype.name}{list(bits.shape)} "
        + ", ".join(shown(dtype.format, entry_word(one)) for one in bits.reshape(-1)[:_FEW])
        for dtype, bits in both
    )
