"""What things are called on the site: runtimes, releases, rules, and the files of their pages.

All names come from what a report has, so that a link stays what it is when the site is built again.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from packaging.version import InvalidVersion, Version

from convcheck.backends.process.environment import SCHEME
from convcheck.backends.process.native import RUNTIMES
from convcheck.history.matrix import RuleKey
from convcheck.judge.result import BackendInfo, CaseResult, Group
from convcheck.judge.words import clean

WHOLE = "as a whole"
_NUMBER = re.compile(r"v?\d+(\.\w+)*([+-]\S+)?")
_FAITHFUL = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
_INSIDE = re.compile(rf":((?:{'|'.join(RUNTIMES)})(?::[^:]*)?)$")  # of env:PATH:RUNTIME
_LONGEST = 60  # characters of a part of a file's name


@dataclass(frozen=True, order=True)
class RunName:
    """Which runtime answered, in which release."""

    #: As it names itself: onnxruntime; with a variant of its backend where it has one.
    runtime: str
    #: Its version; '' where it says none.
    release: str

    def __str__(self) -> str:
        return f"{self.runtime} {self.release}".strip()


def run_name(backend: BackendInfo) -> RunName:
    """Return what a backend is called: of 'onnxruntime 1.31.1, CPU …' onnxruntime and 1.31.1.

    What stands before the first comma or bracket of its version counts. A variant of the backend's
    name goes with the runtime: openvino:const. Where the version names nobody, that name does.
    """
    words = re.split("[,(]", clean(backend.version))[0].split()
    at = next((i for i, word in enumerate(words) if _NUMBER.fullmatch(word)), None)
    if at is None:
        return RunName(clean(backend.name), " ".join(words))
    said = " ".join((*words[:at], *words[at + 1 :])) or clean(backend.name)
    variant = _variant(backend.name)
    return RunName(f"{said}:{variant}" if variant else said, words[at])


def _variant(name: str) -> str:
    """Return the variant in the name of a backend: const of openvino:const; '' for none."""
    inside = _INSIDE.search(name) if name.startswith(f"{SCHEME}:") else None
    before, _, variant = (inside[1] if inside else name).partition(":")
    return "" if before == "process" or "." in before else clean(variant)


def release_order(release: str) -> tuple[bool, Version, tuple[tuple[bool, int, str], ...]]:
    """Return by what releases are sorted: versions as PEP 440 has them, after all that are none."""
    parts = re.findall(r"\d+|\D+", release)
    natural = tuple((p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts)
    try:
        return True, Version(release), natural
    except InvalidVersion:
        return False, Version("0"), natural


# Rules ---------------------------------------------------------------------------------------


def rule_of_group(group: Group) -> RuleKey:
    """Return the rule of a group: its name, and its home, which is the standard and the spec file
    without its version: onnx/cast.
    """
    return _rule_in(group.decision.rule, group.decision.place.file)


def rule_of_row(row: RuleKey) -> RuleKey:
    """Return the rule of a row of a history; of cases that fail as a whole, one without a home."""
    file = row.place.rpartition(":")[0]
    return _rule_in(row.rule, file) if file else RuleKey(f"{row.rule} {WHOLE}", "", "")


@lru_cache(4096)
def _rule_in(name: str, place: str) -> RuleKey:
    file = PurePosixPath(place.replace("\\", "/"))
    stem = re.sub(r"-\d+(\.\d+)*$", "", file.stem)
    return RuleKey(name, "", f"{file.parent.name}/{stem}".lstrip("/"))


def rule_of_whole(case: CaseResult) -> RuleKey:
    """Return what stands for the rule where a case fails as a whole: its verdict."""
    standard, _, operator = case.case.op.rpartition(".")
    return RuleKey(f"{case.verdict} {WHOLE}", "", f"{standard}/{operator}".lower().lstrip("/"))


def finding_of_site(name: RunName, rule: RuleKey) -> str:
    """Return the id of what a release of a runtime does against a rule: twelve digits."""
    said = json.dumps([rule.place, rule.rule, name.runtime, name.release])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


# Files ---------------------------------------------------------------------------------------


def file_name(*parts: str) -> str:
    """Return parts as the name of a file, in letters that every system and every URL takes; where
    they are not told by these, with a hash.
    """
    slugs = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.")[:_LONGEST] for part in parts]
    name = "_".join(slug or "x" for slug in slugs)
    if all(_FAITHFUL.fullmatch(part) and len(part) <= _LONGEST for part in parts):
        return name
    return f"{name}~{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]}"


def page_of_rule(rule: RuleKey) -> str:
    """Return where the page of a rule is."""
    return f"rules/{file_name(*rule.place.split('/'), rule.rule)}.html"


def page_of_runtime(runtime: str) -> str:
    """Return where the page of a runtime is."""
    return f"runtimes/{file_name(runtime)}.html"


def page_of_finding(name: RunName, rule: RuleKey) -> str:
    """Return where the page of a finding is, for good."""
    return f"findings/{finding_of_site(name, rule)}.html"
