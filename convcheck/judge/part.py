"""What there is of a case whose units are not all done."""

from __future__ import annotations

from convcheck.judge.result import FAILURES, CaseField, CaseResult
from convcheck.judge.tally import Tally
from convcheck.records import Count, Record
from convcheck.vectors.span import SAMPLED_SPAN, span_size


class Part(Record, frozen=True):
    """What there is of a case: a tally, or a result of its vectors that could not be tallied.

    `units` counts what was put together, of a case whose spans have so many `codes`, 0 for none.
    `lost` is what went wrong with a unit as a whole.
    """

    case: CaseField
    codes: Count = 0
    #: Whether its spans are of samples, not of codes.
    sampled: bool = False
    vectors: CaseResult | None = None
    tally: Tally | None = None
    lost: CaseResult | None = None
    units: Count = 1

    @property
    def firsts(self) -> range:
        """Return the first code, or sample, of each span."""
        return range(0, self.codes, SAMPLED_SPAN if self.sampled else span_size(self.case))

    @property
    def complete(self) -> bool:
        """Return whether every unit of the case is there."""
        return self.units == 1 + len(self.firsts)

    @property
    def failing(self) -> bool:
        """Return whether a failure was found already."""
        found = self.vectors is not None and self.vectors.verdict in FAILURES
        return found or self.lost is not None or (self.tally is not None and self.tally.failing)
