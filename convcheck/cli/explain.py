"""`convcheck explain`."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.causes.apart import telling_calls, telling_inputs
from convcheck.causes.catalogue import causes_of, seen_at
from convcheck.causes.score import call_in_short
from convcheck.causes.trial import CallTrial, Trial, tried
from convcheck.cli.options import catalog
from convcheck.cli.values import elements_in, given_call, read_values, tensor_of, vectors_of
from convcheck.documents.decode import read
from convcheck.errors import SpecError, UsageError
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES, CallExample, CaseResult, Group, Verdict, entry_word
from convcheck.judge.words import explain_values, pattern, value
from convcheck.plan.runner import ask_one_input
from convcheck.plan.select import shown_example
from convcheck.records import replace
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
from convcheck.rules.body.formula import Formula
from convcheck.rules.causes import Cause
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import DEFAULT, Attribute, Case, Spec
from convcheck.semantics.compile import compile_wrong
from convcheck.semantics.evaluate import compile_case, evaluate
from convcheck.semantics.expected import EXACT, Decision
from convcheck.semantics.trace import trace
from convcheck.streams import plural
from convcheck.vectors.generate import expecting
from convcheck.vectors.model import CallSet, Vectors, VectorSet

RIGHT = ("pass", "tolerated")


def _reversals(
    catalog: Catalog, vectors: Vectors, answers: Answers, named: frozenset[str]
) -> Iterator[str]:
    spec = catalog.specs[vectors.case.spec]
    now = _judged_as(spec, vectors.case, vectors, answers).verdict
    for attribute in spec.attributes:
        for case in _siblings(spec, vectors.case, attribute):
            with suppress(SpecError):
                found = _judged_as(spec, case, vectors, answers)
                left_out = f"`{attribute.name}` was not given: its default {attribute.default}. "
                if attribute.name in named and vectors.case.attribute(attribute.name) != DEFAULT:
                    left_out = ""
                if said := _reversed(now, found, attribute.name, bool(left_out)):
                    yield left_out + said


def _expected_answers(vectors: Vectors) -> Answers | None:
    if isinstance(vectors, CallSet):
        [call] = vectors.expected
        if call.readings[0].pattern != EXACT:
            return None
        due = call.readings[0].outputs
        outputs = Outputs(tuple(one.answer for one in due), tuple(one.dtype.name for one in due))
        return Answers(np.array([outputs]), np.array([ANSWERED], np.uint8), {})
    [first, *_] = vectors.expected.readings
    return Answers(first.codes, np.full(len(vectors), ANSWERED, np.uint8), {})


def _right_versions(catalog: Catalog, vectors: Vectors, answers: Answers) -> Iterator[str]:
    for spec in catalog.specs.values():
        if spec.op == vectors.case.op and spec.id != vectors.case.spec:
            with suppress(SpecError, UsageError):
                case = find_case(catalog, f"{spec.id}/{vectors.case.name}")
                if _judged_as(spec, case, vectors, answers).verdict in RIGHT:
                    yield spec.id


def _judged_as(spec: Spec, case: Case, vectors: Vectors, answers: Answers) -> CaseResult:
    if isinstance(vectors, CallSet):
        calls = expecting(spec, case, vectors.calls, "sampled")
        return judge(calls, answers, show_all=True)
    expected = evaluate(spec, case, vectors.inputs[0])
    return judge(replace(vectors, case=case, expected=expected), answers, show_all=True)


def _siblings(spec: Spec, case: Case, attribute: Attribute) -> Iterator[Case]:
    now = dict(spec.in_force(case.attributes)).get(attribute.name)
    for other in attribute.values if now is not None else ():
        if other != now:
            pairs = {**dict(case.attributes), attribute.name: other}.items()
            yield replace(case, attributes=tuple(pairs))


def _reversed(now: str, found: CaseResult, attribute: str, left_out: bool) -> str:
    chosen = f"{attribute}={found.case.attribute(attribute)}"
    if now in FAILURES and found.verdict in RIGHT:
        return f"Right under {chosen}."
    failing = [group for group in found.groups if group.verdict in FAILURES]
    if now not in RIGHT or not failing or not left_out:
        return ""
    words = _in_words(failing[0], found.case)
    if words is None:
        return f"With {chosen} this answer is wrong."
    return f"With {chosen} {words[0]} is expected, and {words[1]} is wrong."


def _in_words(group: Group, case: Case) -> tuple[str, str] | None:
    example = group.examples[0]
    if not isinstance(example, CallExample):
        fmt = case.outputs[0].format
        words = (example.expected, example.got)
    else:
        output, element = example.difference or (0, -1)
        if element < 0 or isinstance(example.expected, str) or example.got is None:
            return None
        both = (example.expected[output], example.got[output])
        fmt = case.outputs[output].format
        words = tuple(one.words[element - one.first] for one in both)  # type: ignore[assignment]
    said = [pattern(word or "") or value(fmt, word) or "the refusal" for word in words]
    return said[0], said[1]


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
    """Explain an input, and judge answers."""
    loaded = catalog()
    if got and (backends or report or finding):
        raise UsageError("--got has the answers", hint="leave --backend and --finding out")
    if name is None:
        name, values = _of_finding(loaded, report, finding)
    elif report or finding:
        raise UsageError("a finding and a case", hint=f"leave out {name}, or the finding")
    case = find_case(loaded, name, source, target, where)
    named = frozenset(word.partition("=")[0] for word in (*name.split("/")[2:], *where))
    if got:
        show = _show_call if case.whole_calls else _show_elements
        return _judge(loaded, show(loaded, case, values, got, verbose), named, verbose)
    vectors = _explain(loaded, case, values, verbose)
    answers = _expected_answers(vectors)
    notes = _reversals(loaded, vectors, answers, named) if answers else ()
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
    vectors, notes = vectors_of(spec, case, [value])
    found = trace(compile_case(spec, case), case, vectors.inputs[0])
    put(explain_page(vectors, found, notes, verbose))
    return vectors, found.decision


def _show_elements(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool
) -> Given:
    inputs, outputs = elements_in(case.inputs[0], values), elements_in(case.outputs[0], got)
    if not inputs:
        raise UsageError("no VALUE", hint="give an input of the case, and what came back of it")
    if len(inputs) != len(outputs):
        given = f"{plural(len(inputs), 'VALUE')} and {plural(len(outputs), 'answer')}"
        raise UsageError(given, hint="give an answer for each VALUE, in their order")
    spec, each = loaded.specs[case.spec], []
    whole = vectors_of(spec, case, inputs)[0], _answers(case, outputs)[0]
    put([title(spec)])
    for word, answer in zip(inputs, outputs, strict=True):
        vectors, by = _explain_element(spec, case, word, verbose)
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
    target = case.outputs[0]
    refused = np.array([word == REFUSAL for word in got])
    blank = "" if target.format.storage.hasobject else "0x0"
    codes, notes = read_values(target, [blank if word == REFUSAL else word for word in got])
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    return Answers(codes, state, dict.fromkeys(np.flatnonzero(refused).tolist(), "an error")), notes


def _show_call(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool
) -> Given:
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
    """Read a single output from all words, several from one word each."""
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
    vectors, answers, each = given
    verdict = _judged_as(loaded.specs[vectors.case.spec], vectors.case, vectors, answers).verdict
    wrong = verdict in FAILURES
    put([summed_up(each or [verdict], verdict)])
    said = list(_reversals(loaded, vectors, answers, named))
    if wrong and (others := list(_right_versions(loaded, vectors, answers))):
        said.append(f"Right under {', '.join(others)}.")
    put(map(Text, said))
    fits = _causes(loaded, vectors, answers) if wrong or verdict == "undefined" else []
    if fits or wrong:
        shown = fits if verbose else fits[:MOST_NAMED]
        put(fitting(fits, _apart(loaded.specs[vectors.case.spec], vectors.case, shown), verbose))
    return int(wrong)


def _causes(loaded: Catalog, vectors: Vectors, answers: Answers) -> list[Cause]:
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
    if case.whole_calls:
        telling = telling_calls(spec, case, [(cause,) for cause in causes])
        return [call_in_short(case, call) for call in telling]
    programs = (compile_wrong(spec, case, (cause,)) for cause in causes)
    codes = telling_inputs(spec, case, [each for each in programs if each])
    return [spelled_code(case.inputs[0].format, entry_word(code)) for code in codes]
