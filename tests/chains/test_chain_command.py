"""`convcheck chain`: verdicts, exit codes, the table and what compilers vendor of it."""

from __future__ import annotations

import csv
import importlib.util
import json
import subprocess
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from c_compiler import c_compiler
from catalogue import CATALOG
from command import convcheck

from convcheck.chains.table import ChainTable, chain_table, triples
from convcheck.chains.type_chain import CompiledCasts
from convcheck.report.chains import chains_c, chains_csv, chains_python
from convcheck.report.json.chain import chains_text
from convcheck.report.json.schemas import schema
from specs import head

CAST = ("--spec", "onnx.Cast-21")
FEW = {"float64", "float32", "float16", "int8", "uint8", "int4"}


@pytest.mark.parametrize(
    ("types", "code", "said"),
    [
        ("float32 float64 float32", 0, "equal to the identity, for all 4,294,967,296 inputs"),
        ("float32 int8 int32", 0, "equal to float32 → int32 where both are defined"),
        ("uint8 int8 int16", 1, "different from uint8 → int16, for 128 of 256 inputs"),
        ("float32 int4 int8", 1, "disputed: whether it is the same depends"),
        ("int64 int8 float32", 1, "inputs asked"),
        ("float16 float32 float64 float16", 0, "equal to the identity, for all 65,536 inputs"),
    ],
)  # fmt: skip
def test_the_verdict_is_the_exit_code(types: str, code: int, said: str) -> None:
    done = convcheck("chain", *types.split(), *CAST, COLUMNS="100")
    assert done.returncode == code, done.stderr
    assert said in done.stdout


def test_the_input_that_shows_it_is_followed_on_its_way() -> None:
    done = convcheck("chain", "uint8", "int8", "int16", *CAST)
    rows = [line.split("   ")[-1].strip() for line in done.stdout.splitlines()[-4:]]
    assert rows == ["128  (0x80)", "-128  (0x80)", "-128  (0xff80)", "128  (0x0080)"]


def test_what_may_stand_for_what_is_said() -> None:
    done = convcheck("chain", "float32", "int8", "int32", *CAST)
    assert "the chain may be fused into the direct cast; it may not stand for that" in done.stdout
    done = convcheck("chain", "float64", "int64", "int32", *CAST)
    assert "the chain may not be fused into the direct cast; it may stand for that" in done.stdout


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("float32 float16", "2 types: a chain has at least 3", "name source, middle"),
        ("", "no types: a chain has at least 3", "or --table"),
        ("float32 flot16 float32", "unknown type 'flot16'", "did you mean float16"),
        ("float32 string float32", "string is no type of numbers", "the types of a chain"),
        ("float32 float16 int8 --spec onnx.Cats-21", "there is no spec", "did you mean"),
        ("float32 float16 int8 --spec onnx.Range-11", "does not convert one", "such as"),
        ("float32 float16 int8 --where saturate=0", "saturate applies to no", "it applies to"),
        ("float32 float8e5m2 int8 --where saturat=0", "'saturat=0' is not", "did you mean"),
        ("float32 float16 int8 --c x.h", "--c writes a table", "add --table"),
        ("float32 --table", "--table takes no types", "every chain"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_a_hint(words: str, message: str, hint: str) -> None:
    done = convcheck("chain", *words.split())
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr


def test_json_says_the_same(tmp_path: Path) -> None:
    out = tmp_path / "chain.json"
    assert convcheck("chain", "float32", "int4", "int8", *CAST, "--json", out).returncode == 1
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema("chain"))
    assert found["verdict"] == "disputed"
    nearest, toward_zero = found["ways"]
    assert nearest["readings"] == {"float-to-short / else": "nearest-even"}
    assert nearest["shown"]["input"] == {
        "type": "float32", "result": "0x3f000001", "value": "0.50000006",
    }  # fmt: skip
    assert nearest["shown"]["least"]
    assert (toward_zero["verdict"], toward_zero["shown"]) == ("equal where defined", None)


@cache
def small() -> ChainTable:
    """The chains of a few types, as a table of all."""
    spec = CATALOG.specs["onnx.Cast-21"]
    chosen = [names for names in triples(spec) if FEW.issuperset(names)]
    return chain_table(CompiledCasts(CATALOG, spec), chosen, lambda: None)


def test_the_table_has_every_chain_and_its_digest() -> None:
    spec = CATALOG.specs["onnx.Cast-21"]
    assert len(triples(spec)) == 19**3
    found = json.loads(chains_text(small()))
    jsonschema.validate(found, schema("chains"))
    assert found["digest"] == spec.digest
    assert len(found["chains"]) == len(FEW) ** 3
    rows = list(csv.DictReader(chains_csv(small()).splitlines()))
    verdicts = [(row["verdict"], row["fuse"] == "true") for row in rows]
    assert verdicts == [(each["verdict"], each["fuse"]) for each in found["chains"]]
    proofs = {row["proof"] for row in rows if row["verdict"] not in ("different", "disputed")}
    assert proofs == {"exhaustive", "intervals"}


def test_the_python_module_looks_chains_up(tmp_path: Path) -> None:
    path = tmp_path / "chains.py"
    path.write_text(chains_python(small()))
    found = importlib.util.spec_from_file_location("chains", path)
    assert found is not None
    assert found.loader is not None
    chains = importlib.util.module_from_spec(found)
    found.loader.exec_module(chains)
    for names, each in small().chains.items():
        assert chains.verdict(*names) == each.verdict
        assert chains.may_fuse(*names) == each.is_fused
        assert chains.may_split(*names) == each.is_split
    assert chains.verdict("float64", "bool", "int8") is None
    assert not chains.may_fuse("float64", "bool", "int8")
    assert small().spec.digest == chains.RULES


PROGRAM = """
#include <stdio.h>
#include "chains.h"
int main(void) {
  printf("%d %d %d\\n", convcheck_chain_verdict(CONVCHECK_FLOAT64, CONVCHECK_FLOAT32, CONVCHECK_FLOAT16),
         convcheck_may_fuse(CONVCHECK_FLOAT32, CONVCHECK_INT8, CONVCHECK_FLOAT32),
         convcheck_chain_verdict(CONVCHECK_FLOAT64, CONVCHECK_BOOL, CONVCHECK_FLOAT16));
  for (int a = 0; a < CONVCHECK_TYPES; a++)
    for (int b = 0; b < CONVCHECK_TYPES; b++)
      for (int c = 0; c < CONVCHECK_TYPES; c++) {
        enum convcheck_type s = (enum convcheck_type)a, m = (enum convcheck_type)b, d = (enum convcheck_type)c;
        printf("%d %d %d\\n", convcheck_chain_verdict(s, m, d), convcheck_may_fuse(s, m, d), convcheck_may_split(s, m, d));
      }
  return 0;
}
"""  # noqa: E501


def test_the_c_header_compiles_and_looks_chains_up(tmp_path: Path) -> None:
    compiler = c_compiler()
    (tmp_path / "chains.h").write_text(chains_c(small()))
    (tmp_path / "main.c").write_text(PROGRAM)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-std=c99", "main.c", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    first, *rest = ran.stdout.splitlines()
    assert first == "3 0 255"
    names = [dtype.name for dtype in small().types]
    verdicts = ("equal", "equal where defined", "disputed", "different")
    expected = []
    for each in ((a, b, c) for a in names for b in names for c in names):
        it = small().chains.get(each)
        row = (verdicts.index(it.verdict), it.is_fused, it.is_split) if it else (255, 0, 0)
        expected.append(" ".join(str(int(word)) for word in row))
    assert rest == expected


def test_files_of_a_table_are_written_by_the_command(tmp_path: Path) -> None:
    own = tmp_path / "specs"
    own.mkdir()
    (own / "convert.yaml").write_text(OWN)
    outputs = [
        word for name in ("json", "csv", "c", "python") for word in (f"--{name}", tmp_path / name)
    ]
    done = convcheck("chain", "--table", "--spec", "acme.Convert-1", "--specs", own, *outputs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "acme.Convert-1: 27 chains of 3 types"
    for name in ("json", "csv", "c", "python"):
        assert "acme.Convert-1" in (tmp_path / name).read_text() or name == "csv"
    assert len((tmp_path / "csv").read_text().splitlines()) == 28


OWN = (
    head("uint8, int8, int16", "uint8, int8, int16")
    + """\
rules:
  - name: wrap
    level: normative
    cite: "Discards high bits."
    when: {to: [uint8, int8, int16]}
    table: {else: low-bits}
"""
)
