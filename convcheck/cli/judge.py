"""`convcheck explain --got`: whether answers that somebody reports are right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from convcheck.causes.apart import telling_inputs
from convcheck.causes.catalogue import causes_of
from convcheck.causes.observations import seen_at
from convcheck.causes.trial import Trial, is_plain, tried
from convcheck.cli.judged_call import calls_apart, fitting_call, show_call
from convcheck.cli.otherwise import judged_as, reversals, right_versions
from convcheck.cli.values import (
    elements_in,
    explained,
    read_values,
    vectors_of,
)
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, REFUSED, Answers, CallAnswers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES, Verdict, entry_word
from convcheck.report.blocks import BLANK, Text, field
from convcheck.report.draw.console import put
from convcheck.report.draw.explain import explain_page, judged_blocks
from convcheck.report.draw.judged import MOST_NAMED, fitting, seen_blocks, spelled_code, title
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.model import CallSet, Vectors, VectorSet
from convcheck.wording import plural


def judge_answers(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...],
    named: frozenset[str], verbose: bool,
) -> bool:  # fmt: skip
    """Show what is due, what became of it, what would judge otherwise, and what gives the answers.
    Return whether one is wrong.
    """
    each: list[Verdict] = []
    vectors: Vectors
    answers: Answers | CallAnswers
    if case.whole_calls:
        vectors, answers = show_call(loaded, case, values, got)
    else:
        vectors, answers, each = _show_elements(loaded, case, values, got, verbose)
    verdict = judged_as(loaded.specs[case.spec], case, vectors, answers).verdict
    put([_summed_up(each or [verdict], verdict)])
    _show_otherwise(loaded, vectors, answers, named, verdict)
    if verdict in FAILURES or verdict == "undefined":
        _show_causes(loaded, vectors, answers, verdict in FAILURES, verbose)
    return verdict in FAILURES


def _show_elements(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool,
) -> tuple[VectorSet, Answers, list[Verdict]]:  # fmt: skip
    """Show what is due of each input, and what became of it. Return all, and each verdict."""
    inputs, outputs = elements_in(case.inputs[0], values), elements_in(case.outputs[0], got)
    if not inputs:
        raise UsageError("no VALUE", hint="give an input of the case, and what came back of it")
    if len(inputs) != len(outputs):
        given = f"{plural(len(inputs), 'VALUE')} and {plural(len(outputs), 'answer')}"
        raise UsageError(given, hint="give an answer for each VALUE, in their order")
    vectors, answers, _ = _given(loaded, case, inputs, outputs)
    put([title(loaded.specs[case.spec])])
    pairs = zip(inputs, outputs, strict=True)
    each = [_show(loaded, case, value, answer, verbose) for value, answer in pairs]
    return vectors, answers, each


def _given(
    loaded: Catalog, case: Case, values: Sequence[str], got: Sequence[str]
) -> tuple[VectorSet, Answers, list[str]]:
    """Return inputs with their expected values, the answers, and notes on values that the type of
    the answers does not have.
    """
    target = case.outputs[0]
    vectors = vectors_of(loaded.specs[case.spec], case, values)
    refused = np.array([word == "refused" for word in got])
    blank = "" if target.format.storage.hasobject else "0x0"
    codes, notes = read_values(target, [blank if word == "refused" else word for word in got])
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    messages = dict.fromkeys(np.flatnonzero(refused).tolist(), "an error")
    return vectors, Answers(codes, state, messages), notes


def _show(loaded: Catalog, case: Case, value: str, answer: str, verbose: bool) -> Verdict:
    """Show the expected value of one input, and the verdict on its answer. Return the verdict."""
    it = explained(loaded.specs[case.spec], case, value)
    vectors, answers, notes = _given(loaded, case, (value,), (answer,))
    result = judge(vectors, answers, show_all=True)
    put(explain_page(it, verbose))
    put([*judged_blocks(result), *(field("note", note) for note in notes)])
    if result.verdict == "undefined":
        seen = seen_at(loaded, case, it.trace.decision.name, vectors.inputs[0])
        put(seen_blocks(case, list(seen)))
    put([BLANK])
    return result.verdict


def _summed_up(each: Sequence[Verdict], whole: Verdict) -> Text:
    """Say how many answers are wrong, given the verdict on each and on all. All may be wrong since
    no reading of a disputed rule holds for all of them.
    """
    wrong = sum(verdict in FAILURES for verdict in each)
    if wrong:
        said = f"WRONG  {wrong} of {plural(len(each), 'answer')}"
    elif whole in FAILURES:
        said = "WRONG  no reading of a disputed rule holds for all answers"
    elif set(each) == {"undefined"}:
        said = "NOT JUDGED  the standard leaves it open"
    else:
        said = f"RIGHT  {plural(len(each), 'answer')}"
    return Text(said, "bold red" if whole in FAILURES else "bold green")


def _show_otherwise(
    loaded: Catalog, vectors: Vectors, answers: Answers | CallAnswers, named: frozenset[str],
    verdict: Verdict,
) -> None:  # fmt: skip
    """Show which other value of an attribute, or which other version, would judge otherwise."""
    said = list(reversals(loaded, vectors, answers, named))
    if verdict in FAILURES and (others := list(right_versions(loaded, vectors, answers))):
        said.append(f"Right under {', '.join(others)}.")
    put(map(Text, said))


def _show_causes(
    loaded: Catalog, vectors: Vectors, answers: Answers | CallAnswers, wrong: bool, verbose: bool,
) -> None:  # fmt: skip
    """Show the wrong conversions that give all answers, and inputs that tell them apart: first what
    takes another value of an attribute or another version, then what is common.
    """
    apart: Callable[[Spec, Case, Sequence[Cause]], list[str]]
    if isinstance(vectors, CallSet):
        found, apart = fitting_call(loaded, vectors, cast(CallAnswers, answers)), calls_apart
    else:
        found, apart = _fitting(loaded, vectors, cast(Answers, answers)), _inputs_apart
    if not found and not wrong:
        return
    fits = sorted(found, key=lambda cause: (is_plain(cause), not cause.common))
    shown = fits if verbose else fits[:MOST_NAMED]
    told = apart(loaded.specs[vectors.case.spec], vectors.case, shown)
    put(fitting(fits, told, verbose))


def _fitting(loaded: Catalog, vectors: VectorSet, answers: Answers) -> list[Cause]:
    """Return the causes that give all answers."""
    spec = loaded.specs[vectors.case.spec]
    trial = Trial.of(spec, vectors, answers, np.arange(len(vectors)))
    return [cause for cause, given in tried(trial, causes_of(loaded)) if given.all()]


def _inputs_apart(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[str]:
    """Return inputs that tell causes apart, in words."""
    programs = (compile_wrong(spec, case, (cause,)) for cause in causes)
    telling = telling_inputs(spec, case, [each for each in programs if each])
    return [spelled_code(case.inputs[0].format, entry_word(code)) for code in telling]
