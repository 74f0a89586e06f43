import numpy as np
import pytest
from catalogue import compiled
from planted.swept import Swept
from sweeps import case_of, finished, groups, swept

from convcheck.judge.answers import CHUNK
from convcheck.judge.digest import digest_of_pairs, spell_digest
from convcheck.vectors.corpus import Span

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
