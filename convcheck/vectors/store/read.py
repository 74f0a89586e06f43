"""Read vector files and verify their hashes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from math import prod
from pathlib import Path

import numpy as np

from convcheck.files import MOST_OF_REPORT, read_file
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
from convcheck.vectors.model import CallSet, Vectors, VectorSet
from convcheck.vectors.store.stored import (
    SAME,
    Line,
    Manifest,
    StoredFile,
    StoredSet,
    Words,
    bits_of_words,
    damaged_file,
    due_of_words,
    read_stored,
    without_choices,
    without_runs,
    words_of_tensor,
)


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
