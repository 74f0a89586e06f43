"""`convcheck prove`."""

import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path

from convcheck.backends.compiled import Kernel, load
from convcheck.cli.asking import Asking, corpus_of_run
from convcheck.cli.options import RunOptions, catalog, selection_of
from convcheck.cli.outputs import Output, check_outputs, named, show, tracked
from convcheck.cli.values import vectors_of
from convcheck.documents.encode import text
from convcheck.documents.proof import proofs_junit, proofs_text
from convcheck.errors import Place, UnavailableError, UsageError, install_hint
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.judge.result import FAILURES, CaseResult, Example, Word
from convcheck.plan.runner import ask_one_input
from convcheck.plan.select import select
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw.console import MAX_WIDTH, plain_lines
from convcheck.report.draw.prove import Told, proof_blocks
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case

REFUTED, UNDECIDED = 1, 3


def main(
    name: str | None,
    kernel: str | None,
    where: tuple[str, ...],
    table: str | None,
    cflags: str | None,
    solver: str,
    timeout: float,
    outputs: tuple[Output, ...],
) -> int:
    """Prove or refute kernels."""
    check_outputs(named(outputs), {"--map": table})
    loaded = catalog()
    pairs = [*_pairs(loaded, name, kernel, where, table, cflags)]
    found = [
        _told(loaded, *pair, timeout, both=solver == "both")
        for pair in tracked(pairs, "kernels", "proof")
    ]
    texts = {
        "json": lambda: proofs_text(found),
        "xml": lambda: proofs_junit(found),
        "jsonl": lambda: "".join(text(one.run) for one in found if one.run),
    }
    page = (block for one in found for block in proof_blocks(one, one is found[0]))
    show(page, *((path, texts[form]) for form, path, _ in outputs))
    verdicts = {one.proof.verdict for one in found}
    return REFUTED if "refuted" in verdicts else UNDECIDED if "undecided" in verdicts else 0


def prove_one(name: str, where: str, timeout: float = 30.0) -> tuple[bool, str]:
    """Return whether the function FILE:NAME is proved for a case, and the page. For pytest."""
    loaded = catalog()
    [pair] = _pairs(loaded, name, where, (), None, None)
    found = _told(loaded, *pair, timeout, both=False)
    page = plain_lines(proof_blocks(found, True), MAX_WIDTH)
    return found.proof.verdict == "proved", "\n".join(page)


def _pairs(
    loaded: Catalog, name: str | None, kernel: str | None, where: tuple[str, ...],
    table: str | None, cflags: str | None,
) -> Iterator[tuple[Case, str, Kernel]]:  # fmt: skip
    """Yield cases with addresses of kernels. Raises UsageError."""
    if table is None and (name is None or kernel is None):
        hint = "convcheck prove onnx.Cast-21/float32-to-bfloat16 kernel.c:f32_to_bf16"
        raise UsageError("which CASE and which FILE:NAME?", hint=hint)
    if table is not None and (name is not None or where):
        raise UsageError("--map names cases and functions", hint="leave out CASE and --where")
    given = {name or "": kernel or ""} if table is None else _table(Path(table))
    kernels: dict[str, Kernel] = {}
    for case_name, where_is in given.items():
        address = f"{where_is} {cflags or ''}".strip()
        found = kernels[address] = kernels.get(address) or load(address)
        cases = select(loaded, replace(selection_of((case_name,)), where=where), "exhaustive")
        fitting = [case for case in cases if not (case.whole_calls or found.mismatch(case))]
        yield from ((case, address, found) for case in fitting or cases)


def _answers(found: CaseResult) -> Iterator[tuple[Word, Word | None]]:
    for group in found.groups:
        yield from ((one.inputs[0], one.got) for one in group.examples if isinstance(one, Example))


def _table(path: Path) -> dict[str, str]:
    try:
        found = tomllib.loads(read_text(path, MOST_OF_SPEC))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", place=Place(str(path), 1)) from None
    for case, where in found.items():
        if not isinstance(where, str):
            hint = '"onnx.Cast-21/float32-to-bfloat16" = "kernel.c:f32_to_bf16"'
            raise UsageError(f"{path}: {case} is no FILE:NAME", hint=hint)
    return {case: str(path.parent / where) for case, where in found.items()}


def _told(
    loaded: Catalog, case: Case, address: str, kernel: Kernel, timeout: float, *, both: bool
) -> Told:
    """Prove or refute a kernel, then run it: on the refuting input, and on the edge inputs.

    If other inputs are fixed, it is run where the expected value changes, and has no cause.
    """
    try:
        from convcheck.prove.prove import DisagreeingError, allows, changes, prove

        if both:
            import bitwuzla  # noqa: F401
    except ImportError as error:
        raise UnavailableError(f"no solver: {error}", hint=install_hint("prove")) from error
    spec, backend = loaded.specs[case.spec], f"compiled:{address}"
    proof = prove(spec, case, kernel, timeout, both=both)
    one = None
    if proof.verdict == "refuted":
        asked = vectors_of(spec, case, list(map(hex, proof.inputs)))[0]
        inputs = ", ".join(map(hex, proof.inputs))
        one = ask_one_input(backend, asked, timeout, loaded)[1]
        answers = [(x, y) for x, y in _answers(one) if isinstance(x, int) and isinstance(y, int)]
        right = one.verdict not in FAILURES
        if right and not allows(spec, case, kernel, answers, timeout):
            said = f"the solver refutes {inputs}, but the function is right there"
            raise DisagreeingError(said, hint="please report the function and the case")
        if right:
            why = f"for {inputs} LLVM allows several results, and the machine gives a right one"
            proof, one = dataclasses.replace(proof, verdict="undecided", why=why), None
    options = RunOptions(1, timeout)
    if case.fixed and proof.verdict == "proved":
        asked = vectors_of(spec, case, list(map(hex, changes(spec, case))))[0]
        failed, run = ask_one_input(backend, asked, timeout, loaded)[1].verdict in FAILURES, None
    elif case.fixed:
        failed, run = False, None
    else:
        run = Asking([case], corpus_of_run(loaded, options, [case]), options).ask(backend)
        failed = run.outcome == "fail"
    if proof.verdict == "proved" and failed:
        said = f"{kernel.name} is proved for {case.id}, but fails when it is run"
        raise DisagreeingError(said, hint="please report the function and the case")
    causes = Document(run, loaded.types).causes if run else ()
    return Told(proof, one, run, causes[0].says if causes else "")
