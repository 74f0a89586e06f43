"""Draw the expected outputs of an input or call, its rule, and answers."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod

from convcheck.causes.catalogue import Observation
from convcheck.judge.result import (
    FAILURES,
    BackendInfo,
    CallExample,
    CaseResult,
    Example,
    Group,
    Strip,
    TypeName,
    Verdict,
    Word,
    entry_word,
)
from convcheck.judge.words import (
    cited,
    clean,
    hexadecimal,
    pattern,
    quote,
    translated,
    type_and_shape,
)
from convcheck.numerics.format import Bool, Float, Format, Opaque
from convcheck.numerics.format import Text as TextFormat
from convcheck.numerics.number import Bits
from convcheck.numerics.words import spell, spell_fraction, value_of
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, Block, Codes, Text, cut, field
from convcheck.report.counts import STYLES
from convcheck.report.draw.finding import call_blocks
from convcheck.report.examples import call_in_words, code_in_words, few, spelled
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.expected import (
    ANY_NAN,
    EXACT,
    NEGATIVE_NAN,
    PATTERNS,
    REFUSED,
    CallReading,
    Decision,
    ExpectedOutput,
    Quotation,
    Reading,
)
from convcheck.semantics.trace import Given, Link, RoundedValue, Trace
from convcheck.streams import plural
from convcheck.vectors.model import CallSet, VectorSet

_DIGITS = 40  # digits of an exact value
_LONG = 400
_ELEMENTS = 16  # elements of a sequence or tensor
_FEW = 3  # elements shown with codes
_READINGS = 12
_FAR = 5990  # a text's value is read up to 10^6000
_SIGHT = Fraction(10) ** _FAR
MOST_NAMED = 5  # causes listed and distinguished
_ASKED = 4  # inputs listed
_LEVELS = {
    "implied": "implied: not in so many words",
    "disputed": "disputed: one reading has to hold",
}


def _head(case: Case) -> Iterator[Block]:
    yield Text(case.id, "bold", hang=2)
    yield BLANK


def decision_blocks(by: Decision, links: Sequence[Link] = ()) -> Iterator[Block]:
    """Yield a decision; for an element, with the `links` of its rules."""
    yield from _links("rule", links or [Link(by.rule, by.row, by.place)], rows=not links)
    more = " for all inputs of the case" if links and by.level == "disputed" else ""
    yield field("level", _LEVELS.get(by.level, by.level) + more)
    for one in by.sentences if not (links and by.quotations) else ():  # those of readings
        yield from _sentence(one, one.of)
    if by.row_in_words:
        yield field("row", by.row_in_words)


def _links(label: str, links: Sequence[Link], rows: bool = False) -> Iterator[Block]:
    for i, link in enumerate(links):
        name = f"{link.rule} / {link.row}" if rows else link.rule
        then = "then " if i and not rows else ""
        yield field("" if i else label, then + name, right=[(str(link.place), "dim")])


def _sentence(one: Quotation, part: str = "") -> Iterator[Block]:
    yield field("text", f"{part}: {cited(one.text)}".removeprefix(": "), "italic")
    yield field("", f"— {one.document} {one.id}".rstrip())
    if one.gloss:
        yield field("", translated(one.gloss))


def _accepted(case: Case) -> Iterator[Block]:
    if case.refusal:
        yield field("note", "a backend may also refuse this case")


def _pattern(index: int) -> Block:
    return field("expected", pattern(f"<{PATTERNS[index]}>"), "bold")


def explain_page(
    vectors: VectorSet, trace: Trace, notes: Sequence[str], verbose: bool
) -> Iterator[Block]:
    """Yield an explanation of one input. `verbose` adds the rows tried before."""
    case, code = vectors.case, entry_word(vectors.inputs[0][0])
    target = case.outputs[0].format
    yield from _head(case)
    yield code_block("input", case.inputs[0].format, code)
    yield from (field("note", note) for note in notes)
    if not notes:
        yield from _exact_input(case.inputs[0].format, code, trace.x)
    for rounded in dict.fromkeys(given.rounded for given in trace.given):
        if rounded:
            yield field("[x]", _rounding(target, rounded))
    yield field("case", _matched(target, trace))
    if verbose:
        yield from _links("tried", trace.tried, rows=True)
    yield from decision_blocks(trace.decision, trace.links)
    yield from _accepted(case)
    for given in trace.given:
        yield from _outcome(target, trace.decision, given)


def _exact_input(fmt: Format, code: Word, x: Fraction | None) -> Iterator[Block]:
    if x is None or isinstance(code, str) or isinstance(fmt, Bool | Opaque | TextFormat):
        return
    if Fraction(spell(fmt, code)) != x:
        yield field("x", _exactly(x))


def nearest(dtype: DType, word: str, code: Word) -> str:
    """Return which value of a type replaces one that it cannot represent."""
    assert not isinstance(dtype.format, TextFormat | str)  # noqa: S101
    value = _exactly(value_of(dtype.format, int(code)))
    return f"{word} is not a {dtype}; the nearest is {value}"


def _rounding(target: Format, rounded: RoundedValue) -> str:
    value = _exactly(rounded.value)
    if rounded.negative and not rounded.value:
        value = "-0"
    if not isinstance(target, Float):
        return f"{value}, x rounded to a whole number ({rounded.mode})"
    smallest = Fraction(2) ** (target.lowest_exponent + target.mantissa)
    if abs(rounded.value) < smallest:
        return f"{value}, x rounded to a multiple of 2^{target.lowest_exponent} ({rounded.mode})"
    bits = plural(target.mantissa, "mantissa bit")
    return f"{value}, x rounded to {bits} ({rounded.mode}), exponent unbounded"


def _exactly(value: Fraction) -> str:
    if abs(value) >= _SIGHT:
        return f"beyond {'-' if value < 0 else ''}1e{_FAR}"
    exact = spell_fraction(value, _DIGITS)
    return spell_fraction(value) if exact.startswith("~") else exact


def _matched(target: Format, trace: Trace) -> str:
    rows = [link.row for link in trace.links]
    said = ", then ".join(rows)
    if isinstance(target, TextFormat):
        return said
    for word in ("max", "min"):
        if rows[-1].endswith(word):
            value = getattr(target, word)
            whole = value.denominator == 1 and abs(value) < 2**64
            said += f"   ({word} is {value if whole else spell_fraction(value)})"
    return said + ("   (no row before it holds)" if rows == ["else"] and trace.tried else "")


def _outcome(target: Format, by: Decision, given: Given) -> Iterator[Block]:
    if given.outcome.reading:
        yield BLANK
        yield field("reading", given.outcome.reading, "bold")
        yield from _links("rule", given.links, rows=True)
        for one in by.quotations:
            if one.of == given.outcome.reading:
                yield from _sentence(one)
    yield field("outcome", f"{given.gives.word} {given.gives.argument}".strip())
    if given.pattern == EXACT:
        yield code_block("expected", target, given.code)
        return
    yield _pattern(given.pattern)
    if given.pattern in (ANY_NAN, NEGATIVE_NAN) or (given.code and isinstance(given.code, str)):
        yield code_block("such as", target, given.code)


def explain_call_page(
    spec: Spec, calls: CallSet, notes: Mapping[str, Sequence[str]]
) -> Iterator[Block]:
    """Yield an explanation of one call."""
    [expected], [call] = calls.expected, calls.calls
    yield from _head(calls.case)
    for (name, said), dtype, tensor in zip(notes.items(), calls.case.inputs, call, strict=True):
        yield field(name, _given(_strip(dtype, tensor.shape, tensor.reshape(-1))))
        yield from (field("", note) for note in said)
    yield from decision_blocks(calls.decisions[expected.row])
    yield from _accepted(calls.case)
    outputs = [name for name, _ in spec.outputs]
    for reading in expected.readings[:_READINGS]:
        yield from _reading(outputs, reading, len(expected.readings) > 1)
    if len(expected.readings) > _READINGS:
        yield field("", f"and {plural(len(expected.readings) - _READINGS, 'more reading')}")
    if expected.between:
        yield BLANK
        said = "also what lies, at every index, between the least and the greatest of the readings"
        yield field("tolerated", f"{said}, an ulp more to either side")


def _given(one: Strip) -> str:
    alike = len(set(one.words)) == 1 and len(one.words) > 1
    said = ", ".join(spelled(one, word) for word in one.words[: 1 if alike else _FEW])
    return f"{type_and_shape(one)}  {said}{', each element' if alike else ''}".rstrip()


def _reading(names: Sequence[str], reading: CallReading, several: bool) -> Iterator[Block]:
    if several:
        yield BLANK
        yield field("reading", reading.name or "unnamed", "bold")
    if reading.pattern != EXACT:
        yield _pattern(reading.pattern)
        return
    for i, due in enumerate(reading.outputs):
        named = f"{names[i]}  " if len(reading.outputs) > 1 else ""
        yield field("expected" if not i else "", named + _due(due), "bold")


def _due(due: ExpectedOutput) -> str:
    one = _strip(due.dtype, due.shape, due.codes, due.patterns)
    if len(one.words) <= _FEW:
        return f"{type_and_shape(one)}  {few(one)}".rstrip()
    more = prod(due.shape) - len(one.words)
    said = ", ".join(spelled(one, word, codes=False) for word in one.words)
    return f"{type_and_shape(one)}  {said}" + (f", … and {more:,} more" if more > 0 else "")


def _strip(
    dtype: DType, shape: tuple[int, ...], codes: Bits, patterns: Bits | None = None
) -> Strip:
    words: list[Word] = [int(one) for one in codes[:_ELEMENTS]]
    if patterns is not None:
        said = zip(words, patterns[:_ELEMENTS].tolist(), strict=True)
        words = [w if p == EXACT else f"<{PATTERNS[p]}>" for w, p in said]
    return Strip(TypeName(dtype.name, dtype.format), shape, 0, tuple(words))


def answer_blocks(info: BackendInfo, result: CaseResult) -> Iterator[Block]:
    """Yield a backend's answer to the input, and its verdict."""
    yield BLANK
    yield field("backend", f"{info.name} {info.version}".strip(), "bold")
    yield from judged_blocks(result)


def judged_blocks(result: CaseResult) -> Iterator[Block]:
    """Yield an answer and its verdict."""
    for group in result.groups:
        example = group.examples[0]
        if isinstance(example, CallExample) and example.got is not None:
            named = group.decision.level == "disputed"
            verdict = group.verdict
            call = call_in_words(example, verdict, named=named, inputs=False, most=_ELEMENTS)
            yield from call_blocks(call, indent=0)
        elif isinstance(example, Example) and example.got is not None:
            yield code_block("answer", result.case.outputs[0].format, example.got)
        said = cut(clean(example.message or result.message), _LONG)
        yield field("verdict", _verdict(group, said, example.got), STYLES[group.verdict])
    if not result.groups:
        said = f"{result.verdict}: {cut(clean(result.message), _LONG)}"
        yield field("verdict", said, STYLES[result.verdict])


def _verdict(group: Group, message: str, got: object) -> str:
    where = f', in placement "{group.placement}"' if group.placement else ""
    if group.verdict == "pass":
        return "as expected" if got is not None else f"refused, as expected: {message}"
    if group.verdict == "tolerated":
        return f'as expected under the reading "{group.reading}"'
    if group.verdict == "undefined":
        return "not judged: every answer is right" if got is not None else f"refused: {message}"
    if group.verdict == "fail":
        return f"WRONG: {group.kind}{where}" + (f": {message}" if message else "")
    return f"{group.verdict.upper()}{where}: {message or group.kind}"


def code_block(label: str, fmt: Format, code: Word) -> Block:
    """Return a code with bits, value and hexadecimal, or a text in quotes."""
    if isinstance(code, str) or isinstance(fmt, TextFormat):
        return field(label, cut(quote(str(code)), _LONG))
    return Codes((code_in_words(label, fmt, code),), indent=0)


def title(spec: Spec) -> Text:
    """Return a line with the text by which answers are judged."""
    text = spec.sources.get("text") or next(iter(spec.sources.values()))
    return Text(f"judged by {text.title}, {text.section}", "bold")


def summed_up(each: Sequence[Verdict], whole: Verdict) -> Text:
    """Return a line that counts wrong answers, given the verdicts on each and on all together."""
    wrong = sum(verdict in FAILURES for verdict in each)
    if wrong:
        said = f"WRONG  {wrong} of {plural(len(each), 'answer')}"
    elif whole in FAILURES:
        said = "WRONG  no reading of a disputed rule holds for all answers"
    elif set(each) == {"undefined"}:
        said = "NOT JUDGED  the standard leaves it open"
    else:
        said = f"RIGHT  {plural(len(each), 'answer')}"
    return Text(said, "bold red" if whole in FAILURES else "bold green")


def fitting(fits: Sequence[Cause], telling: Sequence[str], verbose: bool) -> Iterator[Block]:
    """Yield matching causes, all if `verbose`, and inputs that distinguish them."""
    yield BLANK
    if not fits:
        yield Text("no cause of the catalogue gives all of these answers")
        return
    said = "gives" if len(fits) == 1 else "each give"
    yield Text(f"{plural(len(fits), 'cause')} {said} all of these answers:", "bold")
    shown = fits if verbose else fits[:MOST_NAMED]
    yield from (Text(cause.says, indent=2, hang=2) for cause in shown)
    if len(shown) < len(fits):
        yield Text(f"  and {len(fits) - len(shown)} more (-v)", "dim")
    if telling:
        yield BLANK
        yield Text("inputs that tell some of them apart:")
        yield from (Text(said, indent=2, hang=2) for said in telling[:_ASKED])


def seen_blocks(case: Case, seen: Sequence[tuple[Observation, Reading]]) -> Iterator[Block]:
    """Yield observed answers of releases, a line per answer."""
    target = case.outputs[0].format
    told = grouped(
        ((one.cause.says, _answer(target, given)), f"{one.runtime} {one.release}")
        for one, given in seen
    )
    for i, ((says, said), names) in enumerate(told.items()):
        yield field("" if i else "seen", f"{', '.join(names)}: {says}; here: {said}")


def _answer(fmt: Format, given: Reading) -> str:
    if given.patterns[0] == REFUSED:
        return "refused"
    if given.patterns[0] in (ANY_NAN, NEGATIVE_NAN):
        return "NaN"
    return spelled_code(fmt, entry_word(given.codes[0]))


def spelled_code(fmt: Format, word: Word) -> str:
    """Return a code with its value, or a text in quotes."""
    if isinstance(word, str) or isinstance(fmt, TextFormat):
        return quote(str(word))
    return f"{hexadecimal(fmt, word)} ({spell(fmt, word)})"
