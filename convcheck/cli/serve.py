"""`convcheck serve`: any backend behind the process protocol."""

from __future__ import annotations

import os

import click

from convcheck.cli.options import catalog, complete_backends
from convcheck.cli.options import specs_option as specs

ADAPTER_RAISED = 70
EXAMPLE = """\b
Examples:
  convcheck run --backend 'process:convcheck serve ort' onnx.Cast-21
  convcheck run --backend 'process:ssh board convcheck serve mypackage.mymodule:MyBackend'
  convcheck run --backend 'process:docker run -i --rm image convcheck serve ort'
"""


@click.command("serve", epilog=EXAMPLE)
@click.argument("backend", shell_complete=complete_backends)
@specs
def command(backend: str, specs: tuple[str, ...]) -> int:
    """Answer requests of the process protocol on stdin and stdout with any BACKEND.

    It is the other end of `--backend process:COMMAND`: a runtime in another environment, container
    or machine. Ends at the end of the input. What a runtime prints goes to stderr. Exit codes: 0;
    2 a bad request; 4 the backend could not be started; 70 the adapter raised, which is no answer.
    """
    from convcheck.backends.process.serve import AdapterError, serve
    from convcheck.backends.protocol import open_backend

    answers = os.dup(1)
    os.dup2(2, 1)  # what a runtime prints is no answer
    loaded = catalog(specs)
    opened = open_backend(backend, loaded)
    with open(0, "rb", buffering=1 << 20, closefd=False) as requests:
        try:
            serve(opened, loaded, requests, answers)
        except AdapterError as error:
            click.echo(f"convcheck: the adapter of {backend!r} raised: {error}", err=True)
            return ADAPTER_RAISED
    return 0
