"""The forms and languages that suites are written in."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convcheck import __version__
from convcheck.backends.onnx.model import cannot_ask
from convcheck.emit import pack
from convcheck.emit.suite import Suite, settled_suite, suite_of, why_left_out, with_series
from convcheck.errors import UsageError
from convcheck.judge.words import clean
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.reproduce.emit import onnx
from convcheck.reproduce.emit.c import c_comment, c_string, filled
from convcheck.reproduce.emit.onnx import rule_of, sentences_of, urls_of
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case
from convcheck.semantics.expected import ANY_NAN, ANY_ZERO, EXACT, NEGATIVE_NAN, UNDEFINED, Decision
from convcheck.vectors import folder
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.lines import lines
from convcheck.vectors.model import Vectors, VectorSet
from convcheck.vectors.store.write import Files as VectorFiles
from convcheck.vectors.store.write import text_of_file, text_of_set

TEMPLATES = Path(__file__).with_name("templates")
HARNESS, DEVICE, LIBRARY, CRATE = "convcheck.h", "convcheck_device.h", "lib.rs", "convcheck-suites"
_PATTERNS = {
    EXACT: "EXACT",
    ANY_NAN: "NAN",
    NEGATIVE_NAN: "NEGATIVE_NAN",
    ANY_ZERO: "ZERO",
    UNDEFINED: "UNDEFINED",
}
_OWN = {"float32": "float", "float64": "double"}  # C types; other types are passed as codes
_CARGO = f"""\
[package]
name = "{CRATE}"
version = "{__version__}"
edition = "2021"
publish = false
"""
Files = Iterator[tuple[str, bytes]]


def c_files(suites: Sequence[Suite]) -> Files:
    """Yield the names and contents of suites in C."""
    yield HARNESS, (TEMPLATES / HARNESS).read_bytes()
    for suite in suites:
        yield f"{suite.name}.h", _filled("suite.h.j2", suite, _of_c(suite))


def device_files(suites: Sequence[Suite]) -> Files:
    """Yield the files of suites for GPU kernels, in CUDA or HIP."""
    yield DEVICE, (TEMPLATES / DEVICE).read_bytes()
    yield from c_files(suites)


def rust_files(suites: Sequence[Suite]) -> Files:
    """Yield the files of a Rust crate with a module per case."""
    yield "Cargo.toml", _CARGO.encode()
    modules = "".join(f"pub mod {suite.name.lower()};\n" for suite in suites)
    library = (TEMPLATES / LIBRARY).read_bytes()
    yield f"src/{LIBRARY}", library.replace(b"// SUITES\n", modules.encode())
    for suite in suites:
        yield f"src/{suite.name.lower()}.rs", _filled("suite.rs.j2", suite, _of_rust(suite))


def _filled(template: str, suite: Suite, own: dict[str, Any]) -> bytes:
    digest = digest_of_spec(suite.spec)
    made = f"By convcheck {__version__} from the rules {digest}."
    content = {"suite": suite, "digest": digest, "made": made, **own}
    return filled(__file__, template, content).encode()


def _facts(fmt: Numeric) -> dict[str, int | bool]:
    """Return a harness's view of a format. A bool is a byte, 0 or 1."""
    bits = fmt.bits if isinstance(fmt, Int | Float) else 8
    own = fmt if isinstance(fmt, Float) else None
    sign = own.sign_bit if own else (1 << (bits - 1)) * fmt.signed
    magnitude = own.magnitude_mask if own else ((1 << bits) - 1) ^ sign
    infinity = own.infinity_code if own and own.infinity else 0
    last = infinity or (own.max_magnitude if own and own.nan != "none" else magnitude)
    return {
        "bits": bits,
        "is_float": own is not None,
        "exponent": own.exponent if own else 0,
        "mantissa": own.mantissa if own else 0,
        "bias": own.bias if own else 0,
        "signed": fmt.signed,
        "has_zero": own is None or own.zero,
        "nan_is_sign": own is not None and own.nan == "sign-only",
        "sign": sign,
        "magnitude": magnitude,
        "infinity": infinity,
        "last_number": last,
    }


def _about(suite: Suite, row: Decision) -> list[str]:
    sentences = (f"    {one}" for one in sentences_of(row, urls_of([suite.spec])))
    return ["  rule: |", f"    {rule_of(row)}", "  sentence: |", *sentences]


def _name(row: Decision) -> str:
    return row.name.replace("#", "number ")  # TAP directives begin with #


def _of_c(suite: Suite) -> dict[str, Any]:
    def row(one: Decision) -> str:
        """Return the fields of a convcheck_row, in order."""
        about = "\n     ".join(c_string(f"{line}\n") for line in _about(suite, one))
        rule = suite.rules.index((one.rule, one.readings))
        names = f"{suite.name}_readings_{rule}" if len(one.readings) > 1 else "NULL"
        fields = f"{rule}, {len(one.readings)}, {names}"
        return f"{c_string(_name(one))},\n     {about},\n     {fields}"

    def fields(name: str, fmt: Numeric) -> str:
        """Return the fields of a convcheck_format, in order."""
        bits, *numbers, sign, magnitude, infinity, last = map(int, _facts(fmt).values())
        codes = map(hex, (sign, magnitude, infinity, last))
        said = map(str, (bits, fmt.storage.itemsize, *numbers))
        return ", ".join([c_string(name), *said, *codes])

    return {
        "id": c_comment(suite.case.id),
        "types": [_OWN.get(name, f"uint{8 * f.storage.itemsize}_t") for name, f in suite.types],
        "bytes": [fmt.storage.itemsize for _, fmt in suite.types],
        "formats": [fields(name, fmt) for name, fmt in suite.types],
        "digits": [-(-fmt.bits // 4) for _, fmt in suite.types],
        "row": row,
        "patterns": {key: f"CONVCHECK_{name}" for key, name in _PATTERNS.items()},
        "string": c_string,
    }


def _of_rust(suite: Suite) -> dict[str, Any]:
    def fields(name: str, fmt: Numeric) -> str:
        facts = {k: v for k, v in _facts(fmt).items() if k not in ("exponent", "signed")}
        said = ", ".join(f"{field}: {json.dumps(value)}" for field, value in facts.items())
        return f"Format {{ name: {rust_string(name)}, {said} }}"

    def row(one: Decision) -> str:
        # a literal would lose leading blanks
        lines = (f"\\x20{rust_string(line[1:])[1:-1]}" for line in _about(suite, one))
        about = "\\n\\\n".join(lines)
        rule = suite.rules.index((one.rule, one.readings))
        readings = ", ".join(map(rust_string, one.readings))
        said = f'about: "{about}\\n", rule: {rule}, readings: &[{readings}]'
        return f"Row {{ name: {rust_string(_name(one))}, {said} }}"

    return {
        "id": clean(suite.case.id),
        "codes": [f"u{8 * fmt.storage.itemsize}" for _, fmt in suite.types],
        "formats": [fields(name, fmt) for name, fmt in suite.types],
        "row": row,
        "patterns": {k: n.title().replace("_", "") for k, n in _PATTERNS.items()},
        "string": rust_string,
    }


def rust_string(text: str) -> str:
    """Quote a text as Rust, with anything but plain ASCII escaped."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'


@dataclass(frozen=True)
class Form:
    """A form of suites."""

    #: of the corpus, the suites, and the folder to write
    files: Callable[[Corpus, Iterable[Suite], Path], Files]
    #: the file of one suite, in forms with a file per case
    content: Callable[[Suite], bytes] | None = None
    #: why a case has no such form, '' if it has one
    why_not: Callable[[Case], str] = lambda case: ""
    #: the suite of a case, None if the form holds none of its vectors
    suite_of: Callable[[Corpus, Case], Suite | None] = suite_of


def _form_of_files(
    ending: str, content: Callable[[Suite], bytes], why_not: Callable[[Case], str]
) -> Form:
    def files(corpus: Corpus, suites: Iterable[Suite], path: Path) -> Files:
        return ((f"{suite.case.id}.{ending}", content(suite)) for suite in suites)

    return Form(files, content, why_not)


def _text(suite: Suite) -> bytes:
    assert isinstance(suite.vectors, VectorSet)  # noqa: S101 a whole call has no text form
    return "".join(f"{line}\n" for line in lines(suite.vectors)).encode()


def _json(suite: Suite) -> bytes:
    cases, digest = {suite.spec.id: [suite.case.question]}, digest_of_spec(suite.spec)
    sets = {text_of_set(suite.vectors): cases}
    return text_of_file(sets, suite.seed, spec_sha256=digest).encode()


def _vectors_folder(corpus: Corpus, suites: Iterable[Suite], path: Path) -> Files:
    made: dict[Case, Vectors] = {}

    def cases() -> Iterator[Case]:
        for suite in suites:
            made[suite.case] = suite.vectors
            yield suite.case

    specs = corpus.catalog.specs.values()
    files = VectorFiles(specs, cases(), made.pop, corpus.tier, corpus.seed)
    return ((name, text.encode()) for name, text in files)


def _form_of_language(sources: Callable[[Sequence[Suite]], Files]) -> Form:
    def files(corpus: Corpus, suites: Iterable[Suite], path: Path) -> Files:
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
    "safetensors": _form_of_files(
        "safetensors",
        lambda one: folder.content(one.spec, one.vectors, one.tier, one.seed),
        folder.why_not,
    ),
    "onnx": Form(
        lambda _, suites, path: (file for suite in suites for file in onnx.files(suite.vectors)),
        why_not=_no_onnx,
        suite_of=settled_suite,
    ),
    "pack": Form(pack.files),
    "c": _form_of_language(c_files),
    "cuda": _form_of_language(device_files),
    "hip": _form_of_language(device_files),
    "rust": _form_of_language(rust_files),
}
