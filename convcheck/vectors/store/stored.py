"""A vectors folder: a manifest, and a file for each operator and source type.

Versions of an operator, and operators that extend it, share a folder. A set of vectors is for all
cases with the same types, rules and vectors.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place, VectorError
from convcheck.files import MOST_OF_REPORT, read_file
from convcheck.numerics.format import Format, Text
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.streams import plural
from convcheck.vectors.model import Coverage, Tier

# Words with spaces between, and n equal ones as WORD*n. The shape comes first if the rank is not 1:
# "[2,3] 7f*5 80". Texts are a list.
Tensor = str | list[str]
Words = tuple[tuple[int, ...], list[str]]  # a tensor's shape and words
SAME = "same"  # in readings after the first: the element of the first


def words_of_bits(fmt: Format, bits: Bits) -> list[str]:
    """Return codes in hexadecimal of fixed width, or texts as they are."""
    entries: list[Any] = bits.reshape(-1).tolist()
    if isinstance(fmt, Text):
        return entries
    width = (fmt.bits + 3) // 4
    return [f"{code:0{width}x}" for code in entries]


def bits_of_words(fmt: Format, words: Iterable[str]) -> Bits:
    """Return the codes of hexadecimal words, or texts. Raises ValueError."""
    if isinstance(fmt, Text):
        return np.array(list(words), object)
    codes = np.array([int(word, 16) for word in words], np.uint64)
    if fmt.bits < 64 and np.count_nonzero(codes >> np.uint64(fmt.bits)):
        raise ValueError(f"a code of more than {plural(fmt.bits, 'bit')}")
    return codes.astype(fmt.storage)


def words_due(fmt: Format, codes: Bits, patterns: NDArray[np.uint8]) -> list[str]:
    """Return expected values as codes, pattern names, or texts after `=`."""
    mark = "=" if isinstance(fmt, Text) else ""
    pairs = zip(words_of_bits(fmt, codes), patterns.tolist(), strict=True)
    return [f"{mark}{word}" if p == EXACT else PATTERNS[p] for word, p in pairs]


def due_of_words(fmt: Format, words: Sequence[str]) -> tuple[Bits, NDArray[np.uint8]]:
    """Return codes and patterns of expected words. Raises ValueError."""
    if isinstance(fmt, Text):
        found = [EXACT if word.startswith("=") else PATTERNS.index(word) for word in words]
    else:
        found = [PATTERNS.index(word) if word in PATTERNS else EXACT for word in words]
    skipped, blank = (1, "") if isinstance(fmt, Text) else (0, "0")
    pairs = zip(words, found, strict=True)
    codes = bits_of_words(fmt, [w[skipped:] if p == EXACT else blank for w, p in pairs])
    return codes, np.array(found, np.uint8)


def tensor_of_words(fmt: Format, shape: tuple[int, ...], words: list[str]) -> Tensor:
    """Return a tensor as it stands in a file."""
    if isinstance(fmt, Text):
        return words
    return ("" if len(shape) == 1 else f"[{','.join(map(str, shape))}] ") + with_runs(words)


def words_of_tensor(tensor: Tensor) -> Words:
    """Return a tensor's shape and words. Raises ValueError."""
    if isinstance(tensor, list):
        return (len(tensor),), tensor
    shape, found, text = tensor.rpartition("]")
    words = without_runs(text)
    if not found:
        return (len(words),), words
    return tuple(int(size) for size in shape[1:].split(",") if size), words


def with_runs(words: Sequence[str]) -> str:
    """Join words with spaces; n equal words in a row become WORD*n."""
    if len(set(words)) == len(words):
        return " ".join(words)
    runs = ((word, len(list(run))) for word, run in groupby(words))
    return " ".join(word if n == 1 else f"{word}*{n}" for word, n in runs)


def without_runs(text: str) -> list[str]:
    """Split words that `with_runs` joined. Raises ValueError."""
    runs = text.split()
    if "*" not in text:
        return runs
    parts = (run.partition("*") for run in runs)
    return [word for word, star, n in parts for _ in range(int(n) if star else 1)]


def with_choices(names: Iterable[str]) -> list[str]:
    """Join names that differ in one part: types/layout/mode={1|2}."""
    rows = {tuple(name.split("/")) for name in names}
    for place in range(max(map(len, rows)) - 1, 0, -1):
        alike: dict[tuple[tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
        for row in sorted(row for row in rows if len(row) > place):
            label, equals, value = row[place].rpartition("=")
            alike.setdefault((row[:place], label + equals, row[place + 1 :]), []).append(value)
        rows = {row for row in rows if len(row) <= place}
        for (before, label, after), values in alike.items():
            joined = values[0] if len(values) == 1 else f"{{{'|'.join(values)}}}"
            rows.add((*before, label + joined, *after))
    return sorted(map("/".join, rows))


def without_choices(name: str) -> Iterator[str]:
    """Yield names that `with_choices` joined."""
    parts = re.split(r"\{(.*?)\}", name)
    choices = [part.split("|") if place % 2 else [part] for place, part in enumerate(parts)]
    return map("".join, product(*choices))


def canonical(value: object) -> str:
    """Return the canonical JSON of a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


MANIFEST_FORMAT, FORMAT = 4, 3
MANIFEST = "MANIFEST.json"


class Line(NamedTuple):
    """A call, or some elements in a row that one rule decides."""

    inputs: list[Tensor]
    rule: int
    readings: list[tuple[int, str | list[Tensor]]]  # (index of name, outputs or call's pattern)
    rules: tuple[str, ...] = ()  # of each element of each output, if they differ
    between: bool = False


class StoredSet(msgspec.Struct, frozen=True):
    """The vectors of some cases."""

    cases: dict[str, list[str]]  # spec id -> names of cases, several with choices in braces
    inputs: list[str]
    outputs: list[str]
    coverage: Coverage
    rules: list[tuple[str, str, str]]  # (rule, row, level)
    readings: list[str]
    vectors: list[Line]


class StoredFile(msgspec.Struct, frozen=True):
    """A file of vectors."""

    sets: list[StoredSet]


class StoredSpec(msgspec.Struct, frozen=True):
    """A spec's entry in the manifest."""

    spec_sha256: str
    folder: str


class Manifest(msgspec.Struct, frozen=True):
    """A vectors folder's table of contents."""

    seed: int
    tier: Tier
    specs: dict[str, StoredSpec]
    files: dict[str, str]  # name -> its SHA-256
    folder: Path = Path()

    def only(self, ids: Iterable[str]) -> "Manifest":
        """Return the manifest of these specs only."""
        specs = {name: self.specs[name] for name in ids if name in self.specs}
        folders = {spec.folder for spec in specs.values()}
        files = {n: sha for n, sha in self.files.items() if n.rpartition("/")[0] in folders}
        return msgspec.structs.replace(self, specs=specs, files=files)

    def file_of(self, case: Case) -> str:
        """Return a case's file. Raises VectorError."""
        name = file_in(self.specs[case.spec].folder, case)
        if name not in self.files:
            raise damaged_file(self.folder / MANIFEST, f"it has no vectors of {case.id}")
        return name


def folder_of(spec: Spec) -> str:
    """Return a spec's folder, of the operator that it extends: onnx/Cast."""
    while spec.parent:
        spec = spec.parent
    return spec.op.replace(".", "/", 1)


def file_in(folder: str, case: Case) -> str:
    """Return a case's file: onnx/Cast/float32.json."""
    return f"{folder}/{case.inputs[0].name}.json"


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest. Raises VectorError."""
    manifest, _ = read_stored(folder / MANIFEST, Manifest)
    return msgspec.structs.replace(manifest, folder=folder)


Content = TypeVar("Content", Manifest, StoredFile)


def read_stored(path: Path, kind: type[Content]) -> tuple[Content, str]:
    """Return a file's content and its SHA-256. Raises VectorError."""
    key, known = ("manifest", MANIFEST_FORMAT) if kind is Manifest else ("vectors", FORMAT)
    try:
        text = read_file(path, MOST_OF_REPORT)
        found = re.match(rb'\{"convcheck-%s": (\d+)' % key.encode(), text)
        if not found:
            raise damaged_file(path, "truncated or edited: it does not begin with its version")
        if (version := int(found[1])) != known:
            said = f"vector file of format {version}; this convcheck reads format {known}"
            hint = "upgrade convcheck" if version > known else "run `convcheck generate`"
            raise VectorError(said, place=Place(str(path), 1), hint=hint)
        return msgspec.json.decode(text, type=kind), hashlib.sha256(text).hexdigest()
    except OSError as error:
        raise damaged_file(path, f"cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise damaged_file(path, f"truncated or edited: {error}") from None


def damaged_file(path: Path, what: str) -> VectorError:
    """Return the error for a damaged file."""
    hint = "run `convcheck generate`, or get the file again from its source"
    return VectorError(f"vector file: {what}", place=Place(str(path), 0), hint=hint)
