"""The data model of a spec file."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

from convcheck.errors import Place
from convcheck.numerics.format import Format
from convcheck.rules.source import Node


class TypeNames(frozenset[str]):
    """The types that a condition allows, families expanded."""


Level = Literal["normative", "implied", "disputed", "undefined"]
LEVELS: tuple[Level, ...] = ("normative", "implied", "disputed", "undefined")
Value = int | str
Attributes = tuple[tuple[str, Value], ...]
PARAPHRASE = "in our words: "  # no quotation
DEFAULT = "default"  # of an omitted attribute
_VERSIONED = re.compile(r"(.+)-([0-9]+(?:\.[0-9]+)*)")  # a spec's id
LATER = {"later": True}  # the digest omits its default
ANY = "any"  # any value of a function's attribute
REAL = "real"  # type of a text or bool that continues as a number


@dataclass(frozen=True)
class DType:
    """A type: name, format, and its names in runtimes."""

    name: str
    format: Format
    names: tuple[tuple[str, str], ...]  # runtime -> name
    place: Place

    def name_in(self, runtime: str) -> str:
        """Return its name in a runtime such as 'onnx', or ''."""
        return dict(self.names).get(runtime, "")

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:  # common dictionary keys
        return hash(self.name)


@dataclass(frozen=True)
class Cite:
    """A citation; `source` is a key of the spec's sources."""

    text: str  # a quotation, or starts with PARAPHRASE
    source: str
    place: Place
    gloss: str = ""  # our translation, or ''


@dataclass(frozen=True)
class Outcome:
    """The outcome under one reading: a word and its argument."""

    word: str
    argument: str = ""
    round: str = ""  # overrides the rule's mode, or ''
    reading: str = ""  # '' for the only reading
    cite: Cite | None = None


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    outcomes: tuple[Outcome, ...]
    level: Level
    cite: Cite
    place: Place
    text: str  # as written in the spec file


@dataclass(frozen=True)
class Row:
    """A case word, and a cell for each column."""

    label: str  # a case word, or `else`
    cells: tuple[Cell, ...]
    place: Place


@dataclass(frozen=True)
class Rounding:
    """A rounding mode, or one chosen by an attribute's value."""

    mode: str = ""
    by: str = ""
    modes: tuple[tuple[str, str], ...] = ()  # values of `by` -> modes


@dataclass(frozen=True)
class Rule:
    """A table and its condition."""

    name: str
    when: tuple[tuple[str, frozenset[Value]], ...]  # 'from', 'to' or an attribute -> allowed words
    same_type: bool  # only converts a type to itself
    rounding: Rounding
    columns: tuple[tuple[str, tuple[Value, ...]], ...]  # key of `when` -> entries of columns
    rows: tuple[Row, ...]
    level: Level
    cite: Cite  # of cells without one
    place: Place

    @cached_property
    def numbers(self) -> Mapping[tuple[Value, ...], int]:
        """The column numbers by their entries. The first wins."""
        entries = list(zip(*(values for _, values in self.columns), strict=True))
        return {column: number for number, column in reversed(list(enumerate(entries)))}


@dataclass(frozen=True)
class Asking:
    """Attribute values outside the list, to test for some pairs only."""

    values: tuple[Value, ...]
    sources: TypeNames
    targets: TypeNames | None  # None for all types
    others: Attributes  # other attributes, if not the defaults
    refusal: bool
    cite: Cite


@dataclass(frozen=True)
class Attribute:
    """An attribute of the operator."""

    name: str
    kind: Literal["int", "string", "bool"]
    carries: str  # the type variable whose type it holds, as ONNX Cast's `to`; ids omit it
    values: tuple[Value, ...]
    default: Value | None  # None for a required attribute
    applies: TypeNames | None  # destinations, None for all
    also: tuple[Asking, ...]  # to test outside its list
    place: Place
    by_layout: bool = field(default=False, metadata=LATER)  # layouts set its value
    stated: bool = field(default=True, metadata=LATER)  # stated defaults can be omitted

    def applies_to(self, target: DType) -> bool:
        """Return whether it applies to a destination."""
        return self.applies is None or target.name in self.applies

    def value_of(self, word: str) -> Value:
        """Return a word's value. Raises ValueError for the wrong kind."""
        return int(word) if self.kind == "int" and word != DEFAULT else word


@dataclass(frozen=True)
class Spelling:
    """A spelling of texts: a regular expression and samples."""

    matches: str  # matches the whole text
    samples: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Source:
    """A document that citations quote."""

    key: str  # its name in citations
    title: str
    section: str
    url: str


@dataclass(frozen=True)
class TableExample:
    """An example of the text: input and output under some attributes."""

    source: DType
    target: DType
    attributes: Attributes
    x: str
    gives: str
    place: Place


@dataclass(frozen=True)
class Layout:
    """The dimensions of a call's inputs: numbers or letters ('n')."""

    name: str
    shapes: tuple[tuple[str, tuple[str, ...]], ...]  # input -> dimensions
    place: Place
    attributes: Attributes = field(default=(), metadata=LATER)
    carried: tuple[str, ...] = field(default=(), metadata=LATER)  # with the output's type
    #: variable -> types, or a variable of the same type. One must hold, () for all
    only: tuple[tuple[tuple[str, TypeNames | str], ...], ...] = field(default=(), metadata=LATER)

    def is_asked_of(self, types: Mapping[str, DType]) -> bool:
        """Return whether it applies to types of variables."""
        return not self.only or any(
            all(
                types[name].name in wanted
                if isinstance(wanted, TypeNames)
                else types[name] == types[wanted]
                for name, wanted in one
            )
            for one in self.only
        )


@dataclass(frozen=True)
class PairList:
    """A list of supported pairs, for some attribute values."""

    when: tuple[tuple[str, frozenset[str]], ...]
    listed: Mapping[str, TypeNames]  # source -> destinations
    cite: Cite

    def is_for(self, attributes: Mapping[str, str]) -> bool:
        """Return whether it is for these attribute values."""
        return all(attributes.get(name) in values for name, values in self.when)


@dataclass(frozen=True)
class Pairs:
    """Supported pairs of source and destination. Others may be refused."""

    lists: tuple[PairList, ...]
    only: bool  # other pairs are skipped

    def word(self, source: str, target: str, attributes: Attributes) -> str:
        """Return a pair's word in a condition: 'listed' or 'unlisted'."""
        values = {name: str(value) for name, value in attributes}
        listed = any(one.is_for(values) for one in self._of_pair.get((source, target), ()))
        return "listed" if listed else "unlisted"

    @cached_property
    def _of_pair(self) -> dict[tuple[str, str], list[PairList]]:
        found: dict[tuple[str, str], list[PairList]] = {}
        for one in self.lists:
            for source, targets in one.listed.items():
                for target in targets:
                    found.setdefault((source, target), []).append(one)
        return found


@dataclass(frozen=True)
class Uncovered:
    """Pairs of types or attribute values that a text excludes."""

    sources: tuple[DType, ...]
    targets: tuple[DType, ...]
    values: tuple[tuple[str, tuple[Value, ...]], ...]  # if empty, all pairs that no list has
    rule: Rule


@dataclass(frozen=True)
class Shapes:
    """Supported shapes. Others are undefined."""

    ranks: frozenset[int]
    empty: bool  # a tensor may be empty
    cite: Cite


@dataclass(frozen=True)
class Case:
    """One configured question. Its id is stable."""

    spec: str
    op: str  # such as onnx.Cast
    version: int  # the first number of the version, 0 for none
    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]  # empty if types are the answer
    attributes: Attributes  # those in the id, in order
    carried: tuple[tuple[str, str], ...] = ()  # that carry the output's type -> 'int' or 'string'
    refusal: bool = False  # a refusal is accepted
    layout: str = ""  # of a call, '' for the only one
    ranks: tuple[int, ...] = ()  # of a call's inputs, empty for elements
    bound: bool = False  # the inputs' types imply the output's, which the id omits
    shapes: Shapes | None = None  # None for all
    outside: bool = False  # the text excludes it: an answer may have any form
    hops: "tuple[Case, ...]" = ()  # casts of a chain's graph
    setting: tuple[tuple[str, str], ...] = ()  # of that graph: input=constant, middle=hidden
    fixed: tuple[tuple[str, str], ...] = ()  # other inputs, if the first is converted

    def __hash__(self) -> int:  # common dictionary keys
        return hash(self.id)

    @cached_property
    def name(self) -> str:
        """The id within the spec: float32-to-float8e4m3fn/saturate=0."""
        return self._named(self.node_inputs, self.bound)

    @cached_property
    def question(self) -> str:
        """The name without inputs that only contribute their type."""
        return self._named(self.sources, bound=False) if self.bound or self.is_pair else self.name

    def _named(self, inputs: tuple[DType, ...], bound: bool) -> str:
        types = "-".join(t.name for t in inputs)
        types += "".join(f"-to-{hop.outputs[0].name}" for hop in self.hops[:-1])
        if self.outputs and not bound:
            types += f"-to-{self.outputs[0].name}"
        values = (*self.attributes, *self.fixed, *self.setting)
        attributes = (f"{k}={v}" for k, v in values)
        return "/".join([types, *filter(None, [self.layout]), *attributes])

    @property
    def sources(self) -> tuple[DType, ...]:
        """The types of the inputs whose values count."""
        return self.inputs[:1] if self.bound and not self.ranks else self.inputs

    @property
    def node_inputs(self) -> tuple[DType, ...]:
        """The input types of the first node, with a pair's constants."""
        return self.hops[0].inputs if self.is_pair else self.inputs

    @property
    def is_pair(self) -> bool:
        """Whether it is a node followed by its inverse, with constants."""
        return bool(self.hops and self.fixed)

    @property
    def whole_calls(self) -> bool:
        """Whether it is a whole call."""
        return bool(self.ranks) and not self.fixed

    @cached_property
    def call(self) -> "Case":
        """The case as sent to a backend, with fixed inputs as values."""
        return replace(self, fixed=()) if self.fixed and not self.is_pair else self

    @cached_property
    def id(self) -> str:
        """The id: onnx.Cast-21/float32-to-float8e4m3fn/saturate=0."""
        return f"{self.spec}/{self.name}"

    @cached_property
    def unset_id(self) -> str:
        """A chain's id without its setting."""
        return replace(self, setting=()).id if self.setting else self.id

    def attribute(self, name: str) -> Value | None:
        """Return an attribute's value: DEFAULT if omitted, None if absent."""
        return dict(self.attributes).get(name)

    @property
    def given(self) -> Attributes:
        """The attributes sent to a backend."""
        return tuple((name, value) for name, value in self.attributes if value != DEFAULT)


@dataclass(frozen=True)
class FunctionRow:
    """A row of `where`: types and attribute values."""

    sources: frozenset[str] | None = None  # None for all types
    targets: frozenset[str] | None = None  # None for all types
    attributes: tuple[tuple[str, tuple[str, ...] | None], ...] = ()  # attribute -> values or None

    def of_types(self, case: Case) -> bool:
        """Return whether it has all of a case's types."""
        return _among(case.inputs, self.sources) and _among(case.outputs, self.targets)

    def holds(self, case: Case) -> bool:
        """Return whether it matches a case."""
        known = dict(self.attributes)
        return self.of_types(case) and all(
            name in known and ((allowed := known[name]) is None or str(value) in allowed)
            for name, value in case.attributes
        )

    def __str__(self) -> str:
        return ", ".join(f"{n}={'|'.join(v) if v else ANY}" for n, v in self.attributes)


@dataclass(frozen=True)
class Calling:
    """A runtime's function for an operator, and its cases."""

    function: str
    rows: tuple[FunctionRow, ...] = (FunctionRow(),)


def _among(types: tuple[DType, ...], allowed: frozenset[str] | None) -> bool:
    return allowed is None or all(dtype.name in allowed for dtype in types)


def op_and_version(spec: str) -> tuple[str, str]:
    """Return a spec id's parts: onnx.Cast and 21, or ''."""
    match = _VERSIONED.fullmatch(spec)
    return (match[1], match[2]) if match else (spec, "")


def version_key(version: str) -> tuple[int, ...]:
    """Return a version's numbers, to sort by."""
    return tuple(int(number) for number in version.split(".") if number)


class Body(ABC):
    """The part of a spec that decides answers."""

    name: ClassVar[str]  # 'table', or its key in a spec file
    whole_calls: ClassVar[bool] = True  # questions are whole calls
    gives_types: ClassVar[bool] = False  # output types are the answer
    examples: tuple[Any, ...]

    @abstractmethod
    def check(self, spec: "Spec", node: Node, types: Mapping[str, DType]) -> None:
        """Check that a spec meets its body's needs."""


OneBody = TypeVar("OneBody", bound=Body)


@dataclass(frozen=True, eq=False)
class Spec:
    """One version of one operator, with `extends` resolved."""

    id: str  # onnx.Cast-21, or the operator alone
    op: str
    version: int  # the first number of the version, 0 for none
    sources: Mapping[str, Source]  # 'text' is the operator's own
    glosses: Mapping[str, Place]  # foreign sentence -> its translation's place
    output_cite: Cite  # on the output's type and shape
    types: Mapping[str, tuple[DType, ...]]  # type variable -> types, in the text's order
    inputs: tuple[tuple[str, str], ...]  # input -> type variable
    outputs: tuple[tuple[str, str], ...]  # output -> type variable
    attributes: tuple[Attribute, ...]
    literals: Mapping[str, Spelling]
    rules: tuple[Rule, ...]
    body: Body
    notes: tuple[str, ...]
    place: Place
    likes: tuple[str, ...] = ()  # that only contribute their type
    layouts: tuple[Layout, ...] = ()
    combinations: tuple[tuple[str, ...], ...] = ()  # input types tested with each output type
    calls: Mapping[str, Calling] = field(default_factory=dict)  # by runtime
    pairs: Pairs | None = None  # None for all
    shapes: Shapes | None = None  # None for all
    outside: tuple[Uncovered, ...] = ()  # cases that the text excludes, tested nevertheless
    parent: "Spec | None" = field(default=None, repr=False)

    @property
    def extends(self) -> str:
        """The id of the parent, '' for none."""
        return self.parent.id if self.parent else ""

    def earlier(self, version: str) -> "Spec | None":
        """Return the ancestor of that version, if any."""
        above = self.parent
        while above and above.id != f"{above.op}-{version}":
            above = above.parent
        return above

    def in_force(self, attributes: Attributes) -> Attributes:
        """Return attributes with omitted ones at their defaults."""
        stated = {a.name: a.default for a in self.attributes if a.default is not None}
        return tuple((k, stated.get(k, v) if v == DEFAULT else v) for k, v in attributes)

    def document_of(self, cite: Cite) -> str:
        """Return title and section of a citation's document."""
        source = self.sources[cite.source]
        return f"{source.title}, {source.section}"

    def body_as(self, kind: type[OneBody]) -> OneBody:
        """Return the body if it has that class. Raises TypeError."""
        if not isinstance(self.body, kind):
            raise TypeError(f"the body of {self.id} is a {self.body.name}, no {kind.name}")
        return self.body
