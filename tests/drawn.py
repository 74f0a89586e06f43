import base64
import gzip
import io
import json
import re

from rich.console import Console

from convcheck.documents import junit
from convcheck.report import html
from convcheck.report.document import Document
from convcheck.report.draw import markdown, terminal
from convcheck.report.draw.console import put


def drawn(page, width=80, **console):
    out = io.StringIO()
    options = {"color_system": None, **console}
    put(page, Console(file=out, width=width, **options), whole=False)
    return out.getvalue()


def printed(result, width=80, verbose=False, quiet=False, **console):
    return drawn(terminal.report_page(Document(result), verbose, quiet), width, **console)


def in_markdown(result):
    return markdown.render(Document(result))


def in_junit(result):
    return junit.render(Document(result))


def in_html(result, command=""):
    return html.render(Document(result), command)


def html_text(result, command=""):
    before, data, after = re.split(r'(?<=type="text/plain">)([^<]*)', in_html(result, command))
    found = json.loads(gzip.decompress(base64.b64decode(data)))
    return before + json.dumps(found, ensure_ascii=False) + after


def annotated(result):
    return list(markdown.annotation_lines(Document(result)))
