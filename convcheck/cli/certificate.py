"""The certificate of a run: what is noted before it, and what is written after it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convcheck.cli.run_options import RunFiles, RunOptions
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.backends.binaries import Binary
    from convcheck.judge.result import RunResult
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus


@dataclass(frozen=True)
class Certificate:
    """A certificate that is to be written."""

    #: The file; - for stdout.
    path: str
    #: The backend as addressed on the command line.
    address: str
    #: The code that answers, as it was before it was asked.
    before: tuple[Binary, ...]
    corpus: Corpus
    #: Those that are asked.
    cases: Sequence[Case]

    def text(self, result: RunResult, command: str) -> str:
        """Return the certificate of a run that the command line made."""
        from convcheck.report.json.certificate import Circumstances, certificate_text

        assert result.timing is not None  # noqa: S101
        specs = dict.fromkeys(case.spec for case in self.cases)
        around = Circumstances(
            command, result.timing, self.before, _code(self.address),
            [self.corpus.catalog.specs[name] for name in specs], _manifest(self.corpus, self.cases),
        )  # fmt: skip
        return certificate_text(result, around)


def begin_certificate(
    files: RunFiles, address: str, corpus: Corpus, cases: Sequence[Case], options: RunOptions
) -> Certificate | None:
    """Note the code that is going to answer. Raises UsageError where others answer, too: then
    nobody knows by what code.
    """
    if files.certificate is None:
        return None
    given = {"--executor": options.executor, "--resume": files.resume}
    if other := next((name for name, value in given.items() if value), None):
        hint = f"leave out {other}: a certificate names the code of one process, and one time"
        raise UsageError(f"--certificate does not go with {other}", hint=hint)
    return Certificate(files.certificate, address, _code(address), corpus, cases)


def _code(address: str) -> tuple[Binary, ...]:
    from convcheck.backends.binaries import hashed
    from convcheck.backends.protocol import code_of_backend, prepare_backend
    from convcheck.plan.runner import to_stderr

    prepare_backend(address, to_stderr)
    return hashed(code_of_backend(address))


def _manifest(corpus: Corpus, cases: Sequence[Case]) -> str | None:
    """Return the SHA-256 of the manifests of the vector files, None where none was read."""
    from convcheck.vectors.store.write import MANIFEST

    found = () if corpus.words is not None else corpus.manifests_of(cases)
    texts = [(manifest.folder / MANIFEST).read_bytes() for manifest in found]
    return hashlib.sha256(b"".join(texts)).hexdigest() if texts else None
