"""Draw plain columns for `grep` and `cut`, at least two blanks apart."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from convcheck.numerics.format import Float, Format, Opaque, Text
from convcheck.numerics.words import spell_fraction
from convcheck.rules.cases import cases
from convcheck.rules.model import DType, Spec
from convcheck.rules.types import GRAPHS, LIBRARIES, Types


def columns(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> Iterator[str]:
    """Yield rows in aligned columns. Columns in `right` are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (w.rjust(width) if i in right else w.ljust(width) for i, (w, width) in cells)
        yield "  ".join(padded).rstrip()


def spec_rows(specs: Sequence[Spec]) -> list[list[str]]:
    """Return a row per spec: body, sizes and parent."""
    rows = [["spec", "body", "types", "rules", "cases", "extends"]]
    for spec in specs:
        types = {t.name for listed in spec.types.values() for t in listed}
        counts = [len(types), len(spec.rules), len([*cases(spec)])]
        rows.append([spec.id, spec.body.name, *map(str, counts), spec.extends or "-"])
    return rows


def type_rows(types: Sequence[DType]) -> list[list[str]]:
    """Return a row per type: layout, range and special values."""
    head = ["type", "bits", "s/e/m", "bias", "range", "smallest", "has"]
    return [head, *([t.name, *_facts(t.format)] for t in types)]


def name_rows(types: Types) -> list[list[str]]:
    """Return a row per type: its name in each graph runtime, and its families."""
    rows = [["type", *GRAPHS, "families"]]
    for dtype in types.types.values():
        names = [dtype.name_in(runtime) or "-" for runtime in GRAPHS]
        families = [name for name, members in types.sets.items() if dtype.name in members]
        rows.append([dtype.name, *names, ",".join(families) or "-"])
    return rows


def library_rows(types: Types) -> list[list[str]]:
    """Return a row per type of a function library: its name in each library."""
    rows = [["type", *LIBRARIES]]
    for dtype in types.types.values():
        names = [dtype.name_in(library) for library in LIBRARIES]
        if any(names):
            rows.append([dtype.name, *(name or "-" for name in names)])
    return rows


def _facts(fmt: Format) -> list[str]:
    if isinstance(fmt, Text | Opaque):
        return [str(fmt.bits) if isinstance(fmt, Opaque) else "-", *["-"] * 5]
    low, high = _brief(fmt.min), _brief(fmt.max)
    span = f"±{high}" if fmt.min == -fmt.max else f"{low}…{high}"
    if not isinstance(fmt, Float):
        return [str(fmt.bits), "-", "-", span, "-", "-"]
    layout = f"{int(fmt.signed)}/{fmt.exponent}/{fmt.mantissa}"
    has = {"inf": fmt.infinity, "nan": fmt.nan != "none", "-0": fmt.negative_zero}
    words = ",".join(word for word, there in has.items() if there) or "-"
    smallest = _brief(fmt.value(1 if fmt.zero else 0))
    return [str(fmt.bits), layout, str(fmt.bias), span, smallest, words]


def _brief(value: Fraction) -> str:
    if value.denominator == 1 and abs(value) < 10**6:
        return str(value)
    for beside, said in ((0, ""), (1, "-1")):
        power = abs(value) + beside
        if (
            power.numerator & (power.numerator - 1) == 0
            and power.denominator & (power.denominator - 1) == 0
        ):
            exponent = power.numerator.bit_length() - power.denominator.bit_length()
            return f"{'-' if value < 0 else ''}2^{exponent}{said}"
    return spell_fraction(value, 6).lstrip("~")
