"""Draw a run as an HTML page without network access.

Texts are escaped or in compressed data. The page forbids foreign scripts and all connections.
"""

import base64
import gzip
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from convcheck import __version__
from convcheck.judge.result import RunResult
from convcheck.judge.words import clean
from convcheck.report.document import Document, environment
from convcheck.report.draw.finding import NOT_TRIED, causes_summary, unexplained_summary
from convcheck.report.html.data import data

_SCRIPTS = (
    "dom", "model", "state", "filters", "specs", "matrix", "figures", "example", "findings",
    "causes", "cell", "page",
)  # fmt: skip


def render(document: Document, command: str = "") -> str:
    """Return the page, deterministically. `command` is '' if unknown."""
    script = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    script = f'"use strict";\n(async () => {{\n{script}}})();\n'
    surroundings = Environment(
        loader=PackageLoader("convcheck.report.html"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    run = document.result
    return surroundings.get_template("report.html").render(
        document=document,
        run=run,
        name=clean(run.backend.name),
        version=clean(run.backend.version),
        causes=causes_summary(document) if document.causes else "",
        not_tried=NOT_TRIED,
        unexplained=unexplained_summary(document) if document.unexplained else "",
        facts=list(_facts(run, command)),
        convcheck=__version__,
        data=_packed(data(document)),
        script=Markup(script),  # noqa: S704 our own
        style=Markup(with_colours(_asset("report.css"))),  # noqa: S704 our own
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _packed(content: dict[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"))  # ASCII, since text can have lone surrogates
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def with_colours(style: str) -> str:
    """Insert light and dark colours into a style sheet."""
    for name in ("light.css", "dark.css"):
        style = style.replace(f"/* {name} */", "\n" + _asset(name))
    return style


def _asset(name: str) -> str:
    return (files("convcheck.report.html") / "templates" / name).read_text(encoding="utf-8")


def _facts(run: RunResult, command: str) -> list[tuple[str, str]]:
    where = run.environment or environment()
    cpu, versions = where.cpu, where.versions.items()
    facts = [
        ("Command", command),
        ("Shard", f"{run.shard.index} of {run.shard.of}" if run.shard else ""),
        ("Vectors", "\n".join(f"{spec}  {digest}" for spec, digest in run.corpora)),
        ("Platform", where.platform),
        ("Processor", f"{cpu.model}, {cpu.count} cores, {where.threads} used"),
        ("Features", " ".join(cpu.features)),
        ("Versions", ", ".join(f"{name} {v}" for name, v in versions if v)),
        ("Made with", f"convcheck {__version__}"),
    ]  # fmt: skip
    return [(name, fact) for name, fact in facts if fact]
