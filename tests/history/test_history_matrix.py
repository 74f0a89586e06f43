"""The history of each cause, from runs built by hand."""

from report_runs import ELSE, TABLE, answered, case, group, passed, run, unasked

from convcheck.history.environments import Release
from convcheck.history.matrix import AskedRelease, bisect, history_of
from convcheck.judge.result import CaseDiagnosis, CauseInWords
from convcheck.records import replace
from convcheck.report.draw.console import plain_lines
from convcheck.report.draw.history import bisected_page, history_page

HALF = case("onnx.Cast-19", "float64", "float16")
TWICE = CauseInWords("twice", "rounds twice", 0)
WRAPS = CauseInWords("wraps", "wraps round", 1)
WRONG = {"twice": group(ELSE, "fail", "one ulp"), "wraps": group(TABLE, "fail", "max")}
GOOD = (passed(HALF),)
LACKING = (unasked(HALF, "unsupported", "no kernel"),)


def fails(*names, fits=None):
    result = answered(HALF, *(WRONG[name] for name in names))
    return replace(result, diagnosis=CaseDiagnosis(980, 1, (names,) if fits is None else fits))


BAD = (fails("twice"),)


def asked(*columns):
    """Make releases 1.0, 1.1 … with their answers, or errors."""
    found = []
    for number, column in enumerate(columns):
        release = Release(f"1.{number}")
        if isinstance(column, str):
            found.append(AskedRelease(release, None, column))
        else:
            found.append(AskedRelease(release, run(*column, causes=(TWICE, WRAPS))))
    return found


def story(found):
    return "\n".join(plain_lines(history_page(found), 100))


def shown(found):
    letters, rows = "", {}
    for line in story(found).partition("\n\n")[2].splitlines():
        if line[:1].strip():
            letters = line.split()[0]
        signs, _, name = line.strip().partition("  ")
        if set(signs) <= set("X.~-!") and " / " in name:
            rows[f"{letters}  {name.partition('  ')[0]}"] = signs
    return rows


def test_what_came_and_went():
    found = history_of(asked(GOOD, BAD, GOOD))
    assert shown(found) == {"A  float-to-float / else": ".X."}
    text = story(found)
    assert "first bad: breaks in 1.1, 1 case" in text
    assert "fixed in 1.2, 1 case" in text
    assert "still so" not in text
    assert "A  rounds twice (twice)" in text


def test_what_is_lacking_or_was_not_asked_does_not_pass():
    found = history_of(asked(LACKING, BAD, "no wheel", GOOD))
    assert shown(found) == {"A  float-to-float / else": "-X!."}
    text = story(found)
    assert "! 1.2: no wheel" in text
    assert "first bad: comes with its kernel in 1.1, 1 case" in text
    assert "fixed in 1.3, 1 case, or in 1.2, which could not be asked" in text


def test_a_kernel_that_goes_is_no_repair():
    text = story(history_of(asked(BAD, LACKING)))
    assert "first bad: 1.0, 1 case; nothing before it was asked" in text
    assert "gone with its kernel in 1.1" in text
    assert "fixed" not in text


def test_a_case_that_dies_is_not_repaired():
    found = history_of(asked(BAD, (unasked(HALF, "crashed", "SIGSEGV"),)))
    assert shown(found) == {"A  float-to-float / else": "X~", "?  crashed / as a whole": ".X"}
    assert "fixed" not in story(found)


def test_of_two_at_work_together_each_has_its_rows():
    """1.1 fixes one cause: its row passes, and the other's stays."""
    found = history_of(asked((fails("twice", "wraps"),), (fails("wraps"),)))
    rows = [row for cause in found.causes for row in cause.rows]
    states = {row.key.rule: [row.state(release) for release in row.states] for row in rows}
    assert states == {
        "float-to-float8-saturating": ["fails", "fails"],
        "float-to-float": ["fails", "passes"],
    }
    assert list(shown(found).values()) == ["X."]  # the rows of what changed
    assert "fixed in 1.1" in story(found)


def test_of_two_that_are_never_alone_nothing_is_told_apart():
    found = history_of(asked((fails("twice", "wraps"),)))
    assert [one.causes for one in found.causes] == [(TWICE, WRAPS)]
    assert len(found.causes[0].rows) == 2
    assert "A+B  rounds twice (twice); and wraps round (wraps)" in story(found)


def test_what_several_causes_give_has_one_name_in_all_releases():
    """In the first release either name fits. The second release decides."""
    either, only = fails("twice", fits=(("twice",), ("wraps",))), fails("twice", fits=(("wraps",),))
    found = history_of(asked((either,), (only,)))
    assert [one.causes for one in found.causes] == [(WRAPS,)]
    assert shown(found) == {"A  float-to-float / else": "XX"}


def test_another_cause_of_the_same_row():
    found = history_of(asked(BAD, (fails("twice", fits=()),)))
    assert shown(found) == {"A  float-to-float / else": "X~", "?  float-to-float / else": "~X"}
    text = story(found)
    assert "fails otherwise from 1.1" in text
    assert "?  no cause is known" in text


def searched(*columns):
    known = asked(*columns)
    order = []

    def ask(release):
        order.append(release.version)
        return next(one for one in known if one.release == release)

    found = bisect([one.release for one in known], ask, "twice")
    *_, last = plain_lines(bisected_page(found, "twice"), 200)
    return last, order


def test_bisect_asks_a_logarithm_of_releases():
    for broken in range(1, 33):
        said, order = searched(*[GOOD] * broken, *[BAD] * (33 - broken))
        assert said == f"twice: first bad in 1.{broken}; 1.{broken - 1} passes them"
        assert len(order) == len(set(order)) <= 2 + 5
    assert searched(BAD, BAD, BAD, GOOD)[0].startswith("twice: fixed in 1.3; 1.2 is the last")


def test_bisect_passes_over_what_cannot_be_asked():
    said, order = searched(GOOD, "no wheel", "dies", "no wheel", BAD)
    assert said == "twice: first bad in 1.4; 1.0 passes them; 1.1, 1.2, 1.3 could not be asked"
    assert len(order) == 5
    assert searched("no wheel", GOOD, BAD)[0].startswith("an end of the range could not be asked")


def test_bisect_tells_a_new_kernel_from_a_new_fault():
    assert searched(LACKING, LACKING, BAD)[0] == "twice: first bad in 1.2; 1.1 lacks them"
    assert searched(BAD, LACKING)[0].startswith("twice: gone with the kernels in 1.1")


def test_nothing_to_bisect():
    other = (fails("wraps"),)
    assert searched(BAD, other, BAD)[0] == "nothing to bisect for twice: both ends show it"
    assert searched(other, BAD, other)[0] == "nothing to bisect for twice: neither end shows it"


def test_a_history_is_data():
    found = history_of(asked((fails("twice", "wraps"),), (fails("wraps"),))).document
    assert [one["release"] for one in found["releases"]] == ["1.0", "1.1"]
    rows = {one["causes"][0]: (one["changes"], one["rows"][0]["states"]) for one in found["causes"]}
    assert rows["twice"] == (True, {"1.0": {"fails": 1}, "1.1": {"passes": 1}})
    assert not rows["wraps"][0]
