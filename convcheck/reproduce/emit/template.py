"""Fill templates of code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def filled(module: str, name: str, content: Mapping[str, object]) -> str:
    """Return a template, in the folder `templates` beside a module, filled with code."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(module).with_name("templates")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 it is code, not HTML: what goes in is repr, hex or a comment
    )
    return environment.get_template(name).render(content)
