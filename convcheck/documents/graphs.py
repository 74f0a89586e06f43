"""`convcheck-graphs/1`: how a backend runs chains of casts as graphs."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.documents.report import Named, Pairs, derived, json_text
from convcheck.judge.result import BackendInfo
from convcheck.plan.chains import ChainOfBackend
from convcheck.records import Count, Record

FORMAT: Final = "convcheck-graphs/1"


class GraphJson(Record, frozen=True, kw_only=True):
    """The result of a chain under one setting."""

    #: The way of building the graph, and backend options.
    setting: Pairs
    #: `cast by cast`, the removed or added casts, or '' if no such change explains the answers.
    made: str
    #: Whether the backend documents this change.
    allowed: bool
    #: How many inputs have these answers.
    count: Count
    #: How many inputs were judged: inputs for which each cast alone is right.
    of: Count
    #: Why there are no answers.
    message: str = ""


class ChainGraphsJson(Record, frozen=True, kw_only=True):
    """The results of a chain."""

    #: From source to destination.
    types: tuple[Named, ...]
    #: Why the chain cannot be judged, for example since a cast alone is wrong; empty if it can.
    untold: tuple[str, ...]
    #: One per setting.
    answers: tuple[GraphJson, ...] = field(name="graphs")


class GraphsJson(Record, frozen=True, kw_only=True):
    """How a backend runs chains."""

    format: Literal["convcheck-graphs/1"]
    convcheck: str
    #: The spec with the rules.
    spec: str
    backend: str
    version: str
    #: Chains with an input that shows removed casts.
    chains: tuple[ChainGraphsJson, ...]


def graphs_text(spec: str, info: BackendInfo, found: Sequence[ChainOfBackend]) -> str:
    """Return a backend's graphs as JSON text, a chain per line."""
    made = GraphsJson(
        format=FORMAT,
        convcheck=__version__,
        spec=spec,
        backend=info.name,
        version=info.version,
        chains=derived(tuple[ChainGraphsJson, ...], found),
    )
    return json_text(made, "chains")
