from collections import Counter
from itertools import chain

from catalogue import CATALOG
from command import convcheck, report_at, run_shards
from hypothesis import given
from hypothesis import strategies as st

from convcheck.judge.answers import OTHERS
from convcheck.plan.units import deal, hand_of, put_together
from convcheck.rules.cases import cases

# ids as in plans: siblings next to each other or not, and parts of a sweep
NAMES = st.builds("op-{}/{}-to-int8/{}".format, st.integers(1, 2), st.sampled_from("ab"),
                  st.integers(0, 9))  # fmt: skip
SPANS = st.builds("op-1/{}-to-int8#{}".format, st.sampled_from("ab"), st.integers(0, 9))
PLANS = st.lists(NAMES | SPANS, unique=True, max_size=30)


def alike(name):
    return "" if "#" in name else hand_of(name)


@given(PLANS, st.integers(1, 12))
def test_what_is_dealt_out_comes_back_in_order(plan, of):
    dealt = deal(plan, alike, of)
    assert len(dealt) == of
    assert Counter(chain.from_iterable(dealt)) == Counter(plan)
    assert put_together(dealt, alike, lambda names: names == plan) == plan


@given(PLANS, st.integers(1, 12))
def test_shards_that_were_dealt_one_by_one_come_back_too(plan, of):
    dealt = [plan[index::of] for index in range(of)]
    assert put_together(dealt, alike, lambda names: names == plan) == plan


def test_what_is_missing_is_no_plan():
    found = put_together([["a/x", "c/x"], []], hand_of, lambda names: names == ["a/x", "b/x"])
    assert found is None


def test_siblings_are_in_one_shard():
    """In Cast-21 only attributes that do not name a type separate cases."""
    plan = [case.id for case in cases(CATALOG.specs["onnx.Cast-21"])]
    shards = deal(plan, alike, 16)
    where = {}
    for number, names in enumerate(shards):
        for name in names:
            where.setdefault(hand_of(name), set()).add(number)
    assert [hand for hand, found in where.items() if len(found) > 1] == [
        "onnx.Cast-21/float32-to-float32"
    ]
    sizes = [len(names) for names in shards]
    assert max(sizes) < 1.5 * min(sizes)


def test_a_cache_that_forgets_an_attribute_shows_in_each_shard(tmp_path):
    ask = ("onnx.Cast-21", "--backend", "tests.planted.deviating:CoarseCache",
           "--from", "float32", "--case", "*-to-float8e*/saturate=*", "--jobs", "1")  # fmt: skip
    whole, merged = tmp_path / "whole.json", tmp_path / "merged.json"
    assert convcheck("run", *ask, "-o", whole).returncode == 1
    shards = run_shards(tmp_path, 2, *ask, codes=[1])
    for path in shards:
        placed = [g["placement"] for case in report_at(path)["cases"] for g in case["groups"]]
        assert OTHERS in placed
    assert convcheck("report", *shards, "-o", merged).returncode == 1
    assert report_at(merged)["cases"] == report_at(whole)["cases"]
