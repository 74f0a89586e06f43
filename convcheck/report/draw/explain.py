"""Draw the expected value of one input, its rule, and a backend's answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from convcheck.judge.result import BackendInfo, CallExample, CaseResult, Example, Group, Word
from convcheck.judge.words import cited, clean, pattern, quote, translated
from convcheck.numerics.format import Bool, Float, Format, Opaque
from convcheck.numerics.format import Text as TextFormat
from convcheck.numerics.words import spell, spell_fraction, value_of
from convcheck.report.blocks import BLANK, Block, Codes, Text, cut, field
from convcheck.report.draw.finding import call_blocks
from convcheck.report.examples import call_in_words, code_in_words
from convcheck.report.status import STATUSES
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.expected import ANY_NAN, EXACT, NEGATIVE_NAN, PATTERNS, Quotation
from convcheck.semantics.trace import Given, Link, RoundedValue, Trace
from convcheck.streams import plural

_DIGITS = 40  # digits of an exact value
_LONG = 400
_ELEMENTS = 16  # elements of a sequence or tensor
_FAR = 5990  # a text's value is read up to 10^6000
_SIGHT = Fraction(10) ** _FAR
_STYLES = {status.word: status.style for status in STATUSES}
LEVELS = {
    "normative": "normative",
    "implied": "implied: not in so many words",
    "disputed": "disputed: one reading has to hold for all inputs of the case",
    "undefined": "undefined",
}


@dataclass(frozen=True)
class Explained:
    """One input of a case as written, its code or text, and the decision."""

    spec: Spec
    case: Case
    word: str
    code: Word
    #: Whether the type has the written value.
    exact: bool
    trace: Trace


def explain_page(it: Explained, verbose: bool) -> Iterator[Block]:
    """Yield an explanation. `verbose` adds the rows tried before."""
    yield Text(it.case.id, "bold")
    yield BLANK
    yield from _input(it)
    for rounded in dict.fromkeys(g.rounded for g in it.trace.given):
        if rounded:
            yield field("[x]", _rounding(it.case.outputs[0].format, rounded))
    yield field("case", _matched(it))
    if verbose:
        yield from _links("tried", it.trace.tried, rows=True)
    yield from _why(it)
    for given in it.trace.given:
        yield from _outcome(it, given)


def _input(it: Explained) -> Iterator[Block]:
    source, x = it.case.inputs[0], it.trace.x
    yield code_block("input", source.format, it.code)
    if x is None or isinstance(it.code, str) or isinstance(source.format, TextFormat):
        return
    if not it.exact:
        yield field("note", nearest(source, it.word, it.code))
    elif (
        not isinstance(source.format, Bool | Opaque)
        and Fraction(spell(source.format, it.code)) != x
    ):
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
    """Spell a value exactly; if that takes too many digits, approximately with a ~."""
    if abs(value) >= _SIGHT:
        return f"beyond {'-' if value < 0 else ''}1e{_FAR}"
    exact = spell_fraction(value, _DIGITS)
    return spell_fraction(value) if exact.startswith("~") else exact


def _matched(it: Explained) -> str:
    rows = [link.row for link in it.trace.links]
    target = it.case.outputs[0].format
    said = ", then ".join(rows)
    if isinstance(target, TextFormat):
        return said
    for word in ("max", "min"):
        if rows[-1].endswith(word):
            said += f"   ({word} is {_bound(getattr(target, word))})"
    return said + ("   (no row before it holds)" if rows == ["else"] and it.trace.tried else "")


def _bound(value: Fraction) -> str:
    return str(value) if value.denominator == 1 and abs(value) < 2**64 else spell_fraction(value)


def _links(label: str, links: tuple[Link, ...], rows: bool = False) -> Iterator[Block]:
    for i, link in enumerate(links):
        name = f"{link.rule} / {link.row}" if rows else link.rule
        then = "then " if i and not rows else ""
        yield field("" if i else label, then + name, right=[(str(link.place), "dim")])


def _why(it: Explained) -> Iterator[Block]:
    by = it.trace.decision
    yield from _links("rule", it.trace.links)
    yield field("level", LEVELS[by.level])
    if not by.quotations:  # quotations are printed with their readings
        yield from sentence_blocks(by.sentences[0])
    if by.row_in_words:
        yield field("row", by.row_in_words)
    if it.case.refusal:
        yield field("note", "a backend may also refuse this case")


def _outcome(it: Explained, given: Given) -> Iterator[Block]:
    outcome, target = given.outcome, it.case.outputs[0].format
    if outcome.reading:
        yield BLANK
        yield field("reading", outcome.reading, "bold")
        yield from _links("rule", given.links, rows=True)
        for one in it.trace.decision.quotations:
            if one.of == outcome.reading:
                yield from sentence_blocks(one)
    yield field("outcome", f"{given.gives.word} {given.gives.argument}".strip())
    if given.pattern == EXACT:
        yield code_block("expected", target, given.code)
        return
    yield field("expected", pattern(f"<{PATTERNS[given.pattern]}>"), "bold")
    if given.pattern in (ANY_NAN, NEGATIVE_NAN) or (given.code and isinstance(given.code, str)):
        yield code_block("such as", target, given.code)


def sentence_blocks(one: Quotation, part: str = "") -> Iterator[Block]:
    """Yield a quoted sentence and its source, after the `part` of the row that it supports."""
    said = f"{part}: " if part else ""
    yield field("text", f"{said}{cited(one.text)}", "italic")
    yield field("", f"— {one.document}")
    if one.gloss:
        yield field("", translated(one.gloss))


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
            yield from _call(group, example)
        elif isinstance(example, Example) and example.got is not None:
            yield code_block("answer", result.case.outputs[0].format, example.got)
        said = cut(clean(example.message or result.message), _LONG)
        yield field("verdict", _verdict(group, said, example.got), _STYLES[group.verdict])
    if not result.groups:
        said = f"{result.verdict}: {cut(clean(result.message), _LONG)}"
        yield field("verdict", said, _STYLES[result.verdict])


def _call(group: Group, example: CallExample) -> Iterator[Block]:
    """Yield the answer to a call and the expected tensors, without inputs."""
    disputed = group.decision.level == "disputed"
    shown = call_in_words(example, group.verdict, named=disputed, inputs=False, most=_ELEMENTS)
    yield from call_blocks(shown, indent=0)


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
