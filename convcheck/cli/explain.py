"""`convcheck explain`: what the standard wants of one input, and why."""

from __future__ import annotations

from convcheck.cli.calls import given_call
from convcheck.cli.judge import judge_answers
from convcheck.cli.options import catalog
from convcheck.cli.otherwise import expected_answers, named_in, reversals
from convcheck.cli.values import explained, vectors_of
from convcheck.errors import UsageError
from convcheck.judge.result import FAILURES
from convcheck.judge.words import explain_values
from convcheck.plan.excerpt import shown_example
from convcheck.plan.one_input import ask_one_input
from convcheck.report.blocks import field
from convcheck.report.draw.console import put
from convcheck.report.draw.explain import answer_blocks, explain_page
from convcheck.report.draw.explain_call import explain_call_page
from convcheck.report.examples import with_deciding_words
from convcheck.report.json.decode import read
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.vectors.model import Vectors


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
    """Explain an input, and judge what a backend or somebody answers."""
    loaded = catalog()
    if got and (backends or report or finding):
        raise UsageError("--got has the answers", hint="leave --backend and --finding out")
    if name is None:
        name, values = _of_finding(loaded, report, finding)
    elif report or finding:
        raise UsageError("a finding and a case", hint=f"leave out {name}, or the finding")
    case, named = find_case(loaded, name, source, target, where), named_in(name, where)
    if got:
        return int(judge_answers(loaded, case, values, got, named, verbose))
    vectors = _explain(loaded, case, values, verbose)
    answers = expected_answers(vectors)
    notes = reversals(loaded, vectors, answers, named) if answers else ()
    put(field("note", said) for said in notes)
    codes = [_put_to(address, vectors, timeout, loaded) for address in backends]
    return max(codes, default=0)


def _explain(loaded: Catalog, case: Case, values: tuple[str, ...], verbose: bool) -> Vectors:
    """Explain one input or call, and return it with its expected value."""
    spec = loaded.specs[case.spec]
    if case.whole_calls:
        call = given_call(spec, case, values)
        put(explain_call_page(call))
        return call.calls
    if len(values) != 1:
        hint = f"convcheck explain {case.id} 1"
        raise UsageError("which VALUE? give one input of the case", hint=hint)
    put(explain_page(explained(spec, case, values[0]), verbose))
    return vectors_of(spec, case, values)


def _of_finding(
    loaded: Catalog, report: str | None, finding: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return case and values of the first example of a finding of a report. Raises UsageError."""
    if report is None or finding is None:
        hint = "name one, or give both --report FILE and --finding ID"
        raise UsageError("which CASE?", hint=hint)
    case, example = shown_example(read(report, loaded.types.types), finding)
    return case.id, tuple(explain_values(case, with_deciding_words(example)))


def _put_to(address: str, vectors: Vectors, timeout: float, loaded: Catalog) -> int:
    """Put the input to a backend and show its answer; 1 where that fails."""
    info, result = ask_one_input(address, vectors, timeout, loaded)
    put(answer_blocks(info, result))
    return int(result.verdict in FAILURES)
