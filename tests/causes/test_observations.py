from dataclasses import replace

import pytest
from catalogue import CATALOG
from command import convcheck, refused
from report_json import parsed

from convcheck.causes.catalogue import causes_of, observations_of
from convcheck.errors import SpecError
from convcheck.rules.load import load

SEEN = observations_of(CATALOG)
FEW = {"jax": 3, "litert": 6, "mlx": 11, "tinygrad": 6, "tract": 3}
ASKED = {"onnx.Cast": "onnx.Cast-21", "openvino.Convert": "openvino.Convert-1"}


def names_of(one):
    named = [f"{a}-to-{b}" for a in sorted(one.sources) for b in sorted(one.targets)]
    return list(dict.fromkeys((named[0], named[-1])))


def laws_told(backend, asked, out):
    done = convcheck("run", "--open", "--backend", backend, *asked, "-o", out, "--no-progress")
    if done.returncode == 4:
        pytest.skip(done.stderr)
    found = parsed(out.read_text())
    laws = {}
    for case in found["cases"]:
        for row in case.get("rows", ()):
            by = found["rules"][row["rule"]]
            key = f"{case['case']['id'].partition('/')[2]}: {by['rule']} / {by['row']}"
            laws[key] = {fit for _, fits in row.get("fits", ()) for fit in fits}
    return found["backend"]["version"], laws


def wrong(seen, laws):
    keys = [(f"{name}: {one.row}", one.cause) for one in seen for name in names_of(one)]
    return [f"{key}: {cause.name}" for key, cause in keys if cause.says not in laws.get(key, ())]


@pytest.mark.parametrize("backend", list(dict.fromkeys(one.backend for one in SEEN)))
def test_the_runtime_does_what_it_was_seen_to_do(backend, tmp_path):
    mine = [one for one in SEEN if one.backend == backend]
    names = dict.fromkeys(name for one in mine for name in names_of(one))
    cases = [word for name in names for word in ("--case", name)]
    version, laws = laws_told(backend, [ASKED[mine[0].operator], *cases], tmp_path / "s.json")
    if mine[0].release not in version:
        pytest.skip(f"{version} is here, and {mine[0].release} was asked")
    assert wrong(mine, laws) == []
    assert len(mine) >= FEW.get(backend, 20)
    # a wrong entry is found
    other = next(c for c in causes_of(CATALOG) if c.name == "beyond-is-0" or c.name == "nan-is-min")
    assert wrong([replace(mine[0], cause=other)], laws)


def test_judge_tells_what_was_seen_in_the_row_of_an_input():
    words = ("onnx.Cast-21/float32-to-int8", "300", "--got", "44")
    done = convcheck("explain", *words, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split()).partition(" seen ")[2]
    assert "onnxruntime 1.31.1" in told.partition("here: 0x2c (44)")[0]
    assert "seen" not in convcheck("explain", words[0], "3", "--got", "3").stdout


def test_what_names_no_cause_is_bad_input(tmp_path):
    (tmp_path / "observations").mkdir()
    entry = "{row: float-to-fixed / nan, does: nope, from: [float32], to: [int8]}"
    text = f"runtime: r\nrelease: 1\nbackend: b\noperator: onnx.Cast\nseen:\n  - {entry}\n"
    (tmp_path / "observations" / "r.yaml").write_text(text)
    with pytest.raises(SpecError, match="unknown cause 'nope'"):
        observations_of(load([tmp_path]))
    said = refused("lint", "--specs", tmp_path)
    assert "observations/r.yaml:6: unknown cause 'nope'" in said
