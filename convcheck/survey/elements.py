"""Describe the answers of an elementwise operator in an open row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convcheck.causes.trial import Trial, Tried, tried
from convcheck.judge.answers import ANSWERED, Answers, Index
from convcheck.judge.matching import Mask, matching
from convcheck.judge.result import Answered, Fits, Laws
from convcheck.numerics.codes import with_one_nan
from convcheck.numerics.format import Text
from convcheck.numerics.number import FINITE, INFINITY, NAN
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import VectorSet

EVERY_READING = "every reading"
NO_READING = "no reading, but: "  # prefix of a law if no reading fits
Told = tuple[Fits, Mask]  # laws, and the mask of answers without any
_KINDS = (("finite", FINITE), ("infinite", INFINITY), ("NaN", NAN))


@dataclass(frozen=True)
class Known:
    """The catalogue and causes that describe answers."""

    catalog: Catalog
    #: The causes whose sentences are the laws.
    causes: Sequence[Cause]

    def of(self, trial: Trial) -> Told:
        """Return the laws of answers to undefined inputs."""
        return _laws(trial, list(tried(trial, self.causes)))


@dataclass(frozen=True)
class Elements:
    """The elements of a case with their answers."""

    known: Known
    vectors: VectorSet
    answers: Answers
    most = 4096  # answers kept of a row

    def fits(self, decision: Decision, index: Index) -> tuple[Fits, Index]:
        """Return the laws of some answers, and the answers without any."""
        spec = self.known.catalog.specs[self.vectors.case.spec]
        trial = Trial.of(spec, self.vectors, self.answers, index)
        disputed = decision.level == "disputed"
        fits, left = _readings(self.known, trial, decision) if disputed else self.known.of(trial)
        return fits, index[left]

    def key(self, index: Index) -> object:
        """Return states and answers."""
        kept = self.sample(index)
        return kept.state.tolist(), kept.got[kept.state == ANSWERED].tolist()

    def sample(self, index: Index) -> Answered:
        """Return some elements with their answers. All NaNs are equal."""
        said = self.answers.messages
        messages = {i: said[at] for i, at in enumerate(index.tolist()) if at in said}
        got = with_one_nan(self.vectors.case.outputs[0].format, self.answers.got[index])
        inputs = tuple(tensor[index] for tensor in self.vectors.inputs)
        return Answered(inputs, got, self.answers.state[index], messages)

    def elsewhere(self, index: Index) -> int:
        """Return how many have another answer in another placement."""
        inside = (other.index[np.isin(other.index, index)] for other in self.answers.elsewhere)
        return len(set().union(*(part.tolist() for part in inside)))


def _laws(trial: Trial, tried: Sequence[Tried]) -> Told:
    """Return the causes that give all answers to undefined inputs, and the mask of the rest.

    If none does, return those that give all answers to each kind of input.
    """
    kinds = trial.points.x.kind
    every = np.ones(len(kinds), bool)
    present = [(name, kinds == kind) for name, kind in _KINDS if (kinds == kind).any()]
    whole = _fitting(tried, every)
    if whole or len(present) < 2 or isinstance(trial.points.source, Text):
        return (("", whole),), every & (not whole)
    found = tuple((name, _fitting(tried, mask)) for name, mask in present)
    if not any(laws for _, laws in found):
        return (("", ()),), every
    lawless = (mask for (_, mask), (_, laws) in zip(present, found, strict=True) if not laws)
    return found, np.logical_or.reduce([~every, *lawless])


def _fitting(tried: Sequence[Tried], mask: Mask) -> Laws:
    return tuple(cause.says for cause, given in tried if given[mask].all())


def _readings(known: Known, trial: Trial, decision: Decision) -> Told:
    """Return the readings of a disputed row that fit all answers.

    If none fits, return causes that do, and the mask of answers that the best reading misses.
    """
    points, got = trial.points, trial.got
    readings = trial.readings[: len(decision.readings)]
    wrong = [~matching(each, got, points.target, points.source, points.bits) for each in readings]
    names = tuple(n for n, bad in zip(decision.readings, wrong, strict=True) if not bad.any())
    if len(names) == len(decision.readings):
        names = (EVERY_READING, *names)
    odd = min(wrong, key=np.count_nonzero)
    if names:
        return (("", names),), odd
    laws = dict(known.of(trial)[0]).get("", ())
    return (("", tuple(NO_READING + law for law in laws)),), odd
