import math
import operator
import warnings
from fractions import Fraction

import pytest
from catalogue import CATALOG
from places import ROOT

from convcheck.errors import SpecError
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.expression import compute, parse_expression
from convcheck.rules.load import load
from convcheck.semantics.lint import lint_spec
from specs import slip

TYPES = CATALOG.types.types
SPECS = ROOT / "specs"
EXACT = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negate": operator.neg,
    "ceil": lambda x: Fraction(math.ceil(x)),
    "max": max,
    "number": Fraction,
}
LENGTH = "max(ceil((stop - start) / step), 0)"
NAMES = ("start", "stop", "step")


def length(start, stop, step):
    values = {"start": Fraction(start), "stop": Fraction(stop), "step": Fraction(step)}
    return compute(parse_expression(LENGTH, NAMES), values, EXACT)


@pytest.mark.parametrize(
    ("call", "due"), [((2, 23, "3"), 7), ((23, 2, "-3"), 7), ((1, 2, "0.3"), 4), ((5, 0, "1"), 0)]
)
def test_an_expression_is_computed_exactly(call, due):
    assert length(*call) == due


REFUSED = [
    "", "a b", "a.b", "a[0]", "f(a)", "a.b(a)", "(a).real", "1.5", "1e3", "1j", "a ** 2", "a // 2",
    "a % 2", "a @ a", "+a", "~a", "not a", "a < a", "a and a", "a if a else a", "lambda: a",
    "[a]", "(a, a)", "{a}", "'x'", "f'{a}'", "True", "None", "...", "a := 1", "(a := 1)", "b",
    "max(a)", "max(a, a, a)", "max(*a)", "max(a, b=a)", "ceil()", "float32(a)",
    "__import__('os').system('true')", "a\nb", "a; a", "\x00", "1if a else a", "9" * 30, "9" * 6000,
    "(" * 90 + "a" + ")" * 90 + "+", "-" * 60 + "a", "(" * 150 + "a" + ")" * 150, str(1 << 64),
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_everything_else_is_refused(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SpecError) as raised:
            parse_expression(text, ("a",))
    assert raised.value.hint


RANGE = (SPECS / "openvino" / "range-4.yaml").read_text(encoding="utf-8")


def changed(folder, before, after):
    assert before in RANGE
    text = RANGE.replace(before, after, 1).replace("op: openvino.Range", "op: acme.Sequence")
    folder.mkdir(exist_ok=True)
    (folder / "sequence-4.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("before", "after", "message"), [
    (LENGTH, "max(ceil((stop - start) / pace), 0)", "unknown name 'pace'"),
    ("start + i * step", "start + float32(i) * step", "unknown function 'float32'"),
    ("next:    last + step", "nxt:     last + step", "unknown key `nxt`"),
    ("toward-zero], to-integer", "sideways], to-integer", "unknown rounding mode 'sideways'"),
    ("element: {in: exact}", "element: {in: int129}", "unknown arithmetic 'int129'"),
    ("by: [product, recurrence]", "by: [guess]", "unknown form 'guess'"),
    ("of: converted", "of: course", "unknown word 'course'"),
    ("limit: stop", "limit: pace", "unknown input 'pace'"),
    ("{shape: [1],", "{shape: [n],", "a whole number, found 'n'"),
    ("x: [2, 23, 3]", "x: [2, 23]", "too few or too many arguments"),
    ("between: tolerated", "between: allowed", "unknown word 'allowed'"),
])  # fmt: skip
def test_a_slip_is_an_error_with_its_line(tmp_path, before, after, message):
    error = slip(changed(tmp_path / "own", before, after))
    assert message in str(error)
    assert error.place
    assert error.place.line > 1


ZERO = next(line for line in RANGE.splitlines() if "name: step 0" in line)
NUMBER = next(line for line in RANGE.splitlines() if "name: no number" in line)
SCALAR = next(line for line in RANGE.splitlines() if "name: no scalar" in line)
OVERFLOW = next(line for line in RANGE.splitlines() if "name: overflow" in line)


@pytest.mark.parametrize(("before", "after", "finding"), [
    (LENGTH, "ceil((stop - start) / step)", "a length of -"),
    (LENGTH, "max((stop - start) / step, 0)", "a length of "),
    (ZERO, "", "a division by zero, and no condition"),
    (NUMBER, "", "not finite, and no condition"),
    (OVERFLOW, "", "overflow, and no condition"),
    (SCALAR, "", "not scalar, and no condition"),
    ("{shape: [1], when:", "{shape: [], when:", "the condition 'no scalar' is unreachable"),
    (ZERO, f"{ZERO}\n{ZERO.replace('name: step 0', 'name: again')}", "'again' is unreachable"),
    ("when: {to: float32}", "when: {to: int8}", "no rule is for"),
    ("when: {to: float32}", "when: {to: float64}", "rule float32 is unreachable"),
    ("{in: [exact, output, float64], by", "{in: [exact, output, float32], by", "stands twice"),
    ("gives: [1, 1.5, 2]", "gives: [1, 1.5, 2.5]", "example: 1, 2.5, 0.5 gives"),
    ("gives: [1, 1.5, 2]", "gives: [1, 1.5]", "example: 1, 2.5, 0.5 gives"),
    ("when: {to: bfloat16}", "when: {to: float8e5m2fnuz}", "is never asked"),
])  # fmt: skip
def test_lint_finds(tmp_path, before, after, finding):
    spec = load([changed(tmp_path / "own", before, after)]).specs["acme.Sequence-4"]
    found = [str(finding) for finding in lint_spec(spec).diagnostics]
    assert any(finding in one for one in found), found


@pytest.mark.parametrize("eighths", range(8))
def test_a_number_as_written_is_rounded_where_there_is_no_zero(eighths):
    fmt = CATALOG.types.types["float8e8m0"].format
    for code in range(255):
        word = f"0x1.{2 * eighths:x}p{code - 127}"
        due = code + (eighths >= 4)
        if due < 255:
            assert code_of(fmt, word) == (due, eighths == 0), word
            continue
        with pytest.raises(OutsideFormatError, match="whose largest value is"):
            code_of(fmt, word)
    for word in ("0", "-1", "0x1.8p-128"):
        with pytest.raises(OutsideFormatError):
            code_of(fmt, word)
