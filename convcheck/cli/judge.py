"""`convcheck judge`: who is right, where a fault was reported and no backend is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_specs, complete_types
from convcheck.cli.options import specs_option as specs
from convcheck.cli.values import (
    TakesNumbers,
    bits_of,
    code_of_answer,
    code_of_word,
    is_negative_number,
    unmarked,
)
from convcheck.errors import UsageError
from convcheck.wording import plural

if TYPE_CHECKING:
    from rich.console import Console

    from convcheck.judge.answers import Answers
    from convcheck.judge.result import Verdict
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import VectorSet

GOT = "--got"
EXAMPLE = """\b
Examples:
  convcheck judge onnx.Cast-21/float64-to-bfloat16 1.00390625000001 --got 0x3f80
  convcheck judge onnx.Cast-21 --from float32 --to int4 -1.5 2.5 --got -2 3
  convcheck judge onnx.Cast-21/string-to-float16 1e9 abc --got inf refused
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
         "`refused` for an error. Of a sequence its elements, or `empty`; of a promotion its type "
         "and values.",
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
    string, the text itself. Of an operator whose question is a whole call there is a VALUE for each
    input, such as START STOP STEP, which all elements of a tensor have; they make one call.
    Attributes that are not named have their defaults. Exit codes: 0 no answer is wrong, 1 some are,
    2 bad input.
    """
    from rich.console import Console

    from convcheck.cli.judged_call import judge_call
    from convcheck.judge.result import FAILURES
    from convcheck.rules.find import find_case

    loaded = catalog(specs)
    case = find_case(loaded, name, source, target, where)
    console = Console()
    if case.whole_calls:
        return int(judge_call(loaded, case, values, got, verbose, console) in FAILURES)
    return int(_judge_elements(loaded, case, values, got, verbose, console))


def _judge_elements(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...], verbose: bool,
    console: Console,
) -> bool:  # fmt: skip
    """Show what is due of each input, what became of it, and what gives that. Return whether an
    answer is wrong.
    """
    from convcheck.judge.elements import judge

    if not values:
        raise UsageError("no VALUE", hint="give an input of the case, and what came back of it")
    if len(values) != len(got):
        given = f"{plural(len(values), 'VALUE')} and {plural(len(got), 'answer')}"
        raise UsageError(given, hint="give an answer for each VALUE, in their order")
    vectors, answers = _given(loaded, case, values, got)
    pairs = zip(values, got, strict=True)
    each = [_show(loaded, case, value, answer, verbose, console) for value, answer in pairs]
    failing = _sum_up(each, judge(vectors, answers).verdict, console)
    _show_causes(loaded, vectors, answers, verbose, console)
    return failing


def _given(
    loaded: Catalog, case: Case, values: tuple[str, ...], got: tuple[str, ...]
) -> tuple[VectorSet, Answers]:
    """Return the inputs with what is due of them, and the answers."""
    import numpy as np

    from convcheck.judge.answers import ANSWERED, REFUSED, Answers
    from convcheck.semantics.evaluate import evaluate
    from convcheck.vectors.form import form_decision
    from convcheck.vectors.model import VectorSet

    spec, source, target = loaded.specs[case.spec], case.inputs[0], case.outputs[0]
    bits = bits_of(source, [code_of_word(source, word)[0] for word in values])
    vectors = VectorSet(case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec))
    refused = np.array([word == "refused" for word in got])
    blank = target.format.storage.type(0) if not target.format.storage.hasobject else ""
    codes = [blank if word == "refused" else code_of_answer(target, word) for word in got]
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    messages = dict.fromkeys(np.flatnonzero(refused).tolist(), "an error")
    return vectors, Answers(bits_of(target, codes), state, messages)


def _show(
    loaded: Catalog, case: Case, value: str, answer: str, verbose: bool, console: Console
) -> Verdict:
    """Show what is due of one input, and what became of it. Return the verdict."""
    from convcheck.causes.observations import seen_at
    from convcheck.judge.elements import judge
    from convcheck.report.draw.console import put, width_of
    from convcheck.report.draw.explain import Explained, explained_lines, judged_lines
    from convcheck.report.draw.judged import seen_lines
    from convcheck.report.draw.styled import StyledText
    from convcheck.semantics.program import compile_case
    from convcheck.semantics.trace import trace

    spec, width = loaded.specs[case.spec], width_of(console)
    code, exact = code_of_word(case.inputs[0], value)
    found = trace(compile_case(spec, case), case, bits_of(case.inputs[0], [code]))
    put(explained_lines(Explained(spec, case, value, code, exact, found), width, verbose), console)
    result = judge(*_given(loaded, case, (value,), (answer,)), show_all=True)
    put(judged_lines(result, width), console)
    if result.verdict == "undefined":
        row, bits = found.decision.name, bits_of(case.inputs[0], [code])
        put(seen_lines(case, list(seen_at(loaded, case, row, bits)), width), console)
    put([StyledText()], console)
    return result.verdict


def _sum_up(each: Sequence[Verdict], whole: Verdict, console: Console) -> bool:
    """Show how many answers are wrong, given the verdict on each and on all. Return whether they
    fail: also because no reading of a disputed rule holds for all of them.
    """
    from convcheck.judge.result import FAILURES
    from convcheck.report.draw.console import put
    from convcheck.report.draw.styled import StyledText

    wrong = sum(verdict in FAILURES for verdict in each)
    if wrong:
        said = f"WRONG  {wrong} of {plural(len(each), 'answer')}"
    elif whole in FAILURES:
        said = "WRONG  no reading of a disputed rule holds for all answers"
    elif set(each) == {"undefined"}:
        said = "NOT JUDGED  the standard leaves it open"
    else:
        said = f"RIGHT  {plural(len(each), 'answer')}"
    put([StyledText(said, "bold red" if whole in FAILURES else "bold green")], console)
    return whole in FAILURES


def _show_causes(
    loaded: Catalog, vectors: VectorSet, answers: Answers, verbose: bool, console: Console
) -> None:
    """Show the wrong conversions that give all answers, unless all of these are right, and inputs
    that tell them apart.
    """
    import numpy as np

    from convcheck.causes.apart import telling_inputs
    from convcheck.causes.catalogue import causes_of
    from convcheck.causes.trial import Trial, Tries
    from convcheck.judge.result import entry_word
    from convcheck.report.draw.console import put, width_of
    from convcheck.report.draw.judged import MOST_NAMED, fitting_lines, spelled_code
    from convcheck.semantics.expected import UNDEFINED
    from convcheck.semantics.wrong import compile_wrong

    spec = loaded.specs[vectors.case.spec]
    trial = Trial.of(spec, vectors, answers, np.arange(len(vectors)))
    free = np.logical_and.reduce([r.patterns == UNDEFINED for r in trial.readings])
    if (trial.right & ~free).all():
        return
    fits = [cause for cause, given in Tries(causes_of(loaded)).of(trial) if given.all()]
    if not fits and trial.right.all():
        return
    shown = fits if verbose else fits[:MOST_NAMED]
    programs = (compile_wrong(spec, vectors.case, (cause,)) for cause in shown)
    telling = telling_inputs(spec, vectors.case, [each for each in programs if each])
    source = vectors.case.inputs[0].format
    words = [spelled_code(source, entry_word(code)) for code in telling]
    put(fitting_lines(fits, words, width_of(console), verbose), console)
