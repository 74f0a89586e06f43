"""`convcheck-graphs/1`: what a backend makes of chains of casts as graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.judge.result import BackendInfo
from convcheck.plan.chains import ChainOfBackend
from convcheck.report.json.codec import Count, Named, Pairs, Shape, derived, json_text

FORMAT: Final = "convcheck-graphs/1"


class GraphJson(Shape, frozen=True, kw_only=True):
    """What became of a chain in one setting."""

    #: How the graph was built, and the options of the backend.
    setting: Pairs
    #: `cast by cast`, what was made of it, or '' for something else.
    made: str
    #: Whether the backend says that it may do so.
    allowed: bool
    #: How many inputs were answered so.
    count: Count
    #: How many inputs were judged: those of which each cast alone is right.
    of: Count
    #: Why there is nothing to tell.
    message: str = ""


class ChainGraphsJson(Shape, frozen=True, kw_only=True):
    """What became of a chain."""

    #: From the source to the destination.
    types: tuple[Named, ...]
    #: Why nothing can be told, such as that a cast alone is wrong; empty where something can.
    untold: tuple[str, ...]
    #: One for each setting.
    answers: tuple[GraphJson, ...] = field(name="graphs")


class GraphsJson(Shape, frozen=True, kw_only=True):
    """What a backend makes of chains."""

    format: Literal["convcheck-graphs/1"]
    #: The version of convcheck.
    convcheck: str
    #: The spec whose rules it goes by.
    spec: str
    #: How the backend names itself.
    backend: str
    #: Its version.
    version: str
    #: Those of which some input tells whether a cast is left out.
    chains: tuple[ChainGraphsJson, ...]


def graphs_text(spec: str, info: BackendInfo, found: Sequence[ChainOfBackend]) -> str:
    """Return what a backend makes of chains as JSON text, a chain a line."""
    made = GraphsJson(
        format=FORMAT,
        convcheck=__version__,
        spec=spec,
        backend=info.name,
        version=info.version,
        chains=derived(tuple[ChainGraphsJson, ...], found),
    )
    return json_text(made, "chains")
