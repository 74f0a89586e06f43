"""What the standard wants of one input, and why; and what a backend answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import BackendInfo, CallExample, CaseResult, Example, Group, Word
from convcheck.judge.words import cited, clean, hexadecimal, pattern, quote, translated
from convcheck.numerics.decimal import spell, spell_fraction, value_of
from convcheck.numerics.format import Bool, Float, Format, Opaque
from convcheck.numerics.format import Text as TextFormat
from convcheck.report.draw.finding import call_lines, styled
from convcheck.report.draw.layout import cut, paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.report.examples import bit_lines, call_in_words
from convcheck.report.status import STATUSES
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.expected import ANY_NAN, EXACT, NEGATIVE_NAN, PATTERNS, Quotation
from convcheck.semantics.trace import Given, Link, RoundedValue, Trace
from convcheck.wording import plural

_LABEL = 10
_DIGITS = 40  # of an exact value
_LONG = 400
_ELEMENTS = 16  # of a sequence or a tensor
_FAR = 5990  # a text's value is read no farther than 10^6000
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
    """One input of a case: the word that it was given as, its code or text, what decides it."""

    spec: Spec
    case: Case
    word: str
    code: Word
    #: Whether the type has the value that was given.
    exact: bool
    trace: Trace


def explained_lines(it: Explained, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield the lines of an explanation; `verbose` adds the rows that were tried before."""
    yield StyledText(it.case.id, "bold")
    yield StyledText()
    yield from _input(it, width)
    for rounded in dict.fromkeys(g.rounded for g in it.trace.given):
        if rounded:
            yield from line("[x]", _rounding(it.case.outputs[0].format, rounded), width)
    yield from line("case", _matched(it), width)
    if verbose:
        yield from _links("tried", it.trace.tried, width, rows=True)
    yield from _why(it, width)
    for given in it.trace.given:
        yield from _outcome(it, given, width)


def _input(it: Explained, width: int) -> Iterator[StyledText]:
    source, x = it.case.inputs[0], it.trace.x
    yield from code_lines("input", source.format, it.code, "", width)
    if x is None or isinstance(it.code, str) or isinstance(source.format, TextFormat):
        return
    if not it.exact:
        yield from line("note", nearest(source, it.word, it.code), width)
    elif (
        not isinstance(source.format, Bool | Opaque)
        and Fraction(spell(source.format, it.code)) != x
    ):
        yield from line("x", _exactly(x), width)


def nearest(dtype: DType, word: str, code: Word) -> str:
    """Say which value of a type stands for a word that is none of its values."""
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
    """Spell a value exactly, where that takes too many digits nearly so, with a ~ before it."""
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


def _links(
    label: str, links: tuple[Link, ...], width: int, rows: bool = False
) -> Iterator[StyledText]:
    """Yield a line a row of the spec, with where it stands."""
    for i, link in enumerate(links):
        name = f"{link.rule} / {link.row}" if rows else link.rule
        then = "then " if i and not rows else ""
        left = StyledText.assemble(_label(label if not i else ""), then + name)
        yield from to_margins(left, StyledText(str(link.place), "dim"), width)


def _why(it: Explained, width: int) -> Iterator[StyledText]:
    by = it.trace.decision
    yield from _links("rule", it.trace.links, width)
    yield from line("level", LEVELS[by.level], width)
    if not by.quotations:  # else each stands with its reading
        yield from sentence_lines(by.sentences[0], width)
    if by.row_in_words:
        yield from line("row", by.row_in_words, width)
    if is_accepted(it.case):
        yield from line("note", "a backend may also refuse this case", width)


def _outcome(it: Explained, given: Given, width: int) -> Iterator[StyledText]:
    outcome, target = given.outcome, it.case.outputs[0].format
    if outcome.reading:
        yield StyledText()
        yield from line("reading", outcome.reading, width, "bold")
        yield from _links("rule", given.links, width, rows=True)
        for one in it.trace.decision.quotations:
            if one.of == outcome.reading:
                yield from sentence_lines(one, width)
    yield from line("outcome", f"{given.gives.word} {given.gives.argument}".strip(), width)
    if given.pattern == EXACT:
        yield from code_lines("expected", target, given.code, "", width)
        return
    yield from line("expected", pattern(f"<{PATTERNS[given.pattern]}>"), width, "bold")
    if given.pattern in (ANY_NAN, NEGATIVE_NAN) or (given.code and isinstance(given.code, str)):
        yield from code_lines("such as", target, given.code, "", width)


def sentence_lines(one: Quotation, width: int, part: str = "") -> Iterator[StyledText]:
    """Yield a sentence, after the part of the row that rests on it, and where it stands."""
    said = f"{part}: " if part else ""
    yield from line("text", f"{said}{cited(one.text)}", width, "italic")
    yield from line("", f"— {one.document}", width)
    if one.gloss:
        yield from line("", translated(one.gloss), width)


def answer_lines(info: BackendInfo, result: CaseResult, width: int) -> Iterator[StyledText]:
    """Yield the lines of a backend's answer to the one input, and whether it is right."""
    yield StyledText()
    yield from line("backend", f"{info.name} {info.version}".strip(), width, "bold")
    yield from judged_lines(result, width)


def judged_lines(result: CaseResult, width: int) -> Iterator[StyledText]:
    """Yield the lines of an answer, and whether it is right."""
    for group in result.groups:
        example = group.examples[0]
        if isinstance(example, CallExample) and example.got is not None:
            yield from _call(group, example, width)
        elif isinstance(example, Example) and example.got is not None:
            yield from code_lines("answer", result.case.outputs[0].format, example.got, "", width)
        said = cut(clean(example.message or result.message), _LONG)
        yield from line(
            "verdict", _verdict(group, said, example.got), width, _STYLES[group.verdict]
        )
    if not result.groups:
        said = f"{result.verdict}: {cut(clean(result.message), _LONG)}"
        yield from line("verdict", said, width, _STYLES[result.verdict])


def _call(group: Group, example: CallExample, width: int) -> Iterator[StyledText]:
    """Yield the answer to a whole call beside what was due; the inputs stand above."""
    disputed = group.decision.level == "disputed"
    shown = call_in_words(example, group.verdict, named=disputed, inputs=False, most=_ELEMENTS)
    yield from call_lines(shown, width, indent=0)


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


def code_lines(label: str, fmt: Format, code: Word, style: str, width: int) -> Iterator[StyledText]:
    """Yield a code's bits, value and hexadecimal; on two lines where they do not fit one."""
    if isinstance(code, str) or isinstance(fmt, TextFormat):
        yield from line(label, cut(quote(str(code)), _LONG), width, style)
        return
    *front, last = map(styled, bit_lines(fmt, code))
    value = StyledText.assemble(
        (spell(fmt, code), "bold"), "  ", (f"({hexadecimal(fmt, code)})", "dim")
    )
    for i, bits in enumerate(front):
        yield StyledText.assemble(_label("" if i else label), bits)
    row = StyledText.assemble(_label("" if front else label), last)
    if row.cell_len + 3 + value.cell_len <= width:
        yield StyledText.assemble(row, "   ", value)
    else:
        yield from (row, StyledText.assemble(_label(""), value))


def line(label: str, words: str, width: int, style: str = "") -> Iterator[StyledText]:
    """Yield a labelled line, broken to the width."""
    indent = max(_LABEL, len(label) + 1)
    first, *more = paragraph(words, width, indent=indent, style=style) or [StyledText()]
    yield StyledText.assemble(StyledText(label.ljust(indent), "dim"), first.after(indent))
    yield from more


def _label(label: str) -> StyledText:
    return StyledText(label.ljust(_LABEL), "dim")
