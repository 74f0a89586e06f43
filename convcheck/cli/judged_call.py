"""The part of `convcheck explain --got` for whole calls: a Range, a FakeConvert, a promotion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.call_apart import telling_calls
from convcheck.causes.catalogue import causes_of
from convcheck.cli.calls import given_call, tensor_of
from convcheck.cli.values import elements_in, read_values
from convcheck.errors import UsageError
from convcheck.judge import answers
from convcheck.judge.answers import CallAnswers
from convcheck.judge.case import judge
from convcheck.report.blocks import field
from convcheck.report.draw.console import put
from convcheck.report.draw.explain import judged_blocks
from convcheck.report.draw.explain_call import ExplainedCall, decision_blocks, explain_call_page
from convcheck.report.draw.judged import title
from convcheck.rules.body.formula import Formula
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.vectors.model import CallSet
from convcheck.wording import plural

REFUSED, EMPTY = "refused", "empty"


def show_call(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...]
) -> tuple[CallSet, CallAnswers]:
    """Show what is due of a call, and what became of it. Return both."""
    spec = loaded.specs[case.spec]
    given = given_call(spec, case, values)
    answers, notes = _answers(loaded, spec, given, got, bool(values))
    put([title(spec), *explain_call_page(given)])
    result = judge(given.calls, answers, show_all=True)
    put(judged_blocks(result))
    for group in result.groups:
        if group.decision is not given.calls.decisions[given.calls.expected[0].row]:
            put(decision_blocks(group.decision))
    put(field("note", note) for note in notes)
    return given.calls, answers


def _answers(
    loaded: Catalog, spec: Spec, given: ExplainedCall, got: tuple[str, ...], with_values: bool
) -> tuple[CallAnswers, list[str]]:
    """Return what came back, and notes on values that a type does not have. Raises UsageError for
    what is no answer to such a call.
    """
    if got == (REFUSED,):
        state = np.array([answers.REFUSED], np.uint8)
        return answers.CallAnswers((None,), state, {0: "an error"}), []
    if given.calls.case.outputs:
        outputs, notes = _tensors(spec, given.calls, got)
    else:
        outputs, notes = _of_common_type(loaded, given.calls, got, with_values)
    return answers.CallAnswers((outputs,), np.array([answers.ANSWERED], np.uint8), {}), notes


def _tensors(spec: Spec, calls: CallSet, got: tuple[str, ...]) -> tuple[Outputs, list[str]]:
    """Return the outputs: of one all elements, of several a word each, which may be a list."""
    names, targets, [call] = [name for name, _ in spec.outputs], calls.case.outputs, calls.calls
    words = [()] if got == (EMPTY,) else [got] if len(targets) == 1 else [(w,) for w in got]
    if len(words) != len(targets):
        given = f"{plural(len(words), 'answer')} instead of {len(targets)}: {', '.join(names)}"
        raise UsageError(given, hint="give an answer for each output, or `refused`")
    arrays, notes = [], []
    for i, (name, target, some) in enumerate(zip(names, targets, words, strict=True)):
        codes, more = read_values(target, elements_in(target, some))
        sequence = isinstance(spec.body, Formula)
        shape = codes.shape if sequence else call[0].shape if i == 0 else ()
        arrays.append(codes if sequence else tensor_of(name, shape, codes))
        notes += more
    return Outputs(tuple(arrays), tuple(target.name for target in targets)), notes


def _of_common_type(
    loaded: Catalog, calls: CallSet, got: tuple[str, ...], with_values: bool
) -> tuple[Outputs, list[str]]:
    """Return outputs of one type: a TYPE, and a value for each where values were asked."""
    [call] = calls.calls
    name, *words = got
    due = len(call) if with_values else 0
    hint = "the TYPE that came back" + (", and an answer for each VALUE" if due else "")
    if name not in loaded.types.types:
        raise UsageError(f"{name} is no type", hint=f"give {hint}, or `refused`")
    if len(words) != due:
        raise UsageError(f"{plural(len(words), 'answer')} instead of {due}", hint=f"give {hint}")
    target = loaded.types.types[name]
    read = [read_values(target, elements_in(target, [w])) for w in words or ["0"] * len(call)]
    pairs = zip(read, call, strict=True)
    arrays = tuple(tensor_of(name, tensor.shape, codes) for (codes, _), tensor in pairs)
    return Outputs(arrays, (name,) * len(call)), [note for _, notes in read for note in notes]


def fitting_call(loaded: Catalog, calls: CallSet, answers: CallAnswers) -> list[Cause]:
    """Return the wrong implementations that give the answer."""
    from convcheck.causes.call_trial import CallTrial

    trial = CallTrial.of(loaded, calls, answers)
    if trial is None:
        return []
    return [cause for cause in causes_of(loaded) if trial.explains((cause,))]


def calls_apart(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[str]:
    """Return calls that tell causes apart, in words."""
    from convcheck.causes.asked import call_in_short

    telling = telling_calls(spec, case, [(cause,) for cause in causes])
    return [call_in_short(case, call) for call in telling]
