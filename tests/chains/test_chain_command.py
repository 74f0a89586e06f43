"""`convcheck chain`: verdicts, exit codes, and its table in C, C++ and Python."""

import csv
import json
import runpy
import subprocess
from functools import cache
from itertools import product
from types import SimpleNamespace

import jsonschema
import pytest
from c_compiler import c_compiler
from catalogue import CATALOG
from command import convcheck

from convcheck.chains.judgement import chain_table, triples
from convcheck.chains.type_chain import CompiledCasts
from convcheck.documents.chain import chains_c, chains_csv, chains_python, chains_text
from convcheck.documents.schemas import schema
from specs import head

CAST = ("--spec", "onnx.Cast-21")
FEW = {"float64", "float32", "float16", "int8", "uint8", "float8e5m2"}


@pytest.mark.parametrize(("types", "code", "said"), [
    ("float32 float64 float32", 0, "equal to the identity, for all 4,294,967,296 inputs"),
    ("float32 int8 int32", 0, "equal to float32 → int32 where both are defined"),
    ("uint8 int8 int16", 1, "different from uint8 → int16, for 128 of 256 inputs"),
    ("float32 int4 int8", 1, "disputed: whether it is the same depends"),
    ("int64 int8 float32", 1, "inputs asked"),
    ("float16 float32 float64 float16", 0, "equal to the identity, for all 65,536 inputs"),
])  # fmt: skip
def test_the_verdict_is_the_exit_code(types, code, said):
    done = convcheck("chain", *types.split(), *CAST, COLUMNS="100")
    assert done.returncode == code, done.stderr
    assert said in done.stdout


def test_the_input_that_shows_it_is_followed_on_its_way():
    done = convcheck("chain", "uint8", "int8", "int16", *CAST)
    rows = [line.split()[-2:] for line in done.stdout.splitlines()[-4:]]
    assert rows == [
        ["128", "(0x80)"],
        ["-128", "(0x80)"],
        ["-128", "(0xff80)"],
        ["128", "(0x0080)"],
    ]


def test_what_may_stand_for_what_is_said():
    done = convcheck("chain", "float32", "int8", "int32", *CAST)
    assert "the chain may be fused into the direct cast; it may not stand for that" in done.stdout
    done = convcheck("chain", "float64", "int64", "int32", *CAST)
    assert "the chain may not be fused into the direct cast; it may stand for that" in done.stdout


@pytest.mark.parametrize(("words", "message", "hint"), [
    ("float32 float16", "2 types: a chain has at least 3", "name source, middle"),
    ("", "no types: a chain has at least 3", "or --table"),
    ("float32 flot16 float32", "unknown type 'flot16'", "did you mean float16"),
    ("float32 string float32", "string is no type of numbers", "the types of a chain"),
    ("float32 float16 int8 --spec onnx.Cats-21", "there is no spec", "did you mean"),
    ("float32 float16 int8 --spec onnx.Range-11", "does not convert one", "such as"),
    ("float32 float16 int8 --where saturate=0", "saturate applies to no", "it applies to"),
    ("float32 float8e5m2 int8 --where saturat=0", "'saturat=0' is not", "did you mean"),
    ("float32 float16 int8 -o x.h", "-o x.h is a table", "add --table"),
    ("float32 --table", "--table takes no types", "every chain"),
])  # fmt: skip
def test_bad_input_is_one_line_with_a_hint(words, message, hint):
    done = convcheck("chain", *words.split())
    assert done.returncode == 2
    assert message in done.stderr
    assert hint in done.stderr


def test_json_says_the_same(tmp_path):
    out = tmp_path / "chain.json"
    assert convcheck("chain", "float32", "int4", "int8", *CAST, "-o", out).returncode == 1
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
def small(*where):
    spec = CATALOG.specs["onnx.Cast-21"]
    chosen = [names for names in triples(spec) if FEW.issuperset(names)]
    return chain_table(CompiledCasts(CATALOG, spec, where), chosen, lambda: None)


def test_the_table_has_every_chain():
    spec = CATALOG.specs["onnx.Cast-21"]
    assert len(triples(spec)) == 19**3
    found = json.loads(chains_text(small()))
    jsonschema.validate(found, schema("chains"))
    assert (found["spec"], found["where"]) == ("onnx.Cast-21", ["saturate=1"])
    assert len(found["chains"]) == len(FEW) ** 3
    rows = list(csv.DictReader(chains_csv(small()).splitlines()))
    assert {(row["spec"], row["attributes"]) for row in rows} == {("onnx.Cast-21", "saturate=1")}
    verdicts = [(row["verdict"], row["fuse"] == "true") for row in rows]
    assert verdicts == [(each["verdict"], each["fuse"]) for each in found["chains"]]
    proofs = {row["proof"] for row in rows if row["verdict"] not in ("different", "disputed")}
    assert proofs == {"exhaustive", "intervals"}


def module(folder, table):
    """Run the Python module of a table.

    Importing it would reuse the bytecode of a table written within the same second.
    """
    path = folder / "chains.py"
    path.write_text(chains_python(table))
    return SimpleNamespace(**runpy.run_path(str(path)))


def test_the_digest_is_of_the_rules_and_the_attribute_values(tmp_path):
    default, chosen, other = small(), small("saturate=1"), small("saturate=0")
    assert default.digest == chosen.digest
    assert default.digest != other.digest
    for table in (default, other):
        assert table.digest == module(tmp_path, table).RULES
        assert json.loads(chains_text(table))["digest"] == table.digest
        assert f'_RULES "{table.digest}"' in chains_c(table)


def test_the_python_module_looks_chains_up(tmp_path):
    chains = module(tmp_path, small())
    for names, each in small().chains.items():
        assert chains.verdict(*names) == each.verdict
        assert chains.may_fuse(*names) == each.is_fused
        assert chains.may_split(*names) == each.is_split
    assert chains.verdict("float64", "bool", "int8") is None
    assert not chains.may_fuse("float64", "bool", "int8")
    assert chains.verdict("float64", "float63", "int8") is None
    assert not chains.may_split("float64", "float63", "int8")
    assert (chains.SPEC, chains.ATTRIBUTES) == ("onnx.Cast-21", {"saturate": "1"})


PROGRAM = """
#include <stdio.h>
#include "one.h"
#include "zero.h"
#define ONE(name) convcheck_onnx_cast_21_saturate_1_##name
#define ZERO(name) convcheck_onnx_cast_21_saturate_0_##name
#define TYPES CONVCHECK_ONNX_CAST_21_SATURATE_1_TYPES
#define TYPE(number) (enum ONE(type))(number)
#define OTHER(number) (enum ZERO(type))(number)
int main(void) {
  for (int a = -1; a <= TYPES; a++)
    for (int b = -1; b <= TYPES; b++)
      for (int c = -1; c <= TYPES; c++) {
        printf("%d %d %d ", ONE(chain_verdict)(TYPE(a), TYPE(b), TYPE(c)),
               ONE(may_fuse)(TYPE(a), TYPE(b), TYPE(c)), ONE(may_split)(TYPE(a), TYPE(b), TYPE(c)));
        printf("%d %d %d\\n", ZERO(chain_verdict)(OTHER(a), OTHER(b), OTHER(c)),
               ZERO(may_fuse)(OTHER(a), OTHER(b), OTHER(c)),
               ZERO(may_split)(OTHER(a), OTHER(b), OTHER(c)));
      }
  printf("%d %d\\n", CONVCHECK_ONNX_CAST_21_SATURATE_0_FLOAT32, TYPES);
  return 0;
}
"""


def test_two_c_headers_go_into_one_program_and_no_index_is_out_of_bounds(tmp_path):
    compiler = c_compiler()
    one, zero = small(), small("saturate=0")
    (tmp_path / "one.h").write_text(chains_c(one))
    (tmp_path / "zero.h").write_text(chains_c(zero))
    (tmp_path / "main.c").write_text(PROGRAM)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-std=c99", "main.c", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    *rows, last = ran.stdout.splitlines()
    names = ["below", *(dtype.name for dtype in one.types), "above"]
    assert last == f"{names.index('float32') - 1} {len(names) - 2}"
    expected = [[*_row(one, *at), *_row(zero, *at)] for at in product(names, repeat=3)]
    assert rows == [" ".join(map(str, row)) for row in expected]
    assert any(row[:3] != row[3:] for row in expected)


def _row(table, a, b, c):
    verdicts = ("equal", "equal where defined", "disputed", "different")
    found = table.chains.get((a, b, c))
    if found is None:
        return (255, 0, 0)
    return (verdicts.index(found.verdict), int(found.is_fused), int(found.is_split))


def test_files_of_a_table_are_written_by_the_command(tmp_path):
    own = tmp_path / "specs"
    own.mkdir()
    (own / "convert.yaml").write_text(OWN)
    endings = ("json", "csv", "h", "py")
    outputs = [word for end in endings for word in ("-o", tmp_path / f"t.{end}")]
    done = convcheck("chain", "--table", "--spec", "acme.Convert-1", "--specs", own, *outputs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "acme.Convert-1: 27 chains of 3 types"
    for end in endings:
        assert "acme.Convert-1" in (tmp_path / f"t.{end}").read_text() or end == "csv"
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 28


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
