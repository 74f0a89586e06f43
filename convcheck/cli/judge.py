"""`convcheck judge`: who is right, where a fault was reported and no backend is at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_specs, complete_types
from convcheck.cli.options import specs_option as specs
from convcheck.cli.values import (
    TakesNumbers,
    bits_of,
    code_of_word,
    elements_in,
    is_negative_number,
    read_values,
    unmarked,
)
from convcheck.errors import UsageError
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.judge.answers import Answers, CallAnswers
    from convcheck.judge.result import Verdict
    from convcheck.report.blocks import Text
    from convcheck.rules.causes import Cause
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case, Spec
    from convcheck.vectors.model import Vectors, VectorSet

GOT = "--got"
EXAMPLE = """\b
Examples:
  convcheck judge onnx.Cast-21/float64-to-bfloat16 1.00390625000001 --got 0x3f80
  convcheck judge onnx.Cast-21 --from float32 --to int4 -1.5 2.5 --got -2 3
  convcheck judge onnx.Cast-21/string-to-float16 1e9 abc --got inf refused
  convcheck judge onnx.QuantizeLinear-23/float32-float32-int8/tensor 2.5,500 1 0 --got 2 -128
  convcheck judge openvino.Range-4/int8-int8-int8-to-int8 5 0 1 --got 5 6 7 8 9
  convcheck judge openvino.ConvertPromoteTypes-14/int8-uint8/tensor-tensor --got int16
"""


class _GivesAnswers(TakesNumbers):
    """A command whose option `--got` takes all that follows, up to the next option."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Repeat the option for each of its values."""
        if GOT in args:
            at = args.index(GOT)
            given = list(takewhile(_is_answer, args[at + 1 :]))
            rest = args[at + 1 + len(given) :]
            each = [word for answer in given for word in (GOT, answer)]
            args = [*args[:at], *rest, *(each or [GOT])]
        return super().parse_args(context, args)


def _is_answer(word: str) -> bool:
    return not word.startswith("-") or is_negative_number(word)


@click.command("judge", cls=_GivesAnswers, epilog=EXAMPLE)
@click.argument("name", metavar="SPEC|CASE", shell_complete=complete_specs)
@click.argument("values", metavar="VALUE...", nargs=-1, callback=unmarked)
@click.option(
    GOT, "got", multiple=True, required=True, metavar="ANSWER...", callback=unmarked,
    help="What came back, an answer for each VALUE, in their order: bits (0x…) or a value, or "
         "`refused` for an error. Of a tensor or a sequence its elements, or `empty`; of several "
         "outputs a list for each; of a promotion its type and values.",
)  # fmt: skip
@click.option(
    "--from", "source", metavar="T", shell_complete=complete_types, help="From this type."
)
@click.option("--to", "target", metavar="T", shell_complete=complete_types, help="To this type.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value.")
@click.option("--verbose", "-v", is_flag=True, help="Show every row that was tried, every cause.")
@specs
def command(
    name: str,
    values: tuple[str, ...],
    got: tuple[str, ...],
    source: str | None,
    target: str | None,
    where: tuple[str, ...],
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Judge answers that somebody reports: right or wrong and by which rule, or open, and what
    runtimes were seen to do there; and which wrong conversions give all of them.

    VALUE and ANSWER are decimals, 0x… bits, hex floats (0x1.8p3), inf, nan, true or false; of a
    string, the text itself. A decimal between two values of the type is rounded, and said so. Of
    an operator whose question is a whole call there is a VALUE for each input, such as START STOP
    STEP: one for all elements of a tensor, or a list such as 1,2,3. They make one call.
    Attributes that are not named have their defaults. Exit codes: 0 no answer is wrong, 1 some are,
    2 bad input.
    """
    from convcheck.cli.otherwise import named_in
    from convcheck.rules.find import find_case

    loaded = catalog(specs)
    case = find_case(loaded, name, source, target, where)
    return int(_judge(loaded, case, values, got, named_in(name, where), verbose))


def _judge(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...],
    named: frozenset[str], verbose: bool,
) -> bool:  # fmt: skip
    """Show what is due, what became of it, what would judge otherwise, and what gives the answers.
    Return whether one is wrong.
    """
    from convcheck.cli.judged_call import show_call
    from convcheck.cli.otherwise import judged_as
    from convcheck.judge.result import FAILURES
    from convcheck.report.draw.console import put

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
    from convcheck.report.draw.console import put
    from convcheck.report.draw.judged import title

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
    """Return the inputs with what is due of them, the answers, and notes on values that the type
    of the answers does not have.
    """
    import numpy as np

    from convcheck.judge.answers import ANSWERED, REFUSED, Answers
    from convcheck.semantics.evaluate import evaluate
    from convcheck.vectors.form import form_decision
    from convcheck.vectors.model import VectorSet

    spec, source, target = loaded.specs[case.spec], case.inputs[0], case.outputs[0]
    bits = bits_of(source, [code_of_word(source, word)[0] for word in values])
    vectors = VectorSet(case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec))
    refused = np.array([word == "refused" for word in got])
    blank = "" if target.format.storage.hasobject else "0x0"
    codes, notes = read_values(target, [blank if word == "refused" else word for word in got])
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    messages = dict.fromkeys(np.flatnonzero(refused).tolist(), "an error")
    return vectors, Answers(codes, state, messages), notes


def _show(loaded: Catalog, case: Case, value: str, answer: str, verbose: bool) -> Verdict:
    """Show what is due of one input, and what became of it. Return the verdict."""
    from convcheck.causes.observations import seen_at
    from convcheck.judge.case import judge
    from convcheck.report.blocks import BLANK, field
    from convcheck.report.draw.console import put
    from convcheck.report.draw.explain import Explained, explain_page, judged_blocks
    from convcheck.report.draw.judged import seen_blocks
    from convcheck.semantics.evaluate import compile_case
    from convcheck.semantics.trace import trace

    spec = loaded.specs[case.spec]
    code, exact = code_of_word(case.inputs[0], value)
    found = trace(compile_case(spec, case), case, bits_of(case.inputs[0], [code]))
    vectors, answers, notes = _given(loaded, case, (value,), (answer,))
    result = judge(vectors, answers, show_all=True)
    put(explain_page(Explained(spec, case, value, code, exact, found), verbose))
    put([*judged_blocks(result), *(field("note", note) for note in notes)])
    if result.verdict == "undefined":
        row, bits = found.decision.name, bits_of(case.inputs[0], [code])
        put(seen_blocks(case, list(seen_at(loaded, case, row, bits))))
    put([BLANK])
    return result.verdict


def _summed_up(each: Sequence[Verdict], whole: Verdict) -> Text:
    """Say how many answers are wrong, given the verdict on each and on all. All may be wrong since
    no reading of a disputed rule holds for all of them.
    """
    from convcheck.judge.result import FAILURES
    from convcheck.report.blocks import Text

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
    from convcheck.cli.otherwise import reversals, right_versions
    from convcheck.judge.result import FAILURES
    from convcheck.report.blocks import Text
    from convcheck.report.draw.console import put

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
    from typing import cast

    from convcheck.causes.trial import is_plain
    from convcheck.cli.judged_call import calls_apart, fitting_call
    from convcheck.judge.answers import Answers, CallAnswers
    from convcheck.report.draw.console import put
    from convcheck.report.draw.judged import MOST_NAMED, fitting
    from convcheck.vectors.model import CallSet

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
    import numpy as np

    from convcheck.causes.catalogue import causes_of
    from convcheck.causes.trial import Trial, tried

    spec = loaded.specs[vectors.case.spec]
    trial = Trial.of(spec, vectors, answers, np.arange(len(vectors)))
    return [cause for cause, given in tried(trial, causes_of(loaded)) if given.all()]


def _inputs_apart(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[str]:
    """Return inputs that tell causes apart, in words."""
    from convcheck.causes.apart import telling_inputs
    from convcheck.judge.result import entry_word
    from convcheck.report.draw.judged import spelled_code
    from convcheck.semantics.wrong import compile_wrong

    programs = (compile_wrong(spec, case, (cause,)) for cause in causes)
    telling = telling_inputs(spec, case, [each for each in programs if each])
    return [spelled_code(case.inputs[0].format, entry_word(code)) for code in telling]
