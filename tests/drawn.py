import base64
import gzip
import io
import json
import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from convcheck.documents import junit
from convcheck.judge.result import RunResult
from convcheck.report import html
from convcheck.report.blocks import Block
from convcheck.report.document import Document
from convcheck.report.draw import markdown, terminal
from convcheck.report.draw.console import put


def drawn(page: Iterable[Block], width: int = 80, **console: Any) -> str:
    out = io.StringIO()
    options = {"color_system": None, **console}
    put(page, Console(file=out, width=width, **options), whole=False)
    return out.getvalue()


def printed(
    result: RunResult, width: int = 80, verbose: bool = False, quiet: bool = False, **console: Any
) -> str:
    return drawn(terminal.report_page(Document(result), verbose, quiet), width, **console)


def in_markdown(result: RunResult) -> str:
    return markdown.render(Document(result))


def in_junit(result: RunResult) -> str:
    return junit.render(Document(result))


def in_html(result: RunResult, command: str = "") -> str:
    return html.render(Document(result), command)


def html_text(result: RunResult, command: str = "") -> str:
    before, data, after = re.split(r'(?<=type="text/plain">)([^<]*)', in_html(result, command))
    found = json.loads(gzip.decompress(base64.b64decode(data)))
    return before + json.dumps(found, ensure_ascii=False) + after


def annotated(result: RunResult) -> list[str]:
    return list(markdown.annotation_lines(Document(result)))
