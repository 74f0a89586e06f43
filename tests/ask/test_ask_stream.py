import tracemalloc

import numpy as np
import pytest
from catalogue import compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from planted.causes import CAUSES, Planted
from planted.swept import Swept, Unbound
from sweeps import CAST, HALF, SPAN, case_of, comparable, finished, groups, swept

from convcheck.ask.chains import chunk_vectors
from convcheck.ask.elements import ask
from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.judge.answers import CHUNK, EVERYWHERE, Avoid
from convcheck.judge.calls import judge
from convcheck.judge.digest import digest_of_pairs, spell_digest
from convcheck.judge.result import RIGHT, Tally
from convcheck.judge.tally import merge
from convcheck.records import replace
from convcheck.semantics.answers_at import run_program
from convcheck.vectors.corpus import Span
from convcheck.vectors.generate import form_decision

BULK = Avoid(placements=EVERYWHERE - {"bulk"})
NARROW = ("bool", "int4", "uint4", "int2", "uint2")


def direct(backend, case):
    vectors = chunk_vectors(case, compiled(case), form_decision(CAST), 0, 1 << 16)
    order = np.argsort(positions_of(case, vectors.inputs[0]))
    inputs, expected = (vectors.inputs[0][order],), vectors.expected.take(order)
    vectors = replace(vectors, inputs=inputs, expected=expected)
    return judge(vectors, ask(backend, vectors, lambda *call: None, {}, BULK))


def positions_of(case, codes):
    """Return positions in the order of values, computed independently. 16-bit floats only."""
    wide = codes.astype(np.int64)
    return np.where(wide >= 1 << 15, (1 << 15) - 1 - wide, wide)


def held_against_the_direct_way(backend):
    verdicts = set()
    for case in HALF:
        if backend.support(case):
            continue
        found = direct(backend, case)
        parts = [swept(backend, case, Span(first, 1 << 15), 32) for first in (1 << 15, 0)]
        if found.verdict == "unsupported":
            assert not any(part.asked for part in parts)
            continue
        assert comparable(finished(case, *parts)) == comparable(found), case.id
        verdicts.add(found.verdict)
    return verdicts


def test_as_direct_with_a_runtime():
    assert len(held_against_the_direct_way(MlDtypes())) > 1


@pytest.mark.parametrize(
    "name", ["truncates", "ties-away", "nan-is-+0", "through-bfloat16", "flushes-results", "clamps"]
)
def test_as_direct_with_a_planted_cause(name):
    assert held_against_the_direct_way(Planted(CAUSES[name]))


WHOLE = [case for case in HALF if case.outputs[0].name not in NARROW]


def noisy(codes, out):
    hit = codes * np.array(40503, codes.dtype) % 7 < 3
    out[hit] = (out[hit] + codes[hit] % 3).astype(out.dtype)


def test_as_direct_with_noise():
    for case in WHOLE:
        backend = Swept(compiled(case), noisy)
        parts = [swept(backend, case, Span(first, 1 << 15), 32) for first in (0, 1 << 15)]
        assert comparable(finished(case, *parts)) == comparable(direct(backend, case)), case.id


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(st.integers(1, 4), min_size=16, max_size=16), st.randoms(), st.sampled_from(WHOLE))
def test_parts_merge_in_any_order_however_cut(sizes, random, case):
    backend = Swept(compiled(case), noisy)
    parts = []
    for page, size in enumerate(sizes):  # each in pieces of 2^12 down to 2^9 codes
        step = (1 << 13) >> size
        firsts = range(page << 12, (page + 1) << 12, step)
        parts += [swept(backend, case, Span(first, step), 32) for first in firsts]
    straight = merge(parts)
    random.shuffle(parts)
    at = random.randrange(len(parts))
    assert merge([merge(parts[at:]), merge(parts[:at])]) == straight
    whole = (swept(backend, case, Span(first, 1 << 15), 32) for first in (0, 1 << 15))
    assert comparable(finished(case, straight)) == comparable(finished(case, *whole))


@pytest.mark.parametrize("count", [1, 2, 65, 1000, 70000])
def test_as_many_as_are_wrong_are_counted(count):
    rng = np.random.default_rng(count)
    for target in ("float8e5m2", "float32"):
        wrong = rng.choice(SPAN.count, count, replace=False).astype(np.uint32) + np.uint32(
            SPAN.first
        )

        def change(codes, out, wrong=wrong):
            out[np.isin(codes, wrong)] ^= 1

        assert sum(group.count for group in groups(case_of(target), change)) == count


def test_a_run_of_wrong_answers_is_one_range_wherever_it_lies():
    low, high = 0x3F80C123, 0x3F82D456

    def change(codes, out):
        out[(codes >= low) & (codes <= high)] = 0

    for target in ("float16", "float8e4m3fn", "float32"):
        found = groups(case_of(target), change)
        assert [(g.count, g.ranges) for g in found] == [(high - low + 1, ((low, high),))]


def test_an_answer_that_is_no_code():
    def change(codes, out):
        out[codes == 0x3F810005] = 2

    case = case_of("bool")
    result = finished(case, swept(Swept(compiled(case), change), case))
    [group] = [g for g in result.groups if g.verdict == "fail"]
    assert (group.kind, result.checked) == ("not a code of the type", SPAN.count - 1)
    assert group.examples[0].inputs == (0x3F810005,)


class Idle(Swept):
    def bind(self, case, codes, out):
        return lambda: None


@pytest.mark.parametrize("target", ["float8e4m3fn", "bool", "float32", "int64"])
def test_a_kernel_that_does_not_write_its_output(target):
    case = case_of(target)
    result = finished(case, swept(Idle(compiled(case)), case))
    assert result.verdict == "fail"


class Spoiler(Swept):
    def bind(self, case, codes, out):
        def call():
            out[:] = self.right(case, codes)
            codes[:] = 0

        return call


def test_what_is_written_into_the_input_does_no_harm():
    for target in ("float8e4m3fn", "float32"):
        case = case_of(target)
        assert finished(case, swept(Spoiler(compiled(case)), case)).verdict == "pass"


def unbound(case, reply):
    return finished(case, swept(Unbound(compiled(case), reply), case))


def test_one_input_that_is_refused():
    def reply(codes):
        return Refused("not this one") if (codes == 0x3F820000).any() else None

    result = unbound(case_of("float16"), reply)
    [group] = [g for g in result.groups if g.verdict == "refused"]
    assert (group.count, group.ranges) == (1, ((0x3F820000, 0x3F820000),))
    assert (group.examples[0].message, result.checked) == ("not this one", SPAN.count)


def test_what_is_declined_later_is_refused():
    def reply(codes):
        return Declined("no more") if (codes >= 0x3F830000).any() else None

    result = unbound(case_of("float16"), reply)
    counts = {g.kind: g.count for g in result.groups}
    assert counts == {"": 3 * CHUNK, "refused": 256, "refused with others": CHUNK - 256}


@pytest.mark.parametrize("target", ["int8", "int16", "int32"])
def test_what_may_be_refused_is_no_failure(target):
    case = case_of(target)
    span = Span(0x7FF00000, 2 * CHUNK)
    result = finished(case, swept(Unbound(compiled(case), lambda c: Refused("no")), case, span))
    assert (result.verdict, [g.verdict for g in result.groups]) == ("undefined", ["undefined"])


def test_what_is_declined_at_once_is_an_empty_tally():
    case = case_of("float16")
    assert swept(Unbound(compiled(case), lambda codes: Declined("no")), case) == Tally(
        {}, (), declined=SPAN.count
    )


def test_a_chunk_of_another_shape():
    def reply(codes):
        odd = np.zeros(3, np.uint16)
        return Outputs((odd,), ("float16",)) if (codes == 0x3F820000).any() else None

    result = unbound(case_of("float16"), reply)
    [group] = [g for g in result.groups if g.verdict == "fail"]
    assert (group.kind, result.checked) == ("wrong shape", 3 * CHUNK)


def test_memory_does_not_grow_with_what_is_wrong():
    def change(codes, out):
        out[::2] ^= 1

    case = case_of("float8e4m3fn")
    backend, peaks = Swept(compiled(case), change), []
    for chunks in (8, 32):
        tracemalloc.start()
        tally = swept(backend, case, Span(0x3F000000, chunks * CHUNK))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        wrong = [e for k, e in tally.entries if k.sort != RIGHT]
        assert sum(e.count for e in wrong) == chunks * CHUNK // 2
        assert all(len(e.ranges.kept) + len(e.ranges.loose) < 16 for e in wrong)
    assert peaks[1] < 2 * peaks[0]


COUNT = 6 * CHUNK
PLACES = [0, 1, 31234, CHUNK // 2, CHUNK - 1]
# one expected code for a chunk and more, for a part of it, changing each element; both signs;
# disputed
DEFINED = [
    ("float8e4m3fn", 0x10000000), ("float8e4m3fn", 0xD2000000), ("bool", 0xC1080000),
    ("float16", 0x3F800000), ("bfloat16", 0xBF800000), ("uint16", 0x10000000),
    ("int16", 0xC57F0000), ("int4", 0x10000000), ("int4", 0xBF800000), ("float32", 0x10000000),
    ("int64", 0xD2000000),
]  # fmt: skip
UNDEFINED = [("int16", 0x52000000), ("int16", 0xD2000000), ("uint4", 0xD2000000),
             ("uint64", 0xBF800000)]  # fmt: skip


def span_of(first):
    return Span(first, COUNT)


def result_of(case, backend, first):
    return finished(case, swept(backend, case, span_of(first)))


def failing(result):
    return [group for group in result.groups if group.verdict == "fail"]


@pytest.mark.parametrize(("target", "first"), DEFINED)
def test_one_wrong_answer(target, first):
    for place in PLACES:
        code = first + 2 * CHUNK + place

        def change(codes, out, code=code):
            out[codes == code] ^= 1

        [group] = groups(case_of(target), change, span_of(first))
        assert (group.verdict, group.count, group.ranges) == ("fail", 1, ((code, code),))


class Skips(Swept):
    skipped: slice | int

    def bind(self, case, codes, out):
        def call():
            before, third = out.copy(), int(codes[0]) % (8 * CHUNK) == 2 * CHUNK
            out[:] = self.right(case, codes)
            if third:
                out[self.skipped] = before[self.skipped]

        return call


@pytest.mark.parametrize(("target", "first"), DEFINED)
def test_what_is_not_written_is_not_what_was_there_before(target, first):
    case = case_of(target)
    backend = Skips(compiled(case))
    first -= first % (8 * CHUNK)
    for skipped in (*PLACES, slice(CHUNK // 2), slice(1, None), slice(None)):
        backend.skipped = skipped
        number = np.arange(CHUNK)[skipped].size
        result = result_of(case, backend, first)
        strange = COUNT - result.checked  # answers that are not codes are counted by calls
        assert (strange or sum(g.count for g in failing(result))) == number
        assert failing(result)


@pytest.mark.parametrize("place", PLACES)
def test_wrong_runs_with_right_answers_between(place):
    first = 0x10000000
    wrong = [first + 2 * CHUNK, first + 4 * CHUNK, first + 5 * CHUNK, first + COUNT]
    exception = first + 5 * CHUNK + place

    def change(codes, out):
        if wrong[0] <= codes[0] < wrong[1] or wrong[2] <= codes[0]:
            out[codes != exception] = 3

    for target in ("float8e4m3fn", "int4", "float32"):
        found = groups(case_of(target), change, span_of(first))
        assert sum(group.count for group in found) == 3 * CHUNK - 1
        if target != "float32":
            [group] = found
            ends = [(wrong[0], wrong[1] - 1), (wrong[2], exception - 1),
                    (exception + 1, wrong[3] - 1)]  # fmt: skip
            assert group.ranges == tuple((a, b) for a, b in ends if a <= b)


def test_a_wrong_run_that_ends_within_a_chunk():
    tie = 0x33000000

    def change(codes, out):
        out[:] = 1

    [group] = groups(case_of("float16"), change, span_of(tie - 4 * CHUNK))
    assert (group.count, group.ranges) == (4 * CHUNK + 1, ((tie - 4 * CHUNK, tie),))


def test_answers_that_are_no_codes_go_on_in_no_run():
    first = 0x52000000

    def change(codes, out):
        out[:] = 1 if codes[0] < first + 3 * CHUNK else 0x77

    case = case_of("int4")
    result = result_of(case, Swept(compiled(case), change), first)
    [group] = failing(result)
    assert (group.kind, result.checked) == ("not a code of the type", 3 * CHUNK)


# what an undefined input may give
ANY = {
    "constant": lambda codes: 1,
    "one other": lambda codes: np.where(codes % (4 * CHUNK) == 2 * CHUNK + 31234, 7, 1),
    "of a chunk": lambda codes: int(codes[0]) // (2 * CHUNK) % 4,
    "all different": lambda codes: codes % 16,
}


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize(("target", "first"), UNDEFINED)
def test_what_is_undefined_is_noted_whatever_it_is(target, first, name):
    def change(codes, out):
        out[:] = ANY[name](codes)

    case = case_of(target)
    [group] = result_of(case, Swept(compiled(case), change), first).groups
    assert (group.verdict, group.count) == ("undefined", COUNT)
    lowest, highest = (first, first + COUNT - 1)[:: 1 if first < 1 << 31 else -1]
    assert group.ranges == ((lowest, highest),)
    [example] = group.examples
    codes = np.arange(first, first + COUNT, dtype=np.uint32).reshape(-1, CHUNK)
    got = np.zeros(codes.shape, case.outputs[0].format.storage)
    for chunk, answers in zip(codes, got, strict=True):
        change(chunk, answers)
    assert (example.inputs, example.got) == ((lowest,), int(got[codes == lowest][0]))
    assert group.digest == spell_digest(digest_of_pairs(codes.reshape(-1), got.reshape(-1)))


LOW, HIGH = Span(0x3F000000, CHUNK), Span(0x3F400000, CHUNK)  # from 0.5, from 0.75


def of_reading(case, reading):
    def answer(codes, out):
        out[:] = run_program(compiled(case), case, codes).readings[reading].codes

    return Swept(compiled(case), answer)


def test_a_reading_is_taken_when_all_parts_are_there():
    case = case_of("int4")
    low, high = (swept(of_reading(case, r), case, s) for r, s in ((0, LOW), (1, HIGH)))
    assert finished(case, low).verdict in ("pass", "tolerated")
    assert finished(case, high).verdict == "tolerated"
    higher = swept(of_reading(case, 1), case, Span(0x3F600000, CHUNK // 2))
    both = finished(case, swept(of_reading(case, 0), case, HIGH), higher)
    assert both.verdict == "fail"
    assert {g.reading for g in both.groups} == {"nearest-even"}


def test_what_is_tolerated_has_examples_and_ranges():
    case = case_of("int4")
    [group] = finished(case, swept(of_reading(case, 1), case, HIGH)).groups
    assert (group.verdict, group.reading, group.count) == ("tolerated", "toward-zero", CHUNK)
    assert group.ranges == ((HIGH.first, HIGH.first + CHUNK - 1),)
    assert group.examples
    assert group.digest
