"""The source of vectors: files, generation in memory, or a user's inputs."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_text
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.numerics.order import position_of
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import compile_case, evaluate
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.streams import plural
from convcheck.vectors.generate import count_vectors, form_decision, vectors_of
from convcheck.vectors.model import GENERATOR, Tier, Vectors, VectorSet
from convcheck.vectors.samples import SEQUENCE
from convcheck.vectors.store.stored import (
    MANIFEST,
    Manifest,
    bits_of_words,
    count_stored,
    read_manifest,
    read_vectors,
    verify_files,
)

CHUNK = 1 << 16  # elements of a call at most
WHOLE_SPAN = 1 << 24  # codes of a 32-bit source
SAMPLED_SPAN = 1 << 20  # samples
_IN_MEMORY = 16  # bits of a source whose codes fit one array
SWEPT = 32  # bits of the widest exhaustive source


@dataclass(frozen=True)
class Span:
    """A source's codes (samples, with a `seed`) from `first` on, without chunks at `apart`."""

    first: int
    count: int
    apart: tuple[int, ...] = ()
    seed: int | None = None

    def chunk(self, offset: int) -> "Span":
        """Return the chunk at an offset."""
        return Span(self.first + offset, min(CHUNK, self.count - offset), seed=self.seed)

    def positions(self, case: Case) -> tuple[tuple[int, int]]:
        """Return its positions, ends included. They share a sign."""
        source = cast(Numeric, case.inputs[0].format)
        ends = [position_of(source, code) for code in (self.first, self.first + self.count - 1)]
        return ((min(ends), max(ends)),)

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """The codes to test as ranges (first, end), without skipped chunks."""
        edges = [self.first]
        for chunk in sorted(self.apart):
            edges += [chunk, chunk + CHUNK]
        edges.append(self.first + self.count)
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return tuple((a, b) for a, b in pairs if a < b)


def is_sampled(case: Case) -> bool:
    """Return whether a source is too wide to test all codes."""
    return _bits(case) > _IN_MEMORY


def is_swept(case: Case) -> bool:
    """Return whether the exhaustive tier sweeps a source."""
    return _IN_MEMORY < _bits(case) <= SWEPT


def _bits(case: Case) -> int:
    source = case.inputs[0].format
    if case.whole_calls or isinstance(source, Text) or isinstance(case.outputs[0].format, Text):
        return 0
    return source.bits if case.sources == case.inputs and not case.outside else 0


def span_size(case: Case) -> int:
    """Return the codes of a span. They share a sign."""
    return min(WHOLE_SPAN, 1 << max(_bits(case) - 1, 0))


def spans(case: Case) -> tuple[Span, ...]:
    """Return the spans of a sweep, in order."""
    size = span_size(case)
    return tuple(Span(first, size) for first in range(0, 1 << _bits(case), size))


def sample_spans(number: int, seed: int) -> tuple[Span, ...]:
    """Return the spans of `number` samples, in order."""
    firsts = range(0, number, SAMPLED_SPAN)
    return tuple(Span(n, min(SAMPLED_SPAN, number - n), seed=seed) for n in firsts)


@dataclass(frozen=True)
class Corpus:
    """The vectors of a tier."""

    catalog: Catalog
    tier: Tier
    seed: int
    manifests: tuple[Manifest, ...]  # of the user's specs first
    words: tuple[str, ...] | None = None  # a user's inputs
    sweeps: bool = False  # the exhaustive tier tests sources of up to 32 bits in spans
    samples: int = 0  # of wider sources

    def only(self, cases: Iterable[Case]) -> "Corpus":
        """Return the corpus reduced to the specs of these cases."""
        ids = dict.fromkeys(case.spec for case in cases)
        manifests = tuple(manifest.only(ids) for manifest in self.manifests)
        return replace(self, catalog=self.catalog.only(ids), manifests=manifests)

    def spans(self, case: Case) -> tuple[Span, ...]:
        """Return a case's spans, tested besides its vectors."""
        if self._is_swept(case):
            return spans(case)
        return sample_spans(self.samples, self.seed) if is_sampled(case) else ()

    def _is_swept(self, case: Case) -> bool:
        own = self.words is not None
        return self.sweeps and self.tier == "exhaustive" and not own and is_swept(case)

    def conversion(self, case: Case) -> tuple[Program, Decision]:
        """Return a case's compiled rules, and the decision on an answer's form."""
        spec = self.catalog.specs[case.spec]
        return compile_case(spec, case), form_decision(spec)

    def vectors(self, case: Case) -> Vectors:
        """Return a case's vectors. Raises VectorError for a damaged file."""
        spec = self.catalog.specs[case.spec]
        if self.words is not None:
            bits = bits_of_words(case.inputs[0].format, self.words)
            due = evaluate(spec, case, bits)
            return VectorSet(case, (bits,), due, "sampled", form_decision(spec))
        manifest = self._stored_in(case.spec)
        if manifest is None:
            return vectors_of(spec, case, self._tier(case), self.seed)
        return read_vectors(manifest, spec, case, self.catalog.types.types)

    def count(self, case: Case) -> int:
        """Count a case's vectors without making them. Raises VectorError."""
        if self.words is not None:
            return len(self.words)
        if (manifest := self._stored_in(case.spec)) is not None:
            return count_stored(manifest, case)
        return count_vectors(self.catalog.specs[case.spec], case, self._tier(case), self.seed)

    def _tier(self, case: Case) -> Tier:
        return "edge" if self._is_swept(case) else self.tier

    def stored(self, case: Case) -> bool:
        """Return whether the files have the case for the current spec."""
        return self._stored_in(case.spec) is not None

    def _stored_in(self, name: str) -> Manifest | None:
        if name not in self._stored:
            digest = digest_of_spec(self.catalog.specs[name])
            named = (one for one in self._fitting() if name in one.specs)
            found = (one for one in named if one.specs[name].spec_sha256 == digest)
            self._stored[name] = next(found, None)
        return self._stored[name]

    @cached_property
    def _stored(self) -> dict[str, Manifest | None]:
        return {}

    def _fitting(self) -> list[Manifest]:
        asked = self.tier, self.seed
        return [one for one in self.manifests if (one.tier, one.seed) == asked]

    def check(self, cases: Sequence[Case]) -> tuple[str, ...]:
        """Check the files of cases, and return notes. Raises VectorError."""
        if self.words is not None:
            return ()
        stored = {case.spec: self._stored_in(case.spec) for case in cases}
        for manifest in self._fitting():
            verify_files(manifest, [case for case in cases if stored[case.spec] is manifest])
        return tuple(
            f"{name} was edited since its vectors were made: made again in memory"
            for name, manifest in stored.items()
            if manifest is None and any(name in one.specs for one in self._fitting())
        )

    def digests(self, cases: Iterable[Case]) -> tuple[tuple[str, str], ...]:
        """Return (spec id, SHA-256 in hexadecimal) of the vectors' parameters, sorted."""
        return tuple((name, self._digest(name)) for name in sorted({case.spec for case in cases}))

    def _digest(self, name: str) -> str:
        spec = self.catalog.specs[name]
        content: list[Any] = [GENERATOR, self.tier, self.seed, digest_of_spec(spec), self.words]
        if self.sweeps and self.tier == "exhaustive":
            content.append("swept")
        if self.samples:
            content.append(["samples", SEQUENCE, self.samples])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def open_corpus(catalog: Catalog, tier: Tier, seed: int, folder: Path) -> Corpus:
    """Return a tier's corpus, a user's manifests before those in `folder`."""
    folders = (*(root / "vectors" for root in catalog.folders), folder)
    found = tuple(read_manifest(one) for one in folders if (one / MANIFEST).exists())
    return Corpus(catalog, tier, seed, found)


def read_words(path: Path, fmt: Format) -> tuple[str, ...]:
    """Read a user's inputs: hexadecimal codes, or texts. Raises UsageError."""
    try:
        lines = read_text(path, MOST_OF_LIST).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint="--inputs FILE") from error
    words, hint = [], "one bit pattern a line: 0x3f800000"
    for number, line in enumerate(lines, 1):
        if isinstance(fmt, Text):
            words.append(line)
        elif (word := line.strip()) and not word.startswith("#"):
            place = Place(str(path), number)
            if not re.fullmatch(r"(0x)?[0-9a-fA-F]+", word):
                raise UsageError(f"not a bit pattern: {word!r}", place=place, hint=hint)
            code = int(word, 16)
            if code >= 1 << fmt.bits:
                raise UsageError(f"{word} has more than {plural(fmt.bits, 'bit')}", place=place)
            words.append(f"{code:x}")
    if not words:
        raise UsageError(f"{path} has no inputs", hint=hint)
    return tuple(dict.fromkeys(words))
