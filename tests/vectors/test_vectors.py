import json
from fractions import Fraction
from itertools import chain, groupby, pairwise

import numpy as np
import pytest
from catalogue import CATALOG
from comparing import cast, neighbours, numeric, pattern, type_names
from oracle import boundaries

from convcheck.numerics.order import order_key
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir
from convcheck.semantics.expected import EXACT
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.generate import vector_set, vectors_of
from convcheck.vectors.inputs import chosen_inputs, numeric_inputs
from convcheck.vectors.model import VectorSet
from convcheck.vectors.store.stored import MANIFEST, file_in, folder_of
from convcheck.vectors.store.write import Files, by_file, differing, text_of_set

FOLDER = data_dir("vectors")
CORPUS = open_corpus(CATALOG, "edge", 0, FOLDER)
MOST = 900  # vectors of a case
LARGEST, MOST_FILES = 16_000_000, 160  # bytes and number of all files, with the manifest


LISTED = by_file(chain.from_iterable(map(cases, CATALOG.specs.values())), CATALOG.specs)


def file_of(case):
    return FOLDER / file_in(folder_of(CATALOG.specs[case.spec]), case)


@pytest.mark.long
def test_checked_in_vectors_are_those_of_the_specs():
    """Every sixteenth case of each file. The slow test has all cases."""
    seen = set()
    for path, listed in groupby(LISTED, file_of):
        text = path.read_text("utf-8")
        for case in [*listed][::16]:
            assert text_of_set(made_and_read(case)) in text, case.id
        seen.add(path)
    assert seen | {FOLDER / MANIFEST} == {*FOLDER.rglob("*.json")}


@pytest.mark.slow
def test_all_checked_in_vectors_are_those_of_the_specs():
    files = Files(CATALOG.specs.values(), LISTED, made_and_read, "edge", 0)
    assert differing(files, FOLDER) == []


def made_and_read(case):
    made = vectors_of(CATALOG.specs[case.spec], case, "edge")
    if isinstance(made, VectorSet):
        back = CORPUS.vectors(case)
        assert all(np.array_equal(a, b) for a, b in zip(back.inputs, made.inputs, strict=True))
        assert same_due(back.expected, made.expected), made.case.id
        assert (back.case, back.coverage, back.form) == (made.case, made.coverage, made.form)
        mine, theirs = ([v.expected.decisions[r] for r in v.expected.rows] for v in (made, back))
        assert mine == theirs
    return made


def same_due(one, other):
    """Return whether elements have equal expectations under each reading. The last reading is
    repeated if a decision has fewer.
    """
    for number in range(max(len(one.readings), len(other.readings))):
        mine, its = (e.readings[min(number, len(e.readings) - 1)] for e in (one, other))
        exact = mine.patterns == EXACT
        same = np.array_equal(mine.codes[exact], its.codes[exact])
        if not (same and np.array_equal(mine.patterns, its.patterns)):
            return False
    return True


def test_sizes_and_lines():
    """Each line is one call, or a run of elements that one rule decides."""
    texts = {path: path.read_text("utf-8") for path in FOLDER.rglob("*") if path.is_file()}
    size, most = sum(len(text.encode()) for text in texts.values()), 0
    for text in texts.values():
        sets = json.loads(text).get("sets", [])
        lines = [line for one in sets for line in one["vectors"]]
        assert text.count("\n[[") == len(lines)
        most = max([most, *(len(one["vectors"]) for one in sets)])
    print(f"\n{size:,} bytes in {len(texts)} files; {most} lines of a set", end="")
    assert size <= LARGEST
    assert len(texts) <= MOST_FILES
    counts = [CORPUS.count(case) for case in cases(cast(28))]
    assert 0 < min(counts) <= max(counts) <= MOST


def test_every_boundary_of_float8_is_asked_from_float32():
    asked, coverage = numeric_inputs(numeric("float32"), numeric("float8e4m3fn"), "boundary", 0)
    values = boundaries("float8e4m3fn")
    wanted = {c for x in values for c in neighbours("float32", pattern("float32", x))}
    assert len(values) > 500
    assert wanted <= set(asked.tolist())
    assert coverage == "boundary-complete"


@pytest.mark.parametrize(("target", "low", "high"), [("int8", -129, 128), ("uint8", -1, 256)])
def test_every_half_integer_is_asked_from_float64(target, low, high):
    asked, coverage = numeric_inputs(numeric("float64"), numeric(target), "boundary", 0)
    values = [Fraction(k, 2) for k in range(2 * low, 2 * high + 1)]
    wanted = {c for x in values for c in neighbours("float64", pattern("float64", x))}
    assert wanted <= set(asked.tolist())
    assert coverage == "boundary-complete"


@pytest.mark.parametrize("target", type_names(28, 1, 8))
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_every_boundary_in_range_is_asked(source, target):
    fmt = numeric(target)
    asked = set(numeric_inputs(numeric(source), fmt, "boundary", 0)[0].tolist())
    for x in boundaries(target):
        if target != "bool" and fmt.min <= x <= fmt.max:
            assert set(neighbours(source, pattern(source, x))) <= asked, x


@pytest.mark.parametrize("tier", ["edge", "boundary"])
def test_inputs_are_sorted_once_each_and_the_seeds(tier):
    for source, target in (("float32", "bfloat16"), ("int64", "int8"), ("float64", "int32")):
        asked, again, other = (
            chosen_inputs(numeric(source), numeric(target), tier, seed)[0].tolist()
            for seed in (0, 0, 1)
        )
        assert asked == again != other
        array = np.array(asked, numeric(source).storage)
        keys = order_key(numeric(source), array).tolist()
        assert all(low < high for low, high in pairwise(keys))


def test_all_codes_of_narrow_sources_are_asked():
    for name in type_names(28, 1, 16):
        tier = "edge" if numeric(name).bits <= 8 else "boundary"
        asked, coverage = numeric_inputs(numeric(name), numeric("float32"), tier, 0)
        assert (sorted(asked.tolist()), coverage) == (
            list(range(1 << numeric(name).bits)),
            "exhaustive",
        )


def test_a_wide_source_is_not_called_exhaustive():
    case = next(case for case in cases(cast(21)) if case.name == "float64-to-bool")
    assert vector_set(cast(21), case, "exhaustive").coverage != "exhaustive"
