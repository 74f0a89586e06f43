"""Many cases in few lines: onnx.Cast-{19,21}/{float16,float32}-to-bfloat16."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convcheck.rules.model import op_and_version

_Axes = tuple[tuple[str, ...], ...]  # the words that stand in each place of an id
_FAMILY, _VERSION, _SOURCE, _TARGET, _REST = range(5)


def compact_specs(specs: Iterable[str]) -> str:
    """Name specs shortly: 'onnx.Cast-{19,21}, onnx.CastLike-{19,21}'."""
    return ", ".join(_spell(e).rstrip("/") for e in _merge(_axes(s, "") for s in specs))


def compact_ids(ids: Iterable[str]) -> list[str]:
    """Name cases shortly: ids that differ in version, source or destination are put together."""
    return [_spell(e) for e in _merge(_axes(*i.split("/", 1)) for i in ids)]


def family(spec: str) -> str:
    """Return a spec's id with its version left open: onnx.Cast-*."""
    stem, version = op_and_version(spec)
    return f"{stem}-*" if version else stem


def short_names(addresses: Sequence[str]) -> list[str]:
    """Return what tells backends apart in few characters: of a class, its name."""
    short = [a.rpartition(":")[2] if "." in a.partition(":")[0] else a for a in addresses]
    return short if len(set(short)) == len(short) else list(addresses)


def _axes(spec: str, name: str) -> _Axes:
    head, slash, rest = name.partition("/")
    source, _, target = head.partition("-to-")
    return tuple((word,) for word in (*op_and_version(spec), source, target, slash + rest))


def _merge(entries: Iterable[_Axes]) -> list[_Axes]:
    merged = list(dict.fromkeys(entries))
    for axis in (_VERSION, _SOURCE, _TARGET):
        merged = _merge_axis(merged, axis)
    return merged


def _merge_axis(entries: list[_Axes], axis: int) -> list[_Axes]:
    """Put entries together that differ in nothing but the words at `axis`."""
    words: dict[_Axes, tuple[str, ...]] = {}
    for entry in entries:
        key = entry[:axis] + entry[axis + 1 :]
        words[key] = tuple(dict.fromkeys((*words.get(key, ()), *entry[axis])))
    return [(*key[:axis], both, *key[axis:]) for key, both in words.items()]


def _spell(axes: _Axes) -> str:
    stem, version, source, target, rest = map(_braces, axes)
    spec = f"{stem}-{version}" if version else stem
    return f"{spec}/{source}" + (f"-to-{target}" if target else "") + rest


def _braces(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else "{" + ",".join(words) + "}"
