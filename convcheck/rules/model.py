"""The model of a spec file. Everything loaded remembers its place."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, TypeVar

from convcheck.errors import Place
from convcheck.numerics.format import Format
from convcheck.rules.source import Node


class TypeNames(frozenset[str]):
    """Names of types that a condition allows, its families expanded to their members.

    A family may have members that the spec cannot be asked, and these decide nothing.
    """


Level = Literal["normative", "implied", "disputed", "undefined"]
LEVELS: tuple[Level, ...] = ("normative", "implied", "disputed", "undefined")
Value = int | str
Attributes = tuple[tuple[str, Value], ...]
PARAPHRASE = "in our words: "  # how a sentence that is no quotation begins
DEFAULT = "default"  # the value of an attribute that is left out
_VERSIONED = re.compile(r"(.+)-([0-9]+(?:\.[0-9]+)*)")  # a spec's id
LATER = {"later": True}  # of a field that few specs have: not in the digest of the others
ANY = "any"  # any value of an attribute of a function
REAL = "real"  # the pseudo-type of a text or bool that goes on as the number it denotes


@dataclass(frozen=True)
class DType:
    """A type: its name, its format, and its name in each runtime ('' where it has none)."""

    name: str
    format: Format
    #: Runtime -> the name there.
    names: tuple[tuple[str, str], ...]
    place: Place

    def name_in(self, runtime: str) -> str:
        """Return the type's name in a runtime ('onnx', 'openvino', 'pypto'), '' for none."""
        return dict(self.names).get(runtime, "")

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:  # it is a key of what is kept, and is looked up often
        return hash(self.name)


@dataclass(frozen=True)
class Cite:
    """A sentence and where it stands: `source` is a key of the spec's sources."""

    #: The sentence, quoted; one that begins with PARAPHRASE is no quotation.
    text: str
    source: str
    place: Place
    #: The same in English, where it is in another language: our translation; else ''.
    gloss: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a cell gives under one reading: a word of the vocabulary with its argument."""

    word: str
    argument: str = ""
    #: Overrides the rule's rounding mode; '' for none.
    round: str = ""
    #: The reading's name; '' where there is only one.
    reading: str = ""
    cite: Cite | None = None


@dataclass(frozen=True)
class Cell:
    """One cell of a table: an outcome, or one per reading, with its level and citation."""

    outcomes: tuple[Outcome, ...]
    level: Level
    cite: Cite
    place: Place
    #: As it is written in the spec file.
    text: str


@dataclass(frozen=True)
class Row:
    """A case and its cells, one per column of the rule."""

    #: A case word, or `else`.
    label: str
    cells: tuple[Cell, ...]
    place: Place


@dataclass(frozen=True)
class Rounding:
    """A rounding mode, or one chosen by an attribute's value."""

    mode: str = ""
    by: str = ""
    #: Values of the attribute `by` -> rounding modes.
    modes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rule:
    """A table with the condition under which it applies."""

    name: str
    #: 'from', 'to' or an attribute -> the words that it may be.
    when: tuple[tuple[str, frozenset[Value]], ...]
    #: Whether it is for a type to itself alone.
    same_type: bool
    rounding: Rounding
    #: One or more of the keys of `when` -> an entry for each column.
    columns: tuple[tuple[str, tuple[Value, ...]], ...]
    rows: tuple[Row, ...]
    level: Level
    #: What its cells rest on that have no citation of their own.
    cite: Cite
    place: Place

    @cached_property
    def numbers(self) -> Mapping[tuple[Value, ...], int]:
        """The number of each column, by its entries; of two with the same ones, the first."""
        entries = list(zip(*(values for _, values in self.columns), strict=True))
        return {column: number for number, column in reversed(list(enumerate(entries)))}


@dataclass(frozen=True)
class Asking:
    """Attribute values to ask for on some pairs only: values outside the list, or a pair to
    which the attribute does not apply.
    """

    values: tuple[Value, ...]
    #: The sources of the pairs that are asked so.
    sources: TypeNames
    #: The destinations of the pairs that are asked so, None for all.
    targets: TypeNames | None
    #: What the operator's other attributes are then, where that is not their default.
    others: Attributes
    #: Whether a refusal is accepted.
    refusal: bool
    cite: Cite


@dataclass(frozen=True)
class Attribute:
    """An attribute of the operator."""

    name: str
    #: The kind of its values in a graph.
    kind: Literal["int", "string", "bool"]
    #: The type variable whose type it holds (ONNX Cast's `to`), '' for none. An attribute that
    #: holds one is not part of a case's id.
    carries: str
    values: tuple[Value, ...]
    #: The value where a node does not set it, or where the other values are not asked; None for an
    #: attribute that has to be set.
    default: Value | None
    #: The destinations to which it applies, None for all.
    applies: TypeNames | None
    #: What is asked besides its values, or where it does not apply.
    also: tuple[Asking, ...]
    place: Place
    #: Whether layouts give its values, and it is not set where they do not.
    by_layout: bool = field(default=False, metadata=LATER)
    #: Whether a text states the default, so that the attribute can be left out.
    stated: bool = field(default=True, metadata=LATER)

    def applies_to(self, target: DType) -> bool:
        """Return whether the attribute applies to a destination."""
        return self.applies is None or target.name in self.applies

    def value_of(self, word: str) -> Value:
        """Return the value that is written so. Raises ValueError for one of another kind."""
        return int(word) if self.kind == "int" and word != DEFAULT else word


@dataclass(frozen=True)
class Spelling:
    """A spelling of a text: a regular expression for the whole of it, and texts that match."""

    #: A regular expression in Python's syntax.
    matches: str
    #: Texts that match; `lint` asks them.
    samples: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Source:
    """A document that citations quote."""

    #: How citations refer to it.
    key: str
    #: The document's title.
    title: str
    #: The section that is quoted.
    section: str
    #: Where it is to be read.
    url: str


@dataclass(frozen=True)
class TableExample:
    """An example of the text: this input, under these attributes, gives that."""

    #: The type of the input.
    source: DType
    #: The type of the output.
    target: DType
    attributes: Attributes
    #: The input as a word.
    x: str
    gives: str
    place: Place


@dataclass(frozen=True)
class Layout:
    """Per input of a call, if it has it, its dimensions: numbers or letters ('n')."""

    name: str
    #: Input -> its dimensions.
    shapes: tuple[tuple[str, tuple[str, ...]], ...]
    place: Place
    #: Attributes with their values in this layout.
    attributes: Attributes = field(default=(), metadata=LATER)
    #: Attributes that carry the output's type and are given in this layout.
    carried: tuple[str, ...] = field(default=(), metadata=LATER)
    #: Type variable -> the types with which it is asked, or another variable, whose type it has
    #: then. One of these has to hold; () for all types.
    only: tuple[tuple[tuple[str, TypeNames | str], ...], ...] = field(default=(), metadata=LATER)

    def is_asked_of(self, types: Mapping[str, DType]) -> bool:
        """Return whether it is asked of the types of variables."""
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
    """A list of pairs of source and destination, and the attribute values that it is for."""

    #: Attribute -> the values that it may have.
    when: tuple[tuple[str, frozenset[str]], ...]
    #: Source -> its destinations.
    listed: Mapping[str, TypeNames]
    cite: Cite

    def is_for(self, attributes: Mapping[str, str]) -> bool:
        """Return whether the list is for these attribute values."""
        return all(attributes.get(name) in values for name, values in self.when)


@dataclass(frozen=True)
class Pairs:
    """The pairs of source and destination that a text supports, where they are no product.

    Others, unless only these are asked, are asked under the attributes' defaults alone, and a
    refusal of them is accepted.
    """

    #: A pair is supported where one of them has it.
    lists: tuple[PairList, ...]
    #: Whether no other pair is asked.
    only: bool

    def word(self, source: str, target: str, attributes: Attributes) -> str:
        """Return the word for a pair in a rule's condition: 'listed' or 'unlisted'."""
        values = {name: str(value) for name, value in attributes}
        listed = any(one.is_for(values) for one in self._of_pair.get((source, target), ()))
        return "listed" if listed else "unlisted"

    @cached_property
    def _of_pair(self) -> dict[tuple[str, str], list[PairList]]:
        """The lists that have a pair, of the many that there may be."""
        found: dict[tuple[str, str], list[PairList]] = {}
        for one in self.lists:
            for source, targets in one.listed.items():
                for target in targets:
                    found.setdefault((source, target), []).append(one)
        return found


@dataclass(frozen=True)
class Uncovered:
    """Pairs of types, or attribute values, that a text does not cover: asked, and undefined."""

    #: The sources that are asked.
    sources: tuple[DType, ...]
    #: The destinations that are asked from each source.
    targets: tuple[DType, ...]
    #: Attribute -> the values of its own; where there are none, the pairs that no list has are.
    values: tuple[tuple[str, tuple[Value, ...]], ...]
    #: That nothing is expected, and the sentence that says so.
    rule: Rule


@dataclass(frozen=True)
class Shapes:
    """The shapes that a text supports: what is asked in any other is undefined."""

    #: The ranks that it supports.
    ranks: frozenset[int]
    #: Whether a tensor may have no elements.
    empty: bool
    cite: Cite


@dataclass(frozen=True)
class Case:
    """One configured question. Its id is stable: people filter, cite and list it."""

    #: The id of the spec.
    spec: str
    #: The operator, as onnx.Cast.
    op: str
    #: The first number of the version, which an operator set has no more of; 0 for none.
    version: int
    #: The types of the inputs, in order.
    inputs: tuple[DType, ...]
    #: Empty where the type of the output is the answer.
    outputs: tuple[DType, ...]
    #: Those in the id, in order.
    attributes: Attributes
    #: Attributes that carry the output's type -> the kind they carry it in, 'int' or 'string'.
    carried: tuple[tuple[str, str], ...] = ()
    #: Whether a refusal is accepted; it is recorded all the same.
    refusal: bool = False
    #: The name of the layout of a whole call's inputs, '' for a spec's only one.
    layout: str = ""
    #: The ranks of a whole call's inputs; empty where elements are converted.
    ranks: tuple[int, ...] = ()
    #: Whether the inputs' types tell the output's, which is then not in the id.
    bound: bool = False
    #: The shapes that the text supports, None for all.
    shapes: Shapes | None = None
    #: Whether the text leaves it out: then an answer may have any form.
    outside: bool = False
    #: Of a chain, the casts that one graph makes one after the other; else ().
    hops: tuple[Case, ...] = ()
    #: How that graph is built, and options of the backend: input=constant, middle=hidden.
    setting: tuple[tuple[str, str], ...] = ()
    #: Of a whole call that is asked as a conversion of its first input: the others by name, and
    #: their one element as it is written.
    fixed: tuple[tuple[str, str], ...] = ()

    def __hash__(self) -> int:  # as of a type
        return hash(self.id)

    @cached_property
    def name(self) -> str:
        """The id within the spec: float32-to-float8e4m3fn/saturate=0."""
        return self._named(self.node_inputs, self.bound)

    @cached_property
    def question(self) -> str:
        """The name that it would have without the inputs of which only the type counts."""
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
        """The types of the inputs whose values count: one may be there for its type alone."""
        return self.inputs[:1] if self.bound and not self.ranks else self.inputs

    @property
    def node_inputs(self) -> tuple[DType, ...]:
        """The types of the inputs of the first node: of a pair also those that are constants."""
        return self.hops[0].inputs if self.is_pair else self.inputs

    @property
    def is_pair(self) -> bool:
        """Whether it is a node and the one that turns it back, with constants."""
        return bool(self.hops and self.fixed)

    @property
    def whole_calls(self) -> bool:
        """Whether the question is a whole call, not one element: then the ranks are stated."""
        return bool(self.ranks) and not self.fixed

    @cached_property
    def call(self) -> Case:
        """The case as a backend is asked it: with values for the inputs that are fixed here."""
        return replace(self, fixed=()) if self.fixed and not self.is_pair else self

    @cached_property
    def id(self) -> str:
        """The id: onnx.Cast-21/float32-to-float8e4m3fn/saturate=0."""
        return f"{self.spec}/{self.name}"

    @cached_property
    def unset_id(self) -> str:
        """The id that a chain has without a setting."""
        return replace(self, setting=()).id if self.setting else self.id

    def attribute(self, name: str) -> Value | None:
        """Return an attribute's value, `default` where it is left out, None where it is none of
        the case's.
        """
        return dict(self.attributes).get(name)

    @property
    def given(self) -> Attributes:
        """The attributes that a backend is given: all but those that are left out."""
        return tuple((name, value) for name, value in self.attributes if value != DEFAULT)


@dataclass(frozen=True)
class FunctionRow:
    """A row of `where`: source and destination types (None: all), and attribute values by name.

    An attribute's values are as written; None for any.
    """

    #: Names of source types, None for all.
    sources: frozenset[str] | None = None
    #: Names of destination types, None for all.
    targets: frozenset[str] | None = None
    #: Attribute -> its values as written, None for any.
    attributes: tuple[tuple[str, tuple[str, ...] | None], ...] = ()

    def of_types(self, case: Case) -> bool:
        """Return whether all of a case's types are the row's."""
        return _among(case.inputs, self.sources) and _among(case.outputs, self.targets)

    def holds(self, case: Case) -> bool:
        """Return whether the row answers for a case."""
        known = dict(self.attributes)
        return self.of_types(case) and all(
            name in known and ((allowed := known[name]) is None or str(value) in allowed)
            for name, value in case.attributes
        )

    def __str__(self) -> str:
        return ", ".join(f"{n}={'|'.join(v) if v else ANY}" for n, v in self.attributes)


@dataclass(frozen=True)
class Calling:
    """The function of a runtime that is the operator, and the questions that it answers."""

    function: str
    #: The questions that it answers: what any of the rows holds of.
    rows: tuple[FunctionRow, ...] = (FunctionRow(),)


def _among(types: tuple[DType, ...], allowed: frozenset[str] | None) -> bool:
    return allowed is None or all(dtype.name in allowed for dtype in types)


def op_and_version(spec: str) -> tuple[str, str]:
    """Return the operator and the version in a spec's id: onnx.Cast and 21; '' for no version."""
    match = _VERSIONED.fullmatch(spec)
    return (match[1], match[2]) if match else (spec, "")


def version_key(version: str) -> tuple[int, ...]:
    """Return what versions are put in order by: their numbers; () for no version."""
    return tuple(int(number) for number in version.split(".") if number)


class Body(ABC):
    """What decides the answers of a spec; of its rules, a body may say where they apply."""

    #: 'table', or the key that it stands under in a spec file.
    name: ClassVar[str]
    #: Whether a question is a whole call, not one element.
    whole_calls: ClassVar[bool] = True
    #: Whether the types of the outputs are its answer, not part of the question.
    gives_types: ClassVar[bool] = False

    @abstractmethod
    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check the rest of a spec, read from a file's root node, against what the body needs.

        Raises SpecError with file and line.
        """


OneBody = TypeVar("OneBody", bound=Body)


@dataclass(frozen=True, eq=False)
class Spec:
    """One version of one operator, `extends` resolved. It equals itself alone."""

    #: The id: onnx.Cast-21; the operator alone where it has no versions.
    id: str
    #: The operator: onnx.Cast.
    op: str
    #: The first number of the version, which an operator set has no more of; 0 for none.
    version: int
    #: The documents that are cited, by key; 'text' is the operator's own.
    sources: Mapping[str, Source]
    #: Sentence in another language -> where its translation stands.
    glosses: Mapping[str, Place]
    #: The sentence on the output's type and shape.
    output_cite: Cite
    #: Type variable -> its types, in the text's order.
    types: Mapping[str, tuple[DType, ...]]
    #: Input name -> type variable.
    inputs: tuple[tuple[str, str], ...]
    #: Output name -> type variable.
    outputs: tuple[tuple[str, str], ...]
    attributes: tuple[Attribute, ...]
    #: Spellings of texts that rows refer to, by name.
    literals: Mapping[str, Spelling]
    rules: tuple[Rule, ...]
    body: Body
    #: Remarks for readers.
    notes: tuple[str, ...]
    place: Place
    #: Inputs of which only the type counts.
    likes: tuple[str, ...] = ()
    layouts: tuple[Layout, ...] = ()
    #: Input types asked with each output type.
    combinations: tuple[tuple[str, ...], ...] = ()
    #: Runtime -> its function.
    calls: Mapping[str, Calling] = field(default_factory=dict)
    #: The pairs that the text supports, None for every source with every destination.
    pairs: Pairs | None = None
    #: The shapes that the text supports, None for all.
    shapes: Shapes | None = None
    #: What is asked although the text leaves it out.
    outside: tuple[Uncovered, ...] = ()
    #: The spec that it extends, None for none.
    parent: Spec | None = field(default=None, repr=False)

    @property
    def extends(self) -> str:
        """The id of the spec that it extends, '' for none."""
        return self.parent.id if self.parent else ""

    def earlier(self, version: str) -> Spec | None:
        """Return the version of the operator that it extends, directly or by way of others; None
        where it extends none of that name.
        """
        above = self.parent
        while above and above.id != f"{above.op}-{version}":
            above = above.parent
        return above

    def in_force(self, attributes: Attributes) -> Attributes:
        """Return attributes with the value that holds of each one that is left out."""
        stated = {a.name: a.default for a in self.attributes if a.default is not None}
        return tuple((k, stated.get(k, v) if v == DEFAULT else v) for k, v in attributes)

    def document_of(self, cite: Cite) -> str:
        """Return the title and section of the document that a citation quotes."""
        source = self.sources[cite.source]
        return f"{source.title}, {source.section}"

    def body_as(self, kind: type[OneBody]) -> OneBody:
        """Return the body, which has to be of a kind. Raises TypeError where it is another."""
        if not isinstance(self.body, kind):
            raise TypeError(f"the body of {self.id} is a {self.body.name}, no {kind.name}")
        return self.body
