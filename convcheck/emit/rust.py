"""Suites in Rust: a crate with a module for each case, and lib.rs, which runs them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from convcheck import __version__
from convcheck.emit.series import Series
from convcheck.emit.suite import Suite, SuiteRow, SuiteVector, made_by
from convcheck.emit.template import filled_template, template_bytes
from convcheck.judge.words import clean
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.semantics.expected import ANY_NAN, ANY_ZERO, EXACT, NEGATIVE_NAN, UNDEFINED

CRATE = "convcheck-suites"
_PATTERNS = {
    EXACT: "Exact",
    ANY_NAN: "Nan",
    NEGATIVE_NAN: "NegativeNan",
    ANY_ZERO: "Zero",
    UNDEFINED: "Undefined",
}
_CARGO = f"""\
[package]
name = "{CRATE}"
version = "{__version__}"
edition = "2021"
publish = false
"""


def rust_files(suites: Sequence[Suite]) -> Iterator[tuple[str, bytes]]:
    """Return the files of suites: their names, and what is in them."""
    yield "Cargo.toml", _CARGO.encode()
    modules = "".join(f"pub mod {suite.name.lower()};\n" for suite in suites)
    yield "src/lib.rs", template_bytes("lib.rs").replace(b"// SUITES\n", modules.encode())
    for suite in suites:
        yield f"src/{suite.name.lower()}.rs", _module(suite)


def _module(suite: Suite) -> bytes:
    source, target = suite.case.inputs[0].name, suite.case.outputs[0].name
    return filled_template(
        "suite.rs.j2",
        suite=suite,
        id=clean(suite.case.id),
        made=made_by(suite),
        codes=tuple(f"u{8 * fmt.storage.itemsize}" for fmt in (suite.source, suite.target)),
        input=_format(source, suite.source),
        output=_format(target, suite.target),
        row=_row,
        vector=_vector,
        series=_series,
        string=rust_string,
    )


def rust_string(text: str) -> str:
    """Quote a text as Rust: what is not plain ASCII is escaped."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return f'"{"".join(plain)}"'


def _format(name: str, fmt: Numeric) -> str:
    fields: dict[str, int | bool]
    if isinstance(fmt, Float):
        infinity = fmt.infinity_code if fmt.infinity else 0
        last = infinity or (fmt.magnitude_mask if fmt.nan == "none" else fmt.max_magnitude)
        fields = {
            "bits": fmt.bits, "is_float": True, "mantissa": fmt.mantissa, "bias": fmt.bias,
            "has_zero": fmt.zero, "nan_is_sign": fmt.nan == "sign-only", "sign": fmt.sign_bit,
            "magnitude": fmt.magnitude_mask, "infinity": infinity, "last_number": last,
        }  # fmt: skip
    else:
        bits = fmt.bits if isinstance(fmt, Int) else 8  # a bool is a byte, 0 or 1
        sign = 1 << (bits - 1) if fmt.signed else 0
        magnitude = ((1 << bits) - 1) ^ sign
        fields = {
            "bits": bits, "is_float": False, "mantissa": 0, "bias": 0, "has_zero": True,
            "nan_is_sign": False, "sign": sign, "magnitude": magnitude, "infinity": 0,
            "last_number": magnitude,
        }  # fmt: skip
    said = ", ".join(f"{field}: {json.dumps(value)}" for field, value in fields.items())
    return f"Format {{ name: {rust_string(name)}, {said} }}"


def _row(row: SuiteRow) -> str:
    about = "\\n\\\n".join(map(_line, row.about.splitlines()))
    readings = ", ".join(map(rust_string, row.decision.readings))
    name = rust_string(row.decision.name.replace("#", "number "))  # TAP has directives after #
    said = f'name: {name}, about: "{about}\\n", rule: {row.rule}, readings: &[{readings}]'
    return f"Row {{ {said} }}"


def _line(text: str) -> str:
    """Return a line within a literal; the blanks that it begins with would be lost there."""
    return "\\x20" + rust_string(text[1:])[1:-1]


def _vector(suite: Suite, one: SuiteVector) -> str:
    code = f"{one.code:#x}"
    return f"Vector({one.input:#x}, {one.row}, {_PATTERNS[one.pattern]}, {code})"


def _series(suite: Suite, one: Series) -> str:
    turns = ", ".join(
        f"Plateau({each.length:#x}, {each.row}, {_PATTERNS[each.pattern]}, {each.code:#x})"
        for each in one.turns
    )
    return f"Series {{ count: {one.count}, step: {one.step:#x}, plateaus: &[{turns}] }}"
