"""Is a bug observable on a case, and is it caught?

Observable: on a rich set of inputs, made without looking at the edge vectors, the answers with
the bug are judged wrong. Caught: the edge vectors, asked and judged as in a run, fail.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, partial

import numpy as np
from catalogue import CATALOG, CORPUS, compiled
from planted.bugs import Bug
from planted.float_bugs import tiny
from planted.problem import BadPoints, Problem

from convcheck.ask.elements import ask
from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.judge import matching as judging
from convcheck.judge.answers import Avoid
from convcheck.judge.case import judge
from convcheck.judge.matching import matching
from convcheck.judge.result import FAILURES
from convcheck.numerics.codec import decode, decode_magnitudes
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Float, Format, Int, Numeric, Text, text_of_format
from convcheck.numerics.neighbours import around, special_codes
from convcheck.numerics.number import Numbers, normalised
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, REFUSED, Expected
from convcheck.semantics.spelling import satisfies
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import VectorSet

# Whether a text is right of a code is worked out once for all bugs and placements.
judging.satisfies = cache(satisfies)

NARROW = 16  # sources of up to so many bits are rich only as a whole
BOUNDARIES, RANDOM, TEXTS, PRINTS = 3000, 5000, 400, 300
FEW = 1000  # inputs of a rich set, in which most bugs show already
SPELLINGS = (
    "INF", "+INF", "-INF", "inf", "Inf", "+inf", "-inf", "NaN", "nan", "NAN", "0", "-0", "+0",
    "0.0", "-0.0", "-0e5", "007", ".5", "-.5", "5.", "1e400", "-1e400", "1e-400", "-1e-400",
    "2.718", "Hello World!", "", " 1", "é", "a日本語b", "tab\there",
)  # fmt: skip


# Cases ------------------------------------------------------------------------------------------


@cache
def all_cases(version: int) -> tuple[Case, ...]:
    """The cases of a version of Cast where an answer is due."""
    spec = CATALOG.specs[f"onnx.Cast-{version}"]
    return tuple(
        case for case in cases(spec) if compiled(case).entries[0].steps[0].pattern != REFUSED
    )


def most_cases() -> list[Case]:
    """All of version 25, and of 28 those of float6."""
    return [*all_cases(25), *(c for c in all_cases(28) if "float6e" in c.name)]


# Rich inputs ------------------------------------------------------------------------------------


@cache
def rich_inputs(source: Format, target: Format) -> tuple[Bits, Numbers]:
    """Inputs that show a bug wherever it can be seen, in an order without meaning."""
    pair = f"{text_of_format(source)} {text_of_format(target)}"
    rng = np.random.default_rng(zlib.crc32(pair.encode()))
    bits: Bits
    if isinstance(source, Text):
        bits = np.array(list(dict.fromkeys(_texts(target, rng))), object)
    elif isinstance(target, Text):
        bits = np.concatenate([special_codes(source), _random(source, rng)[:PRINTS]])
    elif source.bits <= NARROW:
        return _whole(source)
    else:
        parts = (special_codes(source), _random(source, rng), *_boundaries(source, target, rng))
        bits = rng.permutation(np.unique(np.concatenate(parts)))
    return bits, decode(source, bits)


@cache
def _whole(source: Numeric) -> tuple[Bits, Numbers]:
    """Every code of a narrow source."""
    bits = np.random.default_rng(1).permutation(1 << source.bits).astype(source.storage)
    return bits, decode(source, bits)


def _texts(target: Format, rng: np.random.Generator) -> Iterator[str]:
    """Spellings, decimals of every size, whole numbers, and what is next to boundaries."""
    yield from SPELLINGS
    for exponent in range(-330, 330, 3):
        yield f"-{rng.random():.9f}e{exponent}"
        yield f"{rng.integers(1, 10**18)}e{exponent}"
    for bits in range(70):
        whole = int(rng.integers(0, 1 << 62)) % (1 << bits) + (1 << bits)
        yield from (str(whole | 1), str(-whole), str(whole + 1), f"+{whole}")
    if isinstance(target, Float):
        finer, magnitudes = _grid(target, rng)
        for magnitude in rng.permutation(magnitudes)[:TEXTS]:
            yield from _digits(finer.value(int(magnitude)))
        for past in range(-3, 4):
            yield from _digits(finer.value(2 * target.max_magnitude + past))


def _digits(value: Fraction) -> Iterator[str]:
    """The decimals of twenty digits that are next to a value, or it and those of one more ulp."""
    for sign, way in (("", ROUND_FLOOR), ("-", ROUND_FLOOR), ("", ROUND_CEILING)):
        context = Context(prec=20, rounding=way, Emax=9999, Emin=-9999)
        yield sign + str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def _random(source: Numeric, rng: np.random.Generator) -> Bits:
    """Random bit patterns; of integers also of every length."""
    codes = rng.integers(0, 1 << source.bits, RANDOM, np.uint64)
    if isinstance(source, Int):
        codes >>= rng.integers(0, source.bits, RANDOM, np.uint64)
        codes = np.where(rng.random(RANDOM) < 0.5, codes, ~codes & np.uint64(source.mask))
    return codes.astype(source.storage)


def _boundaries(source: Numeric, target: Format, rng: np.random.Generator) -> Iterator[Bits]:
    """Values of the destination and the midpoints between them, and what is next to those."""
    if isinstance(target, Float):
        yield around(source, decode_magnitudes(*_grid(target, rng)))
    elif isinstance(target, Int):
        shifts = rng.integers(max(62 - target.bits, 0), 64, BOUNDARIES, np.uint64)
        halves = rng.integers(0, 1 << 64, BOUNDARIES, np.uint64) >> shifts
        ends = np.array([target.max, -target.min], object) * 2
        near = [int(end) + d for end in ends for d in range(-4, 5) if 0 <= end + d < 1 << 64]
        exponent, significand = normalised(np.append(halves, np.array(near, np.uint64)), -1)
        blank = np.zeros(len(exponent), np.uint8)
        yield around(source, Numbers(blank, blank.astype(bool), exponent, significand))


def _grid(target: Float, rng: np.random.Generator) -> tuple[Float, Bits]:
    """Boundaries are the values of the format with one more bit of mantissa."""
    finer = replace(target, mantissa=target.mantissa + 1, nan="none", infinity=False)
    past = (target.max_magnitude + 1) << 1
    last = min(past + (2 << finer.mantissa), (1 << 64) - 1)
    low = np.arange(64, dtype=np.uint64)
    spread = rng.integers(0, last, BOUNDARIES, np.uint64)
    subnormal = spread >> rng.integers(0, 64, BOUNDARIES, np.uint64)
    if last <= 2 * BOUNDARIES:
        spread = np.arange(last, dtype=np.uint64)
    near = np.uint64(max(past - 32, 0)) + low
    chosen = np.unique(np.concatenate([low, near, spread, subnormal]))
    return finer, chosen[(chosen > 0) & (chosen <= np.uint64(last))]


# Observable -------------------------------------------------------------------------------------


def rich(case: Case) -> tuple[Problem, Expected]:
    """The rich set of a case with the right answers, which no bug can write over."""
    source, target = case.inputs[0].format, case.outputs[0].format
    bits, x = rich_inputs(source, target)
    expected = run_program(compiled(case), case, bits)
    problem = Problem(case, compiled(case), bits)
    problem.points = BadPoints(source, target, bits, x)
    problem.right = expected.readings[0].codes
    problem.right.flags.writeable = False
    return problem, expected


def first_few(problem: Problem, expected: Expected) -> tuple[Problem, Expected]:
    """Some inputs of a rich set: what is wrong of them is wrong of the set."""
    few = Problem(problem.case, problem.program, problem.bits[:FEW])
    few.right = problem.right[:FEW]
    return few, expected.take(slice(FEW))


def observable(bug: Bug, problem: Problem, expected: Expected) -> bool:
    """Tell whether answers with the bug are judged wrong somewhere."""
    got = bug.where_hit(problem)
    if got is None or np.array_equal(got, problem.right):
        return False
    return problem.once(got, lambda: wrong(problem.case, problem.bits, expected, got))


def wrong(case: Case, bits: Bits, expected: Expected, got: Bits) -> bool:
    """Tell whether no reading, taken as a whole, explains all answers of some rule."""
    source, target = case.inputs[0].format, case.outputs[0].format
    rights = [matching(r, got, target, source, bits) for r in expected.readings]
    rules: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for index, decision in enumerate(expected.decisions):
        rules.setdefault((decision.rule, decision.readings), []).append(index)
    for (_, readings), rows in rules.items():
        here = np.isin(expected.rows, rows)
        if not any(right[here].all() for right in rights[: len(readings)]):
            return True
    return False


# Caught -----------------------------------------------------------------------------------------


Posing = Callable[[Case, Bits], Problem]


def posed(case: Case, bits: Bits) -> Problem:
    """The problem of some inputs of a case."""
    return Problem(case, compiled(case), bits.reshape(-1))


def posed_once() -> Posing:
    """Problems of one case: what bugs are asked alike is worked out for the first of them."""
    known: dict[object, Problem] = {}

    def pose(case: Case, bits: Bits) -> Problem:
        flat = bits.reshape(-1)
        key = tuple(flat) if flat.dtype.hasobject else flat.tobytes()
        if key not in known:
            known[key] = posed(case, flat)
            known[key].right.flags.writeable = False
        return known[key]

    return pose


class Planted:
    """A backend that answers every case rightly, but for one bug."""

    name = "planted"
    version = "1"

    def __init__(self, bug: Bug, pose: Posing = posed) -> None:
        self.bug, self.pose = bug, pose

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        problem = self.pose(case, inputs[0])
        got = self.bug.answers(problem)
        codes = problem.right.copy() if got is None else got
        shape = (-1,) if self.bug.flat else inputs[0].shape
        return Outputs((codes.reshape(shape),), (case.outputs[0].name,))


@cache
def edge(case: Case) -> VectorSet:
    """The edge vectors of a case, as they are checked in."""
    found = CORPUS.vectors(case)
    assert isinstance(found, VectorSet)
    return found


def caught(bug: Bug, vectors: VectorSet, pose: Posing = posed) -> bool:
    """Ask and judge a backend with the bug, as a run does.

    Many bugs of single elements answer the same, which is asked and judged once.
    """
    problem = pose(vectors.case, vectors.inputs[0])
    got = bug.answers(problem) if bug.avoided else None
    return problem.once(got, partial(_caught, bug, vectors, pose))


def _caught(bug: Bug, vectors: VectorSet, pose: Posing) -> bool:
    avoid = Avoid(placements=bug.avoided)
    answers = ask(Planted(bug, pose), vectors, lambda *call: None, {}, avoid)
    return judge(vectors, answers).verdict in FAILURES


@dataclass
class Tally:
    """Cases on which a bug is observable, and those of them on which it is caught."""

    observable: list[str] = field(default_factory=list)
    caught: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[str]:
        return [name for name in self.observable if name not in self.caught]


def only(case: Case, bits: Bits) -> VectorSet:
    """Vectors of some inputs of a case, and no others."""
    spec = CATALOG.specs[case.spec]
    return VectorSet(case, (bits,), evaluate(spec, case, bits), "sampled", form_decision(spec))


def tally(planted: Iterable[tuple[Case, Sequence[Bug]]]) -> dict[str, Tally]:
    """Plant bugs in cases, case by case: what is right of a case is worked out once for all."""
    found: dict[str, Tally] = {}
    for case, bugs in planted:
        whole = rich(case)
        few = first_few(*whole)
        pose = posed_once()
        for bug in bugs:
            result = found.setdefault(bug.name, Tally())
            if observable(bug, *few) or observable(bug, *whole):
                result.observable.append(case.id)
                if caught(bug, edge(case), pose):
                    result.caught.append(case.id)
    return found


def hold_to_the_proof(
    found: dict[str, Tally], record: Callable[[str, object], None], name: str
) -> None:
    """Print a line a bug, and fail unless each shows somewhere and is caught wherever it does.

    The counts go to the summary of the run under a name.
    """
    for bug, result in found.items():
        seen, caught_on = len(result.observable), len(result.caught)
        print(f"\n{bug}: {seen} observable, {caught_on} caught", end="")
        record(name, (seen, caught_on))
    assert not [bug for bug, result in found.items() if not result.observable]
    assert not {bug: result.missed for bug, result in found.items() if result.missed}


# One binade -------------------------------------------------------------------------------------


def exposed_binades(case: Case, bits: Bits, expected: Expected) -> set[int]:
    """The binades of results in which an answer that is one ulp too high is judged wrong."""
    fmt = case.outputs[0].format
    codes = expected.readings[0].codes
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    here = (expected.readings[0].patterns == EXACT) & (magnitude < fmt.max_magnitude)
    if fmt.zero:
        here &= magnitude > 0
    higher = np.where(here, codes + codes.dtype.type(1), codes)
    for reading in expected.readings:
        here &= ~matching(reading, higher, fmt, case.inputs[0].format, bits)
    return set(binade_of(fmt, magnitude[here]).tolist())


def binade_of(fmt: Float, magnitude: Bits) -> Bits:
    """Number the binades: by the exponent field, those of subnormals from 0 downwards."""
    field_ = (magnitude >> magnitude.dtype.type(fmt.mantissa)).astype(np.int64)
    low = np.frexp(magnitude.astype(np.float64))[1] - fmt.mantissa
    return np.where(tiny(fmt, magnitude), low, field_) if fmt.zero else field_


def binade_count(case: Case) -> int:
    """Count the binades of a case's destination, those of subnormals included."""
    fmt = case.outputs[0].format
    return (fmt.max_magnitude >> fmt.mantissa) + fmt.mantissa * fmt.zero


def binades(case: Case) -> tuple[set[int], set[int]]:
    """The binades that can be reached from the source, and those that the edge vectors expose."""
    problem, expected = rich(case)
    vectors = edge(case)
    return (
        exposed_binades(case, problem.bits, expected),
        exposed_binades(case, vectors.inputs[0], vectors.expected),
    )
