"""Fill templates of code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def filled_template(folder: Path, name: str, content: Mapping[str, object]) -> str:
    """Return a template filled with code: literals and comments."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(folder), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 it is code, not HTML: what goes in is repr, hex or a comment
    )  # fmt: skip
    return environment.get_template(name).render(content)
