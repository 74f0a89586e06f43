"""Write vector files as canonical JSON, one per case with one line per vector, and the manifest.

Files are easy to read, diff line by line, and parse in a few lines of C. They are written
completely or not at all. Cases of equal types, rules and vectors share a file: within their spec,
with the spec that it extends, or with an earlier version of the operator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text, write_whole
from convcheck.numerics.format import Format, Text
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case, Spec, op_and_version, version_key
from convcheck.semantics.expected import Decision, Expected
from convcheck.vectors.model import GENERATOR, CallSet, Vectors, VectorSet
from convcheck.vectors.store.manifest import (
    MANIFEST,
    ListedFile,
    Manifest,
    canonical,
    manifest_text,
    sha256,
)
from convcheck.vectors.store.words import words_due, words_of_bits
from convcheck.vectors.store.write_calls import body_of_calls, file_key

FORMAT = 2
_REGENERATE = "run `convcheck generate`, or get the file again from its source"


def path_of(case: Case) -> str:
    """Return a case's file in a vectors folder: onnx/Cast-21/float32-to-int8.json."""
    family, _, rest = case.spec.partition(".")
    return f"{family}/{rest}/{file_key(case)}.json"


def body(vectors: VectorSet) -> str:
    """Return the part of a file that cases may share: types, rules, vectors."""
    types = {
        "inputs": [t.name for t in vectors.case.sources],
        "outputs": [t.name for t in vectors.case.outputs],
    }
    used = sorted(set(vectors.expected.rows.tolist()))
    rules = [_rule(vectors.expected.decisions[i]) for i in used]
    lines = ",\n".join(_lines(vectors, {row: i for i, row in enumerate(used)}))
    return (
        f'{canonical(types)[1:-1]},\n"coverage": {canonical(vectors.coverage)},\n"rules": [\n'
        + ",\n".join(canonical(rule) for rule in rules)
        + f'\n],\n"vectors": [\n{lines}\n]}}\n'
    )


def _rule(decision: Decision) -> list[object]:
    readings = [name for name in decision.readings if name]
    rule: list[object] = [decision.rule, decision.row, decision.level]
    return [*rule, readings] if readings else rule


def _lines(vectors: VectorSet, rules: Mapping[int, int]) -> list[str]:
    tensors = zip(vectors.case.sources, vectors.inputs, strict=True)
    columns = (_quoted(t.format, words_of_bits(t.format, bits)) for t, bits in tensors)
    inputs = map(",".join, zip(*columns, strict=True))
    rows = vectors.expected.rows.tolist()
    said = _said(vectors.case.outputs[0].format, vectors.expected, rows)
    return [f"[{x},{y},{rules[row]}]" for x, y, row in zip(inputs, said, rows, strict=True)]


def _said(fmt: Format, expected: Expected, rows: Sequence[int]) -> list[str]:
    due = [[*_quoted(fmt, words_due(fmt, r.codes, r.patterns))] for r in expected.readings]
    if len(due) == 1:
        return due[0]
    readings = [len(decision.readings) for decision in expected.decisions]
    of_rows = zip(zip(*due, strict=True), rows, strict=True)
    each = (words[: readings[row]] for words, row in of_rows)
    return [f"[{','.join(words)}]" if len(set(words)) > 1 else words[0] for words in each]


def _quoted(fmt: Format, words: Iterable[str]) -> Iterable[str]:
    return map(canonical, words) if isinstance(fmt, Text) else map('"{}"'.format, words)


def header(spec: Spec, seed: int, vectors: Vectors) -> str:
    """Return the head of a vector file, for its first case."""
    head = {
        "convcheck-vectors": FORMAT,
        "generator": GENERATOR,
        "seed": seed,
        "spec": spec.id,
        "spec_sha256": digest_of_spec(spec),
    }
    said = "" if isinstance(vectors, CallSet) else canonical(dict(vectors.case.attributes))
    return canonical(head)[:-1] + ",\n" + (said and f'"attributes": {said},\n')


class Files:
    """Iterate over the files of a tier as (name, content), the manifest last.

    Keeps only hashes of earlier files, so memory stays constant. `vectors` and `size` (bytes) count
    the files so far. `kept` is the manifest of other specs to retain.
    """

    def __init__(
        self,
        sets: Iterable[tuple[Spec, Iterable[Vectors]]],
        tier: str,
        seed: int,
        kept: Manifest | None = None,
    ) -> None:
        self.tier, self.seed, self.kept = tier, seed, kept
        self.vectors = self.size = 0
        self._sets = sets
        self._files: dict[str, ListedFile] = {}
        self._specs: dict[str, Any] = {}
        self._bodies: dict[str, str] = {}  # file -> hash of its body
        self._alike: dict[tuple[str, str], str] = {}  # spec, hash of a body -> file

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for spec, vector_sets in self._sets:
            cases: dict[str, str] = {}
            self._specs[spec.id] = {"spec_sha256": digest_of_spec(spec), "cases": cases}
            for name, text, vectors in _bodies(vector_sets):
                path, content = self._file(spec, name, text, vectors)
                cases[name] = path
                if content is not None:
                    yield path, content
        content = manifest_text(self.tier, self.seed, *self._entries())
        self.size += len(content.encode())
        yield MANIFEST, content

    def _entries(self) -> tuple[dict[str, Any], dict[str, Any]]:
        kept = self.kept
        found = {**kept.specs, **self._specs} if kept else self._specs
        files = {**kept.files, **self._files} if kept else self._files
        specs = {name: found[name] for name in sorted(found, key=_operator_and_version)}
        named = {name for entry in specs.values() for name in entry["cases"].values()}
        return specs, {name: files[name] for name in sorted(named)}

    def _file(
        self, spec: Spec, name: str, text: str, vectors: tuple[Vectors, ...]
    ) -> tuple[str, str | None]:
        key = sha256(text)
        same = (self._specs[other]["cases"].get(name) for other in may_share(spec, self._specs))
        older = next((path for path in same if path and self._bodies[path] == key), None)
        older = older or self._alike.get((spec.id, key))
        path = older or path_of(vectors[0].case)
        self._alike.setdefault((spec.id, key), path)
        if older:
            return path, None
        content = header(spec, self.seed, vectors[0]) + text
        count = sum(map(len, vectors))
        self._bodies[path] = key
        self._files[path] = ListedFile(sha256(content), count)
        self.vectors += count
        self.size += len(content.encode())
        return path, content


def may_share(spec: Spec, others: Iterable[str]) -> Iterator[str]:
    """Yield the specs whose files a spec may share: the one it extends, and earlier versions."""
    op, version = _operator_and_version(spec.id)
    for other in others:
        named, number = _operator_and_version(other)
        if other == spec.extends or (named == op and number < version):
            yield other


def _operator_and_version(spec: str) -> tuple[str, tuple[int, ...]]:
    op, version = op_and_version(spec)
    return op, version_key(version)


def _bodies(sets: Iterable[Vectors]) -> Iterator[tuple[str, str, tuple[Vectors, ...]]]:
    """Yield (name, body, vectors) of each file: of a case, or of the input types of whole calls."""
    shared: dict[str, list[CallSet]] = {}
    for vectors in sets:
        if isinstance(vectors, CallSet):
            shared.setdefault(file_key(vectors.case), []).append(vectors)
        else:
            yield file_key(vectors.case), body(vectors), (vectors,)
    for name, calls in shared.items():
        yield name, body_of_calls(calls), tuple(calls)


def differing(files: Files, folder: Path) -> list[str]:
    """Return the files of a folder that differ, are missing or are left over."""
    given, differ = set(), []
    for name, text in files:
        given.add(name)
        if not (folder / name).is_file():
            differ.append(f"{name} (missing)")
        elif not _holds(folder / name, text.encode()):
            differ.append(name)
    left = _listed(folder) - given - _kept(files)
    return sorted(differ + [f"{name} (left over)" for name in left])


def _holds(path: Path, content: bytes) -> bool:
    same_size = path.is_file() and path.stat().st_size == len(content)
    return same_size and path.read_bytes() == content


def _kept(files: Files) -> set[str]:
    return set(files.kept.files) if files.kept else set()


def write_folder(files: Files, folder: Path) -> int:
    """Write a folder's files, the manifest last. Return the number of changed files.

    Raises UsageError if a file cannot be written or the folder has other content. Each file is
    written completely or not at all.
    """
    _check_folder(folder)
    given, changed, before = set(), 0, _listed(folder)
    for name, text in files:
        given.add(name)
        path = folder / name
        if not _holds(path, text.encode()):
            write_whole(path, text.encode(), folders=True)
            changed += 1
    for name in before - given - _kept(files):
        (folder / name).unlink()
        changed += 1
    return changed


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="--out DIR")
    if folder.is_dir() and any(folder.iterdir()) and _manifest_of(folder) is None:
        said = f"{folder} is not empty, and holds no vectors"
        raise UsageError(said, hint="give a new or an empty folder")


def _manifest_of(folder: Path) -> Any:
    try:
        said = json.loads(read_text(folder / MANIFEST, MOST_OF_REPORT))
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and "convcheck-manifest" in said else None


def _listed(folder: Path) -> set[str]:
    """Return the existing files that the manifest lists: only these may be removed."""
    inside, said = folder.resolve(), _manifest_of(folder) or {}
    files = said.get("files")
    places = files.items() if isinstance(files, dict) else ()
    listed = ((place, found) for place, found in places if isinstance(found, dict))
    names = [f"{place}/{name}.json" for place, found in listed for name in found]
    paths = {name: (folder / name).resolve() for name in names}
    return {n for n, path in paths.items() if path.is_relative_to(inside) and path.is_file()}
