"""Put inputs, expected values and answers in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from convcheck.judge.result import FAILURES, CallExample, Example, Strip, Verdict, Word
from convcheck.judge.words import (
    clean,
    code_text,
    hexadecimal,
    pattern,
    quote,
    type_and_shape,
    value,
)
from convcheck.numerics.format import Bool, Float, Format, Numeric, Text
from convcheck.numerics.words import spell
from convcheck.records import replace
from convcheck.report.blocks import CodeInWords, Piece, Pieces, Role, cut, line_of
from convcheck.rules.model import Case
from convcheck.streams import plural

LONG = 400  # characters of a text or message; JSON reports have all
MOST = 8  # elements side by side
_NIBBLES = 8  # nibbles of an integer per line
_FEW = 3  # elements after a tensor's name
_SHORT = 40
# Patterns abbreviated for columns.
_BRIEF = {"<undefined>": "anything", "<zero>": "±0", "<nan>": "any NaN", "<-nan>": "-NaN"}


@dataclass(frozen=True)
class ElementCell:
    """An element of a tensor, with and without its code."""

    full: str  # value and code: 0.1 (0x3dcccccd)
    brief: str


@dataclass(frozen=True)
class Elements:
    """Elements of tensors side by side."""

    #: The columns' names. The last two are the expected value and the answer.
    heads: tuple[str, ...]
    rows: tuple[tuple[ElementCell, ...], ...]
    output: int  # the output's number from 1, or 0 if there is only one
    first: int  # the first row's index
    at: int  # the index of the first differing element; -1 for none
    wrong: tuple[int, ...]
    rest: str  # how many elements differ, or the shown range; '' if all are shown


@dataclass(frozen=True)
class Labelled:
    """A line with a label."""

    label: str
    words: str
    wrong: bool = False


@dataclass(frozen=True)
class CallInWords:
    """An example of a call."""

    lines: tuple[Labelled, ...]  # types and shapes of inputs, expected outputs and answer
    elements: Elements | None = None  # None without an answer, or if types differ
    message: str = ""  # the runtime's message; for an inconsistent answer, both answers


def labels(verdict: Verdict) -> tuple[str, str]:
    """Return labels of the expected value and the answer, or of two inconsistent answers."""
    return ("one way", "another") if verdict == "inconsistent" else ("expected", "got")


def element_in_words(case: Case, example: Example, verdict: Verdict) -> tuple[CodeInWords, ...]:
    """Return the inputs, expected value and answer of an element."""
    target = case.outputs[0].format
    due, came = labels(verdict)
    wanted = code_in_words(due, target, example.expected)
    if example.got is None:
        said = f"nothing, {verdict}: {clean(example.message)}".rstrip(": ")
        said = "nothing" if verdict == "inconsistent" else said  # the message has both answers
        got = CodeInWords(came, words=cut(said, LONG))
    else:
        got = marked(code_in_words(came, target, example.got), wanted)
    several = len(example.inputs) > 1
    given = zip(case.inputs, example.inputs, strict=False)  # of a companion only the type counts
    inputs = (
        code_in_words(f"input {i}" if several else "input", dtype.format, word)
        for i, (dtype, word) in enumerate(given, 1)
    )
    return (*inputs, wanted, got)


def code_in_words(label: str, fmt: Format, word: Word) -> CodeInWords:
    """Return a code as bits, value and hexadecimal. Patterns and texts stay words."""
    if isinstance(word, str) or isinstance(fmt, Text):
        return CodeInWords(label, words=pattern(word) or cut(quote(str(word)), LONG))
    return CodeInWords(
        label, tuple(_bit_lines(fmt, word)), spell(fmt, word), f"({hexadecimal(fmt, word)})"
    )


def _bit_lines(fmt: Numeric, code: int) -> Iterator[Pieces]:
    if isinstance(fmt, Float):
        fields = [Piece(bits, role) for role, bits in _fields(fmt, code)]
        yield tuple(one for field in fields for one in (Piece(" "), field))[1:]
        return
    width = 8 if isinstance(fmt, Bool) and code > 1 else fmt.bits
    digits = f"{code:0{width}b}"
    nibbles = [digits[i : i + 4] for i in range(0, len(digits), 4)]
    for i in range(0, len(nibbles), _NIBBLES):
        yield (Piece(" ".join(nibbles[i : i + _NIBBLES])),)


def _fields(fmt: Float, code: int) -> Iterator[tuple[Role, str]]:
    digits = f"{code:0{fmt.bits}b}"
    start = 0
    widths: dict[Role, int] = {
        "sign": int(fmt.signed),
        "exponent": fmt.exponent,
        "mantissa": fmt.mantissa,
    }
    for role, width in widths.items():
        if width:
            yield role, digits[start : start + width]
        start += width


def marked(got: CodeInWords, expected: CodeInWords) -> CodeInWords:
    """Mark the bits of an answer that differ from the expected ones."""
    both = zip(got.bits, expected.bits, strict=False)
    marked = tuple(_differing(ours, theirs) for ours, theirs in both)
    return replace(got, bits=marked + got.bits[len(marked) :])


def _differing(ours: Pieces, theirs: Pieces) -> Pieces:
    due = [letter for span in theirs for letter in span.text]
    letters = [(letter, span.role) for span in ours for letter in span.text]
    both = zip_longest(letters, due[: len(letters)])
    return line_of([Piece(text, role, other not in (None, text)) for (text, role), other in both])


def call_in_words(
    example: CallExample,
    verdict: Verdict,
    *,
    named: bool = True,
    inputs: bool = True,
    most: int = MOST,
) -> CallInWords:
    """Return a call in words, with at most `most` elements around the first difference.

    `named` adds the closest reading.
    """
    several = len(example.inputs) > 1
    lines = [
        Labelled(f"input {i}" if several else "input", "  ".join(said))
        for i, said in enumerate(_inputs_in_words(example) if inputs else (), 1)
    ]
    due, got, heads = example.expected, example.got, labels(verdict)
    if got is None or isinstance(due, str):
        if got is not None:
            came = _whole(got)
        elif verdict == "inconsistent":
            came = "nothing"  # the message has both answers
        else:
            came = "a refusal" if verdict not in FAILURES else f"nothing, {verdict}"
            came = cut(f"{came}: {clean(example.message)}".rstrip(": "), LONG)
        lines += [Labelled(heads[0], _whole(due)), Labelled(heads[1], came)]
        return CallInWords(tuple(lines), message=example.message)
    reading = f"; closest reading: {example.reading}" if named and example.reading else ""
    lines.append(Labelled(heads[0], forms(due) + reading))
    form_differs = example.difference is not None and example.difference[1] < 0
    lines.append(Labelled(heads[1], forms(got), form_differs))
    return CallInWords(tuple(lines), _elements_of(example, heads, most), example.message)


def forms(strips: tuple[Strip, ...]) -> str:
    """Return types and shapes."""
    return "; ".join(map(type_and_shape, strips))


def _inputs_in_words(example: CallExample) -> Iterator[tuple[str, str]]:
    differs = example.difference is not None and example.difference[1] >= 0
    for strip, word in zip_longest(example.inputs, example.arguments if differs else ()):
        several = word is not None and prod(strip.shape) > 1
        yield type_and_shape(strip), f"…, {spelled(strip, word)}, …" if several else few(strip)


def few(strip: Strip) -> str:
    """Return a tensor's first elements, with … if there are more."""
    words = [spelled(strip, word) for word in strip.words[:_FEW]]
    more = prod(strip.shape) > len(words)
    return ", ".join([*words, *(["…"] if more else [])])


def _whole(strips: tuple[Strip, ...] | str) -> str:
    if isinstance(strips, str):
        return pattern(strips) or strips
    return "; ".join(f"{type_and_shape(strip)}  {few(strip)}" for strip in strips)


def spelled(strip: Strip, word: Word, codes: bool = True) -> str:
    """Return a value, with its code if `codes`: 0.1 (0x3dcccccd). Patterns are in words."""
    if isinstance(word, str):
        return _BRIEF.get(word) or pattern(word) or word
    if strip.format is None:
        return hex(word)
    said = str(value(strip.format, word))
    return f"{said} ({code_text(strip.format, word)})" if codes else said


def _elements_of(example: CallExample, labels: tuple[str, str], most: int) -> Elements | None:
    due, got = example.expected, example.got
    output = example.difference[0] if example.difference else 0
    if isinstance(due, str) or got is None or output >= min(len(due), len(got)):
        return None
    wanted, came = due[output], got[output]
    if wanted.type != came.type:
        return None
    beside = [
        (i, s)
        for i, s in enumerate(example.inputs, 1)
        if s.shape == wanted.shape and s.first == wanted.first and s.shape
    ]
    several = len(example.inputs) > 1
    names = (f"input {i}" if several else "input" for i, _ in beside)
    strips = [*(strip for _, strip in beside), wanted, came]
    count = min(max(len(wanted.words), len(came.words)), most)
    return Elements(
        (*names, *labels),
        tuple(tuple(_cell(strip, i) for strip in strips) for i in range(count)),
        output + 1 if len(got) > 1 else 0,
        wanted.first,
        example.difference[1] if example.difference else -1,
        tuple(i for i in range(count) if example.wrong and _differs(wanted, came, i)),
        _rest(example, wanted, came, count),
    )


def _cell(strip: Strip, i: int) -> ElementCell:
    if i >= len(strip.words):
        return ElementCell("—", "—")
    return ElementCell(spelled(strip, strip.words[i]), spelled(strip, strip.words[i], codes=False))


def _differs(due: Strip, got: Strip, i: int) -> bool:
    if i >= len(due.words) or i >= len(got.words):
        return True
    return isinstance(due.words[i], int) and due.words[i] != got.words[i]


def _rest(example: CallExample, due: Strip, got: Strip, count: int) -> str:
    if example.wrong > 1:
        return f"{plural(example.wrong, 'element')} of {prod(due.shape):,} differ"
    size = max(prod(due.shape), prod(got.shape))
    if size > count and not example.wrong:
        return f"elements {due.first:,} to {due.first + count - 1:,} of {size:,}"
    return ""


def with_deciding_words(example: Example | CallExample) -> Example | CallExample:
    """Add the input words for `convcheck explain` to an example."""
    if isinstance(example, CallExample):
        return replace(example, arguments=deciding_words(example))
    return example


def deciding_words(example: CallExample) -> tuple[Word, ...]:
    """Return a word per input: behind the difference, or the first; empty without elements."""
    output, element = example.difference or (0, -1)
    strips = () if isinstance(example.expected, str) else example.expected
    shape = strips[output].shape if output < len(strips) else None
    at = [max(element - s.first, 0) if s.shape == shape else 0 for s in example.inputs]
    given = list(zip(example.inputs, at, strict=True))
    if not all(i < len(strip.words) for strip, i in given):
        return ()
    return example.arguments or tuple(strip.words[i] for strip, i in given)


def question_in_words(case: Case, example: Example | CallExample) -> str:
    """Return the inputs of an example: '-1.5 (0xbfc00000)'."""
    if isinstance(example, CallExample):
        return ", ".join(_tensor(strip) for strip in example.inputs)
    pairs = zip(case.inputs, example.inputs, strict=False)  # a companion has no word
    return ", ".join(_element(dtype.format, word) for dtype, word in pairs)


def answer_in_words(case: Case, example: Example | CallExample) -> str:
    """Return an answer, or 'nothing'."""
    if example.got is None:
        said = cut(clean(example.message), _SHORT)
        return f"nothing ({said})" if said else "nothing"
    if isinstance(example, CallExample):
        return " and ".join(_tensor(strip) for strip in example.got or ())
    return _element(case.outputs[0].format, example.got)


def _element(fmt: Format, word: Word) -> str:
    if isinstance(word, str):
        return cut(quote(word), _SHORT)
    return f"{value(fmt, word)} ({code_text(fmt, word)})"


def _tensor(strip: Strip) -> str:
    shape = f"[{','.join(map(str, strip.shape))}]" if strip.shape else ""
    if strip.format is None:
        return f"{strip.type}{shape}"
    values = [str(value(strip.format, word)) for word in strip.words]
    more = ["…"] if prod(strip.shape) > len(values) else []
    return " ".join([f"{strip.type}{shape}", *values, *more])
