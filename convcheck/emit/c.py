"""Suites in C: a header for each case, and convcheck.h, which runs them; for kernels of a GPU, by
CUDA or by HIP, with convcheck_device.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.emit.series import Series
from convcheck.emit.suite import Suite, SuiteRow, SuiteVector, made_by
from convcheck.emit.template import filled_template, template_bytes
from convcheck.numerics.format import Float, Int, Numeric
from convcheck.reproduce.emit.c import c_comment, c_string
from convcheck.semantics.expected import ANY_NAN, ANY_ZERO, EXACT, NEGATIVE_NAN, UNDEFINED

HARNESS, DEVICE = "convcheck.h", "convcheck_device.h"
_PATTERNS = {
    EXACT: "CONVCHECK_EXACT",
    ANY_NAN: "CONVCHECK_NAN",
    NEGATIVE_NAN: "CONVCHECK_NEGATIVE_NAN",
    ANY_ZERO: "CONVCHECK_ZERO",
    UNDEFINED: "CONVCHECK_UNDEFINED",
}
_OWN = {"float32": "float", "float64": "double"}  # types that C has; of others, the codes


def c_files(suites: Sequence[Suite]) -> Iterator[tuple[str, bytes]]:
    """Return the files of suites: their names, and what is in them."""
    yield HARNESS, template_bytes(HARNESS)
    for suite in suites:
        yield f"{suite.name}.h", _header(suite)


def device_files(suites: Sequence[Suite]) -> Iterator[tuple[str, bytes]]:
    """Return the files of suites for kernels of a GPU."""
    yield DEVICE, template_bytes(DEVICE)
    yield from c_files(suites)


def _header(suite: Suite) -> bytes:
    source, target = suite.case.inputs[0].name, suite.case.outputs[0].name
    return filled_template(
        "suite.h.j2",
        suite=suite,
        id=c_comment(suite.case.id),
        made=made_by(suite),
        types=(_c_type(source, suite.source), _c_type(target, suite.target)),
        input=_format(source, suite.source),
        output=_format(target, suite.target),
        bytes=(suite.source.storage.itemsize, suite.target.storage.itemsize),
        row=_row,
        vector=_vector,
        series=_series,
        string=c_string,
    )


def _c_type(name: str, fmt: Numeric) -> str:
    return _OWN.get(name, f"uint{8 * fmt.storage.itemsize}_t")


def _format(name: str, fmt: Numeric) -> str:
    """Return the fields of a convcheck_format, in order."""
    size = fmt.storage.itemsize
    if not isinstance(fmt, Float):
        bits = fmt.bits if isinstance(fmt, Int) else 8 * size  # a bool is a byte, 0 or 1
        sign = 1 << (bits - 1) if fmt.signed else 0
        magnitude = ((1 << bits) - 1) ^ sign
        numbers = [bits, size, 0, 0, 0, 0, int(fmt.signed), 1, 0]
        codes = [sign, magnitude, 0, magnitude]
    else:
        only_sign = fmt.nan == "sign-only"
        infinity = fmt.infinity_code if fmt.infinity else 0
        last = infinity or (fmt.magnitude_mask if fmt.nan == "none" else fmt.max_magnitude)
        numbers = [fmt.bits, size, 1, fmt.exponent, fmt.mantissa, fmt.bias, int(fmt.signed),
                   int(fmt.zero), int(only_sign)]  # fmt: skip
        codes = [fmt.sign_bit, fmt.magnitude_mask, infinity, last]
    return ", ".join([c_string(name), *map(str, numbers), *map(hex, codes)])


def _row(suite: Suite, index: int, row: SuiteRow) -> str:
    """Return the fields of a convcheck_row, in order."""
    about = "\n     ".join(c_string(line) for line in row.about.splitlines(keepends=True))
    readings = row.decision.readings
    names = f"{suite.name}_readings_{row.rule}" if len(readings) > 1 else "NULL"
    name = c_string(row.decision.name.replace("#", "number "))  # TAP has directives after #
    return f"{name},\n     {about},\n     {row.rule}, {len(readings)}, {names}"


def _vector(suite: Suite, one: SuiteVector) -> str:
    """Return the fields of a convcheck_vector, in order."""
    code = _hex(suite.target, one.code)
    return f"{_hex(suite.source, one.input)}, {one.row}, {_PATTERNS[one.pattern]}, {code}"


def _series(suite: Suite, one: Series) -> str:
    """Return the fields of a convcheck_series, in order."""
    turns = ", ".join(
        f"{{{each.length:#x}, {each.row}, {_PATTERNS[each.pattern]}, "
        f"{_hex(suite.target, each.code)}}}"
        for each in one.turns
    )
    first = _hex(suite.source, one.first)
    return f"{first}, {one.count}, {one.step:#x}, {len(one.turns)}, {{{turns}}}"


def _hex(fmt: Numeric, code: int) -> str:
    return f"0x{code:0{-(-fmt.bits // 4)}x}"
