"""Find processes that are alive: children of a process, or marked ones."""

import time
from pathlib import Path


def eventually(ask, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (answer := ask()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def marked(name, value):
    mark = f"{name}={value}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ours = mark in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours:
            found.append(int(folder.name))
    return found


def parent_of(process):
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def children_of(parent):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if parent_of(int(folder.name)) == parent:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def descendants_of(parent):
    return [each for child in children_of(parent) for each in (child, *descendants_of(child))]


def is_alive(process):
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
