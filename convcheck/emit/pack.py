"""A pack: the vectors of cases as a repository of data, with its own version.

A case is a JSON file whose head is its first line, with a line per vector. The id of a vector is a
hash of the case and the vector's input, which readers compute.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from convcheck import __version__
from convcheck.emit.suite import Suite
from convcheck.errors import UsageError
from convcheck.judge.words import clean, code_text
from convcheck.numerics.format import Format
from convcheck.rules.digest import digest_of_spec
from convcheck.semantics.expected import EXACT, PATTERNS, Decision, ExpectedOutput
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.folder import check
from convcheck.vectors.model import CallSet, Vectors

FORMAT = "convcheck-pack/1"
TEMPLATES = Path(__file__).with_name("templates") / "pack"
MANIFEST, CHANGES, CASES = "MANIFEST.json", "CHANGES.json", "cases/"
Files = Iterator[tuple[str, bytes]]
Json = dict[str, Any]
_FNV, _PRIME = 0xCBF29CE484222325, 0x100000001B3  # of FNV-1a, 64 bits


def files(corpus: Corpus, suites: Iterable[Suite], path: Path) -> Files:
    """Yield the files of a pack, with the changes since the one in the folder `path`."""
    before = {name for name in check(path, "pack") if name.startswith(CASES)}
    sums, changes, counts = dict[str, str](), _Changes(), [0, 0]
    specs: dict[str, str] = {}

    def kept(name: str, content: bytes) -> tuple[str, bytes]:
        sums[name] = sha256(content).hexdigest()
        return name, content

    for suite in suites:
        name, head = f"{CASES}{suite.case.id}.json", _head(suite)
        lines = [*dict.fromkeys(_lines(suite.vectors))]  # two calls may be one when written
        specs[suite.spec.id] = digest_of_spec(suite.spec)
        counts = [counts[0] + 1, counts[1] + len(lines)]
        if name in before:
            changes.add(head, lines, *_before(path / name))
        else:
            changes.added[suite.case.id] = len(lines)
        yield kept(name, text_of(head, lines).encode())
    for name in sorted(before - sums.keys()):
        head, lines = _before(path / name)
        changes.removed[head["case"]] = len(lines)
    log, version = _log(path, changes)
    for file in sorted(TEMPLATES.iterdir()):
        yield kept(file.name, file.read_bytes())
    yield kept(CHANGES, _pretty({"format": FORMAT, "releases": log}))
    manifest = {"format": FORMAT, "version": version, "convcheck": __version__,
                "tier": corpus.tier, "seed": corpus.seed, "specs": dict(sorted(specs.items())),
                "cases": counts[0], "vectors": counts[1]}  # fmt: skip
    yield kept(MANIFEST, _pretty(manifest))
    yield "SHA256SUMS", "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def vector_id(case: str, line: str) -> str:
    """Return the id of a vector: FNV-1a of the case's id, a blank and its input as written."""
    code = _FNV
    for byte in f"{case} {_input(line)}".encode():
        code = (code ^ byte) * _PRIME & 0xFFFFFFFFFFFFFFFF
    return f"{code:016x}"


def text_of(head: Json, lines: Iterable[str]) -> str:
    """Return the file of a case."""
    return f'{_dense(head)[:-1]},"vectors":[\n' + ",\n".join(lines) + "\n]}\n"


def parsed(text: str) -> tuple[Json, list[str]]:
    """Return the head and the lines of vectors of a case's file. Raises ValueError."""
    head, *lines, _, _ = text.split("\n")
    found = json.loads(f"{head}]}}")
    del found["vectors"]
    return found, [line.removesuffix(",") for line in lines]


def _before(file: Path) -> tuple[Json, list[str]]:
    try:
        return parsed(file.read_text("utf-8"))
    except (OSError, ValueError, LookupError) as error:
        hint = "remove the folder, or give another"
        raise UsageError(f"{file} is damaged: {error}", hint=hint) from None


def _dense(thing: object) -> str:
    return json.dumps(thing, separators=(",", ":"), ensure_ascii=False)


def _pretty(thing: object) -> bytes:
    return (json.dumps(thing, indent=1, ensure_ascii=False) + "\n").encode()


def _head(suite: Suite) -> Json:
    case = suite.case
    return {
        "case": case.id,
        "spec": case.spec,
        "inputs": [t.name for t in case.sources],
        "outputs": [t.name for t in case.outputs],
        "attributes": dict(case.attributes),
        "coverage": suite.vectors.coverage,
        "rules": [_rule(case.spec, by) for by in suite.vectors.decisions],
    }


def _rule(spec: str, by: Decision) -> Json:
    quoted = [
        {"id": f"{spec}{one.id}", "text": clean(one.text), "document": one.document}
        | ({"of": one.of} if one.of else {})
        for one in by.sentences
    ]
    readings = [name for name in by.readings if name]
    return {"rule": by.name, "level": by.level, "readings": readings, "sentences": quoted}


def _lines(vectors: Vectors) -> Iterator[str]:
    """Yield a vector per line: its input, its rule, and an expected value for each reading."""
    if isinstance(vectors, CallSet):
        types = [t.name for t in vectors.case.sources]
        formats = [t.format for t in vectors.case.sources]
        for call, expected in zip(vectors.calls, vectors.expected, strict=True):
            tensors = [_tensor(*one) for one in zip(types, formats, call, strict=True)]
            due = [
                f"<{PATTERNS[r.pattern]}>" if r.pattern else [_output(o) for o in r.outputs]
                for r in expected.readings
            ]
            yield _dense({"input": tensors, "rule": expected.row, "expected": _once(due)}
                         | ({"between": True} if expected.between else {}))  # fmt: skip
        return
    source, target = vectors.case.inputs[0].format, vectors.case.outputs[0].format
    readings = [_words(target, r.codes, r.patterns) for r in vectors.expected.readings]
    inputs = _words(source, vectors.inputs[0])
    for word, row, *due in zip(inputs, vectors.rows.tolist(), *readings, strict=True):
        yield _dense([word, row, *_once(due)])


def _once(due: list[Any]) -> list[Any]:
    return due[:1] if all(one == due[0] for one in due) else due


def _words(fmt: Format, codes: NDArray[Any], patterns: NDArray[Any] | None = None) -> list[str]:
    words = [code_text(fmt, code) for code in codes.tolist()]
    if patterns is None:
        return words
    both = zip(words, patterns.tolist(), strict=True)
    return [word if mark == EXACT else f"<{PATTERNS[mark]}>" for word, mark in both]


def _tensor(name: str, fmt: Format, tensor: NDArray[Any]) -> list[Any]:
    return [name, list(tensor.shape), _words(fmt, tensor.reshape(-1))]


def _output(due: ExpectedOutput) -> list[Any]:
    return [due.dtype.name, list(due.shape), _words(due.dtype.format, due.codes, due.patterns)]


# Changes -------------------------------------------------------------------------------------


@dataclass
class _Changes:
    #: the vectors whose expected answer differs: id, case, input, old, new, sentence
    changed: list[Json] = field(default_factory=list)
    #: case -> number of vectors
    removed: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    #: the cases with other rules, citations or levels for the same answers
    reworded: list[str] = field(default_factory=list)

    def add(self, head: Json, lines: list[str], old: Json, before: list[str]) -> None:
        """Compare a case with its file in the pack before."""
        name, known = head["case"], {_input(line): line for line in before}
        for line in lines:
            earlier = known.pop(_input(line), None)
            if earlier is None:
                self.added[name] = self.added.get(name, 0) + 1
            elif _answers(earlier) != _answers(line):
                rule = head["rules"][_fields(line)["rule"]]
                self.changed.append(
                    {"id": vector_id(name, line), "case": name, "input": json.loads(_input(line)),
                     "old": _answers(earlier), "new": _answers(line),
                     "sentence": rule["sentences"][0]["id"]}
                )  # fmt: skip
        if known:
            self.removed[name] = len(known)
        if head != old:
            self.reworded.append(name)

    @property
    def kind(self) -> str:
        """The part of the version that rises, '' if nothing changed."""
        if self.changed or self.removed:
            return "major"
        return "minor" if self.added else "patch" if self.reworded else ""


def _fields(line: str) -> Mapping[str, Any]:
    found = json.loads(line)
    if isinstance(found, list):
        return {"input": found[0], "rule": found[1], "expected": found[2:]}
    return dict(found)


def _input(line: str) -> str:
    return _dense(_fields(line)["input"])


def _answers(line: str) -> list[Any]:
    found = _fields(line)
    return [*found["expected"], *(["between"] if found.get("between") else [])]


def _log(path: Path, changes: _Changes) -> tuple[list[Json], str]:
    """Return the releases, newest first, and the version. The first one is 1.0.0."""
    file = path / CHANGES
    if not file.is_file():
        return [{"version": "1.0.0"}], "1.0.0"
    try:
        log: list[Json] = json.loads(file.read_text("utf-8"))["releases"]
        last = str(log[0]["version"])
        major, minor, patch = map(int, last.split("."))
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"{file} is damaged: {error}", hint="remove the folder") from None
    if not changes.kind:
        return log, last
    raised = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0)}
    version = ".".join(map(str, raised.get(changes.kind, (major, minor, patch + 1))))
    told = {k: v for k, v in vars(changes).items() if v}
    return [{"version": version, **told}, *log], version
