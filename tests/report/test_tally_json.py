import json
from functools import cache

import jsonschema
import msgspec
import numpy as np
import pytest
from catalogue import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st
from report_json import damaged

from convcheck.ask.stream import Sweep
from convcheck.backends.protocol import Outputs, Refused, open_backend
from convcheck.documents.decode import check_part, check_tally
from convcheck.documents.encode import Writing
from convcheck.documents.report import encoded
from convcheck.documents.schemas import schema
from convcheck.errors import UsageError
from convcheck.judge.digest import spell_digest
from convcheck.judge.ranges import Ranges, joining
from convcheck.judge.reading import hook_of, hooks
from convcheck.judge.result import (
    RIGHT,
    SORTS,
    CaseResult,
    Example,
    Group,
    Key,
    Part,
    PlacedExample,
    Tally,
    TallyEntry,
)
from convcheck.judge.tally import finish, merge, named
from convcheck.plan.units import joined, result_of
from convcheck.records import replace
from convcheck.rules.find import find_case
from convcheck.semantics.evaluate import compile_case
from convcheck.vectors.corpus import Span
from convcheck.vectors.generate import form_decision

SCHEMA = schema("run-line")
OF_TALLY, OF_PART = (
    jsonschema.Draft202012Validator(
        {"$schema": SCHEMA["$schema"], "$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}
    )
    for name in ("Tally", "Part")
)
CASES = (
    ("onnx.Cast-21", "float16", "bfloat16", ()),
    ("onnx.Cast-13", "float16", "int8", ()),
    ("onnx.Cast-21", "float16", "float8e4m3fn", ("saturate=1",)),
)


@cache
def case_of(number):
    spec, source, target, attributes = CASES[number]
    return find_case(CATALOG, spec, source, target, attributes)


@cache
def rules(case):
    spec = CATALOG.specs[case.spec]
    return compile_case(spec, case), form_decision(spec)


class Wrong:
    name, version = "wrong", "1"

    def __init__(self):
        self.inner = open_backend("ml_dtypes")

    def support(self, case):
        return self.inner.support(case)

    def answer(self, case, inputs):
        codes = inputs[0].astype(np.int64)
        if (codes == 0x1234).any():
            return Refused("not that one")
        answer = self.inner.answer(case, inputs)
        if len(codes) == 1 and codes.flat[0] == 0x1235:
            return Outputs(answer.arrays, ("float64",))
        flips = (codes % 3 == 0) | (codes % 5 == 0) << 1
        turned = answer.arrays[0] ^ flips.astype(answer.arrays[0].dtype)
        return Outputs((turned,), answer.types)


@cache
def swept(number, wrong):
    case = case_of(number)
    backend = Wrong() if wrong else open_backend("ml_dtypes")
    spans = (Span(0, 1 << 15), Span(1 << 15, 1 << 15))
    one, two = (Sweep(backend, case, *rules(case), s, lambda *a: None, 64).tally() for s in spans)
    return one, two


HOOK = hook_of(hooks(CATALOG.types.types))


def data(thing):
    return json.loads(encoded(thing))


def written(tally):
    document = data(tally)
    OF_TALLY.validate(document)
    return document


def read(document, case):
    tally = msgspec.json.decode(json.dumps(document), type=Tally, dec_hook=HOOK)
    check_tally(case, tally)
    return tally


def part_document(part):
    return data(Writing().part(part))


def read_part(document, table=()):
    hook = hook_of(hooks(CATALOG.types.types, rules=table))
    part = msgspec.json.decode(json.dumps(document), type=Part, dec_hook=hook)
    check_part(part)
    return part


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_a_sweep_found_is_read_back_and_adds_up(number, wrong):
    case, parts = case_of(number), swept(number, wrong)
    again = tuple(read(written(part), case) for part in parts)
    assert again == parts
    assert merge(again) == merge(parts) == merge(again[::-1])
    found = finish(case, merge(again), "exhaustive")
    assert found == finish(case, merge(parts), "exhaustive")
    assert found.checked > 60000
    assert (found.verdict != "pass") or not wrong
    assert bool(merge(again).faults) == wrong


def test_what_is_right_is_short():
    document = written(swept(0, False)[0])
    right = [entry for key, entry in document["entries"] if key["sort"] == RIGHT]
    assert right
    assert all(set(entry) <= {"count", "ranges"} for entry in right)
    assert not any(entry.get("ranges") for entry in right)


POSITIONS = st.integers(0, 0xFFFF)
PAIRS = st.lists(st.tuples(POSITIONS, POSITIONS).map(lambda p: (min(p), max(p))), max_size=5)
OUTPUTS = st.integers(0, 0xFF)
PATTERN = st.sampled_from(["<nan>", "<undefined>"])
EXAMPLES = st.builds(
    Example, st.tuples(POSITIONS), OUTPUTS | PATTERN, OUTPUTS | st.none(), st.text(max_size=4)
)
ERRORS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
SAMPLES = st.none() | st.builds(PlacedExample, POSITIONS, ERRORS, EXAMPLES)
RANGES = st.builds(
    lambda kept, more, loose: Ranges(joining(kept)[:8], len(joining(kept)[:8]) + more, loose),
    PAIRS, st.integers(0, 99), PAIRS.map(joining),
)  # fmt: skip
ENTRIES = st.builds(
    TallyEntry,
    st.integers(1, 1 << 40),
    st.integers(0, 2**128 - 1).map(spell_digest),
    RANGES,
    SAMPLES,
    SAMPLES,
)
NAMES = st.sampled_from([(s, k) for s in SORTS for k in ("", "off by one, too large", "dié\n")])


@st.composite
def tallies(draw, case):
    program, by_form = rules(case)
    asked = {}
    entries = {}
    chosen = draw(st.sets(st.integers(0, len(program.decisions) - 1), max_size=2))
    for index, decision in enumerate(program.decisions):
        if index not in chosen:
            continue
        asked[index] = 0
        for reading in range(len(decision.readings)):
            found = draw(st.dictionaries(NAMES, ENTRIES, min_size=1, max_size=2))
            if reading:
                found = {("fail", "x"): replace(draw(ENTRIES), count=asked[index])}
            else:
                asked[index] = sum(entry.count for entry in found.values())
            entries |= {Key(index, reading, *name): entry for name, entry in found.items()}
    faults = st.builds(
        Group, st.sampled_from((by_form, *program.decisions)),
        st.sampled_from(["error", "crashed", "refused"]), st.text(), st.just(1), st.just(1),
        st.text(), placement=st.sampled_from(["", "alone"]), examples=st.tuples(EXAMPLES),
    )  # fmt: skip
    drawn = tuple(draw(st.lists(faults, max_size=2)))
    decisions = named(program.decisions, entries)
    found = tuple(entries.items())
    return Tally(asked, found, joining(draw(PAIRS)), drawn, decisions=decisions)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_tally_is_read_back_and_adds_up(data):
    case = case_of(data.draw(st.integers(0, len(CASES) - 1)))
    parts = data.draw(st.lists(tallies(case), max_size=3))
    again = [read(written(part), case) for part in parts]
    assert again == parts
    assert merge(again) == merge(parts)
    whole = merge(parts)
    assert read(written(whole), case) == whole


def test_a_group_of_a_decision_with_readings_has_them_again():
    case = case_of(0)
    decision = replace(rules(case)[0].decisions[0], readings=("a", "b"), trail=(("r", "x"),))
    tally = Tally({}, (), (), (Group(decision, "crashed", "died", 1, 1, ""),))
    assert read(written(tally), case) == tally


FAIL = -1
KEY, ENTRY = ("entries", FAIL, 0), ("entries", FAIL, 1)
DAMAGES = {
    "no asked": (("asked",), KeyError),
    "asked is no object": (("asked",), 3),
    "a decision that is not there": (("asked", "99"), 1),
    "a decision that is no number": (("asked", "x"), 1),
    "asked more than counted": (("asked",), lambda of: {i: n + 1 for i, n in of.items()}),
    "an entry lost": (("entries",), lambda found: found[1:]),
    "an entry twice": (("entries",), lambda found: [*found, found[0]]),
    "a negative count": ((*ENTRY, "count"), -1),
    "a count that is true": ((*ENTRY, "count"), True),
    "no sort": ((*KEY, "sort"), "wrong"),
    "a kind of numbers": ((*KEY, "kind"), 7),
    "a reading that is not there": ((*KEY, "reading"), 5),
    "a short digest": ((*ENTRY, "digest"), "ab"),
    "a digest in words": ((*ENTRY, "digest"), "g" * 32),
    "a digest of numbers": ((*ENTRY, "digest"), 12),
    "ranges turned": ((*ENTRY, "ranges", "kept", 0), [9, 3]),
    "a range of three": ((*ENTRY, "ranges", "kept", 0), [1, 2, 3]),
    "a position that is not there": ((*ENTRY, "first", "position"), 1 << 16),
    "an error in words": ((*ENTRY, "first", "error"), "far"),
    "no error": ((*ENTRY, "first", "error"), None),
    "an example that is a number": ((*ENTRY, "first", "example"), 4),
    "an input that is no code": ((*ENTRY, "first", "example", "inputs"), ["4"]),
    "an input that is too large": ((*ENTRY, "first", "example", "inputs"), [1 << 40]),
    "a whole call": ((*ENTRY, "first", "example", "asked"), "call"),
    "covered twice": (("covered",), lambda pairs: [*pairs, pairs[0]]),
    "a fault that is none": (("faults",), [[]]),
    "a fault without a place": (("faults", 0, "rule", "place"), None),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name):
    case = case_of(0)
    document = written(merge(swept(0, True)))
    document["entries"].sort(key=lambda e: e[0]["sort"] == "fail" and "kept" in e[1]["ranges"])
    assert document["entries"][FAIL][1]["ranges"]["kept"]
    read(document, case)
    damaged(document, *DAMAGES[name])
    with pytest.raises((ValueError, LookupError)):
        read(document, case)


@pytest.mark.parametrize("document", [None, 3, "tally", [], {}])
def test_what_is_no_tally_is_none(document):
    with pytest.raises(ValueError):  # noqa: PT011
        read(document, case_of(0))


def parts(number):
    case, (one, two) = case_of(number), swept(number, True)
    key, sample = next((k, e.first) for k, e in one.entries if k.sort == "fail")
    alone = TallyEntry(3, spell_digest(0xAB), Ranges(), sample, sample)
    one = replace(one, entries=(*one.entries, (replace(key, placement="alone"), alone)))
    lost = CaseResult(case, "error", 0, "edge", (), "it raised")
    return [
        Part(case, 1 << 16, False, None, one, None, 1),
        Part(case, 1 << 16, False, None, replace(two, declined=7), lost, 1),
    ]


def read_back(part):
    writing = Writing()
    document = data(writing.part(part))
    OF_PART.validate(document)
    return read_part(document, tuple(writing.rules))


def test_parts_of_two_shards_make_the_case_as_one_run_does():
    for number in range(len(CASES)):
        one, two = parts(number)
        again = [read_back(part) for part in (two, one)]
        assert [part.tally for part in again] == [two.tally, one.tally]
        assert [(part.units, part.sampled) for part in again] == [(1, False)] * 2
        was, now = result_of(joined([one, two]), rules), result_of(joined(again), rules)
        assert now.case.id == was.case.id
        assert (now.verdict, now.checked, now.coverage) == (was.verdict, was.checked, was.coverage)
        assert now.groups == was.groups
        assert {group.placement for group in now.groups} == {"", "alone", "bulk"}
        assert (now.verdict, now.message) == ("error", "it raised")


def test_a_part_without_a_tally_is_read_back():
    case = case_of(0)
    vectors = CaseResult(case, "unsupported", 0, "edge", ())
    part = Part(case, 1 << 16, True, vectors)
    again = read_back(part)
    assert again == replace(part, case=again.case, vectors=again.vectors)
    assert (again.case.id, again.vectors.verdict) == (case.id, "unsupported")


@pytest.mark.parametrize(("path", "to"), [
    *((("codes",), n) for n in (-1, 1 << 15)),
    *((("units",), n) for n in (None, 0, 4)),
    (("sampled",), 1),
    (("tally", "vectors"), 1 << 20),
    (("tally", "declined"), -1),
    (("tally", "entries", 0, 0, "placement"), "nowhere"),
    (("tally", "entries", 0, 0, "reading"), 7),
    (("lost",), lambda _: part_document(parts(1)[1])["lost"]),
    (("tally",), KeyError),
    (("tally", "asked"), {}),
    (("case", "id"), "onnx.Cast-21/float16-to-int8"),
    (("case", "inputs"), ["float32"]),
    (("vectors",), lambda _: part_document(parts(1)[1])["lost"]),
])  # fmt: skip
def test_damaged_parts_are_found(path, to):
    document = part_document(parts(0)[0])
    read_part(document)
    damaged(document, path, to)
    with pytest.raises((ValueError, LookupError, UsageError)):
        read_part(document)
