"""Cases of casts, chains and by name, and their answers from backends."""

from itertools import pairwise, starmap

import numpy as np
from catalogue import CATALOG, CORPUS
from command import told
from report_json import document

from convcheck.backends.protocol import Outputs
from convcheck.judge.result import RunResult
from convcheck.plan.runner import execute
from convcheck.rules.cases import cases
from convcheck.rules.model import Case


def cast_case(source, target, attributes=(), **more):
    types = [(CATALOG.types.types[name],) for name in (source, target)]
    return Case("onnx.Cast-28", "onnx.Cast", 28, types[0], types[1], attributes, **more)


def chain_case(*types, hops=(), **setting):
    """Make a chain of casts, by default without attributes."""
    hops = hops or tuple(starmap(cast_case, pairwise(types)))
    return cast_case(types[0], types[-1], hops=hops, setting=tuple(setting.items()))


def codes_of(backend, case, values):
    answer = backend.answer(case, [np.array(values, case.inputs[0].format.storage)])
    assert isinstance(answer, Outputs), answer
    assert answer.types == (case.outputs[0].name,)
    assert answer.arrays[0].dtype == case.outputs[0].format.storage
    return answer.arrays[0]


def named(spec, *names):
    """Return cases of a spec by their names within it."""
    known = {case.name: case for case in cases(CATALOG.specs[spec])}
    return [known[name] for name in names]


def report_of(address, chosen):
    done = execute(address, chosen, CORPUS, jobs=1, timeout=30.0,
                   on_result=lambda result: None)  # fmt: skip
    result = RunResult(done.backend, "edge", "disputed", CORPUS.digests(chosen), done.cases)
    found = told(document(result))
    assert found.pop("backend")["name"] == address
    return found
