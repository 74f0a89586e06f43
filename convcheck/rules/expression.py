"""Parse expressions of spec files: a whitelist of Python syntax."""

import ast
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from convcheck.errors import Place, SpecError
from convcheck.rules.source import Node
from convcheck.streams import meant, plural

T = TypeVar("T")

NAME, NUMBER, CONVERT = "name", "number", "convert"
FUNCTIONS = {  # also operations; -> number of arguments
    **dict.fromkeys(("ceil", "floor", "abs", "round"), 1),
    **dict.fromkeys(("max", "min"), 2),
    **dict.fromkeys(("largest", "smallest"), 1),
}
_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
RELATIONS: Mapping[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_LONGEST = 300  # characters
_DEEPEST = 12
_LARGEST = 1 << 64
_KNOWN = (
    "names, whole numbers, + - * /, ceil(x), floor(x), round(x), abs(x), max(x, y), "
    "min(x, y), largest(x), smallest(x)"
)


@dataclass(frozen=True)
class Expression:
    """A node of an expression."""

    operation: str  # NAME, NUMBER, CONVERT, negate, one of _BINARY or of FUNCTIONS
    parts: "tuple[Expression, ...]" = ()
    name: str = ""  # of NAME, or the type of CONVERT
    number: int = 0

    def __str__(self) -> str:
        return ast.unparse(_syntax(self))


@dataclass(frozen=True)
class Condition:
    """A comparison of two expressions, false for NaN."""

    left: Expression
    relation: str  # one of RELATIONS
    right: Expression

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True)
class _Reader:
    names: Collection[str] | None
    types: Collection[str]
    place: Place | None

    def error(self, message: str, hint: str) -> SpecError:
        return SpecError(message, place=self.place, hint=hint)


def parse_expression(
    source: Node | str, names: Collection[str] | None, types: Collection[str] = ()
) -> Expression:
    """Read an expression over `names`, None for any. Calls of `types` convert."""
    reader = _Reader(names, types, None if isinstance(source, str) else source.place)
    return _read(_tree(source, reader), reader, 0)


def parse_condition(source: Node, names: Collection[str] | None) -> Condition:
    """Read a condition over `names`, None for any."""
    reader = _Reader(names, (), source.place)
    tree = _tree(source, reader)
    if (
        not isinstance(tree, ast.Compare)
        or len(tree.ops) != 1
        or type(tree.ops[0]) not in RELATIONS
    ):
        hint = f"two expressions with one of {' '.join(RELATIONS.values())} between them"
        raise reader.error(f"{source.text()!r} is not a condition", hint)
    left, right = (_read(part, reader, 0) for part in (tree.left, tree.comparators[0]))
    return Condition(left, RELATIONS[type(tree.ops[0])], right)


def compute(
    expression: Expression, values: Mapping[str, T], operations: Mapping[str, Callable[..., T]]
) -> T:
    """Evaluate an expression. 'number' of `operations` takes an int, 'convert' (type name, T)."""
    if expression.operation == NAME:
        return values[expression.name]
    if expression.operation == NUMBER:
        return operations[NUMBER](expression.number)
    parts = [compute(part, values, operations) for part in expression.parts]
    if expression.operation == CONVERT:
        return operations[CONVERT](expression.name, *parts)
    return operations[expression.operation](*parts)


def names_in(expression: Expression, *, varying: bool = False) -> frozenset[str]:
    """Return the names in an expression, with `varying` those outside reductions."""
    if expression.operation == NAME:
        return frozenset({expression.name})
    if varying and expression.operation in ("largest", "smallest"):
        return frozenset()
    return frozenset().union(*(names_in(part, varying=varying) for part in expression.parts))


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names."""
    parts = tuple(renamed(part, names) for part in expression.parts)
    own = names[expression.name] if expression.operation == NAME else expression.name
    return replace(expression, parts=parts, name=own)


def operations_in(expression: Expression) -> frozenset[str]:
    """Return the operations in an expression."""
    return frozenset({expression.operation}).union(*map(operations_in, expression.parts))


def conversions_in(expression: Expression) -> frozenset[str]:
    """Return the types that an expression converts to."""
    own = {expression.name} if expression.operation == CONVERT else set()
    return frozenset(own).union(*(conversions_in(part) for part in expression.parts))


def _syntax(expression: Expression) -> ast.expr:
    parts = [_syntax(part) for part in expression.parts]
    if expression.operation == NAME:
        return ast.Name(expression.name)
    if expression.operation == NUMBER:
        return ast.Constant(expression.number)
    if expression.operation == "negate":
        return ast.UnaryOp(ast.USub(), *parts)
    for kind, name in _BINARY.items():
        if name == expression.operation:
            return ast.BinOp(parts[0], kind(), parts[1])
    return ast.Call(ast.Name(expression.name or expression.operation), parts, [])


def _tree(source: Node | str, reader: _Reader) -> ast.expr:
    text = source if isinstance(source, str) else source.text()
    if len(text) > _LONGEST:
        said = f"an expression of {plural(len(text), 'character')}"
        raise reader.error(said, f"{_LONGEST} are enough for a rule")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if` is refused below
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise reader.error(f"{text!r} is not an expression", f"known: {_KNOWN}") from None


def _read(node: ast.AST, reader: _Reader, depth: int) -> Expression:
    if depth > _DEEPEST:
        raise reader.error("nested too deeply", f"{_DEEPEST} levels are enough for a rule")
    if isinstance(node, ast.Name):
        if reader.names is not None and node.id not in reader.names:
            raise reader.error(f"unknown name {node.id!r}", meant(node.id, reader.names))
        return Expression(NAME, name=node.id)
    if isinstance(node, ast.Constant):
        if type(node.value) is not int or node.value >= _LARGEST:
            said = f"{ast.unparse(node)} is not a whole number below 2^64"
            raise reader.error(said, "write 1 / 2 for a half")
        return Expression(NUMBER, number=node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        parts = tuple(_read(part, reader, depth + 1) for part in (node.left, node.right))
        return Expression(_BINARY[type(node.op)], parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return Expression("negate", (_read(node.operand, reader, depth + 1),))
    if isinstance(node, ast.Call):
        return _call(node, reader, depth)
    raise reader.error(f"{ast.unparse(node)!r} is not known in an expression", f"known: {_KNOWN}")


def _call(node: ast.Call, reader: _Reader, depth: int) -> Expression:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    wanted = 1 if name in reader.types else FUNCTIONS.get(name)
    if wanted is None:
        raise reader.error(f"unknown function {name!r}", meant(name, [*FUNCTIONS, *reader.types]))
    if node.keywords or len(node.args) != wanted:
        said = f"{name} takes {plural(wanted, 'argument')}"
        raise reader.error(said, f"write {name}({'x, y'[: wanted * 3 - 2]})")
    parts = tuple(_read(part, reader, depth + 1) for part in node.args)
    if name in reader.types:
        return Expression(CONVERT, parts, name=name)
    return Expression(name, parts)
