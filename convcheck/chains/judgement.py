"""What is found of a chain: a verdict, its proof, and the input that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from convcheck.chains.cast import Chain, Results
from convcheck.chains.compare import ChainComparison, Proof, compare_chain
from convcheck.chains.type_chain import Dispute, TypeChain

ChainVerdict = Literal["equal", "equal where defined", "disputed", "different"]
EQUAL: ChainVerdict = "equal"
WHERE_DEFINED: ChainVerdict = "equal where defined"
DISPUTED: ChainVerdict = "disputed"
DIFFERENT: ChainVerdict = "different"
VERDICTS: tuple[ChainVerdict, ...] = (EQUAL, WHERE_DEFINED, DISPUTED, DIFFERENT)
PROOFS: tuple[Proof, ...] = ("exhaustive", "intervals", "vectors")  # from the strongest


@dataclass(frozen=True)
class Telling:
    """An input of which another result comes, and what becomes of it."""

    #: The code of the input.
    code: int
    #: What comes of each hop.
    hops: tuple[Results, ...]
    #: What comes of the direct cast.
    direct: Results
    #: Whether no lesser code shows it.
    is_least: bool


@dataclass(frozen=True)
class ReadAs:
    """What holds if disputed texts are read in one way."""

    #: What is chosen, of each rule and row that is disputed.
    readings: Mapping[Dispute, str]
    #: What was found.
    comparison: ChainComparison
    #: The least input that shows a difference, None for none.
    shown: Telling | None

    @property
    def verdict(self) -> ChainVerdict:
        """Whether a chain is the direct cast."""
        if self.comparison.least is not None:
            return DIFFERENT
        return WHERE_DEFINED if self.comparison.counts.open else EQUAL


@dataclass(frozen=True, eq=False)
class ChainJudgement:
    """What is found of a chain, in every way to read what is disputed."""

    #: What was compared.
    chain: TypeChain
    #: Each way to read it.
    ways: tuple[ReadAs, ...]

    @property
    def verdict(self) -> ChainVerdict:
        """That of all ways, `disputed` where some are different and others are not."""
        found = {way.verdict for way in self.ways}
        if DIFFERENT in found:
            return DIFFERENT if len(found) == 1 else DISPUTED
        return max(found, key=VERDICTS.index)

    @property
    def proof(self) -> Proof:
        """The weakest of those of the ways that the verdict rests on."""
        return max((way.comparison.proof for way in self.ways), key=PROOFS.index)

    @property
    def is_fused(self) -> bool:
        """Whether the direct cast may stand for the chain: it gives what the chain has to, wherever
        that has to give something.
        """
        return self.verdict in (EQUAL, WHERE_DEFINED) and not any(
            way.comparison.counts.direct_open for way in self.ways
        )

    @property
    def is_split(self) -> bool:
        """Whether the chain may stand for the direct cast."""
        return self.verdict in (EQUAL, WHERE_DEFINED) and not any(
            way.comparison.counts.chain_open for way in self.ways
        )


def judge_chain(chain: TypeChain, counted: bool = True) -> ChainJudgement:
    """Compare a chain with the direct cast; `counted`: also how many inputs differ."""
    ways = []
    for way in chain.ways():
        found = compare_chain(way.chain, way.direct, counted)
        shown = None
        if found.least is not None:
            codes = np.array([found.least], np.uint64)
            direct = Chain((way.direct,)).results(codes)
            hops = tuple(way.chain.trail(found.least))
            shown = Telling(found.least, hops, direct, found.is_least)
        ways.append(ReadAs(way.readings, found, shown))
    return ChainJudgement(chain, tuple(ways))
