"""`convcheck-certificate/1`: what a run proved, by what, and of what.

It names what a report leaves out so that equal runs give equal bytes: when, how long, by which
command, and which code answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal

from msgspec import Meta

from convcheck import __version__
from convcheck.backends.binaries import Binary
from convcheck.judge.result import CaseResult, Outcome, RunResult, Timing, Verdict
from convcheck.judge.words import timestamp
from convcheck.report.environment import environment
from convcheck.report.json import encode
from convcheck.report.json.codec import Count, Shape, json_text, plain, struct
from convcheck.report.json.report import BackendJson, EnvironmentJson
from convcheck.rules.model import Level, Spec
from convcheck.vectors.model import Coverage

FORMAT: Final = "convcheck-certificate/1"
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Proof = Literal["every input", "every boundary", "the inputs asked", "nothing"]
_PROOFS: dict[Coverage, Proof] = {
    "exhaustive": "every input",
    "boundary-complete": "every boundary",
}
_RIGHT = ("pass", "tolerated")


class BinaryJson(Shape, frozen=True, kw_only=True):
    """A file of the code that answered, or a folder with the files of code in it."""

    #: Where it was found.
    path: str
    #: How many files.
    files: Count
    #: Of a file its own; of a folder that of the lines that sha256sum prints of its files, sorted
    #: by path.
    sha256: Sha256


class TextJson(Shape, frozen=True, kw_only=True):
    """A text that the rules of a spec quote."""

    #: The document's.
    title: str
    #: What is quoted of it, with the edition where a title has several: Cast - 21.
    section: str
    #: Where it is to be read.
    url: str


class CertifiedSpecJson(Shape, frozen=True, kw_only=True):
    """A spec of which cases were asked."""

    spec: str
    #: A hash of what its rules say.
    sha256: Sha256
    #: A hash of what determines the vectors that were asked, as in the report.
    vectors: Sha256
    #: The texts that it was written from.
    texts: tuple[TextJson, ...]


class CertifiedCaseJson(Shape, frozen=True, kw_only=True):
    """A case, and what is proved of it."""

    #: Its id.
    case: str
    verdict: Verdict
    coverage: Coverage
    #: Of what it is proved that the backend is right: of every input; of every rounding boundary,
    #: and so of every input where the conversion is constant between two of them; of the inputs
    #: that were asked; or of nothing, where it failed, known or not, or was not judged.
    proved: Proof
    #: Values or calls asked.
    asked: Count
    #: Those of them that were judged: what is due for the others is undefined.
    judged: Count


class CertificateJson(Shape, frozen=True, kw_only=True):
    """What a run proved, by what, and of what."""

    format: Literal["convcheck-certificate/1"]
    #: The version of convcheck.
    convcheck: str
    #: Whether all that the command chose was asked, to the end, of one and the same code.
    complete: bool
    #: Why it is not complete; empty where it is.
    why_not: tuple[str, ...]
    outcome: Outcome
    #: The command line.
    command: str
    #: When asking began, in UTC: 2026-01-31T12:00:00Z.
    began: str
    #: How long asking took.
    seconds: float
    backend: BackendJson
    #: The code that answered.
    binaries: tuple[BinaryJson, ...]
    environment: EnvironmentJson
    #: Which inputs were asked: edge, boundary or exhaustive.
    tier: str
    #: The gate: failures of rules at this level and stronger fail the run.
    level: Level
    #: The SHA-256 of the report that `--json` writes of this run.
    report: Sha256
    #: That of the manifest of the vector files; null where no file was read.
    manifest: Sha256 | None
    #: That of all vectors asked, as in the report.
    corpus: Sha256
    #: Those of which cases were asked.
    specs: tuple[CertifiedSpecJson, ...]
    #: In the order of the plan.
    cases: tuple[CertifiedCaseJson, ...]


@dataclass(frozen=True)
class Circumstances:
    """What is known of a run beside its result."""

    #: The command line.
    command: str
    timing: Timing
    #: The code that answered, as it was when asking began.
    before: tuple[Binary, ...]
    #: The same when asking had ended.
    after: tuple[Binary, ...]
    #: The specs that were asked.
    specs: Sequence[Spec]
    #: The SHA-256 of the manifest of the vector files, None where no file was read.
    manifest: str | None


def certificate_text(result: RunResult, around: Circumstances) -> str:
    """Return the certificate of a run as JSON text, a case a line."""
    return _text_of(plain(encoded_certificate(result, around)))


_text_of = partial(json_text, rows="cases")


def encoded_certificate(result: RunResult, around: Circumstances) -> CertificateJson:
    """Return the certificate of a run as structs."""
    why_not = tuple(_why_not(result, around))
    return CertificateJson(
        format=FORMAT,
        convcheck=__version__,
        complete=not why_not,
        why_not=why_not,
        outcome=result.outcome,
        command=around.command,
        began=timestamp(around.timing.began),
        seconds=round(around.timing.seconds, 3),
        backend=encode.backend(result.backend),
        binaries=tuple(map(_binary, around.before)),
        environment=struct(dict(result.environment or environment()), EnvironmentJson),
        tier=result.tier,
        level=result.level,
        report=hashlib.sha256(encode.text(result).encode()).hexdigest(),
        manifest=around.manifest,
        corpus=result.corpus,
        specs=tuple(_spec(spec, dict(result.corpora)[spec.id]) for spec in around.specs),
        cases=tuple(map(_case, result.cases)),
    )


def _why_not(result: RunResult, around: Circumstances) -> Iterator[str]:
    """Yield what a certificate of a whole run would hide."""
    if result.interrupted:
        yield "the run was interrupted"
    if result.ended_early:
        yield "a number of failures ended the run"
    if result.shard:
        yield f"this is shard {result.shard.index} of {result.shard.of}"
    if not around.before:
        yield "no file of the code that answered was found"
    if around.before != around.after:
        yield "the code that answered was changed during the run"


def _binary(one: Binary) -> BinaryJson:
    return BinaryJson(path=str(one.path), files=one.files, sha256=one.sha256)


def _spec(spec: Spec, vectors: str) -> CertifiedSpecJson:
    texts = (
        TextJson(title=source.title, section=source.section, url=source.url)
        for source in spec.sources.values()
    )
    return CertifiedSpecJson(
        spec=spec.id, sha256=spec.digest, vectors=vectors, texts=tuple(dict.fromkeys(texts))
    )


def _case(found: CaseResult) -> CertifiedCaseJson:
    return CertifiedCaseJson(
        case=found.case.id,
        verdict=found.verdict,
        coverage=found.coverage,
        proved=_proved(found),
        asked=found.checked,
        judged=found.values_judged,
    )


def _proved(found: CaseResult) -> Proof:
    if found.verdict not in _RIGHT or not found.values_judged:
        return "nothing"
    return "the inputs asked" if found.left_out else _PROOFS.get(found.coverage, "the inputs asked")
