"""`convcheck prove`."""

import dataclasses
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from convcheck.backends.compiled import Kernel, load
from convcheck.chains.asked import chain_case, chain_vectors
from convcheck.chains.type_chain import CompiledCasts, ways
from convcheck.cli.asking import Asking, corpus_of_run
from convcheck.cli.options import RunOptions, catalog, selection_of
from convcheck.cli.outputs import Output, check_outputs, named, show, tracked
from convcheck.cli.values import vectors_of
from convcheck.documents.encode import text
from convcheck.documents.proof import proofs_junit, proofs_text
from convcheck.errors import Place, UnavailableError, UsageError, install_hint
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.judge.result import FAILURES, CaseResult, Example, RunResult, Word
from convcheck.plan.runner import ask_one_input
from convcheck.plan.select import select
from convcheck.prove.proof import Proof
from convcheck.records import replace
from convcheck.report.document import Document
from convcheck.report.draw.console import MAX_WIDTH, plain_lines
from convcheck.report.draw.prove import Told, proof_blocks
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.find import find_spec
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.vectors.model import VectorSet

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
    solvers = ["z3-solver", *(["bitwuzla"] if solver == "both" else [])]
    texts = {
        "json": lambda: proofs_text(found, solvers),
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
        cases = _cases(loaded, case_name, where)
        fitting = [case for case in cases if not (case.whole_calls or found.mismatch(case))]
        yield from ((case, address, found) for case in fitting or cases)


def _cases(loaded: Catalog, name: str, where: tuple[str, ...]) -> list[Case]:
    head, _, rest = name.partition("/")
    types, *values = rest.split("/")
    names = types.split("-to-")
    if len(names) <= 2 or any(letter in name for letter in "*?["):
        return select(loaded, replace(selection_of((name,)), where=where), "exhaustive")
    casts = CompiledCasts(loaded, find_spec(loaded, head), (*values, *where))
    casts.check_where(names[1:])
    return [chain_case(casts, names)]


def _vectors(spec: Spec, case: Case, codes: Sequence[int]) -> VectorSet:
    if case.hops:
        return chain_vectors(spec, case, ways(spec, case), codes)
    return vectors_of(spec, case, list(map(hex, codes)))[0]


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
    """Prove or refute a kernel, then run it: on the refuting input, and on the edge inputs."""
    try:
        from convcheck.prove.prove import DisagreeingError, allows, prove

        if both:
            import bitwuzla  # noqa: F401
    except ImportError as error:
        raise UnavailableError(f"no solver: {error}", hint=install_hint("prove")) from error
    spec, backend = loaded.specs[case.spec], f"compiled:{address}"
    proof = prove(spec, case, kernel, timeout, both=both)
    one = None
    if proof.inputs:
        asked = _vectors(spec, case, proof.inputs)
        inputs = ", ".join(map(hex, proof.inputs))
        one = ask_one_input(backend, asked, timeout, loaded)[1]
        answers = [(x, y) for x, y in _answers(one) if isinstance(x, int) and isinstance(y, int)]
        right = one.verdict not in FAILURES
        if proof.verdict == "undecided":
            proof = proof if right else dataclasses.replace(proof, verdict="refuted")
        elif right and not allows(spec, case, kernel, answers, timeout):
            said = f"the solver refutes {inputs}, but the function is right there"
            raise DisagreeingError(said, hint="please report the function and the case")
        elif right:
            why = f"for {inputs} LLVM allows several results, and the machine gives a right one"
            proof = dataclasses.replace(proof, verdict="undecided", why=why)
    failed, run = _run(loaded, proof, backend, timeout)
    if proof.verdict == "proved" and failed:
        said = f"{kernel.name} is proved for {case.id}, but fails when it is run"
        raise DisagreeingError(said, hint="please report the function and the case")
    causes = Document(run, loaded.types).causes if run else ()
    return Told(proof, one, run, causes[0].says if causes else "", digest_of_spec(spec))


def _run(
    loaded: Catalog, proof: Proof, backend: str, timeout: float
) -> tuple[bool, RunResult | None]:
    """Return whether a kernel fails, and its run on the edge inputs.

    For chains and fixed inputs, a proved one is run where the expected value changes, a refuted one
    with other fixed inputs, if these are parameters.
    """
    from convcheck.prove.prove import changes

    case, spec, options = proof.case, loaded.specs[proof.case.spec], RunOptions(1, timeout)
    if (case.fixed or case.hops) and proof.verdict == "proved":
        asked = _vectors(spec, case, changes(spec, case))
        return ask_one_input(backend, asked, timeout, loaded)[1].verdict in FAILURES, None
    if case.hops or not {name for name, _ in case.fixed} <= {*proof.kernel.names}:
        return False, None
    run = Asking([case.call], corpus_of_run(loaded, options, [case.call]), options).ask(backend)
    return run.outcome == "fail", run
