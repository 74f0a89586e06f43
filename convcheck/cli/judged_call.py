"""The part of `convcheck judge` for whole calls: a Range, a FakeConvert, a promotion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from convcheck.cli.calls import GivenCall, given_call
from convcheck.cli.values import bits_of, code_of_answer
from convcheck.errors import UsageError
from convcheck.wording import plural

if TYPE_CHECKING:
    from rich.console import Console

    from convcheck.backends.protocol import Outputs
    from convcheck.judge.answers import CallAnswers
    from convcheck.judge.result import Verdict
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case, DType, Spec
    from convcheck.vectors.model import CallSet

REFUSED, EMPTY = "refused", "empty"


def judge_call(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool,
    console: Console,
) -> Verdict:  # fmt: skip
    """Show what is due of a call, what became of it, and what gives that. Return the verdict."""
    from convcheck.judge.calls import judge_calls
    from convcheck.report.draw.console import put, width_of
    from convcheck.report.draw.explain import judged_lines
    from convcheck.report.draw.explain_call import ExplainedCall, explained_call_lines

    spec, width = loaded.specs[case.spec], width_of(console)
    given = given_call(spec, case, values)
    answers = _answers(loaded, spec, given, got, bool(values))
    outputs = tuple(name for name, _ in spec.outputs)
    it = ExplainedCall(given.calls, given.names, outputs, given.words, given.exact)
    put(explained_call_lines(it, width), console)
    result = judge_calls(given.calls, answers, show_all=True)
    put(judged_lines(result, width), console)
    _show_causes(loaded, given.calls, answers, verbose, console)
    return result.verdict


def _answers(
    loaded: Catalog, spec: Spec, given: GivenCall, got: tuple[str, ...], with_values: bool
) -> CallAnswers:
    """Return what came back. Raises UsageError for what is no answer to such a call."""
    import numpy as np

    from convcheck.judge import answers

    if got == (REFUSED,):
        state = np.array([answers.REFUSED], np.uint8)
        return answers.CallAnswers((None,), state, {0: "an error"})
    if given.calls.case.outputs:
        outputs = _tensor(spec, given.calls, got)
    else:
        outputs = _of_common_type(loaded, given.calls, got, with_values)
    return answers.CallAnswers((outputs,), np.array([answers.ANSWERED], np.uint8), {})


def _tensor(spec: Spec, calls: CallSet, got: tuple[str, ...]) -> Outputs:
    """Return the one output: of a sequence all elements, of a tensor the value of each."""
    from convcheck.backends.protocol import Outputs
    from convcheck.rules.body.formula import Formula

    [target], [call] = calls.case.outputs, calls.calls
    words = () if got == (EMPTY,) else got
    codes = bits_of(target, [code_of_answer(target, word) for word in words])
    if not isinstance(spec.body, Formula):
        if len(codes) != 1:
            hint = "give one answer, which each element of the output has, or `refused`"
            raise UsageError(plural(len(codes), "answer"), hint=hint)
        codes = codes.repeat(call[0].size).reshape(call[0].shape)
    return Outputs((codes,), (target.name,))


def _of_common_type(
    loaded: Catalog, calls: CallSet, got: tuple[str, ...], with_values: bool
) -> Outputs:
    """Return outputs of one type: a TYPE, and a value for each where values were asked."""
    from convcheck.backends.protocol import Outputs

    [call] = calls.calls
    name, *words = got
    due = len(call) if with_values else 0
    hint = "the TYPE that came back" + (", and an answer for each VALUE" if due else "")
    if name not in loaded.types.types:
        raise UsageError(f"{name} is no type", hint=f"give {hint}, or `refused`")
    if len(words) != due:
        raise UsageError(f"{plural(len(words), 'answer')} instead of {due}", hint=f"give {hint}")
    target = loaded.types.types[name]
    each = words or ["0"] * len(call)
    arrays = tuple(_filled(target, w, t.shape) for w, t in zip(each, call, strict=True))
    return Outputs(arrays, (name,) * len(call))


def _filled(target: DType, word: str, shape: tuple[int, ...]):  # type: ignore[no-untyped-def]
    import numpy as np

    return np.full(shape, code_of_answer(target, word), target.format.storage)


def _show_causes(
    loaded: Catalog, calls: CallSet, answers: CallAnswers, verbose: bool, console: Console
) -> None:
    """Show the wrong implementations that give the answer, unless it is right, and calls that tell
    them apart.
    """
    from convcheck.causes.call_apart import telling_calls
    from convcheck.causes.call_mutants import call_in_short
    from convcheck.causes.call_search import CallTrial
    from convcheck.causes.catalogue import causes_of
    from convcheck.report.draw.console import put, width_of
    from convcheck.report.draw.judged import MOST_NAMED, fitting_lines

    trial = CallTrial.of(loaded, calls, answers)
    if trial is None:
        return
    made = ((cause, trial.candidates((cause,))) for cause in causes_of(loaded))
    fits = [cause for cause, all_ in made if any(map(trial.explains, all_))]
    shown = fits if verbose else fits[:MOST_NAMED]
    telling = telling_calls(trial.spec, calls.case, [(cause,) for cause in shown])
    words = [call_in_short(calls.case, call) for call in telling]
    put(fitting_lines(fits, words, width_of(console), verbose), console)
