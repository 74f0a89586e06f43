"""The templates that the files of a suite are made of."""

from __future__ import annotations

from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates")


def template_bytes(name: str) -> bytes:
    """Return a file that is the same in every suite."""
    return (TEMPLATES / name).read_bytes()


def filled_template(name: str, **content: object) -> bytes:
    """Return a template with its gaps filled by what is code already: literals and comments."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 it is code, not HTML
    )  # fmt: skip
    return environment.get_template(name).render(**content).encode()
