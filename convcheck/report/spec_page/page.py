"""Draw specs, and changes between two versions."""

from collections import Counter
from collections.abc import Iterator

from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.report.spec_page.bodies import body_blocks, fields, grid, quoted, titled
from convcheck.rules.cases import OUTPUT, pairs_outside
from convcheck.rules.model import Cell, Layout, Pairs, Rule, Spec, Uncovered
from convcheck.rules.types import Change, Types, attribute_text, condition, rounding
from convcheck.streams import GLUE, plural


def spec_page(spec: Spec, types: Types) -> Iterator[Block]:
    """Yield a spec: document, types, attributes, rules, notes."""
    source = spec.sources["text"]
    yield Text([(spec.id, "bold"), (f"  {source.title}, {source.section}", "")], hang=2)
    yield field("text", source.url)
    if spec.extends:
        yield field("extends", spec.extends)
    for variable, listed in spec.types.items():
        yield field(variable, ", ".join(t.name for t in listed))
    for attribute in spec.attributes:
        yield field(attribute.name, attribute_text(attribute, types))
    yield from _asked(spec)
    yield from body_blocks(spec, types)
    for rule in spec.rules:
        yield BLANK
        yield from _rule(spec, rule, types)
    if spec.notes:
        yield BLANK
        yield Text("Notes", "bold")
        for note in spec.notes:
            yield Text(f"- {note}", indent=2, hang=2)


def _asked(spec: Spec) -> Iterator[Block]:
    if spec.body.whole_calls or spec.likes:
        yield field("inputs", "; ".join(_tensor(spec, *pair) for pair in spec.inputs))
        yield field("outputs", "; ".join(_tensor(spec, *pair) for pair in spec.outputs))
    yield from fields("layouts", [_layout(layout) for layout in spec.layouts])
    yield from fields("asked", [_combination(types) for types in spec.combinations])
    if spec.shapes:
        ranks = ", ".join(map(str, sorted(spec.shapes.ranks)))
        empty = "" if spec.shapes.empty else "; no empty tensors"
        yield field("shapes", f"of rank {ranks}{empty}; others are undefined")
        yield field("", quoted(spec, spec.shapes.cite))
    if spec.pairs:
        yield from _pairs(spec, spec.pairs)
    for entry in spec.outside:
        yield from _outside(spec, entry)


def _tensor(spec: Spec, name: str, variable: str) -> str:
    only = ", of which only the type counts" if name in spec.likes else ""
    answer = "" if variable in spec.types else ", which is the answer"
    return f"{name}: {variable}{only}{answer}"


def _layout(layout: Layout) -> str:
    said = ((name, f"[{'×'.join(dims)}]" if dims else "scalar") for name, dims in layout.shapes)
    return f"{layout.name}: {', '.join(f'{name}{GLUE}{shape}' for name, shape in said)}"


def _combination(types: tuple[str, ...]) -> str:
    own = "   (the output's own type)" if OUTPUT in types else ""
    return f"{', '.join(types)}{own}"


def _pairs(spec: Spec, pairs: Pairs) -> Iterator[Block]:
    order = [t.name for types in spec.types.values() for t in types]
    for one in pairs.lists:
        when = "; ".join(f"{name} {', '.join(sorted(values))}" for name, values in one.when)
        said = [
            f"{source} to {', '.join(sorted(targets, key=order.index))}"
            for source, targets in sorted(one.listed.items(), key=lambda e: order.index(e[0]))
        ]
        yield from fields("pairs", [*([f"where {when}:"] if when else []), *said])
        yield field("", quoted(spec, one.cite))
    yield field("", "others are asked with the defaults, and may be refused")


def _outside(spec: Spec, entry: Uncovered) -> Iterator[Block]:
    asked: dict[str, dict[str, None]] = {}  # source -> its destinations
    sources: dict[str, list[str]] = {}  # destinations -> sources with them
    values: dict[str, None] = {}
    for source, target, own in pairs_outside(spec, entry):
        asked.setdefault(source.name, {})[target.name] = None
        values |= dict.fromkeys(f"{name}={value}" for name, value in own)
    for name, targets in asked.items():
        sources.setdefault(", ".join(targets), []).append(name)
    said = [f"{', '.join(names)} to {targets}" for targets, names in sources.items()]
    if said:
        said += [", ".join(values)] if values else []
        yield from fields("outside", [f"{entry.rule.name}: undefined", *said])
        yield field("", quoted(spec, entry.rule.cite))


def _rule(spec: Spec, rule: Rule, types: Types) -> Iterator[Block]:
    cells = [cell for row in rule.rows for cell in row.cells]
    feet = [foot for foot, _ in Counter(_foot(spec, cell) for cell in cells).most_common()]
    yield titled(rule.name, rule.place)
    yield field("  when", condition(rule, types) or "always")
    if rounding(rule):
        yield field("  round", rounding(rule))
    if rule.cite.text not in {cell.cite.text for cell in cells}:  # some rows lack a citation
        yield field("  text", quoted(spec, rule.cite))
    marked = [f"[{number}] {foot}" for number, foot in enumerate(feet, 1)]
    yield from fields("  cite", marked if len(feet) > 1 else feet)
    for outcome in {o.reading: o for cell in cells for o in cell.outcomes if o.cite}.values():
        if outcome.cite:
            yield field("  reading", f"{outcome.reading}: {quoted(spec, outcome.cite)}")
    yield BLANK
    lines = [["x", *_headings(rule)]]
    for row in rule.rows:
        lines.append(
            [row.label, *(_said(cell, feet.index(_foot(spec, cell))) for cell in row.cells)]
        )
    yield grid(lines)


def _foot(spec: Spec, cell: Cell) -> str:
    return f"{cell.level}: {quoted(spec, cell.cite)}"


def _headings(rule: Rule) -> list[str]:
    if not rule.columns:
        return ["gives"]
    parts = zip(*(values for _, values in rule.columns), strict=True)
    names = [name for name, _ in rule.columns]
    if names == ["to"]:
        return [str(part[0]) for part in parts]
    return [" ".join(f"{n}={v}" for n, v in zip(names, values, strict=True)) for values in parts]


def _said(cell: Cell, foot: int) -> str:
    said = " | ".join(
        f"{o.word} {o.argument}".strip()
        + (f" {o.round}" if o.round and o.round != o.reading else "")
        + (f" ({o.reading})" if o.reading else "")
        for o in cell.outcomes
    )
    return f"{said} [{foot + 1}]" if foot else said


def changes(old: Spec, new: Spec, found: list[Change]) -> Iterator[Block]:
    """Yield changes between two versions, each with its text before (-) and after (+)."""
    yield Text([(f"{old.id} → {new.id}", "bold"), (f"  {plural(len(found), 'change')}", "")])
    for change in found:
        yield BLANK
        yield Text(change.about)
        for sign, said, style in (("-", change.before, "red"), ("+", change.after, "green")):
            if said:
                yield Text(f"{sign} {said}", style, 2, 2)
