import lzma
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from catalogue import CATALOG

from convcheck.report.where import JudgedCases
from convcheck.rules.cases import cases

# A line per case: for each runtime the letters of its cause, `.` for none, `-` if not judged.
_TABLE = Path(__file__).parent / "explained.txt.xz"
_RUNTIMES = ("ort", "onnx-reference", "torch", "ml_dtypes", "pypto", "openvino-eval")
_PLACE = r"(?:\{[^}]*\}|[^-{} ]+)"  # the types of one of several inputs
_FAMILIES = {CATALOG.types.called.get(k, k): members for k, members in CATALOG.types.sets.items()}
_CASES = {case.id: case for spec in CATALOG.specs.values() for case in cases(spec)}


@cache
def explained(runtime):
    head, *lines = lzma.decompress(_TABLE.read_bytes()).decode().splitlines()
    at = head.split().index(runtime)
    rows = (line.split() for line in lines)
    return {row[0]: row[at] for row in rows if row[at] != "-" and row[0] in _CASES}


@cache
def by_types(ids):
    found = {}
    for one in ids:
        spec, head, *_ = one.split("/")
        found.setdefault(spec, {}).setdefault(head, []).append(one)
    return found


def meant(line, ids):
    if line in ids:
        return {line}
    specs, said = line.split(": ")
    types, *conditions = re.split(r", (?=[a-z_0-9]+=)", said)
    wanted, known = dict(one.split("=") for one in conditions), by_types(ids)
    some = (
        known[spec].get(head, []) for spec in _specs(specs, list(known)) for head in _heads(types)
    )
    return {one for each in some for one in each if _has_values(one, wanted)}


def _has_values(case, wanted):
    rest = case.split("/")[2:]
    given = {one.partition("=")[0]: one.partition("=")[2] for one in rest if "=" in one}
    given["layout"] = next((one for one in rest if "=" not in one), "absent")
    return all(given.get(k, "absent") in value.split("|") for k, value in wanted.items())


def _specs(text, known):
    """Yield the specs of 'onnx.Cast-6,19…25, CastLike-15'."""
    standard = ""
    for word in text.split(", "):
        found = re.fullmatch(r"(?:([a-z]+)\.)?([A-Za-z]+)-(\S+)", word)
        assert found
        standard, op = found[1] or standard, found[2]
        for spec in known:
            stem, _, version = spec.rpartition("-")
            if stem == f"{standard}.{op}" and any(_has(r, version) for r in found[3].split(",")):
                yield spec


def _has(versions, version):
    first, _, last = versions.partition("…")
    low, this, high = (tuple(map(int, v.split("."))) for v in (first, version, last or first))
    return low <= this <= high


def _heads(text):
    """Yield the types in ids of 'bool, int8 to float8e5m2' or 'int8-{int4, int8}'."""
    inputs, to, outputs = text.rpartition(" to ")
    inputs, outputs = (inputs, outputs) if to else (outputs, "")
    several = re.fullmatch(f"{_PLACE}(-{_PLACE})+", inputs)
    places = re.findall(_PLACE, inputs) if several else [inputs]
    lists = [list(_types(place.strip("{}"))) for place in places]
    for names in product(*lists):
        for output in _types(outputs) if outputs else [""]:
            yield "-".join(names) + (f"-to-{output}" if output else "")
            if len(names) == 1:  # the id may name an input of the output's type
                yield f"{names[0]}-{output}"


def _types(text):
    for name in text.split(", "):
        yield from _FAMILIES.get(name, (name,))


@pytest.mark.parametrize("runtime", _RUNTIMES)
def test_lines_mean_the_cases_of_their_cause(runtime):
    letters = explained(runtime)
    judged = JudgedCases([_CASES[one] for one in letters], CATALOG.types)
    ids = tuple(letters)
    for letter in dict.fromkeys(letters.values()):
        chosen = {one for one in ids if letters[one] == letter}
        found = judged.where([_CASES[one] for one in ids if one in chosen])
        each = [meant(line, ids) for line in found.lines]
        assert all(each), found.lines
        assert set.union(*each) == chosen, (letter, found.lines)
        assert list(map(len, each)) == sorted(map(len, each), reverse=True)


@pytest.mark.parametrize("runtime", _RUNTIMES)
def test_short_texts_count_the_types_of_their_lines(runtime):
    letters = explained(runtime)
    ids, judged = tuple(letters), JudgedCases([_CASES[one] for one in letters], CATALOG.types)
    for letter in dict.fromkeys(letters.values()):
        found = judged.where([_CASES[one] for one in letters if letters[one] == letter])
        for line, short in zip(found.lines, found.short, strict=True):
            pattern = re.escape(short).replace(r"\ types", " types")
            counts = re.findall(r"([0-9]+) types", pattern)
            lists = re.fullmatch(re.sub(r"[0-9]+ types", "(.+)", pattern), line)
            assert lists
            known = {
                name for one in meant(line, ids) for name in re.split("-to-|-", one.split("/")[1])
            }
            types = [set(_types(one)) & known for one in lists.groups()]
            assert list(map(len, types)) == list(map(int, counts)), (line, short)


def chosen(pattern, judged):
    return judged.where([one for one in judged.cases if re.fullmatch(pattern, one.id)]).lines


def test_what_is_named_always():
    cast = [c for c in _CASES.values() if re.fullmatch(r"onnx\.Cast-(19|2.)", c.spec)]
    to_float8 = r"onnx.Cast-(19|2.)/float(16|32|64)-to-float8e4m3fn/saturate=0"
    said = "onnx.Cast-19…28: float16, float32, float64 to float8e4m3fn, saturate=0"
    assert chosen(to_float8, JudgedCases(cast, CATALOG.types)) == (said,)
    # even if no case with another value or version was judged
    alone = [one for one in cast if re.fullmatch(to_float8, one.id)]
    assert JudgedCases(alone).where(alone).lines == (said,)
    # a gap in the versions, and values without effect
    gap = JudgedCases(cast, CATALOG.types)
    assert chosen(r"onnx.Cast-(19|23|24|25)/float64-to-float8e4m3fn/.*", gap) == (
        "onnx.Cast-19,23…25: float64 to float8e4m3fn",
    )


def test_a_family_is_named_if_most_of_it_is_judged_and_all_of_that_is_meant():
    sources = ("float16", "bfloat16", "float32", "float64")
    cast = [c for c in _CASES.values() if re.fullmatch("onnx.Cast-25/[^/]*-to-bool", c.id)]
    every = JudgedCases(cast, CATALOG.types)
    assert chosen(r"onnx.Cast-25/(b?float16|float32|float64)-to-bool", every) == (
        "onnx.Cast-25: 16…64-bit floats to bool",
    )
    assert chosen(r"onnx.Cast-25/(float16|float32|float64)-to-bool", every) == (
        "onnx.Cast-25: float16, float32, float64 to bool",
    )
    three, two = (
        JudgedCases([c for c in cast if c.inputs[0].name in sources[:count]], CATALOG.types)
        for count in (3, 2)
    )
    assert chosen(".*", three) == ("onnx.Cast-25: 16…64-bit floats to bool",)
    assert chosen(".*", two) == ("onnx.Cast-25: float16, bfloat16 to bool",)


def test_families_are_called_by_what_they_have():
    formats = {name: dtype.format for name, dtype in CATALOG.types.types.items()}
    for words, members in _FAMILIES.items():
        if bits := re.match(r"([0-9]+)[…/]([0-9]+)-bit", words):
            widths = {formats[name].bits for name in members}
            assert {min(widths), max(widths)} == {int(bits[1]), int(bits[2])}
            kind = "int" if "integers" in words else "float"
            known = {n for n in formats if kind in n and formats[n].bits in widths}
            assert known == set(members), words


def test_one_case_is_named_by_its_id():
    judged = JudgedCases(list(_CASES.values())[:9])
    assert judged.where(judged.cases[:1]).lines == (judged.cases[0].id,)
