import tempfile

import pytest
from planted.counting import LONG, SHORT, Corpus, case

from convcheck.backends.protocol import LIMIT_VARIABLE
from convcheck.plan.runner import execute


@pytest.fixture(autouse=True)
def _leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert not list(tmp_path.glob("convcheck-*"))


def run(name, numbers=(0, 1, 2), **options):
    settings = {"jobs": 1, "timeout": 20.0, "on_result": lambda result: None}
    return execute(
        f"tests.planted.bad_callers:{name}",
        [case(number) for number in numbers],
        Corpus(),
        **{**settings, **options},
    )


def bad_one(execution):
    before, result, after = execution.cases
    assert [(r.verdict, r.checked, r.message) for r in (before, after)] == [("pass", SHORT, "")] * 2
    assert result.case == case(1)
    return result


def counts(result):
    found = [(g.verdict, g.kind, g.count, g.of) for g in result.groups]
    return sorted(found, key=lambda group: group[0] == "pass")


def shown(result):
    [example] = [e for g in result.groups if g.verdict != "pass" for e in g.examples]
    return example


@pytest.mark.parametrize("name", ["Good", "Scribbles"])
def test_what_is_right_passes(name):
    result = bad_one(run(name))
    assert (result.verdict, result.checked, result.left_out) == ("pass", LONG, 0)


DEATHS = {
    "Segfault": "died of SIGSEGV",
    "Exits": "exited with status 3",
    "Abort": "died of SIGABRT: terminate called after throwing an instance of 'int'",
}


@pytest.mark.parametrize("name", DEATHS)
def test_a_deadly_call_costs_only_itself(name):
    execution = run(name)
    result = bad_one(execution)
    assert (result.verdict, result.checked) == ("crashed", LONG)
    assert counts(result) == [("crashed", DEATHS[name], 1, LONG), ("pass", "", LONG - 1, LONG)]
    example = shown(result)
    assert example.inputs[0].words == (7,), "the call that does it is shown"
    assert example.message == DEATHS[name]
    assert example.got is None
    assert execution.remarks == ("the backend was restarted 2 times",)


def test_two_deadly_calls():
    result = bad_one(run("DiesOnTwo"))
    assert counts(result)[0] == ("crashed", "died of SIGSEGV", 2, LONG)


def test_a_call_that_hangs():
    result = bad_one(run("Hangs", timeout=0.5))
    assert counts(result) == [
        ("crashed", "no answer within 0.5 s (--timeout SECONDS allows more)", 1, LONG),
        ("pass", "", LONG - 1, LONG),
    ]
    assert shown(result).inputs[0].words == (7,)


@pytest.mark.parametrize(("name", "words", "tried"), [
    ("DiesAlways", "died of SIGSEGV on each of the first 8 calls; the rest was not tested", 8),
    ("HangsAlways", "(--timeout SECONDS allows more) on each of the first 2 calls", 2),
])  # fmt: skip
def test_a_backend_that_always_dies_costs_little(name, words, tried):
    execution = run(name, (1,), timeout=0.3 if name == "HangsAlways" else 20.0)
    [result] = execution.cases
    assert (result.verdict, result.checked) == ("crashed", tried)
    assert any(words in g.kind for g in result.groups)
    assert execution.remarks == (f"the backend was restarted {2 * tried} times",)


def test_a_backend_that_dies_of_its_past_blames_no_call():
    [result] = run("AfterManyCalls", (1,)).cases
    assert (result.verdict, result.checked) == ("crashed", 0)
    assert {g.kind for g in result.groups} == {"died of SIGSEGV; not reproduced alone"}


def test_a_death_is_not_forgotten_over_a_declined_call():
    [result] = run("DiesThenDeclines", (1,)).cases
    assert result.verdict == "crashed"
    assert counts(result) == [("crashed", "died of SIGSEGV", 1, 1)]


def test_what_an_adapter_raises_costs_one_call():
    result = bad_one(run("Raises"))
    assert (result.verdict, result.checked) == ("error", LONG)
    assert [row[:1] + row[2:] for row in counts(result)] == [
        ("error", 1, LONG),
        ("pass", LONG - 1, LONG),
    ]
    assert shown(result).inputs[0].words == (7,)
    assert shown(result).message.endswith("ValueError: a fault of the adapter")


MALFORMED = {"Floats": "codes as float32", "Objects": "codes as object"}


@pytest.mark.parametrize("name", ["Garbage", "Lists", "Nothing"])
def test_what_is_no_answer_is_a_fault_of_the_adapter(name):
    result = bad_one(run(name))
    assert (result.verdict, result.checked) == ("error", LONG)
    assert shown(result).message.startswith("no answer: ")
    assert "; write: return Outputs((" in shown(result).message


@pytest.mark.parametrize("name", MALFORMED)
def test_codes_of_another_storage(name):
    execution = run(name)
    result = bad_one(execution)
    assert (result.verdict, result.checked) == ("fail", LONG - 1)
    assert counts(result)[0] == ("fail", "wrong type", 1, 1)
    assert shown(result).message == MALFORMED[name]
    assert shown(result).inputs[0].words == (7,)
    assert not execution.remarks


WRONG = {
    "Wide": ("codes as uint32", (7,)),
    "AnotherType": ("int33 instead of int8", (7,)),
    "TwoOutputs": ("2 outputs instead of 1", (7,)),
    "NoOutputs": ("0 outputs instead of 1", None),
    "NoTypes": ("1 output of 0 types", None),
    "OneTooMany": ("one element too many", (8,)),
    "OneTooFew": ("one element too few", (6,)),
    "Empty": ("empty; elements were expected", (0,)),
    "Matrix": ("wrong shape", (1, 7)),
    "LastWrong": ("another value", (7,)),
    "Huge": ("too many elements", (1 << 40,)),
    "HugeAllTheSame": ("too many elements", (1 << 40,)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer(name):
    kind, shape = WRONG[name]
    execution = run(name)
    result = bad_one(execution)
    assert (result.verdict, result.checked) == ("fail", LONG)
    assert counts(result) == [("fail", kind, 1, LONG), ("pass", "", LONG - 1, LONG)]
    example = shown(result)
    assert example.inputs[0].words == (7,)
    assert [strip.shape for strip in example.got][:1] == ([shape] if shape else [])
    assert not execution.remarks


@pytest.mark.parametrize("name", ["Refuses", "DeclinesLater"])
def test_a_refused_call(name):
    result = bad_one(run(name))
    assert counts(result)[0] == ("refused", "refused", 1, LONG)
    assert shown(result).message in ("not seven", "no seven")


def test_calls_of_too_large_answers_are_not_asked(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "2")
    execution = run("Segfault")
    result = bad_one(execution)
    assert (result.verdict, result.checked, result.left_out) == ("pass", SHORT, LONG - SHORT)
    said = "9 calls were not asked: an answer of more elements than CONVCHECK_MAX_ELEMENTS allows"
    assert result.message == said
    assert execution.remarks == (said,)


def test_a_case_of_nothing_but_such_calls_is_no_pass(monkeypatch):
    monkeypatch.setattr("planted.counting.LONG", 12)
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    execution = run("Good", (0,))
    [result] = execution.cases
    assert (result.checked, result.left_out) == (2, 1)
    assert result.message.startswith("1 call was not asked")
