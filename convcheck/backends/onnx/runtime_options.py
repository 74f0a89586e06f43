"""Options of ONNX Runtime: threads and graph optimisation. The first value is the default."""

from __future__ import annotations

from collections.abc import Mapping

from convcheck.wording import plural

THREADS, OPTIMISATION = "threads", "optimisation"
OPTIONS: Mapping[str, tuple[str, ...]] = {
    THREADS: ("1", "2", "4"),
    OPTIMISATION: ("off", "basic", "extended", "all", "all-and-cast-chains"),
}
_LEVELS = {
    "off": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
    "all-and-cast-chains": "ORT_ENABLE_ALL",
}
_CAST_CHAINS = "optimization.enable_cast_chain_elimination"


def session_options(choice: Mapping[str, str]) -> dict[str, object]:
    """Return a session's threads and graph optimisation; {} for the server's."""
    if all(choice.get(name, values[0]) == values[0] for name, values in OPTIONS.items()):
        return {}
    level, entries = optimisation_of(choice)
    return {"threads": int(choice[THREADS]), "level": level, "entries": dict(entries)}


def optimisation_of(choice: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Return a session's graph optimisation level and configuration entries."""
    value = choice.get(OPTIMISATION, "off")
    return _LEVELS[value], {_CAST_CHAINS: "1"} if value == "all-and-cast-chains" else {}


def describe_options(choice: Mapping[str, str]) -> str:
    """Return the options as part of the version."""
    threads = plural(int(choice[THREADS]), "thread")
    return f"optimisation {choice[OPTIMISATION]}, {threads}"
