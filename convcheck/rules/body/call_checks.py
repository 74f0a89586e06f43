"""Checks that the bodies of whole calls share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod

from convcheck.errors import SpecError
from convcheck.numerics.format import Text
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.model import DType, Layout, Spec
from convcheck.rules.source import Node
from convcheck.wording import plural

LARGEST = 1 << 16  # elements of a tensor, by the numbers in its layout


def check_layouts(spec: Spec, node: Node, optional: Collection[str] = ()) -> None:
    """Raise SpecError for a layout that is too large or lacks a required input."""
    if spec.likes:
        raise node.need("type-only").error("every input of a whole call counts", "leave it out")
    if not spec.layouts:
        at = node.get("layouts") or node.need(spec.body.name)
        raise at.error("a whole call needs layouts", "layouts: {NAME: {INPUT: [dimensions]}}")
    needed = [name for name, _ in spec.inputs if name not in optional]
    for layout in spec.layouts:
        at = node.need("layouts").need(layout.name)
        missing = [name for name in needed if name not in dict(layout.shapes)]
        if missing:
            said = f"the layout leaves out {', '.join(missing)}"
            raise at.error(said, f"{missing[0]}: [] for a scalar")
        _sizes(layout, at)


def _sizes(layout: Layout, at: Node) -> None:
    for name, dims in layout.shapes:
        if prod(int(d) for d in dims if d.isdigit()) > LARGEST:
            raise at.need(name).error("a tensor with too many elements", f"{LARGEST} at most")


def check_one_output(spec: Spec, node: Node) -> None:
    """Raise SpecError unless a spec has exactly one output."""
    if len(spec.outputs) != 1:
        raise node.need("outputs").error(
            f"{plural(len(spec.outputs), 'output')} instead of 1", "NAME: TYPES"
        )


def wrong_type(node: Node, variable: str, dtype: DType, said: str) -> SpecError:
    """Return the error for a type that a body cannot compute with."""
    at = node.need("types").need(variable)
    return at.error(f"{said}, {dtype} is none", f"leave {dtype} out of {variable}")


def check_numbers(words: Iterable[Node], types: Mapping[str, DType]) -> None:
    """Raise SpecError for words that are not numbers. Types that lack a number skip it."""
    wide = types["float64"].format
    assert not isinstance(wide, Text)  # noqa: S101
    for at in words:
        try:
            code_of(wide, at.text())
        except OutsideFormatError as error:
            raise at.error(str(error), "a decimal, inf or nan") from None
