"""Cases, vectors and a judge for an identity of 8-bit integers, for bad_backends."""

import time
from collections import Counter

import numpy as np
from planted.asking import INT8, vectors_of

from convcheck.judge.answers import ANSWERED, CRASHED, LOST, NOT_ASKED, REFUSED
from convcheck.judge.result import CaseResult
from convcheck.plan.runner import execute
from convcheck.rules.model import Case


def case(number):
    return Case("test.Identity-1", "test.Identity", 1, (INT8,), (INT8,), (("number", number),))


class Corpus:
    def vectors(self, case):
        codes = np.arange(128 if case.attribute("number") == 1 else 37, dtype=np.uint8)
        return vectors_of(case, codes, out=codes)


class BrokenCorpus(Corpus):
    def vectors(self, case):
        if case.attribute("number") == 1:
            raise LookupError("no such vectors")
        return super().vectors(case)


class SlowCorpus(Corpus):
    def vectors(self, case):
        time.sleep(0.5)
        return super().vectors(case)


def ran(address, *numbers, timeout=20.0):
    return execute(
        address, [case(number) for number in numbers], Corpus(), jobs=1, timeout=timeout,
        on_result=lambda result: None, judge=judge,
    )  # fmt: skip


def judge(vectors, answers):
    states = Counter(answers.state.tolist())
    wrong = (answers.state == ANSWERED) & (answers.got != vectors.expected.readings[0].codes)
    why = [f"{i}: {words}" for i, words in sorted(answers.messages.items())]
    why += [f"{f.kind} [{f.placement}] {f.message} @{f.index}" for f in answers.faults]
    why += [f"elsewhere [{e.placement}] {len(e.index)}" for e in answers.elsewhere]
    verdict = "pass"
    if answers.declined:
        verdict, why = "unsupported", [answers.declined.message]
    elif states[CRASHED] or any(f.kind == "crashed" for f in answers.faults):
        verdict = "crashed"
    elif wrong.any() or answers.faults or answers.elsewhere:
        verdict = "fail"
    elif states[LOST]:
        verdict = "error"
    elif states[REFUSED]:
        verdict = "refused"
    why.append(f"not asked: {states[NOT_ASKED]}")
    return CaseResult(vectors.case, verdict, states[ANSWERED], "sampled", (), "\n".join(why))
