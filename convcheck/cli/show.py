"""`convcheck show`: the rule tables of a spec, or what changed between two versions."""

from __future__ import annotations

import click

from convcheck.cli.options import catalog, complete_specs
from convcheck.cli.options import specs_option as specs
from convcheck.errors import UsageError
from convcheck.wording import plural

EXAMPLE = """\b
Examples:
  convcheck show onnx.Cast-21
  convcheck show --diff onnx.Cast-23 onnx.Cast-24
"""


@click.command("show", epilog=EXAMPLE)
@click.argument("names", nargs=-1, metavar="SPEC [SPEC]", shell_complete=complete_specs)
@click.option("--diff", is_flag=True, help="Show what changed from the first SPEC to the second.")
@specs
def command(names: tuple[str, ...], diff: bool, specs: tuple[str, ...]) -> int:
    """Print the rule tables of a spec as the standard prints them, or what changed.

    A number in brackets beside a cell refers to its level and citation, where these are not the
    first ones.
    """
    from convcheck.plan.select import select_specs
    from convcheck.report.draw.console import put
    from convcheck.report.spec_page import page
    from convcheck.rules.diff import diff as changes_between

    wanted = 2 if diff else 1
    if len(names) != wanted:
        raise UsageError(
            f"`show{' --diff' if diff else ''}` takes {plural(wanted, 'spec')}",
            hint="convcheck show onnx.Cast-21, or convcheck show --diff onnx.Cast-23 onnx.Cast-24",
        )
    loaded = catalog(specs)
    chosen = [select_specs(loaded, [name]) for name in names]
    if diff:
        old, new = chosen[0][0], chosen[1][0]
        found = changes_between(old, new, loaded.types)
        put(page.changes(old, new, found))
        return 0
    for spec in chosen[0]:
        put(page.spec_page(spec, loaded.types))
    return 0
