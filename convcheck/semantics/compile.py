"""Compile a case into a program: the rows of all rules that apply, in order, up to an `else`."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from convcheck.errors import Place, SpecError
from convcheck.numerics.format import Float, Format, Text
from convcheck.numerics.modes import MODES
from convcheck.records import replace
from convcheck.rules.cases import is_listed, uncovered_by
from convcheck.rules.causes import Cause
from convcheck.rules.hop import IEEE, Hop, Through
from convcheck.rules.model import (
    DEFAULT,
    LEVELS,
    REAL,
    Case,
    Cell,
    DType,
    Level,
    Outcome,
    Rounding,
    Row,
    Rule,
    Spec,
    Spelling,
    Value,
)
from convcheck.rules.rule import ELSE, OTHER, PAIR
from convcheck.semantics.answers_at import answers_at, differs_through
from convcheck.semantics.expected import EXACT, Decision, Reading, decision_of
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program, alike_of
from convcheck.semantics.trace import row_in_words
from convcheck.semantics.vocabulary import (
    AS,
    AS_BELOW,
    AS_REAL,
    BY,
    COMPUTATIONS,
    CONSTANTS,
    ROUNDING_WORDS,
    TEXT,
    THROUGH,
    ZERO,
    CaseWord,
    NotInFormatError,
    Points,
    case_word,
    is_computable,
    known_cases,
    known_outcomes,
    possible,
    saying,
)
from convcheck.streams import meant

Words = tuple[tuple[str, str], ...]  # attributes with their values, as written


@dataclass(frozen=True)
class Subject:
    """What conditions of rules are matched against."""

    spec: Spec
    source: str
    source_format: Format
    target: str
    format: Format
    attributes: Words
    left_out: frozenset[str] = frozenset()
    #: rules so far, to detect cycles
    chain: tuple[str, ...] = ()
    #: the deciding row matters; not in a wrong conversion
    told: bool = True
    #: decides if these rules do not
    below: Spec | None = None

    @cached_property
    def facts(self) -> dict[str, str]:
        """The values of conditions, by key."""
        facts = {"from": self.source, "to": self.target, **dict(self.attributes)}
        if self.spec.pairs:
            facts[PAIR] = self.spec.pairs.word(self.source, self.target, self.attributes)
        return facts


_KEPT = 1024  # programs of a few tens of kB


def compile_table(spec: Spec, case: Case) -> Program:
    """Return the program of a case. Raises SpecError."""
    attributes = tuple((name, str(value)) for name, value in case.attributes)
    if entry := uncovered_by(spec, case):
        return _left_out(spec, case.inputs[0], case.outputs[0], entry.rule)
    return compile_conversion(spec, case.inputs[0], case.outputs[0], attributes)


@lru_cache(_KEPT)
def compile_conversion(
    spec: Spec, source: DType, target: DType, attributes: Words = (), rule: str = ""
) -> Program:
    """Return a conversion, by all rules or one. Raises SpecError."""
    rules = (r for r in _rules_of(spec, source.name, target.name) if rule in ("", r.name))
    return _program(_subject(spec, source, target, attributes), tuple(rules))


def compile_untold(
    spec: Spec, source: DType, target: DType, attributes: Words, below: Spec | None = None
) -> Program:
    """Compile edited rules without citations; those of `below` follow. Raises SpecError."""
    subject = _subject(spec, source, target, attributes, told=False, below=below)
    return _program(subject, spec.rules) if below else _going_on(subject)


ON = " > "  # joins the names of delegating rules or rows


@lru_cache(_KEPT)
def _rules_of(spec: Spec, source: str, target: str) -> tuple[Rule, ...]:
    ends = {"from": source, "to": target}
    return tuple(
        rule
        for rule in spec.rules
        if all(ends[key] in allowed for key, allowed in rule.when if key in ends)
    )


@lru_cache(_KEPT)
def rules_key(spec: Spec, source: DType, target: DType, others: tuple[DType, ...]) -> Hashable:
    """Return a key: rules of equal keys convert alike, also through the `others`."""
    names = {source.name, REAL, *(each.name for each in others)}
    applying = (each for each in spec.attributes if each.values and each.applies_to(target))
    attributes = tuple((each.name, each.values, each.default) for each in applying)
    literals = tuple((name, one.matches) for name, one in spec.literals.items())
    rules = (_in_columns_for(rule, target.name, names) for rule in spec.rules)
    return attributes, literals, tuple(rule for rule in rules if rule)


def _in_columns_for(rule: Rule, target: str, sources: Collection[str]) -> Hashable:
    """What a rule says for a destination, None for nothing."""
    when = dict(rule.when)
    keys = [key for key, _ in rule.columns]
    entries = list(zip(*(values for _, values in rule.columns), strict=True)) or [()]
    columns = [dict(zip(keys, entry, strict=True)) for entry in entries]
    here = [n for n, column in enumerate(columns) if column.get("to", target) == target]
    if not here or target not in when.pop("to", {target}):
        return None
    from_ = frozenset(sources).intersection(when.pop("from", sources))
    rows = tuple((row.label, *(_gives(row.cells[n]) for n in here)) for row in rule.rows)
    said = tuple(when.items()), tuple(tuple(columns[n].items()) for n in here), rows
    return rule.name, from_, rule.same_type, rule.rounding, said


def _gives(cell: Cell) -> Hashable:
    return tuple((each.word, each.argument, each.round) for each in cell.outcomes)


def _subject(
    spec: Spec, source: DType, target: DType, attributes: Words, told: bool = True,
    below: Spec | None = None,
) -> Subject:  # fmt: skip
    left_out = frozenset(name for name, value in attributes if value == DEFAULT)
    values = tuple((name, str(value)) for name, value in spec.in_force(attributes))
    ends = source.name, source.format, target.name, target.format
    return Subject(spec, *ends, values, left_out, told=told, below=below)


@lru_cache(_KEPT)
def _left_out(spec: Spec, source: DType, target: DType, rule: Rule) -> Program:
    subject = Subject(spec, source.name, source.format, target.name, target.format, ())
    return _program(subject, (rule,))


def matches(rule: Rule, subject: Subject) -> int | None:
    """Return the column of a rule for a subject, if it applies."""
    facts = subject.facts
    for key, allowed in rule.when:
        if facts.get(key, "") not in allowed and not _is_named(subject, key, allowed):
            return None
    if rule.same_type and subject.source != subject.target:
        return None
    if not rule.columns:
        return 0
    return rule.numbers.get(tuple([facts.get(key, "") for key, _ in rule.columns]))


def _is_named(subject: Subject, key: str, allowed: frozenset[Value]) -> bool:
    """Whether a condition allows an omitted attribute, or a value outside its list."""
    if DEFAULT in allowed and key in subject.left_out:
        return True
    if OTHER not in allowed or not (value := subject.facts.get(key, "")):
        return False
    values = next(a.values for a in subject.spec.attributes if a.name == key)
    return value not in map(str, values)


def _program(subject: Subject, rules: tuple[Rule, ...]) -> Program:
    entries: list[CompiledRow] = []
    decisions: list[Decision] = []
    count = 0
    for rule, row, column in _rows(subject, rules):
        cell = row.cells[column]
        mode = _mode(subject, rule, row.label, cell)
        steps = tuple(_step(subject, rule, cell, outcome) for outcome in cell.outcomes)
        inner = steps[0].program
        entry = CompiledRow(_test(subject, row, inner), mode, steps, count, rule, row, cell)
        entries.append(entry)
        count += entry.rows
        if subject.told:
            own = _decision(subject, rule, row, cell)
            decisions += _handed_on(own, inner) if inner and len(steps) == 1 else [own]
        if entry.test is None:
            break
    if not entries or entries[-1].test is not None:
        if subject.below is None:
            raise _undecided(subject, entries)
        rest = _going_on(replace(subject, spec=subject.below, below=None))
        if not entries:
            return rest
        last, steps = entries[-1], (CompiledOutcome(0, program=rest),)
        entries.append(CompiledRow(None, "", steps, count, last.rule, last.row, last.cell))
    return Program(tuple(entries), tuple(decisions), max(map(_readings, entries)))


def _readings(entry: CompiledRow) -> int:
    [first, *more] = entry.steps
    return len(entry.steps) if more or first.program is None else first.program.readings


def _rows(subject: Subject, rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Row, int]]:
    for rule in rules:
        column = matches(rule, subject)
        if column is not None:
            for row in rule.rows:
                # such a row changes only the level and the rule, not the answer
                counts = subject.told or not row.label.startswith(THROUGH)
                if counts and possible(row.label, subject.source_format, subject.format):
                    yield rule, row, column


def _undecided(subject: Subject, entries: list[CompiledRow]) -> SpecError:
    what = f"{subject.source} to {subject.target}"
    if subject.attributes:
        what += " with " + ", ".join(f"{k}={v}" for k, v in subject.attributes)
    place = entries[-1].rule.place if entries else subject.spec.place
    hint = "end the last table that applies with an `else` row, or add a rule"
    return SpecError(f"no rule decides every input of {what}", place=place, hint=hint)


def _test(subject: Subject, row: Row, inner: Program | None) -> CaseWord | None:
    if row.label == ELSE:
        return None
    if row.label.startswith(THROUGH):
        return _through(subject.spec, row, inner)
    test = case_word(row.label, subject.spec.literals)
    if test is None:
        raise _unknown_case(row, subject.spec.literals)
    return test


def _through(spec: Spec, row: Row, inner: Program | None) -> CaseWord:
    name = row.label.removeprefix(THROUGH)
    types = {t.name: t.format for listed in spec.types.values() for t in listed}
    between = types.get(name)
    if not isinstance(between, Float) or not between.infinity:
        known = (n for n, f in types.items() if isinstance(f, Float) and f.infinity)
        raise SpecError(f"{row.label!r} names no float with infinities of the spec",
                        place=row.place, hint=meant(name, known))  # fmt: skip
    if inner is None:
        hint = f"such as {AS_BELOW}"
        raise SpecError(f"{row.label!r} needs a cell that hands on", place=row.place, hint=hint)
    return CaseWord("level", differs_through(inner, between), between=between)


def _mode(subject: Subject, rule: Rule, label: str, cell: Cell, own: str = "") -> str:
    mode = own or rule.rounding.mode
    if rule.rounding.by and not own:
        value = dict(subject.attributes).get(rule.rounding.by, "")
        mode = dict(rule.rounding.modes).get(value, "")
    if mode and mode not in MODES:
        raise _unknown_mode(mode, rule.place)
    if not mode and label in ROUNDING_WORDS:
        hint = "round: nearest-even"
        raise SpecError(f"{label!r} needs a rounding mode", place=cell.place, hint=hint)
    return mode


def _step(subject: Subject, rule: Rule, cell: Cell, outcome: Outcome) -> CompiledOutcome:
    word = outcome.word
    if word in CONSTANTS:
        constant, _, pattern = CONSTANTS[word]
        try:
            return CompiledOutcome(pattern, constant(subject.format))
        except NotInFormatError:
            message = f"{subject.target} has no {word}"
            hint = "give the destination a column or a rule of its own"
            raise SpecError(message, place=cell.place, hint=hint) from None
    if word in COMPUTATIONS:
        if not is_computable(word, subject.source_format, subject.format):
            what = f"NaNs of {subject.source} and {subject.target} do not both have a payload"
            what = f"{subject.target} has no zero" if word == ZERO else what
            raise SpecError(what, place=cell.place, hint="give it a rule of its own, with `when`")
        compute, _, pattern, *_ = COMPUTATIONS[word]
        mode = _mode(subject, rule, word, cell, outcome.round)
        return CompiledOutcome(pattern, compute=compute, mode=mode)
    if word == TEXT and isinstance(subject.format, Text):
        return CompiledOutcome(EXACT, compute=saying(outcome.argument))
    if word == AS_REAL:
        return CompiledOutcome(0, program=_as_real(subject, rule, cell))
    if word == AS_BELOW:
        return CompiledOutcome(0, program=_as_below(subject, rule.name))
    if isinstance(outcome, Through):
        return _gone_through(subject, outcome.hop, lambda one: _as_below(one, rule.name))
    if word == BY:
        return CompiledOutcome(0, program=_by(subject, rule, cell, outcome.argument))
    if word == AS:
        return CompiledOutcome(0, program=_as(subject, cell, outcome.argument))
    raise _unknown_outcome(outcome, cell)


def _as_real(subject: Subject, rule: Rule, cell: Cell) -> Program:
    if subject.source != REAL:
        return _going_on(replace(subject, source=REAL))
    if subject.told:
        hint = "leave `real` out of the rule's `from`"
        raise SpecError("a real cannot go on as a real", place=cell.place, hint=hint)
    return _as_below(subject, rule.name)


@lru_cache(_KEPT)
def _going_on(subject: Subject) -> Program:
    return _program(subject, _rules_of(subject.spec, subject.source, subject.target))


@lru_cache(_KEPT)
def _as_below(subject: Subject, rule: str) -> Program:
    names = [each.name for each in subject.spec.rules]
    return _program(subject, subject.spec.rules[names.index(rule) + 1 :])


def _gone_through(
    subject: Subject, hop: Hop, behind: Callable[[Subject], Program]
) -> CompiledOutcome:
    # wrong conversions only
    from convcheck.semantics.hops import keeps, with_ieee_specials

    below, kept = behind(subject), keeps(hop, subject.source_format, subject.format)
    as_number = isinstance(hop.type, str) or hop.normal_only
    if subject.source == REAL or (kept and as_number):
        return CompiledOutcome(0, program=below)
    if hop.type == IEEE:
        subject = replace(subject, source_format=with_ieee_specials(subject.source_format))
        return CompiledOutcome(0, program=behind(subject), hop=hop)
    is_text = isinstance(subject.source_format, Text)
    if isinstance(hop.type, DType) and not as_number and not is_text:
        there = replace(subject, source=hop.type.name, source_format=hop.type.format)
        with suppress(SpecError):
            program = behind(there)
            if kept and alike_of(program, below, subject.source_format, subject.format):
                return CompiledOutcome(0, program=below)
            return CompiledOutcome(0, program=program, hop=hop, retyped=True)
    return CompiledOutcome(0, program=below, hop=hop)


def _by(subject: Subject, rule: Rule, cell: Cell, name: str) -> Program:
    named = next((r for r in subject.spec.rules if r.name == name), None)
    chain = (*subject.chain, rule.name)
    if named is None or name in chain:
        problem = "goes in a circle" if named else "is not a rule"
        hint = meant(name, (r.name for r in subject.spec.rules if r.name not in chain))
        raise SpecError(f"`by {name}`: {name} {problem}", place=cell.place, hint=hint)
    bare = replace(named, when=(), same_type=False)
    return _program(replace(subject, chain=chain), (bare,))


def _as(subject: Subject, cell: Cell, change: str) -> Program:
    name, _, value = change.partition("=")
    values = next((a.values for a in subject.spec.attributes if a.name == name), ())
    link = f"{AS} {change}"
    if value not in [str(v) for v in values] or link in subject.chain:
        problem = "goes in a circle" if link in subject.chain else "is not a value"
        known = [f"{a.name}={v}" for a in subject.spec.attributes for v in a.values]
        hint = meant(change, known) if known else "the operator has no attributes"
        raise SpecError(f"`{link}` {problem}", place=cell.place, hint=hint)
    attributes = tuple({**dict(subject.attributes), name: value}.items())
    left_out, chain = subject.left_out - {name}, (*subject.chain, link)
    again = replace(subject, attributes=attributes, left_out=left_out, chain=chain)
    return _program(again, subject.spec.rules)


def unknown_words(rules: Iterable[Rule], literals: Mapping[str, Spelling]) -> Iterator[SpecError]:
    """Yield an error for every unknown word of rules."""
    known = {*CONSTANTS, *COMPUTATIONS, AS_REAL, AS_BELOW, BY, AS, TEXT}
    for rule in rules:
        modes = (rule.rounding.mode, *(mode for _, mode in rule.rounding.modes))
        yield from (_unknown_mode(m, rule.place) for m in modes if m and m not in MODES)
        for row in rule.rows:
            named = row.label == ELSE or row.label.startswith(THROUGH)
            if not named and case_word(row.label, literals) is None:
                yield _unknown_case(row, literals)
            for cell in row.cells:
                for one in cell.outcomes:
                    if one.word not in known and not isinstance(one, Through):
                        yield _unknown_outcome(one, cell)
                own = (one.round for one in cell.outcomes)
                yield from (_unknown_mode(m, cell.place) for m in own if m and m not in MODES)


def _unknown_case(row: Row, literals: Mapping[str, Spelling]) -> SpecError:
    hint = meant(row.label, known_cases(literals))
    return SpecError(f"unknown case word {row.label!r}", place=row.place, hint=hint)


def _unknown_outcome(outcome: Outcome, cell: Cell) -> SpecError:
    said = f"{outcome.word} {outcome.argument}".strip()
    known = known_outcomes()
    hint = f"quote it: '[{said}]'" if f"[{said}]" in known else meant(said, known)
    return SpecError(f"unknown outcome word {said!r}", place=cell.place, hint=hint)


def _unknown_mode(mode: str, place: Place) -> SpecError:
    return SpecError(f"unknown rounding mode {mode!r}", place=place, hint=meant(mode, MODES))


def weaker(a: Level, b: Level) -> Level:
    """Return the weaker of two levels."""
    return max(a, b, key=LEVELS.index)


_Decided = tuple[Decision, Row, Cell]  # keeps row and cell alive, so that their ids are not reused
_decisions: WeakKeyDictionary[Spec, dict[tuple[object, ...], _Decided]] = WeakKeyDictionary()


def _decision(subject: Subject, rule: Rule, row: Row, cell: Cell) -> Decision:
    known = _decisions.setdefault(subject.spec, {})
    key = (rule.name, id(row), id(cell), _mode(subject, rule, "", cell))
    if key not in known:
        known[key] = _made(subject, rule, row, cell), row, cell
    return known[key][0]


def _made(subject: Subject, rule: Rule, row: Row, cell: Cell) -> Decision:
    outcomes, names = cell.outcomes, (rule.name, row.label)
    cites = [(o.reading, o.cite or cell.cite) for o in outcomes] if len(outcomes) > 1 else []
    readings, words = tuple(o.reading for o in outcomes), ""
    cited = [cite for _, cite in cites] or [cell.cite]
    if len(rule.rows) > 1 and (rule.columns or rule.cite in cited):  # the citation is of several
        modes = ((o, _mode(subject, rule, o.word, cell, o.round)) for o in outcomes)
        words = row_in_words(row.label, modes)
    of_cell = cell.level, cell.cite, cell.place
    return decision_of(subject.spec, names, *of_cell, readings, cites, words)


def _handed_on(outer: Decision, program: Program) -> list[Decision]:
    """The inner decisions, named by the chain of rules, at the weaker level."""
    return [
        replace(
            inner,
            rule=f"{outer.rule}{ON}{inner.rule}",
            row=inner.row if outer.row == ELSE else f"{outer.row}{ON}{inner.row}",
            level=weaker(outer.level, inner.level),
            trail=(*outer.trail, *inner.trail),
        )
        for inner in program.decisions
    ]


_KEPT_WRONG = 4096  # edited specs


def compile_wrong(spec: Spec, case: Case, causes: Sequence[Cause]) -> Program | None:
    """Return the program with edits of causes, if they change anything and fit."""
    versions = {cause.version for cause in causes if cause.version}
    ruling = _in_force(spec, case, *versions)
    if ruling is None:
        return None
    above, below = _edited(_asked(ruling, case), tuple(causes))
    attributes = _given(ruling, case, *(cause.under for cause in causes))
    source, target = case.inputs[0], case.outputs[0]
    try:
        program = compile_untold(above, source, target, attributes, below)
    except SpecError:
        return None
    return None if program.meaning == right_program(spec, case).meaning else program


@lru_cache(_KEPT_WRONG)
def compile_edited(
    spec: Spec, source: DType, target: DType, causes: tuple[Cause, ...], attributes: Words = (),
    rule: str = "",
) -> Program:  # fmt: skip
    """Return a conversion by rules with edits of causes. Raises SpecError."""
    above, below = _edited(_by_rule(spec, rule), causes)
    return compile_untold(above, source, target, attributes, below)


@lru_cache(_KEPT_WRONG)
def _by_rule(spec: Spec, rule: str) -> Spec:
    return replace(spec, rules=tuple(one for one in spec.rules if rule in ("", one.name)))


@lru_cache(_KEPT_WRONG)
def right_program(spec: Spec, case: Case) -> Program:
    """Return the program without edits. Raises SpecError."""
    return compile_untold(_asked(spec, case), case.inputs[0], case.outputs[0], _given(spec, case))


@lru_cache(_KEPT_WRONG)
def _in_force(spec: Spec, case: Case, *versions: str) -> Spec | None:
    """The spec with earlier rules; None without such a version or types."""
    if not versions:
        return spec
    earlier = spec.earlier(versions[0])
    if earlier is None or len(versions) > 1 or uncovered_by(spec, case):
        return None
    return earlier if is_listed(earlier, case.inputs[0], case.outputs[0]) else None


def _given(spec: Spec, case: Case, *under: Words) -> Words:
    names = {a.name for a in spec.attributes}
    given = {name: str(value) for name, value in case.attributes if name in names}
    given |= {name: value for words in under for name, value in words if name in names}
    return tuple(given.items())


def readings_at(program: Program, points: Points) -> list[Reading]:
    """Return what a program says of some points, under each reading."""
    return points.kept(program.kept_by, lambda: answers_at(program, points))[1]


@lru_cache(_KEPT_WRONG)
def _asked(spec: Spec, case: Case) -> Spec:
    """The spec with the rules that decide a case."""
    entry = uncovered_by(spec, case)
    return replace(spec, rules=(entry.rule,)) if entry else spec


@lru_cache(_KEPT_WRONG)
def _edited(spec: Spec, causes: tuple[Cause, ...]) -> tuple[Spec, Spec]:
    """The spec of the rules that causes add, and the edited one below it."""
    above: tuple[Rule, ...] = ()
    below = spec
    for cause in reversed(dict.fromkeys(causes)):
        if cause.rounds:
            above = tuple(_rounding(rule, cause.rounds) for rule in above)
            below = _rounding_all(below, cause.rounds)
        above = (*cause.rules, *above)
    return replace(spec, rules=above), below


@lru_cache(_KEPT_WRONG)
def _rounding_all(spec: Spec, mode: str) -> Spec:
    return replace(spec, rules=tuple(_rounding(rule, mode) for rule in spec.rules))


def _rounding(rule: Rule, mode: str) -> Rule:
    def rounded(cell: Cell) -> Cell:
        outcomes = tuple(replace(o, round=mode if o.round else "") for o in cell.outcomes)
        return replace(cell, outcomes=outcomes)

    rows = tuple(replace(row, cells=tuple(map(rounded, row.cells))) for row in rule.rows)
    rounding = Rounding(mode) if rule.rounding != Rounding() else rule.rounding
    return replace(rule, rounding=rounding, rows=rows)
