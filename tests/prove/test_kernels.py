"""Right kernels are proved, mutants are refuted or right, and every refutation holds when run."""

from collections import Counter

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from prove.mutants import CASES, KERNELS, mutants

from convcheck.backends.compiled import Compiled
from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.calls import judge
from convcheck.prove.prove import prove
from convcheck.rules.find import find_case
from convcheck.semantics.evaluate import evaluate
from convcheck.vectors.corpus import open_corpus
from convcheck.vectors.generate import form_decision
from convcheck.vectors.model import VectorSet

MORE = {
    "right.c:f32_to_e5m2": "float32-to-float8e5m2/saturate=1",
    "right.cpp:f64_to_f16": "float64-to-float16",
}
RIGHT = {**{f"right.c:{name}": case for name, case in CASES.items()}, **MORE}


BOUNDARY = open_corpus(CATALOG, "boundary", 0, KERNELS.parent)
FORM = form_decision(CATALOG.specs["onnx.Cast-21"])


def case_of(name):
    return find_case(CATALOG, f"onnx.Cast-21/{name}", None, None, ())


def proved(case, backend):
    return prove(CATALOG.specs[case.spec], case, backend.kernel, 60.0)


def is_wrong(case, backend, inputs):
    """Run a kernel on codes, and judge its answers."""
    codes = np.array(inputs, case.inputs[0].format.storage)
    found = backend.answer(case, [codes])
    assert isinstance(found, Outputs)
    expected = evaluate(CATALOG.specs[case.spec], case, codes)
    vectors = VectorSet(case, (codes,), expected, "sampled", FORM)
    answers = Answers(found.arrays[0], np.full(len(codes), ANSWERED, np.uint8), {})
    return judge(vectors, answers).verdict == "fail"


def many(case):
    """Return the boundary inputs of a case, and random codes."""
    vectors = BOUNDARY.vectors(case)
    assert isinstance(vectors, VectorSet)
    draw = np.random.default_rng(0)
    known = vectors.inputs[0].tolist()
    return (
        known
        + draw.integers(
            0, (1 << case.inputs[0].format.bits) - 1, 20_000, np.uint64, endpoint=True
        ).tolist()
    )


@pytest.mark.parametrize("where", RIGHT)
def test_a_right_kernel_is_proved(where):
    backend = Compiled(f"{KERNELS.parent / where}", catalog=CATALOG)
    found = proved(case_of(RIGHT[where]), backend)
    assert (found.verdict, found.why) == ("proved", "")


@pytest.mark.parametrize("name", CASES)
def test_mutants_are_decided(tmp_path, name):
    verdicts = Counter[str]()
    for number, (function, change, text) in enumerate(mutants(1, 6)):
        if function != name:
            continue
        file = tmp_path / f"{number}.c"
        file.write_text(text)
        backend, case = Compiled(f"{file}:{name}", catalog=CATALOG), case_of(CASES[name])
        found = proved(case, backend)
        verdicts[found.verdict] += 1
        assert found.verdict != "undecided" or found.inputs or "its length" in found.why, change
        if found.inputs:
            assert is_wrong(case, backend, found.inputs), change
        elif found.verdict == "proved":
            assert not is_wrong(case, backend, many(case)), change
    assert verdicts["refuted"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "32-to" in case])
def test_harmless_mutants_are_right_for_all_inputs(tmp_path, name):
    for number, (function, change, text) in enumerate(mutants(1, 6)):
        if function == name:
            file = tmp_path / f"{number}.c"
            file.write_text(text)
            case = case_of(CASES[name])
            if proved(case, Compiled(f"{file}:{name}", catalog=CATALOG)).verdict == "proved":
                done = convcheck("run", "--backend", f"compiled:{file}:{name}", case.id,
                                 "--tier", "exhaustive")  # fmt: skip
                assert done.returncode == 0, (change, done.stdout)
