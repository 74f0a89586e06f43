"""`convcheck list`: specs, cases, backends and types, a line each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, selection_options, spec_arguments
from convcheck.cli.options import specs_option as specs
from convcheck.streams import say

if TYPE_CHECKING:
    from convcheck.plan.selection import Selection
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case

EXAMPLES = """\b
Examples:
  convcheck list specs
  convcheck list cases onnx.Cast-21 --to float8 --count
  convcheck list backends
  convcheck list types
"""


@click.group("list", epilog=EXAMPLES)
def command() -> None:
    """List specs, cases, backends or types, one per line."""


@command.command("specs", epilog="Example: convcheck list specs 'onnx.*'")
@spec_arguments
@specs
def _specs(patterns: tuple[str, ...], specs: tuple[str, ...]) -> int:
    """List specs, how large they are, and what they extend. `convcheck show` has the texts."""
    from convcheck.plan.select import select_specs
    from convcheck.report.draw.listing import columns, spec_rows

    return _echo(columns(spec_rows(select_specs(catalog(specs), patterns)), frozenset((2, 3, 4))))


@command.command("types", epilog="Example: convcheck list types | grep float8")
@specs
def _types(specs: tuple[str, ...]) -> int:
    """List types, their names in each runtime, and families.

    s/e/m are the bits of sign, exponent and mantissa. --from and --to take families, too.
    """
    from convcheck.report.draw.listing import columns, library_rows, name_rows, type_rows

    loaded = catalog(specs).types
    types = list(loaded.types.values())
    _echo(columns(type_rows(types), frozenset((1, 3))))
    _echo(["", *columns(name_rows(loaded))])
    return _echo(["", *columns(library_rows(loaded))])


@command.command("cases", epilog="Example: convcheck list cases onnx.Cast-21 --to float8 --count")
@selection_options
@click.option("--count", is_flag=True, help="Count the inputs of each case.")
@click.option(
    "--tier", type=click.Choice(["edge", "boundary", "exhaustive"]), default="edge",
    show_default=True, help="Of which tier to count the inputs.",
)  # fmt: skip
@specs
def _cases(
    selection: Selection,
    count: bool,
    tier: str,
    specs: tuple[str, ...],
) -> int:
    """List the ids of cases. `convcheck run` asks those that the same options select."""
    from convcheck.plan.select import select

    loaded = catalog(specs)
    cases = select(loaded, selection)
    return _count(loaded, cases, tier) if count else _echo(case.id for case in cases)


def _count(loaded: Catalog, cases: list[Case], tier: str) -> int:
    from typing import cast

    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus
    from convcheck.vectors.model import Tier
    from convcheck.wording import plural

    corpus = open_corpus(loaded, cast(Tier, tier), 0, data_dir("vectors"))
    total = 0
    for case in cases:
        count = corpus.count(case)
        total += count
        say(f"{count:>9}  {case.id}")
    return _echo([f"{total:>9}  in {plural(len(cases), 'case')}"])


@command.command("backends", epilog="Example: convcheck list backends")
def list_backends() -> int:
    """List backends, and what is missing to use them."""
    from convcheck.backends.protocol import backend_names
    from convcheck.report.draw.listing import columns

    return _echo(columns([[name, _state(name)] for name in backend_names()]))


def _state(name: str) -> str:
    """Say which version of a backend there is, or why there is none."""
    from convcheck.errors import ConvcheckError
    from convcheck.judge.words import clean

    try:
        return clean(_version(name))
    except ConvcheckError as error:
        why = clean(error.message.removeprefix(f"backend {name!r} is not available: "))
        return f"not available: {why}" + (f"; {error.hint}" if error.hint else "")
    except Exception as error:  # of another package: whatever its runtime raises
        return f"not available: {type(error).__name__}: {clean(str(error))}"


def _version(name: str) -> str:
    """Have a backend opened for its version, unless it can say what there is without that."""
    from importlib.metadata import entry_points

    from convcheck.backends.protocol import GROUP
    from convcheck.pool.local import introduced

    say = None
    with contextlib.suppress(ImportError):  # opening it tells it better
        say = getattr(entry_points(group=GROUP)[name].load(), "available", None)
    return str(say() if say else introduced(name).version)


def _echo(lines: Iterable[str]) -> int:
    for line in lines:
        say(line)
    return 0
