"""How cases are asked: the options that commands share which put vectors to a backend."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from convcheck.cli.options import JOBS, SEED, TIER, TIMEOUT
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case, Level
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Tier

_MOST_SAMPLES = 10**12


@dataclass(frozen=True)
class RunOptions:
    """What the options say. `timeout` is in seconds; `jobs` is None for one worker a core."""

    jobs: int | None
    timeout: float
    tier: Tier = "edge"
    level: Level = "disputed"
    #: Of the random part of the inputs.
    seed: int = 0
    #: A file with the user's own inputs, None for the tier's.
    inputs: str | None = None
    #: How many samples are asked of sources too wide to be asked whole.
    samples: int = 0
    #: The address of a cluster, None for processes on this machine.
    executor: str | None = None
    #: Whether answers are held against those in other calls and with other options.
    consistency: bool = False
    #: Whether no causes are tried on what fails.
    no_causes: bool = False


def _samples(context: click.Context, parameter: click.Parameter, text: str) -> int:
    """Read a count: 268435456, 2^28 or 1e9. Raises UsageError."""
    match = re.fullmatch(r"([0-9]{1,15})(?:([e^])([0-9]{1,2}))?", text)
    number, sign, power = match.group(1, 2, 3) if match else ("0", "", "")
    base, exponent = int(number), int(power or 0)
    found = int(base**exponent if sign == "^" else base * 10**exponent)
    if match is None or found > _MOST_SAMPLES:
        said = f"--samples {text}: not a count from 0 to {_MOST_SAMPLES:,}"
        raise UsageError(said, hint="--samples 2^20")
    return found


EXECUTOR = click.option(
    "--executor", metavar="URL", help="Ask from the workers of a Dask cluster: dask://HOST:PORT."
)
_OPTIONS = (
    TIER,
    click.option(
        "--level",
        default="disputed",
        show_default=True,
        type=click.Choice(["normative", "implied", "disputed"]),
        help="Fail on rules of this level and stronger.",
    ),
    JOBS,
    TIMEOUT,
    SEED,
    click.option(
        "--inputs",
        metavar="FILE",
        help="Test the inputs in FILE: one hex bit pattern per line.",
    ),
    click.option(
        "--samples",
        callback=_samples,
        default="0",
        metavar="N",
        help="With --tier boundary, also test N random inputs of each 64-bit source type, spread "
        "over binades and near ties.",
    ),
    EXECUTOR,
    click.option(
        "--consistency",
        is_flag=True,
        help="Ask again at other positions, in other lengths, in another order and under the "
        "backend's other options: the bits must not change.",
    ),
    click.option("--no-causes", is_flag=True, help="Do not try known bug patterns on failures."),
)


def packed_options(
    kind: Callable[..., object], names: Sequence[str], options: Sequence[Callable[..., Any]]
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return a decorator that adds options; the command gets those of the names in one object, as
    `options`.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def packed(**given: Any) -> int:
            packed_ones = kind(**{name: given.pop(name) for name in names})
            return function(options=packed_ones, **given)

        for option in reversed(options):
            packed = option(packed)
        return packed

    return decorate


run_options = packed_options(RunOptions, [f.name for f in fields(RunOptions)], _OPTIONS)


# parameters of `run` and `survey` on which it depends what is asked, and how it is judged
_SHARED = (
    "patterns", "sources", "targets", "where", "globs", "tier", "level", "seed", "samples",
    "consistency", "no_causes", "chains",
)  # fmt: skip


def shared_options() -> tuple[tuple[str, str], ...]:
    """Return the options of the command at hand that all shards of a run have to share, as they
    would be written; one without a value has ''.
    """
    context = click.get_current_context(silent=True)
    found = []
    for parameter in context.command.params if context else ():
        given = context.params.get(parameter.name or "") if context else None
        if parameter.name in _SHARED and given not in (None, (), False):
            name = parameter.opts[0] if isinstance(parameter, click.Option) else "SPEC"
            words = given if isinstance(given, tuple) else ("",) if given is True else (given,)
            found.append((name, " ".join(map(str, words))))
    return tuple(found)


def corpus_of_run(loaded: Catalog, options: RunOptions, cases: Sequence[Case]) -> Corpus:
    """Open the vectors of a run. Raises UsageError for inputs of one's own that do not go with the
    cases.
    """
    from dataclasses import replace

    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus, read_words

    if options.samples and (options.inputs is not None or options.tier != "boundary"):
        given = "--inputs" if options.inputs is not None else f"--tier {options.tier}"
        hint = "--tier boundary --samples 1000000"
        raise UsageError(f"--samples does not go with {given}", hint=hint)
    corpus = open_corpus(loaded, options.tier, options.seed, data_dir("vectors"))
    if options.inputs is None:
        if options.tier == "exhaustive":
            _refuse_wide(cases)
        return replace(corpus, sweeps=True, samples=options.samples)
    sources = {case.inputs[0] for case in cases}
    whole = [case.whole_calls for case in cases]
    if all(whole) or (any(whole) and len(sources) == 1):
        hint = "choose such a SPEC; `convcheck explain` asks one call of the others"
        raise UsageError("--inputs is for operators that convert elements", hint=hint)
    if len(sources) > 1:
        names = ", ".join(sorted(t.name for t in sources))
        hint = f"choose one source with --from; selected are {names}"
        raise UsageError("--inputs has bit patterns of one type", hint=hint)
    return replace(corpus, words=read_words(Path(options.inputs), sources.pop().format))


def _refuse_wide(cases: Sequence[Case]) -> None:
    """Refuse to ask every bit pattern of 64 bits."""
    from convcheck.numerics.format import Text
    from convcheck.vectors.span import SWEPT

    sources = {case.inputs[0].name: case.inputs[0].format for case in cases if not case.whole_calls}
    numbers = {name: fmt for name, fmt in sources.items() if not isinstance(fmt, Text)}
    wide = sorted(name for name, fmt in numbers.items() if fmt.bits > SWEPT)
    if wide:
        raise UsageError(
            f"--tier exhaustive: {', '.join(wide)} {'has' if len(wide) == 1 else 'have'} 2^64 bit "
            "patterns, which no machine asks in a century",
            hint="--tier boundary asks every rounding boundary of destinations up to 16 bits, and "
            "so proves a conversion that is constant between two of them, and --samples N adds as "
            "many samples as there is time for; or choose other sources: --from float32",
        )
