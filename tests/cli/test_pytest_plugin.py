import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from command import Done, convcheck, in_process, text_of, variables

BACKEND = '''
import os, signal
import numpy as np
from convcheck.backends.protocol import Declined, Outputs


class Mine:
    """To int16 it is right, to int32 off by one, too large at 0x64, to bool it dies of that."""

    name, version = "mine", "3"

    def support(self, case):
        known = case.inputs[0].name == "int8" and case.spec == "onnx.Cast-21"
        if known and case.outputs[0].name in ("int16", "int32", "bool"):
            return None
        return Declined("no kernel\\nfor " + case.outputs[0].name, missing=True)

    def answer(self, case, inputs):
        codes, target = inputs[0], case.outputs[0]
        if target.name == "bool" and (codes == 0x64).any():
            os.kill(os.getpid(), signal.SIGSEGV)
        wide = codes.astype(np.int8).astype(np.int64)
        if target.name == "bool":
            wide = (wide != 0) * 1
        if target.name == "int32":
            wide = wide + (codes == 0x64)
        kind = {"int16": np.uint16, "int32": np.uint32, "bool": np.uint8}[target.name]
        return Outputs((np.asarray(wide).astype(kind),), (target.name,))
'''
LEFT_OUT = ("benchmark", "hypothesispytest", "cacheprovider")
OWN_TEST = "def test_of_the_user(): pass\n"
CASES = " or ".join(f"Cast-21/int8-to-{t}" for t in ("int16", "int32", "bool", "uint8"))
MINE = ("--convcheck-backend", "mymodule.backend:Mine", "--convcheck-spec", "onnx.Cast-21")
LINE = "convcheck::onnx.Cast-21/int8-to-"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "mymodule").mkdir()
    (tmp_path / "mymodule" / "__init__.py").touch()
    (tmp_path / "mymodule" / "backend.py").write_text(BACKEND)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run_pytest(project, *arguments):
    """Run pytest here; warnings are errors. The outer session watches threads and exceptions."""
    quiet = ("faulthandler", "rerunfailures", "threadexception", "unraisableexception")
    without = [word for name in (*LEFT_OUT, *quiet) for word in ("-p", f"no:{name}")]
    words = ["-W", "error", "--assert=plain", *without, *arguments]
    with in_process(["pytest", *words], project) as streams:
        for name in [name for name in os.environ if name.startswith("PYTEST")]:
            del os.environ[name]
        before = set(sys.modules)
        code = int(pytest.main(words))
        for name in set(sys.modules) - before:  # of the project; the next one has others
            if str(getattr(sys.modules[name], "__file__", None)).startswith(str(project)):
                del sys.modules[name]
    return Done(words, code, *map(text_of, streams))


def pytest_process(project, *arguments):
    without = [word for name in LEFT_OUT for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", "-W", "error", *without, *arguments]
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    return subprocess.run(command, cwd=project, env={**kept, **variables({})}, timeout=120,
                          capture_output=True, text=True, check=False)  # fmt: skip


def verdicts(project, *arguments, run=run_pytest):
    done = run(project, *arguments, "--junit-xml", "pytest.xml")
    assert "INTERNALERROR" not in done.stdout + done.stderr
    found = {}
    for test in ET.parse(project / "pytest.xml").getroot().iter("testcase"):
        outcome = next((child.tag for child in test), "passed")
        found[f"{test.get('classname')}::{test.get('name')}"] = outcome
    return found, done.stdout


EXPECTED = {
    f"{LINE}int16": "passed", f"{LINE}int32": "failure", f"{LINE}bool": "failure",
    f"{LINE}uint8": "skipped",
}  # fmt: skip


def test_a_test_per_case_beside_the_users_own(project):
    (project / "test_own.py").write_text(OWN_TEST)
    found, shown = verdicts(project, *MINE, "-k", f"{CASES} or of_the_user", "-rsf",
                            run=pytest_process)  # fmt: skip
    assert found == {**EXPECTED, "test_own::test_of_the_user": "passed"}
    assert "2 failed, 2 passed, 1 skipped" in shown
    assert "died of SIGSEGV" in shown
    assert f"FAILED {LINE}int32 - off by one, too large" in shown
    assert "unsupported: no kernel for uint8" in shown
    assert "warning" not in shown
    assert _report_of_int32(project) in shown


def _report_of_int32(project):
    case = ("onnx.Cast-21", "--case", "int8-to-int32")
    done = convcheck("run", "--backend", MINE[1], *case, cwd=project)
    shown = done.stdout[done.stdout.index("FAIL  ") :]
    block = shown[: shown.index("\n\n")]
    assert "off by one, too large" in block
    assert "0x64" in block
    return block


# It takes int8 as if it were unsigned.
CAUSED = BACKEND.replace("codes.astype(np.int8)", "codes")


def test_a_failure_begins_with_its_cause(project):
    (project / "mymodule" / "backend.py").write_text(CAUSED)
    found, shown = verdicts(project, *MINE, "-k", "Cast-21/int8-to-int16")
    assert found == {f"{LINE}int16": "failure"}
    said = "goes through uint8, which wraps (through-uint8-wrap) (1 case, 256 of 256 answers)"
    assert f"\n{said}\n\nFAIL  " in shown


def test_the_cases_are_shared_among_xdists_workers(project):
    words = "Cast-21/int8-to-int32 or Cast-21/int8-to-int16"
    found, shown = verdicts(project, *MINE, "-k", words, "-n", "2", run=pytest_process)
    assert found == {name: EXPECTED[name] for name in found}
    assert len(found) == 2
    assert "off by one, too large" in shown


def test_a_session_that_judged_nothing_is_no_pass(project):
    done = run_pytest(project, *MINE, "-k", "Cast-21/int8-to-uint")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "convcheck: nothing was judged" in done.stdout


def test_options_without_a_test_file(project):
    done = run_pytest(project, *MINE, "--collect-only", "-q")
    lines = done.stdout.splitlines()
    listed = convcheck("show", "cases", "onnx.Cast-21").stdout.split()
    assert [line for line in lines if "::" in line] == [f"convcheck::{name}" for name in listed]
    assert done.returncode == 0


def test_what_hangs_is_ended_after_the_time_that_is_given(project):
    hanging = "            import time; time.sleep(600)\n"
    deadly = "            os.kill(os.getpid(), signal.SIGSEGV)\n"
    (project / "mymodule" / "backend.py").write_text(BACKEND.replace(deadly, hanging))
    asked = ("-k", "Cast-21/int8-to-bool", "--convcheck-timeout", "0.5")
    found, shown = verdicts(project, *MINE, *asked)
    assert found == {f"{LINE}bool": "failure"}
    assert "0.5 s (--convcheck-timeout SECONDS allows more)" in " ".join(shown.split())


def test_the_first_failure_ends_it(project):
    done = run_pytest(project, *MINE, "-x", "-q", "-k", CASES)
    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "stopping after 1 failures" in done.stdout


INT32 = "Cast-21/int8-to-int32"


def listed(project, case='"onnx.Cast-21/int8-to-int32"'):
    asked = (MINE[1], "onnx.Cast-21", "--case", "*/int8-to-int32", "--known", "known.toml")
    done = convcheck("run", "--backend", *asked, "--update", cwd=project)
    assert done.returncode == 0, done.stderr
    known = project / "known.toml"
    entry = 'case = "onnx.Cast-21/int8-to-int32"'
    assert entry in known.read_text()
    known.write_text(known.read_text().replace(entry, f"case = {case}"))
    return known.name


def test_a_known_failure_is_expected(project):
    known = ("--convcheck-known", listed(project))
    done = run_pytest(project, *MINE, "-k", INT32, "-rx", *known)
    assert done.returncode == 0, done.stdout
    assert "1 xfailed" in done.stdout
    assert "known: not yet looked into" in done.stdout


def test_a_failure_listed_by_its_cause_is_expected(project):
    """An entry of a cause excuses its predictions. A misspelled one ends the session."""
    (project / "mymodule" / "backend.py").write_text(CAUSED)
    asked = (*MINE, "-rx", "-k", "Cast-21/int8-to-int16", "--convcheck-known", "known.toml")
    entry = f'[[known]]\ncase = "{LINE[11:]}int16"\ncause = "CAUSE"\nreason = "unsigned"\n'
    ends = {"through-uint8-wrap": 0, "through-uint16-wrap": 1, "through-uint8-warp": 4}
    said = []
    for cause, code in ends.items():
        (project / "known.toml").write_text(entry.replace("CAUSE", cause))
        done = run_pytest(project, *asked)
        assert done.returncode == code, done.stdout + done.stderr
        said.append(done.stdout + done.stderr)
    assert "known: unsigned" in said[0]
    assert "STALE known.toml:1: " in said[1]
    assert "known.toml:3: no cause is named 'through-uint8-warp'" in said[2]


def test_a_list_that_is_not_true_fails(project):
    stale = ("--convcheck-known", listed(project, '"onnx.Cast-21/int8-to-int16"'))
    done = run_pytest(project, *MINE, "-k", "Cast-21/int8-to-int16", *stale)
    assert done.returncode == 1
    assert "STALE known.toml:4: " in done.stdout
    assert "1 failed" in done.stdout


def test_a_list_that_is_not_true_of_several_cases_fails_the_session(project):
    both = '["onnx.Cast-21/int8-to-int16", "onnx.Cast-21/int8-to-int32"]'
    asked = (*MINE, "-k", "Cast-21/int8-to-int16 or Cast-21/int8-to-int32")
    done = run_pytest(project, *asked, "--convcheck-known", listed(project, both))
    assert done.returncode == 1
    assert "1 passed" in done.stdout
    assert "1 xfailed" in done.stdout
    assert "CHANGED known.toml:4: " in done.stdout
    part = run_pytest(project, *MINE, "-k", INT32, "--convcheck-known", "known.toml")
    assert part.returncode == 0, part.stdout


def test_what_was_judged_and_is_declined_fails(project):
    (project / "known.toml").write_text(
        '[[judged]]\ncase = ["onnx.Cast-21/int8-to-{int16,uint8}"]\n'
    )
    asked = ("-k", "Cast-21/int8-to-int16 or Cast-21/int8-to-uint8")
    found, shown = verdicts(project, *MINE, *asked, "--convcheck-known", "known.toml")
    assert found == {f"{LINE}int16": "passed", f"{LINE}uint8": "failure"}
    assert f"FAILED {LINE}uint8 - " in shown
    assert "VANISHED known.toml:2: 1 case is no longer judged" in shown


def test_the_tier_is_asked(project):
    done = run_pytest(project, *MINE, "-k", INT32, "--convcheck-tier", "boundary")
    assert "boundary tier" in done.stdout
    assert "1 failed" in done.stdout


ERRORS = [
    (("--convcheck-known", "known.toml"), "needs --convcheck-backend"),
    ((*MINE, "--convcheck-known", "none.toml"), "none.toml"),
    ((*MINE, "--convcheck-tier", "exhaustive"), "invalid choice: 'exhaustive'"),
    (("--convcheck-backend", "orrt", "-n", "1"), "unknown backend 'orrt'"),
    (("--convcheck-backend", "reference", "--convcheck-spec", "onnx.Cost-*"), "onnx.Cost-*"),
    (("--convcheck-spec", "onnx.Cast-21"), "needs --convcheck-backend"),
    ((*MINE, "--convcheck-timeout", "0"), "0 is not between 0.1 seconds and a day"),
]


@pytest.mark.parametrize(
    ("arguments", "said"), ERRORS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_a_bad_option_is_said_at_once(project, arguments, said):
    (project / "test_own.py").write_text(OWN_TEST)
    done = run_pytest(project, *arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "passed" not in done.stdout


def test_without_the_option_it_costs_nothing(project):
    (project / "test_own.py").write_text(
        "import sys\n"
        "def test_imports():\n"
        "    ours = {m for m in sys.modules if m.split('.')[0] == 'convcheck'}\n"
        "    assert ours == {'convcheck', 'convcheck.pytest_plugin'}\n"
        "    assert not sys.modules.keys() & {'numpy', 'yaml', 'onnx', 'click', 'rich'}\n"
    )
    done = pytest_process(project, "test_own.py")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
