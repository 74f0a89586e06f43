"""A local package index, and planted environments of its releases."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from places import TESTS

JSON = "application/vnd.pypi.simple.v1+json"
WHEEL = "onnxruntime-{}-py3-none-any.whl"
NOT_HERE = "onnxruntime-{}-cp27-cp27m-win32.whl"


def page_of(files):
    """Return an index page for files with dates, '' for none."""
    entries = [{"filename": name, **({"upload-time": f"{day}T09:00:00Z"} if day else {})}
               for name, day in files.items()]  # fmt: skip
    return JSON, json.dumps({"meta": {"api-version": "1.1"}, "files": entries}).encode()


@contextmanager
def index(kind, page):

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()


def plant(folder, version, how):
    """Plant a release's environment. Its runtime lies, or is right."""
    home = folder / f"onnxruntime-{version}"
    python = home / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    runtime = TESTS / "process" / "planted_runtime.py"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {runtime} {how} "$@"\n')
    python.chmod(0o755)
    (home / "convcheck-made").touch()
    return python
