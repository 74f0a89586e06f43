"""`convcheck export`: write the vectors of cases for other tools, or as suites in a language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from convcheck.backends.onnx.model import cannot_ask
from convcheck.backends.onnx.node_tests import test_files
from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs
from convcheck.cli.progress import tracked
from convcheck.emit.exact import data_sets
from convcheck.emit.languages import MAKERS
from convcheck.emit.suite import suite_of, why_left_out
from convcheck.errors import UsageError
from convcheck.files import write_text, write_whole
from convcheck.judge.refusals import is_accepted
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.streams import say
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.export import folder, safetensors, text
from convcheck.vectors.model import CallSet, Tier, Vectors
from convcheck.vectors.store.write import Files, by_file, text_of_file, text_of_set
from convcheck.wording import plural

TEXT, JSON, SAFETENSORS, ONNX = "text", "json", "safetensors", "onnx"
_ENDINGS = {TEXT: "txt", SAFETENSORS: "safetensors"}
_NOTHING = "nothing is defined, or settled"
FilesOf = Iterator[tuple[str, bytes]]


def main(selection: Selection, form: str, out: str | None, tier: Tier, seed: int) -> int:
    """Write the vectors of cases in a form."""
    loaded = catalog()
    cases = list({case.id: case for case in select(loaded, selection)}.values())
    export = _Export(loaded, form, tier, seed)
    if _is_one_file(export, cases, out):
        check_outputs({"--out": out})
        _write_one(export, cases[0], out)
    elif out in (None, "-"):
        said = f"which folder? {form} of {plural(len(cases), 'case')} cannot go to stdout"
        raise UsageError(said, hint="--out DIR")
    else:
        _write_folder(export, cases, Path(str(out)))
    return 0


@dataclass(frozen=True)
class _Export:
    catalog: Catalog
    form: str
    tier: Tier
    seed: int

    def corpus(self, cases: Sequence[Case]) -> Corpus:
        """Open the vectors of cases."""
        found = open_corpus(self.catalog, self.tier, self.seed, data_dir("vectors"))
        found.check(cases)
        return found.only(cases)

    def why_not(self, case: Case) -> str:
        """Return why a case has no such form, '' if it has one."""
        if self.form in MAKERS:
            return why_left_out(case)
        if self.form == TEXT and case.whole_calls:
            return "the question is a whole call, not one input per line"
        if self.form == SAFETENSORS and not safetensors.can_hold(case):
            return "it has texts"
        declined = cannot_ask(case) if self.form == ONNX else None
        return declined.message if declined else ""

    def content(self, vectors: Vectors) -> bytes:
        """Return the file of a case, for forms with a file per case."""
        spec = self.catalog.specs[vectors.case.spec]
        if self.form == SAFETENSORS:
            return safetensors.content(spec, vectors, self.tier, self.seed)
        if self.form == JSON:
            cases = {spec.id: [vectors.case.question]}
            sets, also = {text_of_set(vectors): cases}, {"spec_sha256": digest_of_spec(spec)}
            return text_of_file(sets, self.seed, **also).encode()
        assert not isinstance(vectors, CallSet)  # noqa: S101 a whole call has no text form
        return "".join(f"{line}\n" for line in text.lines(vectors)).encode()


def _is_one_file(export: _Export, cases: Sequence[Case], out: str | None) -> bool:
    if len(cases) > 1 or export.form not in (TEXT, JSON, SAFETENSORS):
        return False
    if out in (None, "-"):
        return export.form != SAFETENSORS
    return not (str(out).endswith("/") or Path(str(out)).is_dir())


def _write_one(export: _Export, case: Case, out: str | None) -> None:
    if why_not := export.why_not(case):
        raise UsageError(f"{case.id} has no {export.form} form: {why_not}", hint="--as json")
    made = export.content(export.corpus([case]).vectors(case))
    if export.form == SAFETENSORS:
        write_whole(Path(str(out)), made)
    else:
        write_text(made.decode(), out or "-")


# A folder ------------------------------------------------------------------------------------


def _write_folder(export: _Export, cases: Sequence[Case], path: Path) -> None:
    folder.check(path, export.form)
    reasons = {case: export.why_not(case) for case in cases}
    kept = [case for case in cases if not reasons[case]]
    if not kept:
        first, reason = next(iter(reasons.items()))
        said = f"none of the cases has a form in {export.form}; {first.id}: {reason}"
        raise UsageError(said, hint="--as json holds every case")
    if export.form == JSON:
        kept = by_file(kept, export.catalog.specs)
    left = Counter(reason for reason in reasons.values() if reason)
    counts, each = Counter[str](), tracked(kept, f"export as {export.form}")
    files = {JSON: _vector_files, ONNX: _tests}.get(export.form, _files)
    files = _suites if export.form in MAKERS else files
    folder.write_export(files(export, export.corpus(kept), each, counts), path, export.form)
    left[_NOTHING] += len(kept) - counts["case"]
    said = f"in {path}: {plural(counts['case'], 'case')}, {plural(counts['vector'], 'vector')}"
    if unsettled := counts["unsettled"]:
        said += f"; left out, without one expected value: {plural(unsettled, 'vector')}"
    say(said, err=True)
    for reason, count in (+left).items():
        say(f"left out: {plural(count, 'case')}, {reason}", err=True)


def _files(export: _Export, corpus: Corpus, cases: Iterator[Case], counts: Counter[str]) -> FilesOf:
    for case in cases:
        vectors = corpus.vectors(case)
        counts.update(case=1, vector=len(vectors))
        yield f"{case.id}.{_ENDINGS[export.form]}", export.content(vectors)


def _vector_files(
    export: _Export, corpus: Corpus, cases: Iterator[Case], counts: Counter[str]
) -> FilesOf:
    """Yield the files of a vectors folder. Versions share common parts."""

    def of(case: Case) -> Vectors:
        counts["case"] += 1
        return corpus.vectors(case)

    files = Files(corpus.catalog.specs.values(), cases, of, export.tier, export.seed)
    yield from ((name, text.encode()) for name, text in files)
    counts["vector"] = files.vectors


def _tests(export: _Export, corpus: Corpus, cases: Iterator[Case], counts: Counter[str]) -> FilesOf:
    """Yield the files of ONNX tests, for cases with settled values that no runtime may refuse."""
    for case in cases:
        vectors = corpus.vectors(case)
        sets, settled = data_sets(vectors)
        if sets and not is_accepted(case):
            counts.update(case=1, vector=settled, unsettled=len(vectors) - settled)
            yield from test_files(case, sets)


def _suites(
    export: _Export, corpus: Corpus, cases: Iterator[Case], counts: Counter[str]
) -> FilesOf:
    """Yield the files of suites in a language, for cases with defined values."""
    found = [suite for case in cases if (suite := suite_of(corpus, case))]
    if not found:
        said = "none of the cases has a suite: nothing is defined"
        raise UsageError(said, hint="`convcheck run --open` shows what backends do there")
    counts.update(case=len(found), vector=sum(len(s.readings[0].vectors) for s in found))
    return MAKERS[export.form](found)
