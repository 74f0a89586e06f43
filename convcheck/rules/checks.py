"""Whether the parts of a spec fit together: its inputs, types, layouts and body.

What is refused here would otherwise be no question at all, a question of no meaning, or a fault of
convcheck's in the middle of a run. That the rules are complete and reachable is lint's to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from convcheck.errors import SpecError
from convcheck.numerics.format import Float, Text
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import DType, Layout, Spec
from convcheck.rules.source import Node
from convcheck.rules.types import Types

LARGEST = 1 << 16  # elements of a tensor, by the numbers in its layout


def check_spec(spec: Spec, node: Node, types: Types) -> None:
    """Check a spec against its file's root node. Raises SpecError with file and line."""
    _types(spec, node)
    if spec.combinations or node.get("combinations"):
        _combinations(spec, node)
    if spec.body == "table":
        _table(spec, node)
        return
    _layouts(spec, node)
    if spec.body == "matrix":
        _matrix(spec, node)
    elif spec.body == "formula":
        _formula(spec, node, types)
    else:
        _steps(spec, node, types)


def _types(spec: Spec, node: Node) -> None:
    for key, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        if not tensors:
            raise node.need(key).error(f"no {key}", "write NAME: TYPES")
        for name, variable in tensors:
            answer = key == "outputs" and spec.body == "matrix"
            if (variable in spec.types) == answer:
                raise node.need(key).need(name).error(*_wrong_type(name, variable, answer))
    for name in spec.types:
        if not spec.types[name]:
            raise node.need("types").need(name).error(f"{name} has no types", "list them")


def _wrong_type(name: str, variable: str, answer: bool) -> tuple[str, str]:
    if answer:
        return f"`types` lists {variable}, the type that the matrix gives", "leave it out there"
    return f"`types` does not list {variable}, the type of {name}", f"{variable}: [TYPE, …]"


def _combinations(spec: Spec, node: Node) -> None:
    at = node.need("combinations")
    if not spec.combinations:
        raise at.error("no combinations", "list some, or leave `combinations` out for all")
    output = spec.outputs[0][1]
    if output not in spec.types or output in dict(spec.inputs).values():
        raise at.error("they are made with types of the output alone", "leave `combinations` out")
    for row, words in zip(at.elements(), spec.combinations, strict=True):
        for cell, word, (name, variable) in zip(row.elements(), words, spec.inputs, strict=True):
            known = [t.name for t in spec.types[variable]]
            if word not in (*known, OUTPUT):
                raise cell.error(f"{word} is no type of {name}", f"output, {', '.join(known)}")


def _table(spec: Spec, node: Node) -> None:
    """A table converts one input; another one may be there to give the type of the output."""
    if at := node.get("layouts"):
        raise at.error("a table converts elements, in any shape", "layouts are for whole calls")
    if len(spec.outputs) > 1:
        raise node.need("outputs").error("a table has one output", "whole calls may have more")
    inputs = dict(spec.inputs)
    others = list(inputs)[1:]
    for at, name in zip(_listed(node, "type-only"), spec.likes, strict=True):
        if name not in others:
            hint = f"one of {', '.join(others)}" if others else "there is one input"
            raise at.error(f"{name!r} is not an input after the first", hint)
        if inputs[name] != spec.outputs[0][1]:
            hint = f"write {name}: {spec.outputs[0][1]} in `inputs`"
            raise at.error(f"{name} does not have the type of the output", hint)
    for name in others:
        if name not in spec.likes:
            hint = f"type-only: [{name}] where its values do not count; else it is a whole call"
            raise node.need("inputs").need(name).error("a table converts one input", hint)


def _listed(node: Node, key: str) -> list[Node]:
    found = node.get(key)
    return found.elements() if found else []


def _layouts(spec: Spec, node: Node) -> None:
    if spec.likes:
        raise node.need("type-only").error("every input of a whole call counts", "leave it out")
    if not spec.layouts:
        at = node.get("layouts") or node.need(spec.body)
        raise at.error("a whole call needs layouts", "layouts: {NAME: {INPUT: [dimensions]}}")
    needed = [name for name, _ in spec.inputs if name not in _optional(spec)]
    for layout in spec.layouts:
        at = node.need("layouts").need(layout.name)
        missing = [name for name in needed if name not in dict(layout.shapes)]
        if missing:
            said = f"the layout leaves out {', '.join(missing)}"
            raise at.error(said, f"{missing[0]}: [] for a scalar")
        _sizes(layout, at)


def _optional(spec: Spec) -> set[str]:
    return {line.needs for line in spec.steps.lines} if spec.steps else set()


def _sizes(layout: Layout, at: Node) -> None:
    for name, dims in layout.shapes:
        if prod(int(d) for d in dims if d.isdigit()) > LARGEST:
            raise at.need(name).error("a tensor of too many elements", f"{LARGEST} at most")


def _matrix(spec: Spec, node: Node) -> None:
    for key, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        if len(tensors) != 2:
            raise node.need(key).error(
                f"{len(tensors)} {key} where two are due", "each is converted"
            )


def _formula(spec: Spec, node: Node, types: Types) -> None:
    if at := node.get("rules"):
        raise at.error("a formula does not use these rules", "write them under `formula`")
    _one_output(spec, node)
    for rule in _listed(node.need("formula"), "rules"):
        if not _listed(rule, "readings"):
            raise rule.need("readings").error("no readings", "a length and an element at least")
    for layout in spec.layouts:
        for name, dims in layout.shapes:
            if dims:
                at = node.need("layouts").need(layout.name).need(name)
                raise at.error("the argument of a formula is a scalar", f"{name}: []")
    for variable, listed in spec.types.items():
        for dtype in listed:
            if isinstance(dtype.format, Text):
                raise _of_type(node, variable, dtype, "a formula is of numbers")
    _numbers(_formula_words(node.need("formula").need("calls")), types)


def _formula_words(node: Node) -> Iterator[Node]:
    for entry in _listed(node, "lists"):
        for key in ("listed", "around"):
            for row in _listed(entry, key):
                yield from row.elements()


def _one_output(spec: Spec, node: Node) -> None:
    if len(spec.outputs) != 1:
        raise node.need("outputs").error(
            f"{len(spec.outputs)} outputs where one is due", "NAME: TYPES"
        )


def _steps(spec: Spec, node: Node, types: Types) -> None:
    assert spec.steps  # noqa: S101  it is the body
    body = node.need("steps")
    _one_output(spec, node)
    for key in ("lines", "readings", "ask"):
        if not _listed(body, key):
            raise body.need(key).error(f"no {key}", "one at least")
    last, output = spec.steps.lines[-1], spec.outputs[0][0]
    if last.name != output:
        at = body.need("lines").elements()[-1].need("let")
        raise at.error("the last line is not the output", f"let: {output}")
    for refusal in _listed(body, "refused"):
        for at in _listed(refusal, "layouts"):
            at.word(tuple(layout.name for layout in spec.layouts), "layout")
    refused = {name for refusal in spec.steps.refusals for name in refusal.layouts}
    for layout in spec.layouts:
        if layout.name not in refused:
            _broadcasts(layout, node.need("layouts").need(layout.name))
    for variable, listed in spec.types.items():
        for dtype in listed:
            if not isinstance(dtype.format, Float):
                raise _of_type(node, variable, dtype, "steps are of floats")
    rows = (*_listed(body, "ask"), *_listed(body, "ask-a-little"))
    _numbers((word for row in rows for word in row.items().values()), types)


def _broadcasts(layout: Layout, at: Node) -> None:
    """Refuse a layout in which an input cannot be brought to the shape of the first one."""
    (first, shape), *others = layout.shapes
    for name, dims in others:
        ends = zip(reversed(dims), reversed(shape), strict=False)
        if len(dims) > len(shape) or any(d not in ("1", wanted) for d, wanted in ends):
            said = f"{name} does not broadcast to the shape of {first}"
            raise at.need(name).error(said, "its last dimensions, or 1; else list it as `refused`")


def _of_type(node: Node, variable: str, dtype: DType, said: str) -> SpecError:
    at = node.need("types").need(variable)
    return at.error(f"{said}, {dtype} is none", f"leave {dtype} out of {variable}")


def _numbers(words: Iterator[Node], types: Types) -> None:
    """Refuse what is no number; one that some type cannot hold is not asked of that type."""
    wide = types.types["float64"].format
    assert not isinstance(wide, Text)  # noqa: S101
    for at in words:
        try:
            code_of(wide, at.text())
        except OutsideFormatError as error:
            raise at.error(str(error), "a decimal, inf or nan") from None
