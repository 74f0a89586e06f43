"""Read types and families of types from dtypes.yaml."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.numerics.format import Bool, Float, Format, Int, Opaque, Text
from convcheck.rules.model import Attribute, DType, Rule, Spec
from convcheck.rules.source import Node, read_all
from convcheck.streams import meant, plural

GRAPHS = ("onnx", "openvino", "pypto")  # have operators
LIBRARIES = ("torch", "ml_dtypes", "tinygrad", "mlx")  # have functions
RUNTIMES = (*GRAPHS, *LIBRARIES)
_FLOAT_KEYS = (
    "exponent", "mantissa", "bias", "infinity", "nan", "negative_zero", "signed", "zero",
)  # fmt: skip

_BOUNDS = {"exponent": (1, 11), "mantissa": (0, 52), "bias": (-2047, 2047)}


@dataclass(frozen=True, eq=False)
class Types:
    """Types by name, and families as ordered type names."""

    types: Mapping[str, DType]
    sets: Mapping[str, tuple[str, ...]]  # family -> types, in order
    called: Mapping[str, str]  # family -> name in reports

    def names(self, node: Node, pseudo: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return types, with families expanded."""
        found = read_all(lambda element: self._members(element, pseudo), node.elements())
        return tuple(dict.fromkeys(name for members in found for name in members))

    def _members(self, node: Node, pseudo: tuple[str, ...]) -> tuple[str, ...]:
        word = node.text()
        if word in self.types or word in pseudo:
            return (word,)
        if word in self.sets:
            return self.sets[word]
        raise node.error(f"unknown type {word!r}", meant(word, [*self.types, *self.sets, *pseudo]))

    def folded(self, names: Iterable[str], known: Collection[str] | None = None) -> list[str]:
        """Return type names with whole families by their name, largest first.

        With `known` types, a family counts if most is known and all known members are present.
        """
        left = dict.fromkeys(names)
        found: list[str] = []
        for family, members in sorted(self.sets.items(), key=lambda item: -len(item[1])):
            some = [member for member in members if known is None or member in known]
            if 2 * len(some) > len(members) and all(member in left for member in some):
                found.append(self.called.get(family, family))
                left = {name: None for name in left if name not in members}
        known = list(self.types)
        rest = sorted(left, key=lambda name: known.index(name) if name in known else len(known))
        return [*found, *rest]


def read_types(root: Node) -> Types:
    """Return the types of a dtypes.yaml."""
    root.only("floats", "integers", "others", "sets", "called")
    types: dict[str, DType] = {}
    for kind, reader in (("floats", _float), ("integers", _integer), ("others", _other)):
        for name, node in root.entries(kind).items():
            if name in types:
                raise node.error(f"type {name!r} is defined twice", "keep one of them")
            names = tuple((r, node.items()[r].text()) for r in RUNTIMES if r in node.items())
            types[name] = DType(name, reader(node), names, node.place)
    sets: dict[str, tuple[str, ...]] = {}
    for name, node in root.entries("sets").items():
        if name in types:
            raise node.error(f"{name!r} is a type already", "choose another name")
        # a family may name earlier families, but not itself
        sets[name] = Types(types, sets, {}).names(node)
    root.read("called", lambda called: called.only(*sets), None)
    called = {name: said.text() for name, said in root.entries("called").items()}
    return Types(types, sets, called)


def _float(node: Node) -> Format:
    node.only(*_FLOAT_KEYS, *RUNTIMES)
    nan = node.need("nan").word(("ieee", "all-ones", "sign-only", "none"), "kind of NaN")
    widths = {key: node.need(key).integer() for key in ("exponent", "mantissa", "bias")}
    flags = {
        key: value.flag()
        for key in ("infinity", "negative_zero", "signed", "zero")
        if (value := node.get(key))
    }
    for key, (least, most) in _BOUNDS.items():
        if not least <= widths[key] <= most:
            raise node.need(key).error(f"{key} is {widths[key]}", f"{least} to {most}")
    if nan == "ieee" and not widths["mantissa"]:
        raise node.need("nan").error("ieee NaNs differ in the mantissa, and there is none",
                                     "all-ones, sign-only or none")  # fmt: skip
    return Float(**widths, nan=nan, **flags)  # type: ignore[arg-type]  # `word` checked it


def _integer(node: Node) -> Format:
    node.only("bits", "signed", *RUNTIMES)
    return Int(_bits(node), node.need("signed").flag())


def _other(node: Node) -> Format:
    node.only("kind", "bits", *RUNTIMES)
    kind = node.need("kind").word(("bool", "text", "opaque"), "kind")
    if kind == "opaque":
        return Opaque(_bits(node))
    return Bool() if kind == "bool" else Text()


def _bits(node: Node) -> int:
    bits = node.need("bits").integer()
    if not 1 <= bits <= 64:
        raise node.need("bits").error("the type is too wide", "1 to 64 bits")
    return bits


@dataclass(frozen=True)
class Change:
    """A change: subject, old and new text, or ''."""

    about: str
    before: str = ""
    after: str = ""


def diff(old: Spec, new: Spec, types: Types) -> list[Change]:
    """Return the changes between specs, in a spec file's order."""
    found = []
    for variable in dict.fromkeys([*old.types, *new.types]):
        before, after = ([t.name for t in spec.types.get(variable, ())] for spec in (old, new))
        gone = ", ".join(name for name in before if name not in after)
        come = ", ".join(name for name in after if name not in before)
        if gone or come:
            found.append(Change(f"type {variable}", gone, come))
    texts = [{a.name: attribute_text(a, types) for a in spec.attributes} for spec in (old, new)]
    for name in dict.fromkeys([*texts[0], *texts[1]]):
        was, now = (known.get(name, "") for known in texts)
        if was != now:
            found.append(Change(f"attribute {name}", was, now))
    return [*found, *_rules(old, new, types)]


def attribute_text(attribute: Attribute, types: Types) -> str:
    """Describe an attribute: type, values, default, condition."""
    if attribute.carries:
        return f"{attribute.kind}, the type {attribute.carries}"
    values = ", ".join(map(str, attribute.values))
    default = "" if attribute.default is None else f"; default {attribute.default}"
    to = attribute.applies
    applies = "" if to is None else f"; to {', '.join(types.folded(to))}"
    return f"{attribute.kind}: {values}{default}{applies}"


def _rules(old: Spec, new: Spec, types: Types) -> Iterator[Change]:
    before, after = ({r.name: r for r in spec.rules} for spec in (old, new))
    for name in dict.fromkeys([*before, *after]):
        if name in before and name in after:
            yield from _rule(before[name], after[name], types)
        else:
            rule = (before | after)[name]
            said = f"{condition(rule, types)}; {plural(len(rule.rows), 'row')}"
            yield Change(f"rule {name}", *((said, "") if name in before else ("", said)))


def condition(rule: Rule, types: Types) -> str:
    """Describe when a rule applies."""
    parts = []
    for key, allowed in rule.when:
        words = map(str, allowed)
        named = types.folded(words) if key in ("from", "to") else sorted(words)
        parts.append(f"{key} {', '.join(named)}")
    if rule.same_type:
        parts.append("to itself")
    return "; ".join(parts)


def rounding(rule: Rule) -> str:
    """Describe how a rule rounds, '' if it does not."""
    if rule.rounding.by:
        modes = ", ".join(f"{value}: {mode}" for value, mode in rule.rounding.modes)
        return f"by {rule.rounding.by} ({modes})"
    return rule.rounding.mode


def _rule(old: Rule, new: Rule, types: Types) -> Iterator[Change]:
    about = f"rule {new.name}"
    conditions, modes = [condition(r, types) for r in (old, new)], [rounding(old), rounding(new)]
    for what, (before, after) in (("when", conditions), ("round", modes)):
        if before != after:
            yield Change(f"{about}, {what}", before, after)
    rows_before, rows_after = ({row.label: row.cells for row in r.rows} for r in (old, new))
    for label in dict.fromkeys([*rows_before, *rows_after]):
        cells = [rows.get(label, ()) for rows in (rows_before, rows_after)]
        before, after = (_merged([cell.text for cell in one]) for one in cells)
        if before != after:
            yield Change(f"{about}, row {label}", before, after)
        before, after = (_merged([cell.level for cell in one]) for one in cells)
        if before and after and before != after:
            yield Change(f"{about}, row {label}, level", before, after)


def _merged(words: Sequence[str]) -> str:
    return " | ".join(words[:1] if len(set(words)) == 1 else words)
