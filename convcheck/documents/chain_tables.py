"""The table of all chains of three types for compilers: CSV, a C header, a Python module.

A chain is one byte in hexadecimal. The two low bits are the verdict. Bit 2 is set if the direct
cast may replace the chain, bit 3 if the chain may replace the direct cast. ff means no chain.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from string import Template

from convcheck import __version__
from convcheck.chains.judgement import VERDICTS, ChainJudgement, ChainTable
from convcheck.chains.type_chain import rules_name
from convcheck.judge.words import hexadecimal
from convcheck.numerics.format import Text

NONE = 0xFF  # the spec lacks one of the casts
_FUSE, _SPLIT = 4, 8
_HEADER = (
    "spec", "attributes", "source", "middle", "destination", "verdict", "proof", "fuse", "split",
    "input",
)  # fmt: skip


def chains_csv(table: ChainTable) -> str:
    """Return a table as CSV, a chain per line. `input` is the code of a counterexample."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    rules = (table.spec.id, " ".join(table.attributes))
    for names, each in table.chains.items():
        flags = (str(flag).lower() for flag in (each.is_fused, each.is_split))
        fmt = each.chain.types[0].format
        code = next((way.shown.code for way in each.ways if way.shown), None)
        shown = "" if code is None or isinstance(fmt, Text) else hexadecimal(fmt, code)
        writer.writerow([*rules, *names, each.verdict, each.proof, *flags, shown])
    return text.getvalue()


def _byte(answer: ChainJudgement | None) -> int:
    if answer is None:
        return NONE
    verdict = VERDICTS.index(answer.verdict)
    return verdict | answer.is_fused * _FUSE | answer.is_split * _SPLIT


def _rows(table: ChainTable) -> Iterator[tuple[str, str, bytes]]:
    names = [dtype.name for dtype in table.types]
    for source in names:
        for middle in names:
            found = (table.chains.get((source, middle, target)) for target in names)
            yield source, middle, bytes(map(_byte, found))


def _made_by(table: ChainTable) -> str:
    name = rules_name(table.spec, table.attributes)
    return f"{name}; by convcheck {__version__}; rules {table.digest}"


def _filled(template: str, **gaps: str) -> str:
    text = (files("convcheck.documents") / "templates" / template).read_text(encoding="utf-8")
    return Template(text).substitute(gaps)


def chains_c(table: ChainTable) -> str:
    """Return a table as a C header without includes.

    Names begin with the spec and attribute values.
    """
    words = ["convcheck", table.spec.id, *table.attributes]
    name = re.sub("[^a-z0-9]+", "_", "_".join(words).lower())
    macro = name.upper()
    types = "\n".join(f"  {macro}_{dtype.name.upper()}," for dtype in table.types)
    count = len(table.types)
    lines = []
    for index, (source, middle, row) in enumerate(_rows(table)):
        opening = "  {\n" if index % count == 0 else ""
        closing = "\n  }," if index % count == count - 1 else ""
        said = ", ".join(map(str, row))
        lines.append(f"{opening}    {{{said}}}, /* {source} -> {middle} */{closing}")
    return _filled(
        "chains.h", made=_made_by(table), name=name, macro=macro, digest=table.digest, types=types,
        rows="\n".join(lines),
    )  # fmt: skip


def chains_python(table: ChainTable) -> str:
    """Return a table as a Python module without imports."""
    return _filled(
        "chains.py.txt",
        made=_made_by(table),
        spec=table.spec.id,
        attributes=json.dumps(dict(word.split("=", 1) for word in table.attributes)),
        digest=table.digest,
        types="\n".join(f'    "{dtype.name}",' for dtype in table.types),
        verdicts=", ".join(f'"{verdict}"' for verdict in VERDICTS),
        rows="\n".join(f'    "{row.hex()}"  # {a} -> {b}' for a, b, row in _rows(table)),
    )
