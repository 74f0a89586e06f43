"""The forms that suites are written in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from convcheck.backends.onnx.model import cannot_ask
from convcheck.emit.languages import Files, c_files, device_files, rust_files
from convcheck.emit.suite import Suite, settled_suite, suite_of, why_left_out, with_series
from convcheck.errors import UsageError
from convcheck.reproduce.emit import onnx
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.export import safetensors
from convcheck.vectors.lines import lines
from convcheck.vectors.model import Vectors, VectorSet
from convcheck.vectors.store.write import Files as VectorFiles
from convcheck.vectors.store.write import text_of_file, text_of_set


@dataclass(frozen=True)
class Form:
    """A form, with functions that make the files of suites, as (name, content)."""

    files: Callable[[Corpus, Iterable[Suite]], Files]
    #: Return the file of one suite, in forms with a file per case.
    content: Callable[[Suite], bytes] | None = None
    #: Return why a case has no such form, '' if it has one.
    why_not: Callable[[Case], str] = lambda case: ""
    #: Return the suite of a case, None if the form holds none of its vectors.
    suite_of: Callable[[Corpus, Case], Suite | None] = suite_of


def _form_of_files(
    ending: str, content: Callable[[Suite], bytes], why_not: Callable[[Case], str]
) -> Form:
    def files(corpus: Corpus, suites: Iterable[Suite]) -> Files:
        return ((f"{suite.case.id}.{ending}", content(suite)) for suite in suites)

    return Form(files, content, why_not)


def _text(suite: Suite) -> bytes:
    assert isinstance(suite.vectors, VectorSet)  # noqa: S101 a whole call has no text form
    return "".join(f"{line}\n" for line in lines(suite.vectors)).encode()


def _json(suite: Suite) -> bytes:
    cases, digest = {suite.spec.id: [suite.case.question]}, digest_of_spec(suite.spec)
    sets = {text_of_set(suite.vectors): cases}
    return text_of_file(sets, suite.seed, spec_sha256=digest).encode()


def _safetensors(suite: Suite) -> bytes:
    return safetensors.content(suite.spec, suite.vectors, suite.tier, suite.seed)


def _vectors_folder(corpus: Corpus, suites: Iterable[Suite]) -> Files:
    """Yield the files of a vectors folder, from suites in the order of `by_file`."""
    made: dict[Case, Vectors] = {}

    def cases() -> Iterator[Case]:
        for suite in suites:
            made[suite.case] = suite.vectors
            yield suite.case

    specs = corpus.catalog.specs.values()
    files = VectorFiles(specs, cases(), made.pop, corpus.tier, corpus.seed)
    return ((name, text.encode()) for name, text in files)


def _form_of_language(sources: Callable[[Sequence[Suite]], Files]) -> Form:
    def files(corpus: Corpus, suites: Iterable[Suite]) -> Files:
        if found := list(suites):
            return sources(found)
        said = "none of the cases has a suite: nothing is defined"
        raise UsageError(said, hint="`convcheck run --open` shows what backends do there")

    return Form(files, None, why_left_out, with_series)


def _no_lines(case: Case) -> str:
    return "the question is a whole call, not one input per line" if case.whole_calls else ""


def _no_onnx(case: Case) -> str:
    declined = cannot_ask(case)
    return declined.message if declined else ""


FORMS = {
    "text": _form_of_files("txt", _text, _no_lines),
    "json": Form(_vectors_folder, _json),
    "safetensors": _form_of_files("safetensors", _safetensors, safetensors.why_not),
    "onnx": Form(
        lambda _, suites: (file for suite in suites for file in onnx.files(suite.vectors)),
        why_not=_no_onnx,
        suite_of=settled_suite,
    ),
    "c": _form_of_language(c_files),
    "cuda": _form_of_language(device_files),
    "hip": _form_of_language(device_files),
    "rust": _form_of_language(rust_files),
}
