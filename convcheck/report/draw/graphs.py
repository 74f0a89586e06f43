"""What backends make of chains as graphs, for a terminal: a line for each setting that tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.chains.asked import CAST_BY_CAST
from convcheck.judge.result import BackendInfo, Example, Word
from convcheck.numerics.format import Format
from convcheck.plan.chains import ChainOfBackend, GraphAnswer
from convcheck.report.draw.chain import arrows
from convcheck.report.draw.explain import code_lines, line
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.wording import plural


def graph_lines(
    info: BackendInfo, found: Sequence[ChainOfBackend], width: int
) -> Iterator[StyledText]:
    """Yield the lines of one backend."""
    yield from line("backend", f"{info.name} {info.version}".strip(), width, "bold")
    told = [one for one in found if not one.untold]
    changed = [one for one in told if one.changed]
    said = _of_one(found[0]) if len(found) == 1 else _of_several(found, told, changed)
    yield from line("graphs", said, width, "bold red" if changed else "bold green")
    for one in changed:
        yield StyledText()
        yield StyledText(arrows(one.types), "bold")
        for answer in one.changed:
            yield from paragraph(_changed(answer), width, hang=2, style="red")
        yield from _others(one, width)
        yield from _example(one, width)
    if len(found) == 1 and told and not changed:
        yield from _others(told[0], width)


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


def untold_lines(width: int) -> Iterator[StyledText]:
    """Yield what there is to say where nothing can be asked."""
    said = "no input tells whether a cast is left out: the chain is equal, or disputed"
    yield from paragraph(said, width, indent=0)


def _setting(answer: GraphAnswer) -> str:
    return ", ".join(f"{name} {value}" for name, value in answer.setting) or "cast by cast"


def _changed(answer: GraphAnswer) -> str:
    if not answer.made:
        count = f"{answer.count} of {plural(answer.of, 'answer')}"
        return f"{_setting(answer)}: no cast that is left out or added explains it ({count} right)"
    return f"{_setting(answer)}: {answer.made}, {answer.count} of {plural(answer.of, 'answer')}"


def _example(one: ChainOfBackend, width: int) -> Iterator[StyledText]:
    """Yield an input with what every cast gives of it, and what came."""
    example = next((each.example for each in one.changed if each.example), None)
    if example is not None:
        yield from _codes(example, one.types[0].format, one.types[-1].format, width)


def _codes(example: Example, source: Format, target: Format, width: int) -> Iterator[StyledText]:
    words: tuple[tuple[str, Format, Word | None], ...] = (
        ("input", source, example.inputs[0]), ("due", target, example.expected),
        ("got", target, example.got),
    )  # fmt: skip
    for said, fmt, word in words:
        if isinstance(word, int):
            yield from code_lines(said, fmt, word, "", width)


def _others(one: ChainOfBackend, width: int) -> Iterator[StyledText]:
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    yield from paragraph(f"cast by cast in {plural(right, 'setting')}", width, style="dim")
    for answer in one.answers:
        if answer.allowed:
            said = f"{_setting(answer)}: {answer.made}, as it says that it may"
            yield from paragraph(said, width, hang=2, style="dim")
    for message in dict.fromkeys(answer.message for answer in one.answers if answer.message):
        count = sum(answer.message == message for answer in one.answers)
        yield from paragraph(f"no answer in {plural(count, 'setting')}: {message}", width, hang=2)
