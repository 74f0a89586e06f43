import re

import pytest
from command import check_golden
from drawn import annotated
from report_runs import RUNS, TRUNCATED, answered, case, many, passed, run, unasked

from convcheck.errors import Place
from convcheck.judge.result import Problem
from convcheck.records import replace

ONE = case("onnx.Cast-21", "float32", "bfloat16")
HOSTILE = "100%25 a::b,c=d\r\n::error::x % %0A"


def read(line):
    assert "\n" not in line
    assert "\r" not in line
    found = re.fullmatch(r"::([a-z]+) ([^:]*)::(.*)", line)
    assert found, line
    pairs = (pair.partition("=") for pair in found[2].split(","))
    return found[1], {key: plain(value) for key, _, value in pairs}, plain(found[3])


def plain(text):
    escapes = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    return re.sub("%(0D|0A|3A|2C|25)", lambda found: escapes[found[0]], text)


def commands(result):
    return [read(line) for line in annotated(result)]


def test_golden():
    lines = annotated(RUNS["listed"]())
    check_golden("github-listed.txt", "".join(f"{line}\n" for line in lines), None)


def test_nothing_is_said_where_nothing_fails_the_run():
    for name in ("all_pass", "known", "below"):
        assert not commands(RUNS[name]())


def test_a_cause_is_an_error_and_what_it_explains_is_none():
    found = commands(RUNS["explained"]())
    first, second, third, fourth = (properties["title"] for _, properties, _ in found)
    assert first == "A: truncates (truncates) (4 cases, 4,384 of 4,384 answers)"
    assert second.startswith(
        "B: gives NaN where <rounding> carries past the largest value (nan-at-max) (1 case,"
    )
    assert third == "FAIL db8eefcc: overflow gives NaN, not max (1 case)"
    assert fourth.startswith("A with B: truncates (truncates); and")
    assert "\n      convcheck explain onnx.Cast-19/float32-to-bfloat16 " in found[0][2]


def test_ten_are_shown_and_the_last_says_how_many_more():
    found = commands(many())
    assert len(found) == 10
    assert [("file" in properties) for _, properties, _ in found] == [True] * 4 + [False] * 6
    assert found[-1][1]["title"] == "33 more findings of convcheck"
    assert found[-1][2].startswith("FAIL: 30 of 60 cases")


@pytest.mark.parametrize("count", [9, 10, 11])
def test_the_border_of_ten(count):
    some = replace(many(), problems=(), cases=many().cases[:count])
    found = commands(some)
    assert len(found) == min(count, 10)
    more = [properties["title"] for _, properties, _ in found if "more" in properties["title"]]
    assert more == (["2 more findings of convcheck"] if count == 11 else [])


def test_problems_have_the_room_that_findings_leave():
    some = replace(many(), cases=many().cases[:2])
    found = commands(some)
    assert [("file" in properties) for _, properties, _ in found] == [True] * 7 + [False] * 3
    assert found[-1][1]["title"] == "5 more findings of convcheck"


def test_text_from_outside_gives_no_command_of_its_own():
    crashed = unasked(ONE, "crashed", HOSTILE)
    wrong = answered(ONE, replace(TRUNCATED, kind=HOSTILE))
    problem = Problem("stale", Place("a,b:c%.toml", 0), HOSTILE)
    listed_problem, *findings = commands(replace(run(crashed, wrong), problems=(problem,)))
    assert listed_problem[1]["file"] == "a,b:c%.toml"
    assert listed_problem[1]["line"] == "1"
    for name, properties, message in findings:
        assert (name, set(properties)) == ("error", {"title"})
        assert "100%25 a::b,c=d ::error::x % %0A" in properties["title"]
        assert "100%25 a::b,c=d" in message


def test_a_run_that_was_stopped_or_judged_nothing():
    [(name, _, message)] = commands(RUNS["nothing"]())
    assert (name, message[:27]) == ("error", "2 cases asked, none judged;")
    [(name, properties, _)] = commands(replace(run(passed(ONE)), interrupted=True))
    assert (name, properties["title"]) == ("warning", "convcheck: interrupted")
    assert not commands(RUNS["known"]())
