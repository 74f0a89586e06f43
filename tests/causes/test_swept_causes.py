import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from command import convcheck, report_at, run_shards
from living import eventually, lines_in
from places import ROOT
from planted.float19 import in_folder
from planted.swept import Swept, Unbound
from report_json import held_log

from convcheck.ask.jobs import Apart, Job
from convcheck.ask.stream import ask_span
from convcheck.backends.protocol import Outputs, Refused
from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Held, Search
from convcheck.judge.result import Fit, Tally
from convcheck.judge.tally import merge
from convcheck.rules.find import find_case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.compile import compile_wrong
from convcheck.vectors.corpus import CHUNK, Span
from convcheck.vectors.generate import form_decision


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    return in_folder(tmp_path_factory.mktemp("specs"))


def command(specs, *options, backend="Truncating"):
    address = f"tests.planted.rounding_backends:{backend}"
    choice = ["run", "acme.Convert-1", "--specs", specs, "--backend", address]
    return [*choice, "--tier", "exhaustive", *options]


def shards(specs, folder, backend="Truncating"):
    words = command(specs, "-q", backend=backend)[1:]
    return run_shards(folder, 2, *words, codes=(1,))


@pytest.fixture(scope="module")
def whole(specs, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "whole.json"
    done = convcheck(*command(specs, "-q", "-o", out), cwd=ROOT)
    assert done.returncode == 1, done.stderr
    return out


def test_a_cause_is_told_of_every_code(whole):
    found = report_at(whole)
    held_log(whole.read_text())
    cases = {case["outputs"][0]: case for case in found["cases"]}
    assert cases["int8"]["verdict"] == "pass"
    told = cases["bfloat16"]["diagnosis"]
    assert (told["answers"], told["fits"][0]) == (2**19, ["truncates"])
    assert told["wrong"] == sum(g["count"] for g in cases["bfloat16"]["groups"] if g["ranges"])
    [cause] = found["causes"]
    assert cause["explained"] == 2**19


def test_shards_have_the_same_causes(specs, whole, tmp_path):
    paths, merged = shards(specs, tmp_path), tmp_path / "merged.json"
    for path in paths:
        held_log(path.read_text())
    assert convcheck("report", "--specs", specs, *paths, "-q", "-o", merged).returncode == 1
    assert merged.read_bytes() == whole.read_bytes()


def test_what_one_code_refutes_is_dropped(specs, tmp_path):
    out = tmp_path / "out.json"
    edge = convcheck(*command(specs, "--tier", "edge", backend="TruncatingButOnce"))
    assert "1 cause explains it" in edge.stdout
    assert convcheck(*command(specs, "-o", out, backend="TruncatingButOnce")).returncode == 1
    found = report_at(out)
    told = {case["outputs"][0]: case.get("diagnosis") for case in found["cases"]}
    assert ("fits" in told["bfloat16"], told["int8"]) == (False, None)
    assert "causes" not in found
    assert "catalogue" not in found


def test_a_fault_of_whole_vectors_is_told_as_one(specs, tmp_path):
    paths, out = shards(specs, tmp_path, "TruncatingInVectors"), tmp_path / "out.json"
    done = convcheck("report", "--specs", specs, *paths, "-o", out, COLUMNS="200")
    assert "in whole vectors only: truncates" in done.stdout
    cases = {case["outputs"][0]: case for case in report_at(out)["cases"]}
    told = cases["bfloat16"]["diagnosis"]
    assert (told["answers"], told["fits"], told["whole_vectors"]) == (2**19, [["truncates"]], True)


def test_a_case_that_kills_is_not_explained(specs, tmp_path):
    out = tmp_path / "out.json"
    shard = ("--shard", "2/2", "--to", "bfloat16", "-o", out)  # a span without vectors
    done = convcheck(*command(specs, *shard, backend="DyingTruncating"))
    assert done.returncode == 1, done.stderr
    [case] = report_at(out)["cases"]
    assert case["verdict"] == "crashed"
    assert case.get("diagnosis") is None
    assert all(group["count"] == 1 for group in case["groups"] if group["verdict"] == "crashed")


@pytest.mark.parametrize("fault", ["NoSearch", "NoHolding"])
def test_a_fault_costs_causes_alone(specs, whole, tmp_path, fault):
    paths, out = shards(specs, tmp_path, fault), tmp_path / "out.json"
    done = convcheck("report", "--specs", specs, *paths, "-o", out, COLUMNS="200")
    assert done.returncode == 1, done.stderr
    assert " ".join(done.stdout.split()).count("the search for causes failed") == 1
    found, due = (report_at(path)["cases"] for path in (out, whole))
    told = [case.pop("diagnosis", None) for case in found]
    assert [case.pop("diagnosis", None) for case in due] != told
    assert found == due
    [one] = filter(None, told)
    assert one["fault"].startswith("KeyError: 'planted'")
    assert "fits" not in one


def test_a_run_that_was_killed_goes_on(specs, whole, tmp_path):
    journal, out = tmp_path / "journal", tmp_path / "out.json"
    line = [sys.executable, "-m", "convcheck", *command(specs, "-j1", "--resume", journal)]
    run = subprocess.Popen(list(map(str, line)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert eventually(lambda: lines_in(journal) > 2)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    convcheck(*command(specs, "-q", "--resume", journal, "-o", out))
    assert out.read_bytes() == whole.read_bytes()


SEARCH = Search(causes_of(CATALOG), CATALOG)
NAMES = ("truncates",)
COUNT = 4 * CHUNK


def case_of(target):
    return find_case(CATALOG, "onnx.Cast-21", "float32", target, ())


def wrong(case, *names):
    program = compile_wrong(CATALOG.specs[case.spec], case, SEARCH.named(names))
    assert program is not None
    return program


def swept(backend, case, first, *apart, fits=NAMES):
    span = Span(first, COUNT)
    job = Job(0, case, span=span, apart=tuple(Apart(CHUNK * n) for n in apart))
    form = form_decision(CATALOG.specs[case.spec])
    held = Held(SEARCH, case, [Fit(fits)])
    return held.fitted(ask_span(backend, job, span, compiled(case), form, lambda *call: None, held))


def fits(tally):
    return None if tally.fits is None else tuple(fit.names for fit in tally.fits)


@pytest.mark.parametrize("apart", [(), (1,), (0, 1, 2, 3)])
@pytest.mark.parametrize("target", ["bfloat16", "float8e5m2", "float64"])
def test_one_other_answer_in_a_span_refutes(target, apart):
    case, first = case_of(target), 0x3F800000
    cause = "truncates" if target != "float64" else "through-bfloat16"

    def bent(at):
        def change(codes, out):
            out[codes == at] ^= out.dtype.type(1)

        return Swept(wrong(case, cause), change)

    def left(at):
        return fits(swept(bent(at), case, first, *apart, fits=(cause,)))

    assert left(first - 1) == ((cause,),)
    for at in (first, first + CHUNK - 1, first + CHUNK + 0x1234, first + COUNT - 1):
        assert left(at) == ()


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_right_tail_of_samples_refutes_no_cause_of_whole_vectors(chunks):
    case = case_of("bfloat16")
    span = Span(0, chunks * CHUNK + 13, seed=1)
    right, form = compiled(case), form_decision(CATALOG.specs[case.spec])

    def change(codes, out):
        whole = len(codes) // 8 * 8
        out[whole:] = run_program(right, case, codes[whole:]).readings[0].codes

    for whole in (False, True):
        held = Held(SEARCH, case, [Fit(NAMES, whole_vectors=whole)])
        backend, job = Swept(wrong(case, *NAMES), change), Job(0, case, span=span)
        tally = ask_span(backend, job, span, right, form, lambda *call: None, held)
        assert fits(held.fitted(tally)) == ((NAMES,) if whole else ())


def test_what_is_undefined_refutes_nothing():
    case = case_of("int8")
    for first in (0x42FD0000, 0x7F7D0000):

        def change(codes, out):
            out[codes >= 0x43000000] = codes[codes >= 0x43000000] % 251

        backend = Swept(wrong(case, "rounds-away"), change)
        assert fits(swept(backend, case, first, fits=("rounds-away",))) != ()


def test_a_refusal_refutes_and_a_call_that_fails_tells_nothing():
    case, first = case_of("bfloat16"), 0x3F800000
    program = wrong(case, *NAMES)

    def asked(reply, at):
        def replied(codes):
            if (codes == at).any():
                return reply
            out = np.array(run_program(program, case, codes.reshape(-1)).readings[0].codes)
            return Outputs((out.reshape(codes.shape),), ("bfloat16",))

        return fits(swept(Unbound(program, replied), case, first))

    assert asked(Refused("no"), first - 1) == (NAMES,)
    assert asked(Refused("no"), first + 5) == ()
    assert asked(Outputs((), ()), first + 5) is None


def test_what_fits_every_part_fits_the_whole():
    one, two = Fit(("a",)), Fit(("a", "b"), 1)
    parts = [Tally({}, (), fits=fits) for fits in ((one, two), (two,), (one, two))]
    assert merge(parts).fits == merge(parts[::-1]).fits == (two,)
    assert merge([*parts, Tally({}, (), fits=())]).fits == ()
    assert merge([*parts, Tally({}, ())]).fits is None
