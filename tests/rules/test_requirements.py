from hashlib import sha256

import pytest
from catalogue import CATALOG, CORPUS
from command import convcheck, refused

from convcheck.causes.catalogue import causes_of
from convcheck.causes.score import mutants
from convcheck.rules.requirements import requirements_of

SETS = requirements_of(CATALOG)
CAUSES = {cause.name: cause for cause in causes_of(CATALOG)}


def test_the_published_sets_are_as_published():
    assert {name: one.digest[:8] for name, one in SETS.items()} == {
        "cast-2026": "56af3fac",
        "cast-fp8-2026": "5f886103",
        "openvino-types-2026": "c990c63e",
        "pypto-cast-2026": "dea852c1",
        "quantize-2026": "829552cd",
    }


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "quantize-2026")) for name in SETS],
)
def test_no_member_is_idle(name):
    one = SETS[name]
    cases, later = one.cases(CATALOG)
    assert len(cases) == len(one.members)
    assert later > 0
    for case in cases:
        [(_, found)] = mutants(CORPUS, [case], [CAUSES[one.members[case.id]]])
        assert [mutant.caught > 0 for mutant in found] == [True], case.id


def test_a_run_is_scored(tmp_path):
    ran = convcheck("run", "--backend", "reference", "--require", "cast-2026", "-o", "run.jsonl",
                    cwd=tmp_path)  # fmt: skip
    assert ran.returncode == 0
    size = len(SETS["cast-2026"].members)
    assert f"{size} of {size} required cases (cast-2026), tier 1" in " ".join(ran.stdout.split())


def test_a_set_fails_a_backend_without_its_cases(tmp_path):
    ran = convcheck(
        "run", "--backend", "planted.deviating:Declining", "--require", "cast-2026", cwd=tmp_path
    )
    assert ran.returncode == 1
    assert "0 of 64 required cases (cast-2026), tier 3" in " ".join(ran.stdout.split())


@pytest.mark.parametrize(("words", "said"), [
    (["--require", "cast-2025"], "no requirement set 'cast-2025'"),
    (["--require", "cast-2026", "onnx.Cast-21"], "--require selects its cases itself"),
    (["--require", "cast-2026", "--tier", "boundary"], "is scored on edge inputs"),
    (["--require", "cast-2026", "--inputs", "mine.npy"], "is scored on edge inputs"),
])  # fmt: skip
def test_bad_sets_are_refused(words, said):
    assert said in refused("run", "--backend", "reference", *words)


MINE = """title: mine
date: 2026-01-01
sha256: {sha256}
cases:
  onnx.Cast-21/{case}: {cause}
"""


@pytest.mark.parametrize(("case", "cause", "said"), [
    ("float16-to-float32", "truncates", "the cases are not those of this sha256"),
    ("float16-to-float23", "truncates", "no case onnx.Cast-21/float16-to-float23"),
    ("float64-to-float32", "truncate", "no cause 'truncate'"),
])  # fmt: skip
def test_lint_holds_sets_to_the_specs(tmp_path, case, cause, said):
    lines = f"onnx.Cast-21/{case} {cause}\n".encode()
    digest = sha256(b"" if case.endswith("32") and cause == "truncates" else lines).hexdigest()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "mine.yaml").write_text(
        MINE.format(sha256=digest, case=case, cause=cause)
    )
    told = refused("lint", "--specs", tmp_path)
    assert said in told
    assert "requirements/mine.yaml:" in told
