from dataclasses import replace

import pytest
from catalogue import CATALOG, CORPUS
from command import refused
from planted.causes import OWN as GOOD
from planted.causes import with_causes

from convcheck.causes.catalogue import causes_of, unseen
from convcheck.errors import SpecError


def test_lint_tells_of_causes_never_shown(tmp_path, monkeypatch):
    blind = GOOD.replace("{-inf: +inf}", "{-inf: as-below}").replace("from: float,", "from: bool,")
    blind += '  - name: as-version-13\n    says: answers as version 13 says\n    version: "13"\n'
    seen = GOOD.removeprefix("causes:\n").replace("drops-the-sign-of-infinity", "is-seen")
    own = causes_of(with_causes(tmp_path, blind + seen))[-3:]
    monkeypatch.setattr("convcheck.causes.catalogue.causes_of", lambda catalog: own)
    few = {name: CATALOG.specs[name] for name in ("onnx.Cast-9", "onnx.Cast-13")}
    infinity, version = map(str, unseen(replace(CORPUS, catalog=replace(CATALOG, specs=few))))
    assert "own.yaml:2: no input shows the cause 'drops-the-sign-of-infinity'" in infinity
    assert "no input shows the cause 'as-version-13'" in version


def test_an_entry_stands_once_for_each_value(tmp_path):
    edit = '    each: {W: [nan, +0], S: [+inf, -inf]}\n    table: {"{S}": "{W}"}'
    text = GOOD.replace("drops-the-sign-of-infinity", "from-{S}-to-{W}")
    causes = causes_of(with_causes(tmp_path, text.replace("    table: {-inf: +inf}", edit)))[-4:]
    names = ["from-+inf-to-nan", "from--inf-to-nan", "from-+inf-to-+0", "from--inf-to-+0"]
    assert [cause.name for cause in causes] == names
    assert [row.label for c in causes for row in c.rules[0].rows] == ["+inf", "-inf"] * 2


@pytest.mark.parametrize(("old", "new", "said"), [
    ("table: {-inf: +inf}", "rows: {-inf: +inf}", "own.yaml:5: unknown key `rows`"),
    ("    table: {-inf: +inf}\n", "", "own.yaml:2: nothing differs from the rules"),
    ("table: {-inf: +inf}", "steps: {meets: {}}", "own.yaml:5: not one input"),
    ("table: {-inf: +inf}", "steps: {meets: {y: last}}", "own.yaml:5: unknown word 'last'"),
    ("{-inf: +inf}", "{-infinity: +inf}", "own.yaml:5: unknown case word '-infinity'"),
    ("{-inf: +inf}", "{-inf: +infinity}", "own.yaml:5: unknown outcome word '+infinity'"),
    ("{-inf: +inf}", "{else: through float32}", "own.yaml:5: unknown outcome word"),
    ("table: {-inf: +inf}", "through: float33", "own.yaml:5: unknown type 'float33'"),
    ("table: {-inf: +inf}", "through: int8", "own.yaml:5: what becomes of numbers that int8"),
    ("table: {-inf: +inf}", "through: {kind: int8}", "own.yaml:5: `through` has a type"),
    ("table: {-inf: +inf}", "rounds: sideways", "own.yaml:5: unknown rounding mode 'sideways'"),
    ("from: float,", "from: floaty,", "own.yaml:4: unknown type 'floaty'"),
    ("drops-the-sign-of-infinity", "truncates", "own.yaml:2: two causes are named 'truncates'"),
    ("    says: gives +Inf for an infinity of either sign\n", "", "own.yaml:2: missing `says`"),
    (
        "    when",
        "    each: {A: EIGHT, B: EIGHT, C: EIGHT, D: [0, 1]}\n    when".replace(
            "EIGHT", str([*range(8)])
        ),
        "own.yaml:4: the values make more than",
    ),
    ("causes:", "cases:", "own.yaml:1: unknown key `cases`"),
    ("    when", "   when", "own.yaml:4: not YAML"),
])  # fmt: skip
def test_a_bad_cause_is_refused_by_place(tmp_path, old, new, said):
    assert old in GOOD
    with pytest.raises(SpecError) as caught:
        causes_of(with_causes(tmp_path, GOOD.replace(old, new)))
    assert said in str(caught.value)
    assert "hint: " in str(caught.value)


BAD = {
    "word": ("+inf}", "+infinity}", "5: unknown outcome word '+infinity'", "did you mean +inf?"),
    "version": ("    table: {-inf: +inf}", "    version: 77", "2: no spec has the version '77'",
                "known: 0.1, 0.2, 1, 4, "),
    "operator": ("    table: {-inf: +inf}", "    of: onnx.Caste\n    steps: {in: float32}",
                 "2: no spec is of 'onnx.Caste'", "did you mean onnx.Cast"),
}  # fmt: skip
RUN = ("run", "--backend", "reference", "onnx.Cast-21", "--resume", "left.json")


@pytest.mark.parametrize("command", [RUN, ("lint",)], ids=["run", "lint"])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_cause_ends_a_command_at_once(bad, command, tmp_path):
    old, new, said, hint = BAD[bad]
    assert old in GOOD
    with_causes(tmp_path, GOOD.replace(old, new))
    told = refused(*command, "--specs", tmp_path, cwd=tmp_path)
    assert f"causes/own.yaml:{said}\n  hint: {hint}" in told
    assert not (tmp_path / "left.json").exists()
