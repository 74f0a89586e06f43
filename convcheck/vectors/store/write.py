"""Write vector files as canonical JSON, a line for each call or run of elements."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text, write_whole
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case, DType, Spec, op_and_version, version_key
from convcheck.semantics.expected import (
    EXACT,
    PATTERNS,
    Call,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
)
from convcheck.vectors.generate import rule_key
from convcheck.vectors.model import GENERATOR, CallSet, Tier, Vectors
from convcheck.vectors.store.stored import (
    FORMAT,
    MANIFEST,
    MANIFEST_FORMAT,
    SAME,
    Line,
    Manifest,
    StoredSet,
    StoredSpec,
    Tensor,
    canonical,
    file_in,
    folder_of,
    read_manifest,
    tensor_of_words,
    verified,
    with_choices,
    with_runs,
    words_due,
    words_of_bits,
)

_RUN = 32  # elements of a line, at most
Cases = dict[str, list[str]]  # spec id -> names of cases


def text_of_file(sets: Mapping[str, Cases], seed: int, **also: str) -> str:
    """Return the text of a file of sets."""
    head = {"convcheck-vectors": FORMAT, "generator": GENERATOR, "seed": seed, **also}
    found = ",\n".join(f'{{"cases": {canonical(cases)},\n{text}' for text, cases in sets.items())
    return f'{canonical(head)[:-1]},\n"sets": [\n{found}\n]}}\n'


def text_of_set(vectors: Vectors) -> str:
    """Return a set's text without its cases."""
    calls = list(_calls(vectors))
    rows = sorted(set[int]().union(*(due.all_rows for _, due in calls)))
    rules = dict.fromkeys(rule_key(vectors.decisions[row]) for row in rows)
    numbers = {rule: number for number, rule in enumerate(rules)}
    numbered = [numbers.get(rule_key(one), -1) for one in vectors.decisions]
    exact = [r for _, due in calls for r in due.readings if r.pattern == EXACT]
    [outputs] = {tuple(due.dtype.name for due in r.outputs) for r in exact} or [()]
    names = list(dict.fromkeys(r.name for _, due in calls for r in due.readings))
    types = vectors.case.inputs if isinstance(vectors, CallSet) else vectors.case.sources
    lines = [_line(types, call, due, numbered, names) for call, due in calls]
    inputs = [dtype.name for dtype in types]
    return _text(StoredSet({}, inputs, [*outputs], vectors.coverage, [*rules], names, lines))


def _text(one: StoredSet) -> str:
    head = {key: getattr(one, key) for key in ("inputs", "outputs", "coverage", "readings")}
    rules = ",\n".join(map(canonical, one.rules))
    lines = []
    for line in one.vectors:
        fields = list(line)
        while not fields[-1]:  # defaults at the end are left out
            fields.pop()
        lines.append(msgspec.json.encode(fields).decode())
    vectors = ",\n".join(lines)
    return f'{canonical(head)[1:-1]},\n"rules": [\n{rules}\n],\n"vectors": [\n{vectors}\n]}}'


def _calls(vectors: Vectors) -> Iterator[tuple[Call, ExpectedCall]]:
    if isinstance(vectors, CallSet):
        yield from zip(vectors.calls, vectors.expected, strict=True)
        return
    [target], rows = vectors.case.outputs, vectors.rows.tolist()
    for (row, _), run in groupby(range(len(rows)), key=lambda i: (rows[i], i // _RUN)):
        index = list(run)
        part = slice(index[0], index[-1] + 1)
        due = (
            ExpectedOutput(target, (len(index),), reading.codes[part], reading.patterns[part])
            for reading in vectors.expected.readings
        )
        named = zip(vectors.decisions[row].readings, due, strict=False)
        readings = tuple(CallReading(name, (output,)) for name, output in named)
        yield tuple(bits[part] for bits in vectors.inputs), ExpectedCall(row, readings)


def _line(
    types: Sequence[DType],
    call: Call,
    due: ExpectedCall,
    numbered: Sequence[int],
    names: Sequence[str],
) -> Line:
    inputs = [
        tensor_of_words(dtype.format, bits.shape, words_of_bits(dtype.format, bits))
        for dtype, bits in zip(types, call, strict=True)
    ]
    rules = tuple(with_runs([str(numbered[row]) for row in rows.tolist()]) for rows in due.rows)
    readings: list[tuple[int, str | list[Tensor]]] = []
    first: list[list[str]] = []
    for reading in due.readings:
        said: str | list[Tensor] = PATTERNS[reading.pattern]
        if reading.pattern == EXACT:
            words = [words_due(o.dtype.format, o.codes, o.patterns) for o in reading.outputs]
            marked = words
            if first:
                marked = [
                    [SAME if a == b else a for a, b in zip(some, known, strict=True)]
                    if len(some) == len(known)
                    else some
                    for some, known in zip(words, first, strict=True)
                ]
            said = [
                tensor_of_words(output.dtype.format, output.shape, some)
                for output, some in zip(reading.outputs, marked, strict=True)
            ]
            first = first or words
        readings.append((names.index(reading.name), said))
    return Line(inputs, numbered[due.row], readings, rules, due.between)


class Files:
    """Iterate over the files of cases as (name, content), the manifest last.

    Cases come in the order of `by_file`. `vectors` and `size` (bytes) count sets and files so far.
    `kept` lists other specs' vectors.
    """

    def __init__(
        self,
        specs: Iterable[Spec],
        cases: Iterable[Case],
        make: Callable[[Case], Vectors],
        tier: Tier,
        seed: int,
        kept: Manifest | None = None,
    ) -> None:
        self.cases, self.make = cases, make
        self.kept = kept or Manifest(seed, tier, {}, {})
        self.vectors = self.size = 0
        self.specs = {s.id: StoredSpec(digest_of_spec(s), folder_of(s)) for s in specs}
        made = {spec.folder for spec in self.specs.values()}
        #: files that no case of these specs may be in
        self.left = {name for name in self.kept.files if name.rpartition("/")[0] not in made}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        files = {name: self.kept.files[name] for name in self.left}
        for name, cases in self._files():
            if sets := self._sets(name, cases):
                text = text_of_file(sets, self.kept.seed)
                files[name] = hashlib.sha256(text.encode()).hexdigest()
                self.size += len(text.encode())
                yield name, text
        specs = {**self.kept.specs, **self.specs}
        names = sorted(specs, key=_operator_and_version)
        parts = {
            "specs": {name: msgspec.to_builtins(specs[name]) for name in names},
            "files": dict(sorted(files.items())),
        }
        head = {"convcheck-manifest": MANIFEST_FORMAT, "generator": GENERATOR}
        said = [canonical(head | {"seed": self.kept.seed, "tier": self.kept.tier})[:-1]]
        for key, entries in parts.items():
            lines = ",\n".join(f"{canonical(k)}: {canonical(v)}" for k, v in entries.items())
            said.append(f'"{key}": {{\n{lines}\n}}')
        text = ",\n".join(said) + "}\n"
        self.size += len(text.encode())
        yield MANIFEST, text

    def _files(self) -> Iterator[tuple[str, Iterable[Case]]]:
        left = self.kept.files.keys() - self.left
        for name, cases in groupby(self.cases, lambda c: file_in(self.specs[c.spec].folder, c)):
            yield name, cases
            left.discard(name)
        yield from ((name, ()) for name in sorted(left))

    def _sets(self, name: str, cases: Iterable[Case]) -> dict[str, Cases]:
        sets: dict[str, Cases] = {}
        if name in self.kept.files:
            for one in verified(self.kept.folder / name, self.kept.files[name]).sets:
                if others := {s: n for s, n in one.cases.items() if s in self.kept.specs}:
                    sets[_text(one)] = others
        for case in cases:
            vectors = self.make(case)
            text = text_of_set(vectors)
            self.vectors += len(vectors) if text not in sets else 0
            sets.setdefault(text, {}).setdefault(case.spec, []).append(case.question)
        for text, names in sets.items():
            joined = {s: with_choices(n) if s in self.specs else n for s, n in names.items()}
            sets[text] = {s: joined[s] for s in sorted(joined, key=_operator_and_version)}

        def first(item: tuple[str, Cases]) -> tuple[object, ...]:
            spec, names = next(iter(item[1].items()))
            return _operator_and_version(spec), names[0]

        return dict(sorted(sets.items(), key=first))


def by_file(cases: Iterable[Case], specs: Mapping[str, Spec]) -> list[Case]:
    """Return cases in the order of their files."""
    return sorted(cases, key=lambda case: file_in(folder_of(specs[case.spec]), case))


def _operator_and_version(spec: str) -> tuple[str, tuple[int, ...]]:
    op, version = op_and_version(spec)
    return op, version_key(version)


def others_in(folder: Path, selected: Iterable[Spec], tier: Tier, seed: int) -> Manifest | None:
    """Return the manifest of a folder's other specs, if any. Raises UsageError."""
    if not (folder / MANIFEST).exists():
        return None
    manifest = read_manifest(folder)
    others = manifest.only(manifest.specs.keys() - {spec.id for spec in selected})
    if not others.specs:
        return None
    if (manifest.tier, manifest.seed) != (tier, seed):
        said = f"{folder} has vectors of other specs, of tier {manifest.tier}, seed {manifest.seed}"
        raise UsageError(said, hint="--out with another folder")
    return others


def differing(files: Files, folder: Path) -> list[str]:
    """Return a folder's files that differ, are missing or are left over."""
    found = []
    for name, content in _changes(files, folder):
        missing = "" if (folder / name).is_file() else " (missing)"
        found.append(name + (" (left over)" if content is None else missing))
    return sorted(found)


def write_folder(files: Files, folder: Path) -> int:
    """Write a folder's files, return the number of changes. Raises UsageError."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="--out DIR")
    if folder.is_dir() and any(folder.iterdir()) and _manifest_of(folder) is None:
        said = f"{folder} is not empty, and holds no vectors"
        raise UsageError(said, hint="give a new or an empty folder")
    changed = 0
    for name, content in _changes(files, folder):
        path = folder / name
        changed += 1
        if content is not None:
            write_whole(path, content, folders=True)
            continue
        path.unlink()
        while path.parent != folder and not any(path.parent.iterdir()):
            path = path.parent
            path.rmdir()
    return changed


def _changes(files: Files, folder: Path) -> Iterator[tuple[str, bytes | None]]:
    left = _listed(folder) - files.left
    for name, text in files:
        left.discard(name)
        path, content = folder / name, text.encode()
        same_size = path.is_file() and path.stat().st_size == len(content)
        if not (same_size and path.read_bytes() == content):
            yield name, content
    yield from ((name, None) for name in sorted(left))


def _manifest_of(folder: Path) -> Any:
    try:
        said = json.loads(read_text(folder / MANIFEST, MOST_OF_REPORT))
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and "convcheck-manifest" in said else None


def _listed(folder: Path) -> set[str]:
    inside, files = folder.resolve(), (_manifest_of(folder) or {}).get("files")
    names = []
    for name, entry in files.items() if isinstance(files, dict) else ():
        older = isinstance(entry, dict)  # of format 3: a folder
        names += [f"{name}/{one}.json" for one in entry] if older else [name]
    paths = {name: (folder / name).resolve() for name in names}
    return {n for n, path in paths.items() if path.is_relative_to(inside) and path.is_file()}
