"""Names of runtimes, releases and rules. All derive from reports, so links stay valid."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from packaging.version import InvalidVersion, Version

from convcheck.backends.process.backend import RUNTIMES
from convcheck.backends.process.environment import SCHEME
from convcheck.history.matrix import RuleKey
from convcheck.judge.result import BackendInfo, CaseResult, Group
from convcheck.judge.words import clean

WHOLE = "as a whole"
_NUMBER = re.compile(r"v?\d+(\.\w+)*([+-]\S+)?")
_FAITHFUL = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
_INSIDE = re.compile(rf":((?:{'|'.join(RUNTIMES)})(?::[^:]*)?)$")  # the runtime in env:PATH:RUNTIME
_LONGEST = 60  # characters of a part of a file name


@dataclass(frozen=True, order=True)
class RunName:
    """A runtime and its release."""

    #: The runtime's own name, such as onnxruntime, with the backend's variant if it has one.
    runtime: str
    release: str  # the version; '' if unknown

    def __str__(self) -> str:
        return f"{self.runtime} {self.release}".strip()


def run_name(backend: BackendInfo) -> RunName:
    """Split a backend's version into name and release: 'onnxruntime 1.31.1, CPU …'.

    The name includes the backend's variant: openvino:const. By default, it is the backend's name.
    """
    words = re.split("[,(]", clean(backend.version))[0].split()
    at = next((i for i, word in enumerate(words) if _NUMBER.fullmatch(word)), None)
    if at is None:
        return RunName(clean(backend.name), " ".join(words))
    said = " ".join((*words[:at], *words[at + 1 :])) or clean(backend.name)
    inside = _INSIDE.search(backend.name) if backend.name.startswith(f"{SCHEME}:") else None
    before, _, variant = (inside[1] if inside else backend.name).partition(":")
    variant = "" if before == "process" or "." in before else clean(variant)
    return RunName(f"{said}:{variant}" if variant else said, words[at])


def release_order(release: str) -> tuple[bool, Version, tuple[tuple[bool, int, str], ...]]:
    """Return a sort key: versions by PEP 440, after all other strings."""
    parts = re.findall(r"\d+|\D+", release)
    natural = tuple((p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts)
    try:
        return True, Version(release), natural
    except InvalidVersion:
        return False, Version("0"), natural


def rule_of_group(group: Group) -> RuleKey:
    """Return the name and home of a group's rule.

    The home is the standard and the spec file without version: onnx/cast.
    """
    return _rule_in(group.decision.rule, group.decision.place.file)


def rule_of_row(row: RuleKey) -> RuleKey:
    """Return the rule of a history's row. Cases that fail as a whole have no home."""
    file = row.place.rpartition(":")[0]
    return _rule_in(row.rule, file) if file else RuleKey(f"{row.rule} {WHOLE}", "", "")


@lru_cache(4096)
def _rule_in(name: str, place: str) -> RuleKey:
    file = PurePosixPath(place.replace("\\", "/"))
    stem = re.sub(r"-\d+(\.\d+)*$", "", file.stem)
    return RuleKey(name, "", f"{file.parent.name}/{stem}".lstrip("/"))


def rule_of_whole(case: CaseResult) -> RuleKey:
    """Return the stand-in rule of a case that fails as a whole: its verdict."""
    standard, _, operator = case.case.op.rpartition(".")
    return RuleKey(f"{case.verdict} {WHOLE}", "", f"{standard}/{operator}".lower().lstrip("/"))


def finding_of_site(name: RunName, rule: RuleKey) -> str:
    """Return a twelve-digit id of a rule's failures in a release."""
    said = json.dumps([rule.place, rule.rule, name.runtime, name.release])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def file_name(*parts: str) -> str:
    """Return a file name of portable letters, with a hash if parts had to be changed."""
    slugs = [re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-.")[:_LONGEST] for part in parts]
    name = "_".join(slug or "x" for slug in slugs)
    if all(_FAITHFUL.fullmatch(part) and len(part) <= _LONGEST for part in parts):
        return name
    return f"{name}~{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:6]}"


def page_of_rule(rule: RuleKey) -> str:
    """Return the path of a rule's page."""
    return f"rules/{file_name(*rule.place.split('/'), rule.rule)}.html"


def page_of_runtime(runtime: str) -> str:
    """Return the path of a runtime's page."""
    return f"runtimes/{file_name(runtime)}.html"


def page_of_finding(name: RunName, rule: RuleKey) -> str:
    """Return the permanent path of a finding's page."""
    return f"findings/{finding_of_site(name, rule)}.html"
