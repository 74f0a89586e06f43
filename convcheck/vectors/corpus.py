"""Where a run's vectors come from: the checked-in files, memory, or a user's own inputs.

A corpus travels to the workers, and each makes or reads only what it is asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from convcheck.errors import Place, UsageError
from convcheck.numerics.format import Format, Text
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program, compile_case
from convcheck.vectors.form import form_decision
from convcheck.vectors.generate import GENERATOR, count_vectors, vectors_of
from convcheck.vectors.model import Tier, Vectors, VectorSet
from convcheck.vectors.span import Span, is_sampled, is_swept, sample_spans, spans
from convcheck.vectors.store.hex_words import bits_of_words
from convcheck.vectors.store.read import (
    Manifest,
    read_manifest,
    read_vectors,
    verify_files,
)
from convcheck.vectors.store.read_calls import read_calls
from convcheck.vectors.store.write import MANIFEST
from convcheck.wording import plural


@dataclass(frozen=True)
class Corpus:
    """The vectors of a tier; `words` are a user's own inputs as written, None for the tier's.

    With `sweeps`, the exhaustive tier asks sources of up to 32 bits in spans of codes, and the
    vectors of such a case are the edge tier's, for the placements. So many `samples` are asked of
    sources that are too wide to be asked whole, besides the vectors.
    """

    catalog: Catalog
    tier: Tier
    #: Of the random part of the inputs.
    seed: int
    #: The folder of vector files.
    folder: Path
    manifest: Manifest | None
    words: tuple[str, ...] | None = None
    sweeps: bool = False
    samples: int = 0

    def only(self, cases: Iterable[Case]) -> Corpus:
        """Return the corpus without the specs that none of these cases is of: quick to send."""
        ids = dict.fromkeys(case.spec for case in cases)
        manifest = self.manifest and self.manifest.only(ids)
        return replace(self, catalog=self.catalog.only(ids), manifest=manifest)

    def spans(self, case: Case) -> tuple[Span, ...]:
        """Return the spans in which a case is asked besides its vectors."""
        if self._is_swept(case):
            return spans(case)
        return sample_spans(self.samples, self.seed) if is_sampled(case) else ()

    def _is_swept(self, case: Case) -> bool:
        own = self.words is not None
        return self.sweeps and self.tier == "exhaustive" and not own and is_swept(case)

    def conversion(self, case: Case) -> tuple[Program, Decision]:
        """Return the rules of a case, and what an answer's form is held against."""
        spec = self.catalog.specs[case.spec]
        return compile_case(spec, case), form_decision(spec)

    def vectors(self, case: Case) -> Vectors:
        """Return a case's vectors. Raises VectorError for a damaged file."""
        spec = self.catalog.specs[case.spec]
        if self.words is not None:
            bits = bits_of_words(case.inputs[0].format, self.words)
            return VectorSet(
                case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec)
            )
        if self.manifest is None or not self.stored(case):
            return vectors_of(spec, case, self._tier(case), self.seed)
        if case.whole_calls:
            types = self.catalog.types.types
            return read_calls(self.folder, self.manifest, spec, case, types)
        decisions = compile_case(spec, case).decisions
        return read_vectors(self.folder, self.manifest, spec, case, decisions)

    def count(self, case: Case) -> int:
        """Return the number of a case's vectors without making them."""
        if self.words is not None:
            return len(self.words)
        return count_vectors(self.catalog.specs[case.spec], case, self._tier(case), self.seed)

    def _tier(self, case: Case) -> Tier:
        return "edge" if self._is_swept(case) else self.tier

    def stored(self, case: Case) -> bool:
        """Return whether the files have the case as the spec stands now."""
        if self.manifest is None or not self._fits(self.manifest):
            return False
        entry = self.manifest.specs.get(case.spec)
        spec = self.catalog.specs[case.spec]
        return entry is not None and entry["spec_sha256"] == spec.digest

    def _fits(self, manifest: Manifest) -> bool:
        return (manifest.tier, manifest.seed) == (self.tier, self.seed)

    def check(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """Check the files that a run needs, before it starts; gives notes for the report.

        Raises VectorError for a file that is truncated, edited or of a newer format.
        """
        if self.manifest is None or self.words is not None or not self._fits(self.manifest):
            return ()
        verify_files(self.folder, self.manifest, [c for c in cases if self.stored(c)])
        edited = [
            name
            for name in dict.fromkeys(case.spec for case in cases)
            if name in self.manifest.specs
            and self.manifest.specs[name]["spec_sha256"] != self.catalog.specs[name].digest
        ]
        return tuple(
            f"{name} was edited since its vectors were made: made again in memory"
            for name in edited
        )

    def digests(self, cases: Iterable[Case]) -> tuple[tuple[str, str], ...]:
        """Hash, spec by spec, what determines the vectors asked: generator, tier, seed, spec,
        own inputs. Gives (spec id, sha256 in hexadecimal digits), in the order of the ids.
        """
        return tuple((name, self._digest(name)) for name in sorted({case.spec for case in cases}))

    def _digest(self, name: str) -> str:
        spec = self.catalog.specs[name]
        content: list[Any] = [GENERATOR, self.tier, self.seed, spec.digest, self.words]
        if self.sweeps and self.tier == "exhaustive":
            content.append("swept")
        if self.samples:
            content.append(["samples", self.samples])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def open_corpus(catalog: Catalog, tier: Tier, seed: int, folder: Path) -> Corpus:
    """Return the corpus of a tier, with the vectors folder's manifest where there is one."""
    manifest = read_manifest(folder) if (folder / MANIFEST).is_file() else None
    return Corpus(catalog, tier, seed, folder, manifest)


def read_words(path: Path, fmt: Format) -> tuple[str, ...]:
    """Read a user's own inputs: one a line, hex bit patterns (or texts for a string source).

    `#` starts a comment line. Raises UsageError with file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", hint="--inputs FILE") from error
    words = []
    for number, line in enumerate(lines, 1):
        if isinstance(fmt, Text):
            words.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            words.append(_checked(line.strip(), fmt, Place(str(path), number)))
    if not words:
        raise UsageError(f"{path} has no inputs", hint="one bit pattern a line: 0x3f800000")
    return tuple(dict.fromkeys(words))


def _checked(word: str, fmt: Format, place: Place) -> str:
    assert not isinstance(fmt, Text)  # noqa: S101
    if not re.fullmatch(r"(0x)?[0-9a-fA-F]+", word):
        hint = "one bit pattern a line: 0x3f800000"
        raise UsageError(f"not a bit pattern: {word!r}", place=place, hint=hint)
    code = int(word, 16)
    if code >= 1 << fmt.bits:
        raise UsageError(f"{word} has more than {plural(fmt.bits, 'bit')}", place=place)
    return f"{code:x}"
