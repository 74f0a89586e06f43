"""A vectors folder: a manifest, and a file for each operator and source type.

Versions of an operator, and operators that extend it, share a folder. A set of vectors is for all
cases with the same types, rules and vectors.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, groupby, product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from convcheck.errors import Place, VectorError
from convcheck.files import MOST_OF_REPORT, read_file
from convcheck.numerics.format import Format, Text
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import decisions_named
from convcheck.semantics.expected import (
    EXACT,
    PATTERNS,
    REFUSED,
    UNDEFINED,
    CallReading,
    Expected,
    ExpectedCall,
    ExpectedOutput,
    Reading,
)
from convcheck.streams import plural
from convcheck.vectors.generate import form_decision, rows_of
from convcheck.vectors.model import CallSet, Coverage, Tier, Vectors, VectorSet

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


def read_vectors(manifest: Manifest, spec: Spec, case: Case, types: Mapping[str, DType]) -> Vectors:
    """Read a case's vectors. Raises VectorError."""
    found = _set_of(manifest, case)
    try:
        if case.whole_calls:
            return _call_set(found, spec, case, [types[name] for name in found.outputs])
        return _vector_set(found, spec, case)
    except (KeyError, ValueError, IndexError, OverflowError) as error:
        said = f"not vectors of {case.id}: {error!r}"
        raise damaged_file(manifest.folder / manifest.file_of(case), said) from error


def count_stored(manifest: Manifest, case: Case) -> int:
    """Count a case's vectors. Raises VectorError."""
    lines = _set_of(manifest, case).vectors
    if case.whole_calls:
        return len(lines)
    return sum(len(words_of_tensor(line.inputs[0])[1]) for line in lines)


def _set_of(manifest: Manifest, case: Case) -> StoredSet:
    name = manifest.file_of(case)
    sets = _sets(manifest.folder / name, manifest.files[name])
    if (case.spec, case.question) not in sets:
        raise damaged_file(manifest.folder / name, f"it has no vectors of {case.id}")
    return sets[case.spec, case.question]


@lru_cache(maxsize=4)
def _sets(path: Path, sha: str) -> dict[tuple[str, str], StoredSet]:
    sets = verified(path, sha).sets
    return {
        (spec, name): one
        for one in sets
        for spec, names in one.cases.items()
        for name in chain.from_iterable(map(without_choices, names))
    }


def verified(path: Path, sha: str) -> StoredFile:
    """Read a vector file and verify its hash. Raises VectorError."""
    content, found = read_stored(path, StoredFile)
    if found != sha:
        raise damaged_file(path, "its hash is not the one in the manifest: truncated or edited")
    return content


def verify_files(manifest: Manifest, cases: Sequence[Case]) -> None:
    """Verify the files of cases. Raises VectorError for the first failure."""
    for name in {manifest.file_of(case) for case in cases}:
        path, digest = manifest.folder / name, ""
        with suppress(OSError):
            digest = hashlib.sha256(read_file(path, MOST_OF_REPORT)).hexdigest()
        if digest != manifest.files[name]:
            verified(path, manifest.files[name])  # says what is wrong


def _vector_set(found: StoredSet, spec: Spec, case: Case) -> VectorSet:
    rules = decisions_named(spec, case, found.rules)
    inputs: list[list[str]] = [[] for _ in case.sources]
    readings: list[list[str]] = [[] for _ in range(max(len(rule.readings) for rule in rules))]
    rows: list[int] = []
    for line in found.vectors:
        _check(0 <= line.rule < len(rules), "an unknown rule")
        for column, tensor in zip(inputs, line.inputs, strict=True):
            column += words_of_tensor(tensor)[1]
        due = [words for _, _, outputs in _outputs(line) for _, words in outputs]
        for number, column in enumerate(readings):
            column += due[min(number, len(due) - 1)]
        rows += [line.rule] * (len(inputs[0]) - len(rows))
    _check(all(len(column) == len(rows) for column in (*inputs, *readings)), "columns of two sizes")
    target = case.outputs[0].format
    due_of = tuple(Reading(*due_of_words(target, words)) for words in readings)
    columns = zip(case.sources, inputs, strict=True)
    bits = tuple(bits_of_words(dtype.format, words) for dtype, words in columns)
    expected = Expected(np.array(rows, np.int16), rules, due_of)
    return VectorSet(case, bits, expected, found.coverage, form_decision(spec))


def _call_set(found: StoredSet, spec: Spec, case: Case, types: Sequence[DType]) -> CallSet:
    compiled = compile_calls(spec, case)
    rows = rows_of(compiled.decisions)
    known = {str(number): rows[rule] for number, rule in enumerate(found.rules)}
    names = dict(enumerate(found.readings))
    calls, expected = [], []
    for line in found.vectors:
        tensors = [words_of_tensor(tensor) for tensor in line.inputs]
        call = tuple(
            bits_of_words(dtype.format, words).reshape(shape)
            for dtype, (shape, words) in zip(case.inputs, tensors, strict=True)
        )
        readings = tuple(
            CallReading(names[number], _due(types, outputs), pattern)
            for number, pattern, outputs in _outputs(line)
        )
        of_each = tuple(
            np.array([known[word] for word in without_runs(text)], np.int16) for text in line.rules
        )
        _check(readings, "a line without readings")
        in_place = tuple(bits.ndim for bits in call) == case.ranks
        _check(in_place or readings[0].pattern == UNDEFINED, "a call of other ranks")
        sizes = [len(output.codes) for output in readings[0].outputs]
        _check(not of_each or sizes == list(map(len, of_each)), "rules of other elements")
        calls.append(call)
        expected.append(ExpectedCall(known[str(line.rule)], readings, line.between, of_each))
    return CallSet(
        case, tuple(calls), tuple(expected), compiled.decisions, found.coverage,
        form_decision(spec), compiled.among, compiled.along,
    )  # fmt: skip


def _outputs(line: Line) -> Iterator[tuple[int, int, list[Words]]]:
    first: list[Words] = []
    for number, said in line.readings:
        if isinstance(said, str):
            _check(said in (PATTERNS[REFUSED], PATTERNS[UNDEFINED]), f"a call that is {said!r}")
            yield number, PATTERNS.index(said), []
            continue
        outputs = [words_of_tensor(tensor) for tensor in said]
        if first:
            outputs = [
                (shape, [b if a == SAME else a for a, b in zip(words, known, strict=True)])
                if SAME in words
                else (shape, words)
                for (shape, words), (_, known) in zip(outputs, first, strict=True)
            ]
        first = first or outputs
        yield number, EXACT, outputs


def _due(types: Sequence[DType], outputs: Sequence[Words]) -> tuple[ExpectedOutput, ...]:
    for shape, words in outputs:
        _check(len(words) == prod(shape), f"{plural(len(words), 'element')} in shape {shape}")
    return tuple(
        ExpectedOutput(dtype, shape, *due_of_words(dtype.format, words))
        for dtype, (shape, words) in zip(types, outputs, strict=bool(outputs))
    )


def _check(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)
