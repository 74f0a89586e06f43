"""`convcheck chain`: whether casts one after the other are the direct cast."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import (
    SECONDS,
    catalog,
    complete_backends,
    complete_specs,
    complete_types,
)
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress, progress_option
from convcheck.errors import UsageError
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.chains.type_chain import CompiledCasts
    from convcheck.plan.chains import AskedChain
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Spec

FEWEST = 3  # types of a chain
CHANGED, NOTHING = 1, 3
EXAMPLE = """\b
Examples:
  convcheck chain float64 float32 float16
  convcheck chain uint8 int8 int16 --spec openvino.Convert-1
  convcheck chain float16 float8e5m2 float16 --where saturate=0
  convcheck chain --table --spec onnx.Cast-21 --c chains.h
  convcheck chain float64 float32 int8 --backend ort
"""


@click.command("chain", epilog=EXAMPLE)
@click.argument("types", metavar="[T1 T2 T3...]", nargs=-1, shell_complete=complete_types)
@click.option(
    "--spec", "name", metavar="SPEC", shell_complete=complete_specs,
    help="By the rules of this spec. Default: the newest version of the operator that has the most "
         "versions.",
)  # fmt: skip
@click.option("--where", multiple=True, metavar="NAME=VALUE",
              help="With this attribute value, in every cast to which it applies.")  # fmt: skip
@click.option("--table", is_flag=True, help="Judge every chain of three types of the spec.")
@click.option(
    "--backend", metavar="NAME", shell_complete=complete_backends,
    help="Put the chain to this backend as a graph, in every setting, and tell whether it leaves "
         "out a cast; with --table, every chain of which some input tells.",
)  # fmt: skip
@click.option(
    "--timeout", type=SECONDS, default=30.0, show_default=True,
    help="Seconds that one call of the backend may take.",
)  # fmt: skip
@click.option("--json", "json_path", metavar="FILE", help="Write it as JSON; - for stdout.")
@click.option("--csv", "csv_path", metavar="FILE", help="Write the table as CSV; - for stdout.")
@click.option("--c", "c_path", metavar="FILE",
              help="Write the table as a C header with functions that look chains up.")  # fmt: skip
@click.option("--python", "python_path", metavar="FILE",
              help="Write the table as a Python module with such functions.")  # fmt: skip
@progress_option
@specs
def command(
    types: tuple[str, ...],
    name: str | None,
    where: tuple[str, ...],
    table: bool,
    backend: str | None,
    timeout: float,
    json_path: str | None,
    csv_path: str | None,
    c_path: str | None,
    python_path: str | None,
    specs: tuple[str, ...],
) -> int:
    """Say whether a chain of casts gives what the direct cast does, and prove it.

    T1 T2 T3 … are types. A chain that ends where it began is compared with the identity. Attributes
    that are not named have their defaults. Exit codes: 0 the chain is equal to the direct cast
    wherever both are defined, or the table is made; 1 it is different, in some reading at least; 2
    bad input. With --backend: 0 it makes every cast, 1 it does not, 3 nothing can be told, 4 it
    could not be started.
    """
    from convcheck.chains.type_chain import CompiledCasts

    outputs = {"--json": json_path, "--csv": csv_path, "--c": c_path, "--python": python_path}
    _check_usage(types, table, outputs, backend)
    check_outputs(outputs)
    loaded = catalog(specs)
    conversions = CompiledCasts(loaded, _spec(loaded, name), where)
    if backend is not None:
        return _ask(conversions, types, backend, timeout, json_path)
    if table:
        return _table(conversions, outputs)
    return _chain(conversions, types, json_path)


def _check_usage(
    types: tuple[str, ...], table: bool, outputs: dict[str, str | None], backend: str | None
) -> None:
    if table and types:
        raise UsageError("--table takes no types", hint="it has every chain of three types")
    if not table and len(types) < FEWEST:
        given = plural(len(types), "type") if types else "no types"
        hint = "name source, middle and destination, such as float64 float32 float16, or --table"
        raise UsageError(f"{given}: a chain has at least {FEWEST}", hint=hint)
    tables = [option for option in ("--csv", "--c", "--python") if outputs[option]]
    if tables and backend:
        raise UsageError(f"{tables[0]} writes the table of the rules", hint="leave out --backend")
    if tables and not table:
        raise UsageError(f"{tables[0]} writes a table", hint="add --table, and leave out the types")


def _spec(loaded: Catalog, name: str | None) -> Spec:
    """Return the spec of a name, which converts one input to one output. Raises UsageError."""
    from convcheck.chains.type_chain import latest, takes_chains
    from convcheck.rules.find import find_spec

    if name is None:
        return latest(loaded)
    found = find_spec(loaded, name)
    if not takes_chains(found):
        hint = f"such as {latest(loaded).id}"
        raise UsageError(f"{name} does not convert one input to one output", hint=hint)
    return found


def _chain(conversions: CompiledCasts, types: tuple[str, ...], path: str | None) -> int:
    """Answer one chain; 1 where the chain is different."""
    from convcheck.chains.judgement import DIFFERENT, DISPUTED, judge_chain
    from convcheck.report.draw.chain import chain_page
    from convcheck.report.json.chain import chain_text

    conversions.check_where(types[1:])
    found = judge_chain(conversions.chain(types))
    attributes = conversions.attributes(types[1:])
    show(chain_page(found, attributes), (path, partial(chain_text, found, attributes)))
    return int(found.verdict in (DIFFERENT, DISPUTED))


def _ask(
    conversions: CompiledCasts, types: tuple[str, ...], backend: str, timeout: float,
    path: str | None,
) -> int:  # fmt: skip
    """Put one chain to a backend, or all of the table; 1 where it leaves out a cast."""
    from convcheck.plan.chains import ask_chains, settings
    from convcheck.report.draw.graphs import UNTOLD, graph_page
    from convcheck.report.json.graphs import graphs_text

    asked, spec = _asked(conversions, types), conversions.spec
    if not asked:
        show([UNTOLD])
        return NOTHING
    with progress(len(asked) * len(settings(backend)), "chain", "graph") as advance:
        catalog = conversions.catalog.only([spec.id])
        info, found = ask_chains(backend, asked, timeout, catalog, advance)
    show(graph_page(info, found), (path, partial(graphs_text, spec.id, info, found)))
    if any(one.changed for one in found):
        return CHANGED
    return NOTHING if all(one.untold for one in found) else 0


def _asked(conversions: CompiledCasts, types: tuple[str, ...]) -> list[AskedChain]:
    """Return what to ask of a chain, or of each of the table of which some input tells."""
    from convcheck.chains.table import numeric_types, triples
    from convcheck.plan.chains import asked_chain

    targets = types[1:] or [dtype.name for dtype in numeric_types(conversions.spec)]
    conversions.check_where(targets)
    chosen = [types] if types else triples(conversions.spec)
    found = []
    with progress(len(chosen), "chain", "chain") as advance:
        for names in chosen:
            found.append(asked_chain(conversions, names))
            advance()
    return [one for one in found if one is not None]


def _table(conversions: CompiledCasts, outputs: dict[str, str | None]) -> int:
    """Judge every chain of a spec, and write the table in the formats that are asked for."""
    from collections import Counter

    from convcheck.chains.table import chain_table, numeric_types, triples
    from convcheck.report.chains import chains_c, chains_csv, chains_python
    from convcheck.report.draw.chain import chain_table_page
    from convcheck.report.json.chain import chains_text

    chosen = triples(conversions.spec)
    conversions.check_where([dtype.name for dtype in numeric_types(conversions.spec)])
    with progress(len(chosen), "chain", "chain") as advance:
        made = chain_table(conversions, chosen, advance)
    drawn = (chains_text, chains_csv, chains_c, chains_python)
    texts = [(path, partial(d, made)) for path, d in zip(outputs.values(), drawn, strict=True)]
    counts = Counter(each.verdict for each in made.chains.values())
    show(chain_table_page(counts, made), *texts)
    return 0
