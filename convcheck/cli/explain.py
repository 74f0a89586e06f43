"""`convcheck explain`: the expected value of an input, and the judgement of answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.apart import telling_calls, telling_inputs
from convcheck.causes.asked import call_in_short
from convcheck.causes.call_trial import CallTrial
from convcheck.causes.catalogue import causes_of, seen_at
from convcheck.causes.trial import Trial, tried
from convcheck.cli.options import catalog
from convcheck.cli.otherwise import expected_answers, judged_as, named_in, reversals, right_versions
from convcheck.cli.values import elements_in, given_call, read_values, tensor_of, vectors_of
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES, Verdict, entry_word
from convcheck.judge.words import explain_values
from convcheck.plan.runner import ask_one_input
from convcheck.plan.select import shown_example
from convcheck.report.blocks import BLANK, Text, field
from convcheck.report.draw.console import put
from convcheck.report.draw.explain import (
    MOST_NAMED,
    answer_blocks,
    decision_blocks,
    explain_call_page,
    explain_page,
    fitting,
    judged_blocks,
    seen_blocks,
    spelled_code,
    summed_up,
    title,
)
from convcheck.report.examples import with_deciding_words
from convcheck.report.json.decode import read
from convcheck.rules.body.formula import Formula
from convcheck.rules.causes import Cause
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import Decision
from convcheck.semantics.trace import trace
from convcheck.semantics.wrong import compile_wrong
from convcheck.streams import plural
from convcheck.vectors.model import CallSet, Vectors, VectorSet

REFUSAL, EMPTY = "refused", "empty"  # answers in words
Given = tuple[Vectors, Answers, list[Verdict]]


def main(
    name: str | None,
    values: tuple[str, ...],
    got: tuple[str, ...],
    source: str | None,
    target: str | None,
    where: tuple[str, ...],
    backends: tuple[str, ...],
    report: str | None,
    finding: str | None,
    timeout: float,
    verbose: bool,
) -> int:
    """Explain an input, and judge the answers of backends or of --got."""
    loaded = catalog()
    if got and (backends or report or finding):
        raise UsageError("--got has the answers", hint="leave --backend and --finding out")
    if name is None:
        name, values = _of_finding(loaded, report, finding)
    elif report or finding:
        raise UsageError("a finding and a case", hint=f"leave out {name}, or the finding")
    case, named = find_case(loaded, name, source, target, where), named_in(name, where)
    if got:
        show = _show_call if case.whole_calls else _show_elements
        return _judge(loaded, show(loaded, case, values, got, verbose), named, verbose)
    vectors = _explain(loaded, case, values, verbose)
    answers = expected_answers(vectors)
    notes = reversals(loaded, vectors, answers, named) if answers else ()
    put(field("note", said) for said in notes)
    code = 0
    for address in backends:
        info, result = ask_one_input(address, vectors, timeout, loaded)
        put(answer_blocks(info, result))
        code = max(code, int(result.verdict in FAILURES))
    return code


def _of_finding(
    loaded: Catalog, report: str | None, finding: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return case and values of a finding's first example. Raises UsageError."""
    if report is None or finding is None:
        hint = "name one, or give both --report FILE and --finding ID"
        raise UsageError("which CASE?", hint=hint)
    case, example = shown_example(read(report, loaded.types.types), finding)
    return case.id, tuple(explain_values(case, with_deciding_words(example)))


def _explain(loaded: Catalog, case: Case, values: tuple[str, ...], verbose: bool) -> Vectors:
    spec = loaded.specs[case.spec]
    if case.whole_calls:
        calls, notes = given_call(spec, case, values)
        put(explain_call_page(spec, calls, notes))
        return calls
    if len(values) != 1:
        hint = f"convcheck explain {case.id} 1"
        raise UsageError("which VALUE? give one input of the case", hint=hint)
    return _explain_element(spec, case, values[0], verbose)[0]


def _explain_element(
    spec: Spec, case: Case, value: str, verbose: bool
) -> tuple[VectorSet, Decision]:
    """Show an input's explanation. Return it with its expected value, and the deciding row."""
    vectors, notes = vectors_of(spec, case, [value])
    found = trace(compile_case(spec, case), case, vectors.inputs[0])
    put(explain_page(vectors, found, notes, verbose))
    return vectors, found.decision


# Answers on the command line -----------------------------------------------------------------


def _show_elements(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool
) -> Given:
    """Show the explanation and judgement of each input. Return vectors, answers and verdicts."""
    inputs, outputs = elements_in(case.inputs[0], values), elements_in(case.outputs[0], got)
    if not inputs:
        raise UsageError("no VALUE", hint="give an input of the case, and what came back of it")
    if len(inputs) != len(outputs):
        given = f"{plural(len(inputs), 'VALUE')} and {plural(len(outputs), 'answer')}"
        raise UsageError(given, hint="give an answer for each VALUE, in their order")
    spec, each = loaded.specs[case.spec], []
    whole = vectors_of(spec, case, inputs)[0], _answers(case, outputs)[0]
    put([title(spec)])
    for value, answer in zip(inputs, outputs, strict=True):
        vectors, by = _explain_element(spec, case, value, verbose)
        answers, notes = _answers(case, [answer])
        result = judge(vectors, answers, show_all=True)
        put([*judged_blocks(result), *(field("note", note) for note in notes)])
        if result.verdict == "undefined":
            seen = seen_at(loaded, case, by.name, vectors.inputs[0])
            put(seen_blocks(case, list(seen)))
        put([BLANK])
        each.append(result.verdict)
    return *whole, each


def _answers(case: Case, got: Sequence[str]) -> tuple[Answers, list[str]]:
    """Return answers, and notes on values that their type cannot represent."""
    target = case.outputs[0]
    refused = np.array([word == REFUSAL for word in got])
    blank = "" if target.format.storage.hasobject else "0x0"
    codes, notes = read_values(target, [blank if word == REFUSAL else word for word in got])
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    return Answers(codes, state, dict.fromkeys(np.flatnonzero(refused).tolist(), "an error")), notes


def _show_call(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool
) -> Given:
    """Show the explanation and judgement of a call. Return the call and its answers."""
    spec = loaded.specs[case.spec]
    (calls, of_inputs), notes = given_call(spec, case, values), list[str]()
    if got == (REFUSAL,):
        answers = Answers(np.array([None]), np.array([REFUSED], np.uint8), {0: "an error"})
    else:
        tensors = _tensors(spec, calls, got) if case.outputs else None
        outputs, notes = tensors or _of_common_type(loaded, calls, got, bool(values))
        answers = Answers(np.array([outputs]), np.array([ANSWERED], np.uint8), {})
    put([title(spec), *explain_call_page(spec, calls, of_inputs)])
    result = judge(calls, answers, show_all=True)
    put(judged_blocks(result))
    for group in result.groups:
        if group.decision is not calls.decisions[calls.expected[0].row]:
            put(decision_blocks(group.decision))
    put(field("note", note) for note in notes)
    return calls, answers, []


def _tensors(spec: Spec, calls: CallSet, got: tuple[str, ...]) -> tuple[Outputs, list[str]]:
    """Return the outputs and notes.

    A single output takes all words, several outputs take a word or list each.
    """
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
    """Return outputs of one type: a TYPE, and a value for each input value."""
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


def _judge(loaded: Catalog, given: Given, named: frozenset[str], verbose: bool) -> int:
    """Print whether answers are right, and which causes give them all.

    Also print attribute values and versions that would change the verdict. Return 1 for a wrong
    answer.
    """
    vectors, answers, each = given
    verdict = judged_as(loaded.specs[vectors.case.spec], vectors.case, vectors, answers).verdict
    wrong = verdict in FAILURES
    put([summed_up(each or [verdict], verdict)])
    said = list(reversals(loaded, vectors, answers, named))
    if wrong and (others := list(right_versions(loaded, vectors, answers))):
        said.append(f"Right under {', '.join(others)}.")
    put(map(Text, said))
    fits = _causes(loaded, vectors, answers) if wrong or verdict == "undefined" else []
    if fits or wrong:
        shown = fits if verbose else fits[:MOST_NAMED]
        put(fitting(fits, _apart(loaded.specs[vectors.case.spec], vectors.case, shown), verbose))
    return int(wrong)


def _causes(loaded: Catalog, vectors: Vectors, answers: Answers) -> list[Cause]:
    """Return the wrong conversions that give all answers.

    Other attribute values and versions come first, then common causes.
    """
    causes = causes_of(loaded)
    if isinstance(vectors, VectorSet):
        spec = loaded.specs[vectors.case.spec]
        trial = Trial.of(spec, vectors, answers, np.arange(len(vectors)))
        found = [cause for cause, given in tried(trial, causes) if given.all()]
    else:
        asked = CallTrial.of(loaded, vectors, answers)
        found = [cause for cause in causes if asked and asked.explains((cause,))]

    def rank(cause: Cause) -> tuple[bool, bool]:
        return not (cause.under or cause.version), not cause.common

    return sorted(found, key=rank)


def _apart(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[str]:
    """Return inputs or calls that distinguish causes, in words."""
    if case.whole_calls:
        telling = telling_calls(spec, case, [(cause,) for cause in causes])
        return [call_in_short(case, call) for call in telling]
    programs = (compile_wrong(spec, case, (cause,)) for cause in causes)
    codes = telling_inputs(spec, case, [each for each in programs if each])
    return [spelled_code(case.inputs[0].format, entry_word(code)) for code in codes]
