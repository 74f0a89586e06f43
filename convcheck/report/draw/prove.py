"""Draw proofs: the verdict on a compiled function, and the input that refutes it."""

from collections.abc import Iterator
from dataclasses import dataclass

from convcheck.judge.result import FAILURES, CaseResult, Example, RunResult, Word
from convcheck.judge.words import code_text, pattern, value
from convcheck.numerics.format import Format
from convcheck.prove.proof import Proof
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.streams import plural

_STYLES = {"proved": "bold green", "refuted": "bold red", "undecided": "bold yellow"}
_ALWAYS = "round to nearest; code generation and flags such as FTZ are not covered"


@dataclass(frozen=True)
class Told:
    """A proof, the answer to the input that refutes it, and the run on the edge inputs, if any."""

    proof: Proof
    answer: CaseResult | None
    run: RunResult | None
    #: the cause of failures of the run, '' for none
    cause: str
    #: SHA-256 of the rules
    digest: str

    @property
    def says(self) -> str:
        """Return the verdict in a sentence."""
        proof, fmt = self.proof, self.proof.case.inputs[0].format
        if proof.verdict == "undecided":
            return proof.why
        if proof.verdict == "proved":
            under = f" under the reading {proof.reading!r}" if proof.reading else ""
            return f"equals the rule for all {1 << proof.bits:,} inputs{under}"
        target, groups = proof.case.outputs[0].format, self.answer.groups if self.answer else ()
        said = [
            f"{_in_words(fmt, one.inputs[0])}: expected "
            f"{pattern(one.expected) or code_text(target, one.expected)}, got "
            f"{'no answer' if one.got is None else code_text(target, one.got)}"
            for group in groups for one in group.examples
            if group.verdict in FAILURES and isinstance(one, Example)
        ]  # fmt: skip
        return "; ".join([*said, *filter(None, [proof.why])])

    @property
    def assumes(self) -> str:
        """Return what a proof rests on."""
        return "; ".join([self.proof.kernel.made, *self.proof.assumed, _ALWAYS])


def _in_words(fmt: Format, code: Word) -> str:
    return f"{code_text(fmt, code)} ({value(fmt, code) or 'NaN'})"


def proof_blocks(one: Told, first: bool) -> Iterator[Block]:
    """Yield a proof: its kernel, verdict, and cause or assumptions."""
    proof = one.proof
    size, blocks, loops = proof.size
    if not first:
        yield BLANK
    turns = plural(loops, "loop") if loops else "no loop"
    yield Text(proof.case.id, "bold")
    parts = ", ".join([plural(size, "instruction"), plural(blocks, "block"), turns])
    yield Text(
        f"{proof.kernel.path}:{proof.kernel.name}, {proof.kernel.made}: {parts}",
        right=[(f"{proof.took:.2f} s", "dim")],
    )
    yield Text(f"{proof.verdict.upper():<9} {one.says}", _STYLES[proof.verdict], hang=10)
    if one.cause:
        yield Text(f"{'':9} cause: {one.cause}", hang=10)
    if proof.verdict == "proved":
        yield Text(f"{'':9} assumes: {one.assumes}", "dim", hang=10)
