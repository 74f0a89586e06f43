"""`convcheck-proof/1`: proofs of compiled functions, and the same as JUnit XML."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Final, Literal

from convcheck import __version__
from convcheck.documents.report import json_text
from convcheck.records import Record
from convcheck.report.draw.prove import Told

FORMAT: Final = "convcheck-proof/1"


class ProofJson(Record, frozen=True, kw_only=True):
    """The verdict on a function and a case."""

    case: str
    #: FILE:NAME.
    function: str
    #: The compiler and its options, or LLVM IR.
    made: str
    #: SHA-256 of the source, and of its LLVM IR.
    source: str
    ir: str
    verdict: Literal["proved", "refuted", "undecided"]
    #: The verdict in a sentence.
    says: str
    #: The reading of a disputed rule that holds; '' if there is only one.
    reading: str
    #: The input that refutes it, or that C leaves undefined; one for each reading if no input
    #: refutes all.
    inputs: tuple[str, ...]
    #: What a proof rests on.
    assumes: str
    #: The cause of failures on edge inputs; '' for none.
    cause: str
    seconds: float


class ProofsJson(Record, frozen=True, kw_only=True):
    """Proofs of compiled functions."""

    format: Literal["convcheck-proof/1"]
    convcheck: str
    #: The version of each solver, by its package.
    solvers: dict[str, str]
    #: The SHA-256 of the rules, by spec.
    specs: dict[str, str]
    proofs: tuple[ProofJson, ...]


def proofs_text(found: Sequence[Told], solvers: Sequence[str]) -> str:
    """Return proofs by these packages as JSON text, one per line."""
    made = ProofsJson(
        format=FORMAT,
        convcheck=__version__,
        solvers={name: version(name) for name in solvers},
        specs={one.proof.case.spec: one.digest for one in found},
        proofs=tuple(map(_proof, found)),
    )
    return json_text(made, "proofs")


def _proof(one: Told) -> ProofJson:
    proof, kernel = one.proof, one.proof.kernel
    return ProofJson(
        case=proof.case.id,
        function=f"{kernel.path}:{kernel.name}",
        made=kernel.made,
        source=sha256(kernel.path.read_bytes()).hexdigest(),
        ir=sha256(str(kernel.module).encode()).hexdigest(),
        verdict=proof.verdict,
        says=one.says,
        reading=proof.reading,
        inputs=tuple(map(hex, proof.inputs)),
        assumes=one.assumes if proof.verdict == "proved" else "",
        cause=one.cause,
        seconds=round(proof.took, 3),
    )


def proofs_junit(found: Sequence[Told]) -> str:
    """Return proofs as JUnit XML, a test for each."""
    verdicts = [one.proof.verdict for one in found]
    counts = {"failures": verdicts.count("refuted"), "errors": verdicts.count("undecided")}
    suite = ET.Element("testsuite", name="convcheck prove", tests=str(len(found)))
    for name, count in counts.items():
        suite.set(name, str(count))
    for one in found:
        name = f"{one.proof.kernel.path}:{one.proof.kernel.name}"
        test = ET.SubElement(suite, "testcase", classname=one.proof.case.id, name=name,
                             time=f"{one.proof.took:.3f}")  # fmt: skip
        if one.proof.verdict != "proved":
            kind = "failure" if one.proof.verdict == "refuted" else "error"
            told = ET.SubElement(test, kind, message=one.says)
            told.text = one.cause
    ET.indent(suite)
    return ET.tostring(suite, "unicode", xml_declaration=True) + "\n"
