"""Draw the wrong conversions that reproduce all given answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.causes.catalogue import Observation
from convcheck.judge.result import Word, entry_word
from convcheck.judge.words import hexadecimal, quote
from convcheck.numerics.format import Format
from convcheck.numerics.format import Text as TextFormat
from convcheck.numerics.words import spell
from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import ANY_NAN, NEGATIVE_NAN, REFUSED, Reading
from convcheck.streams import plural

MOST_NAMED = 5  # causes listed and distinguished
_ASKED = 4  # inputs listed


def title(spec: Spec) -> Text:
    """Return a line with the text by which answers are judged."""
    text = spec.sources.get("text") or next(iter(spec.sources.values()))
    return Text(f"judged by {text.title}, {text.section}", "bold")


def fitting(fits: Sequence[Cause], telling: Sequence[str], verbose: bool) -> Iterator[Block]:
    """Yield matching causes and inputs that distinguish them. `verbose` shows all causes."""
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
    """Yield observed answers of runtime releases to an input, a line per answer."""
    told: dict[tuple[str, str], list[str]] = {}
    for one, given in seen:
        said = _answer(case.outputs[0].format, given)
        told.setdefault((one.cause.says, said), []).append(f"{one.runtime} {one.release}")
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
