import json
from functools import cache

import jsonschema
import msgspec
import numpy as np
import pytest
from catalogue import CATALOG
from report_json import damaged

from convcheck.ask.stream import Sweep
from convcheck.backends.protocol import Outputs, Refused, open_backend
from convcheck.documents.decode import check_part, check_tally
from convcheck.documents.encode import Writing
from convcheck.documents.report import encoded
from convcheck.documents.schemas import schema
from convcheck.errors import UsageError
from convcheck.judge.digest import spell_digest
from convcheck.judge.ranges import Ranges
from convcheck.judge.reading import hook_of, hooks
from convcheck.judge.result import (
    CaseResult,
    Group,
    Part,
    Tally,
    TallyEntry,
)
from convcheck.judge.tally import finish, merge
from convcheck.records import replace
from convcheck.rules.find import find_case
from convcheck.semantics.evaluate import compile_case
from convcheck.vectors.corpus import Span
from convcheck.vectors.generate import form_decision

SCHEMA = schema("run-line")
OF_TALLY = jsonschema.Draft202012Validator(
    {"$schema": SCHEMA["$schema"], "$ref": "#/$defs/Tally", "$defs": SCHEMA["$defs"]}
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


def read_part(document):
    part = msgspec.json.decode(json.dumps(document), type=Part, dec_hook=HOOK)
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
