"""Short names of specs and backends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convcheck.rules.case_names import compact_names
from convcheck.rules.model import op_and_version


def compact_specs(specs: Iterable[str]) -> str:
    """Abbreviate specs: 'onnx.Cast-{19,21}, onnx.CastLike-{19,21}'."""
    return ", ".join(compact_names(specs))


def family(spec: str) -> str:
    """Return a spec's id with an open version: onnx.Cast-*."""
    stem, version = op_and_version(spec)
    return f"{stem}-*" if version else stem


def short_names(addresses: Sequence[str]) -> list[str]:
    """Return short distinct names of backends; for a class, the class name."""
    short = [a.rpartition(":")[2] if "." in a.partition(":")[0] else a for a in addresses]
    return short if len(set(short)) == len(short) else list(addresses)
