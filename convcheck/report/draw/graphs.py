"""What backends make of chains as graphs, for a terminal: a line for each setting that tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from convcheck.judge.result import BackendInfo
from convcheck.plan.chains import CAST_BY_CAST, ChainOfBackend, GraphAnswer
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
    told = [one for one in found if not one.wrong]
    changed = [one for one in told if one.changed]
    said = _of_one(found[0]) if len(found) == 1 else _of_several(found, told, changed)
    yield from line("graphs", said, width, "bold red" if changed else "bold green")
    for one in changed:
        yield StyledText()
        yield StyledText(arrows(one.asked.chain.types), "bold")
        for answer in one.changed:
            yield from paragraph(_changed(answer), width, hang=2, style="red")
        yield from _others(one, width)
        yield from _example(one, width)
    if len(found) == 1 and told and not changed:
        yield from _others(told[0], width)


def _of_one(one: ChainOfBackend) -> str:
    every = plural(len(one.answers), "setting")
    if one.wrong:
        each = (f"{result.case.id} alone: {result.verdict}" for result in one.wrong)
        return f"nothing can be told: {', '.join(each)}"
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


def _changed(answer: GraphAnswer) -> str:
    setting = ", ".join(f"{name} {value}" for name, value in answer.setting)
    count = f"{answer.count} of {plural(answer.of, 'answer')}"
    if not answer.made:
        return f"{setting}: neither cast by cast nor without a middle ({count} right)"
    return f"{setting}: {answer.made}, {count}"


def _example(one: ChainOfBackend, width: int) -> Iterator[StyledText]:
    """Yield an input with what every cast gives of it, and what the casts give that are left."""
    made = next((answer.made for answer in one.changed if answer.made), "")
    vectors = one.asked.vectors
    names, readings = vectors.expected.decisions[0].readings, vectors.expected.readings
    if not made:
        return
    due, got = np.asarray(readings[0].codes), np.asarray(readings[names.index(made)].codes)
    at = int(np.flatnonzero(due != got)[0])
    source, target = vectors.case.inputs[0].format, vectors.case.outputs[0].format
    yield from code_lines("input", source, int(vectors.inputs[0][at]), "", width)
    yield from code_lines("due", target, int(due[at]), "", width)
    yield from code_lines("got", target, int(got[at]), "", width)


def _others(one: ChainOfBackend, width: int) -> Iterator[StyledText]:
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    yield from paragraph(f"cast by cast in {plural(right, 'setting')}", width, style="dim")
    for message in dict.fromkeys(answer.message for answer in one.answers if answer.message):
        count = sum(answer.message == message for answer in one.answers)
        yield from paragraph(f"no answer in {plural(count, 'setting')}: {message}", width, hang=2)
