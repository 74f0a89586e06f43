"""Draw how backends run chains as graphs, a line for each setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.chains.asked import CAST_BY_CAST
from convcheck.judge.result import BackendInfo, Example, Word
from convcheck.numerics.format import Format
from convcheck.plan.chains import ChainOfBackend, GraphAnswer
from convcheck.report.blocks import BLANK, Block, Text, field, under
from convcheck.report.draw.chain import arrows
from convcheck.report.draw.explain import code_block
from convcheck.streams import plural


def graph_page(info: BackendInfo, found: Sequence[ChainOfBackend]) -> Iterator[Block]:
    """Yield how one backend runs chains."""
    yield field("backend", f"{info.name} {info.version}".strip(), "bold")
    told = [one for one in found if not one.untold]
    changed = [one for one in told if one.changed]
    said = _of_one(found[0]) if len(found) == 1 else _of_several(found, told, changed)
    yield field("graphs", said, "bold red" if changed else "bold green")
    for one in changed:
        yield BLANK
        yield Text(arrows(one.types), "bold")
        yield from (under(_changed(answer), "red", hang=2) for answer in one.changed)
        yield from _others(one)
        example = next((each.example for each in one.changed if each.example), None)
        if example is not None:
            yield from _codes(example, one.types[0].format, one.types[-1].format)
    if len(found) == 1 and told and not changed:
        yield from _others(told[0])


def _of_one(one: ChainOfBackend) -> str:
    every = plural(len(one.answers), "setting")
    if one.untold:
        return f"nothing can be told: {', '.join(one.untold)}"
    if one.changed:
        return f"the casts are not all made in {len(one.changed)} of {every}"
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    return f"every cast is made in {right} of {every}"


def _of_several(
    found: Sequence[ChainOfBackend], told: Sequence[ChainOfBackend], changed: Sequence[object]
) -> str:
    said = f"{plural(len(told), 'chain')} asked; of {len(changed)}, the casts are not all made"
    if len(told) < len(found):
        said += f"; {len(found) - len(told)} not judged, since a cast alone is wrong or unsupported"
    return said


UNTOLD = Text("no input tells whether a cast is left out: the chain is equal, or disputed")


def _setting(answer: GraphAnswer) -> str:
    return ", ".join(f"{name} {value}" for name, value in answer.setting) or "cast by cast"


def _changed(answer: GraphAnswer) -> str:
    if not answer.made:
        count = f"{answer.count} of {plural(answer.of, 'answer')}"
        return f"{_setting(answer)}: no cast that is left out or added explains it ({count} right)"
    return f"{_setting(answer)}: {answer.made}, {answer.count} of {plural(answer.of, 'answer')}"


def _codes(example: Example, source: Format, target: Format) -> Iterator[Block]:
    words: tuple[tuple[str, Format, Word | None], ...] = (
        ("input", source, example.inputs[0]), ("due", target, example.expected),
        ("got", target, example.got),
    )  # fmt: skip
    for said, fmt, word in words:
        if isinstance(word, int):
            yield code_block(said, fmt, word)


def _others(one: ChainOfBackend) -> Iterator[Block]:
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    yield under(f"cast by cast in {plural(right, 'setting')}", "dim")
    for answer in one.answers:
        if answer.allowed:
            said = f"{_setting(answer)}: {answer.made}, as it says that it may"
            yield under(said, "dim", hang=2)
    for message in dict.fromkeys(answer.message for answer in one.answers if answer.message):
        count = sum(answer.message == message for answer in one.answers)
        yield under(f"no answer in {plural(count, 'setting')}: {message}", hang=2)
