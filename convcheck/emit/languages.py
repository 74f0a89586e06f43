"""Write suites as C, CUDA, HIP and Rust sources, with their harness."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from convcheck import __version__
from convcheck.emit.suite import Suite, SuiteRow
from convcheck.judge.words import clean
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.reproduce.emit.c import c_comment, c_string
from convcheck.reproduce.emit.template import filled_template
from convcheck.semantics.expected import ANY_NAN, ANY_ZERO, EXACT, NEGATIVE_NAN, UNDEFINED

TEMPLATES = Path(__file__).with_name("templates")
HARNESS, DEVICE, LIBRARY, CRATE = "convcheck.h", "convcheck_device.h", "lib.rs", "convcheck-suites"
_PATTERNS = {EXACT: "Exact", ANY_NAN: "Nan", NEGATIVE_NAN: "NegativeNan", ANY_ZERO: "Zero",
             UNDEFINED: "Undefined"}  # fmt: skip
_C_PATTERNS = {
    EXACT: "CONVCHECK_EXACT", ANY_NAN: "CONVCHECK_NAN", NEGATIVE_NAN: "CONVCHECK_NEGATIVE_NAN",
    ANY_ZERO: "CONVCHECK_ZERO", UNDEFINED: "CONVCHECK_UNDEFINED",
}  # fmt: skip
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
        yield f"{suite.name}.h", _filled("suite.h.j2", suite, _of_c)


def device_files(suites: Sequence[Suite]) -> Files:
    """Yield the files of suites for GPU kernels, in CUDA or HIP."""
    yield DEVICE, (TEMPLATES / DEVICE).read_bytes()
    yield from c_files(suites)


def rust_files(suites: Sequence[Suite]) -> Files:
    """Yield the files of suites in Rust: a crate with a module per case."""
    yield "Cargo.toml", _CARGO.encode()
    modules = "".join(f"pub mod {suite.name.lower()};\n" for suite in suites)
    library = (TEMPLATES / LIBRARY).read_bytes()
    yield f"src/{LIBRARY}", library.replace(b"// SUITES\n", modules.encode())
    for suite in suites:
        yield f"src/{suite.name.lower()}.rs", _filled("suite.rs.j2", suite, _of_rust)


MAKERS = {"c": c_files, "cuda": device_files, "hip": device_files, "rust": rust_files}


def _filled(template: str, suite: Suite, own: Callable[..., dict[str, Any]]) -> bytes:
    types = [(suite.case.inputs[0].name, suite.source), (suite.case.outputs[0].name, suite.target)]
    made = f"By convcheck {__version__} from the rules {suite.digest}."
    content = own(suite, types)
    content["input"], content["output"] = content["formats"]
    return filled_template(TEMPLATES, template, {"suite": suite, "made": made, **content}).encode()


def _facts(fmt: Numeric) -> Mapping[str, int | bool]:
    """Return a harness's view of a format. A bool is a byte, 0 or 1."""
    if isinstance(fmt, Float):
        infinity = fmt.infinity_code if fmt.infinity else 0
        last = infinity or (fmt.magnitude_mask if fmt.nan == "none" else fmt.max_magnitude)
        return {
            "bits": fmt.bits, "is_float": True, "exponent": fmt.exponent, "mantissa": fmt.mantissa,
            "bias": fmt.bias, "signed": fmt.signed, "has_zero": fmt.zero,
            "nan_is_sign": fmt.nan == "sign-only", "sign": fmt.sign_bit,
            "magnitude": fmt.magnitude_mask, "infinity": infinity, "last_number": last,
        }  # fmt: skip
    bits = fmt.bits if isinstance(fmt, Int) else 8
    sign = 1 << (bits - 1) if fmt.signed else 0
    magnitude = ((1 << bits) - 1) ^ sign
    return {
        "bits": bits, "is_float": False, "exponent": 0, "mantissa": 0, "bias": 0,
        "signed": fmt.signed, "has_zero": True, "nan_is_sign": False, "sign": sign,
        "magnitude": magnitude, "infinity": 0, "last_number": magnitude,
    }  # fmt: skip


# C -------------------------------------------------------------------------------------------


def _of_c(suite: Suite, types: Sequence[tuple[str, Numeric]]) -> dict[str, Any]:
    def row(one: SuiteRow) -> str:
        """Return the fields of a convcheck_row, in order."""
        about = "\n     ".join(c_string(line) for line in one.about.splitlines(keepends=True))
        readings = len(one.decision.readings)
        names = f"{suite.name}_readings_{one.rule}" if readings > 1 else "NULL"
        return f"{c_string(_name(one))},\n     {about},\n     {one.rule}, {readings}, {names}"

    def fields(name: str, fmt: Numeric) -> str:
        """Return the fields of a convcheck_format, in order."""
        bits, *numbers, sign, magnitude, infinity, last = map(int, _facts(fmt).values())
        codes = map(hex, (sign, magnitude, infinity, last))
        numbers = [bits, fmt.storage.itemsize, *numbers]
        return ", ".join([c_string(name), *map(str, numbers), *codes])

    return {
        "id": c_comment(suite.case.id),
        "types": [_OWN.get(name, f"uint{8 * f.storage.itemsize}_t") for name, f in types],
        "bytes": [fmt.storage.itemsize for _, fmt in types],
        "formats": [fields(name, fmt) for name, fmt in types],
        "row": row, "hex": _hex, "patterns": _C_PATTERNS, "string": c_string,
    }  # fmt: skip


def _hex(fmt: Numeric, code: int) -> str:
    return f"0x{code:0{-(-fmt.bits // 4)}x}"


def _name(row: SuiteRow) -> str:
    return row.decision.name.replace("#", "number ")  # TAP directives begin with #


# Rust ----------------------------------------------------------------------------------------


def _of_rust(suite: Suite, types: Sequence[tuple[str, Numeric]]) -> dict[str, Any]:
    def fields(name: str, fmt: Numeric) -> str:
        facts = {k: v for k, v in _facts(fmt).items() if k not in ("exponent", "signed")}
        said = ", ".join(f"{field}: {json.dumps(value)}" for field, value in facts.items())
        return f"Format {{ name: {rust_string(name)}, {said} }}"

    return {
        "id": clean(suite.case.id),
        "codes": [f"u{8 * fmt.storage.itemsize}" for _, fmt in types],
        "formats": [fields(name, fmt) for name, fmt in types],
        "row": _rust_row, "patterns": _PATTERNS, "string": rust_string,
    }  # fmt: skip


def _rust_row(row: SuiteRow) -> str:
    # a literal would lose leading blanks
    about = "\\n\\\n".join(f"\\x20{rust_string(line[1:])[1:-1]}" for line in row.about.splitlines())
    readings = ", ".join(map(rust_string, row.decision.readings))
    said = f'about: "{about}\\n", rule: {row.rule}, readings: &[{readings}]'
    return f"Row {{ name: {rust_string(_name(row))}, {said} }}"


def rust_string(text: str) -> str:
    """Quote a text as Rust, with anything but plain ASCII escaped."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'
