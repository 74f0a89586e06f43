"""Pages of documentation: code blocks with their marks, headings and links."""

import re
from dataclasses import dataclass

from places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)$")
_MARK = re.compile(r"<!-- (.*?) -->")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced code block. `marks` are the HTML comments just above it."""

    language: str
    text: str
    line: int
    marks: tuple[str, ...]

    def mark(self, name):
        found = (m.removeprefix(name).lstrip(": ") for m in self.marks if m.startswith(name))
        return next(found, None)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    lines = page.read_text("utf-8").splitlines()
    at = 0
    while at < len(lines):
        if fence := _FENCE.match(lines[at]):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            width = len(fence["indent"])
            text = "".join(f"{line[width:]}\n" for line in lines[at + 1 : end])
            yield Block(fence["language"], text, at + 1, _marks_above(lines, at))
            at = end
        at += 1


def _marks_above(lines, at):
    marks = []
    while at and (found := _MARK.fullmatch(lines[at - 1].strip())):
        marks.append(found[1])
        at -= 1
    return tuple(marks)


def prose(page):
    kept, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        fenced = line.lstrip().startswith("```")
        if not (inside or fenced):
            kept.append(line)
        inside ^= fenced
    return "\n".join(kept)


def anchors(page):
    """Return GitHub's anchors of a page's headings."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def links(page):
    return _LINK.findall(re.sub(r"`[^`]*`", "``", prose(page)))
