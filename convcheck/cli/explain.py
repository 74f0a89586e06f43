"""`convcheck explain`: what the standard wants of one input, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from convcheck.cli.calls import given_call
from convcheck.cli.options import SECONDS, catalog, complete_specs, complete_types
from convcheck.cli.options import complete_backends as complete_backends
from convcheck.cli.options import specs_option as specs
from convcheck.cli.values import TakesNumbers, bits_of, code_of_word, unmarked
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.report.draw.explain import Explained
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.model import Vectors

EXAMPLE = """\b
Examples:
  convcheck explain onnx.Cast-21 --from float32 --to float8e4m3fn --where saturate=0 464.25
  convcheck explain onnx.Cast-21/float32-to-bfloat16 0x3f808001 --backend ort
  convcheck explain --report run.json --finding 3f2a91c4 --backend ort
  convcheck explain onnx.Cast-21/float32-to-int8 -0x1.9p6
  convcheck explain onnx.Cast-9/string-to-float16 1e400
  convcheck explain openvino.Range-4/float32-float32-float32-to-float16 0 1 0.1
  convcheck explain openvino.ConvertPromoteTypes-14/int8-uint8/tensor-tensor
"""


@click.command("explain", cls=TakesNumbers, epilog=EXAMPLE)
@click.argument("name", metavar="[SPEC|CASE]", required=False, shell_complete=complete_specs)
@click.argument("values", metavar="[VALUE]...", nargs=-1, callback=unmarked)
@click.option(
    "--from", "source", metavar="T", shell_complete=complete_types, help="From this type."
)
@click.option("--to", "target", metavar="T", shell_complete=complete_types, help="To this type.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value.")
@click.option(
    "--backend", "backends", multiple=True, metavar="NAME", shell_complete=complete_backends,
    help="Ask this backend, too. May be repeated.",
)  # fmt: skip
@click.option("--report", metavar="FILE", help="Explain a finding of this run's JSON.")
@click.option(
    "--finding", metavar="ID", help="With --report: the finding's id, as reports show it."
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=30.0,
    show_default=True,
    help="Seconds that one call to the backend may take.",
)
@click.option(
    "--verbose", "-v", is_flag=True, help="Show the rows tried before the one that holds."
)
@specs
def command(
    name: str | None,
    values: tuple[str, ...],
    source: str | None,
    target: str | None,
    where: tuple[str, ...],
    backends: tuple[str, ...],
    report: str | None,
    finding: str | None,
    timeout: float,
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Show what the standard requires for one input, and why; with --backend, what it answers.

    Of an operator whose question is a whole call there is a VALUE for each input, such as START
    STOP STEP, which all elements of a tensor have. VALUE is a decimal, 0x… bits, a hex float
    (0x1.8p3), inf, nan, true or false; for a string source, the text itself. A decimal between two
    values of the source is rounded, and said so.
    Attributes that are not named have their defaults. Exit codes: 0, or 1 where the backend's
    answer fails; 2 bad input; 4 the backend could not be started.
    """
    from convcheck.cli.otherwise import named_in
    from convcheck.rules.find import find_case

    loaded = catalog(specs)
    if name is None:
        name, values = _of_finding(loaded, report, finding)
    elif report or finding:
        raise UsageError("a finding and a case", hint=f"leave out {name}, or the finding")
    case = find_case(loaded, name, source, target, where)
    asked = _explain(loaded, case, values, named_in(name, where), verbose)
    codes = [_put_to(address, asked, timeout, loaded) for address in backends]
    return max(codes, default=0)


def _explain(
    loaded: Catalog, case: Case, values: tuple[str, ...], named: frozenset[str], verbose: bool
) -> Vectors:
    """Explain one input or call, and which other value of an attribute would expect something else.
    Return it.
    """
    from convcheck.cli.otherwise import expected_answers, reversals
    from convcheck.report.blocks import field
    from convcheck.report.draw.console import put
    from convcheck.report.draw.explain import explain_page

    if case.whole_calls:
        asked = _explain_call(loaded, case, values)
    else:
        it = _explained(loaded, case, values)
        put(explain_page(it, verbose))
        asked = _vectors(it)
    answers = expected_answers(asked)
    notes = reversals(loaded, asked, answers, named) if answers else ()
    put(field("note", said) for said in notes)
    return asked


def _of_finding(
    loaded: Catalog, report: str | None, finding: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return case and values of the first example of a finding of a report. Raises UsageError."""
    from convcheck.judge.words import explain_values
    from convcheck.plan.excerpt import shown_example
    from convcheck.report.examples import with_deciding_words
    from convcheck.report.json.decode import read

    if report is None or finding is None:
        raise UsageError(
            "which CASE?", hint="name one, or give both --report FILE and --finding ID"
        )
    case, example = shown_example(read(report, loaded.types.types), finding)
    return case.id, tuple(explain_values(case, with_deciding_words(example)))


def _explained(loaded: Catalog, case: Case, values: tuple[str, ...]) -> Explained:
    from convcheck.report.draw.explain import Explained
    from convcheck.semantics.evaluate import compile_case
    from convcheck.semantics.trace import trace

    if len(values) != 1:
        raise UsageError(
            "which VALUE? give one input of the case", hint=f"convcheck explain {case.id} 1"
        )
    spec, [word] = loaded.specs[case.spec], values
    code, exact = code_of_word(case.inputs[0], word)
    found = trace(compile_case(spec, case), case, bits_of(case.inputs[0], [code]))
    return Explained(spec, case, word, code, exact, found)


def _vectors(it: Explained) -> Vectors:
    """Return the one input with what is due of it."""
    from convcheck.semantics.evaluate import evaluate
    from convcheck.vectors.form import form_decision
    from convcheck.vectors.model import VectorSet

    bits = bits_of(it.case.inputs[0], [it.code])
    expected = evaluate(it.spec, it.case, bits)
    return VectorSet(it.case, (bits,), expected, "sampled", form_decision(it.spec))


def _put_to(address: str, vectors: Vectors, timeout: float, loaded: Catalog) -> int:
    """Put the input to a backend and show its answer; 1 where that fails."""
    from convcheck.judge.result import FAILURES
    from convcheck.plan.one_input import ask_one_input
    from convcheck.report.draw.console import put
    from convcheck.report.draw.explain import answer_blocks

    info, result = ask_one_input(address, vectors, timeout, loaded)
    put(answer_blocks(info, result))
    return int(result.verdict in FAILURES)


def _explain_call(loaded: Catalog, case: Case, values: tuple[str, ...]) -> Vectors:
    """Explain a call: a value for each input, which is that of all its elements. Return it."""
    from convcheck.report.draw.console import put
    from convcheck.report.draw.explain_call import ExplainedCall, explain_call_page

    spec = loaded.specs[case.spec]
    given = given_call(spec, case, values)
    outputs = tuple(name for name, _ in spec.outputs)
    it = ExplainedCall(given.calls, given.names, outputs, given.notes)
    put(explain_call_page(it))
    return given.calls
