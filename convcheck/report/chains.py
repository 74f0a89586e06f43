"""The table of all chains of three types for compilers: CSV, a C header, a Python module.

A chain is one byte, in hexadecimal: its two low bits are the verdict; bit 2 is set where the direct
cast may stand for the chain, bit 3 where the chain may stand for the direct cast; ff is no chain.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from convcheck import __version__
from convcheck.chains.judgement import VERDICTS, ChainJudgement
from convcheck.chains.table import ChainTable
from convcheck.judge.words import hexadecimal
from convcheck.numerics.format import Text

NONE = 0xFF  # no chain: the spec lacks one of the casts
_FUSE, _SPLIT = 4, 8
_HEADER = ("source", "middle", "destination", "verdict", "proof", "fuse", "split", "input")


def chains_csv(table: ChainTable) -> str:
    """Return a table as CSV, a chain a line; `input` is the code of one that shows a difference."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for names, each in table.chains.items():
        flags = (str(flag).lower() for flag in (each.is_fused, each.is_split))
        writer.writerow([*names, each.verdict, each.proof, *flags, _input(each)])
    return text.getvalue()


def _input(answer: ChainJudgement) -> str:
    fmt = answer.chain.types[0].format
    code = next((way.shown.code for way in answer.ways if way.shown), None)
    return "" if code is None or isinstance(fmt, Text) else hexadecimal(fmt, code)


def _byte(answer: ChainJudgement | None) -> int:
    if answer is None:
        return NONE
    verdict = VERDICTS.index(answer.verdict)
    return verdict | answer.is_fused * _FUSE | answer.is_split * _SPLIT


def _rows(table: ChainTable) -> Iterator[tuple[str, str, bytes]]:
    """Return the bytes of each pair of source and middle, a byte a destination."""
    names = [dtype.name for dtype in table.types]
    for source in names:
        for middle in names:
            found = (table.chains.get((source, middle, target)) for target in names)
            yield source, middle, bytes(map(_byte, found))


def _made_by(table: ChainTable) -> str:
    where = "".join(f", {word}" for word in table.where)
    return f"{table.spec.id}{where}, by convcheck {__version__}; rules {table.spec.digest}"


C_HEADER = """\
/* Chains of casts: is source -> middle -> destination what source -> destination gives?
   {made}

   An optimiser that fuses a chain asks convcheck_may_fuse; one that inserts a middle type asks
   convcheck_may_split. A chain that ends where it began is compared with no cast at all. */
#ifndef {guard}
#define {guard}

#define {guard}_RULES "{digest}"

enum convcheck_type {{
{types}
  CONVCHECK_TYPES
}};

enum convcheck_chain {{
  CONVCHECK_EQUAL = 0,         /* for every input */
  CONVCHECK_WHERE_DEFINED = 1, /* for every input for which both are defined */
  CONVCHECK_DISPUTED = 2,      /* in some readings of the standard, and not in others */
  CONVCHECK_DIFFERENT = 3,     /* for some input */
  CONVCHECK_NO_CHAIN = 255     /* the standard lacks one of the casts */
}};

static const unsigned char convcheck_chains[CONVCHECK_TYPES][CONVCHECK_TYPES][CONVCHECK_TYPES] = {{
{rows}
}};

static inline enum convcheck_chain convcheck_chain_verdict(
    enum convcheck_type source, enum convcheck_type middle, enum convcheck_type destination) {{
  unsigned char found = convcheck_chains[source][middle][destination];
  return found == 255 ? CONVCHECK_NO_CHAIN : (enum convcheck_chain)(found & 3);
}}

/* Whether the direct cast gives what the chain has to, wherever that has to give something. */
static inline int convcheck_may_fuse(
    enum convcheck_type source, enum convcheck_type middle, enum convcheck_type destination) {{
  unsigned char found = convcheck_chains[source][middle][destination];
  return found != 255 && (found & 4) != 0;
}}

/* Whether the chain gives what the direct cast has to, wherever that has to give something. */
static inline int convcheck_may_split(
    enum convcheck_type source, enum convcheck_type middle, enum convcheck_type destination) {{
  unsigned char found = convcheck_chains[source][middle][destination];
  return found != 255 && (found & 8) != 0;
}}

#endif
"""


def chains_c(table: ChainTable) -> str:
    """Return a table as a C header, which includes nothing."""
    guard = "CONVCHECK_CHAINS_" + re.sub("[^A-Z0-9]", "_", table.spec.id.upper())
    types = "\n".join(f"  CONVCHECK_{dtype.name.upper()}," for dtype in table.types)
    count = len(table.types)
    lines = []
    for index, (source, middle, row) in enumerate(_rows(table)):
        opening = "  {\n" if index % count == 0 else ""
        closing = "\n  }," if index % count == count - 1 else ""
        said = ", ".join(map(str, row))
        lines.append(f"{opening}    {{{said}}}, /* {source} -> {middle} */{closing}")
    return C_HEADER.format(
        made=_made_by(table), guard=guard, digest=table.spec.digest, types=types,
        rows="\n".join(lines),
    )  # fmt: skip


PYTHON_MODULE = '''\
"""Chains of casts: is source -> middle -> destination what source -> destination gives?

{made}

An optimiser that fuses a chain asks `may_fuse`; one that inserts a middle type asks `may_split`.
A chain that ends where it began is compared with no cast at all.
"""

RULES = "{digest}"
TYPES = (
{types}
)
VERDICTS = ({verdicts})
_NUMBER = {{name: number for number, name in enumerate(TYPES)}}
_NO_CHAIN, _FUSE, _SPLIT = 255, 4, 8


def verdict(source: str, middle: str, destination: str) -> str | None:
    """Return the verdict on a chain, None where the standard lacks one of the casts."""
    found = _byte(source, middle, destination)
    return None if found == _NO_CHAIN else VERDICTS[found & 3]


def may_fuse(source: str, middle: str, destination: str) -> bool:
    """Return whether the direct cast gives what the chain has to, wherever that has to give
    something.
    """
    found = _byte(source, middle, destination)
    return found != _NO_CHAIN and bool(found & _FUSE)


def may_split(source: str, middle: str, destination: str) -> bool:
    """Return whether the chain gives what the direct cast has to, wherever that has to give
    something.
    """
    found = _byte(source, middle, destination)
    return found != _NO_CHAIN and bool(found & _SPLIT)


def _byte(source: str, middle: str, destination: str) -> int:
    at = _NUMBER[source] * len(TYPES) + _NUMBER[middle]
    return _CHAINS[at * len(TYPES) + _NUMBER[destination]]


_CHAINS = bytes.fromhex(
{rows}
)
'''


def chains_python(table: ChainTable) -> str:
    """Return a table as a Python module, which imports nothing."""
    return PYTHON_MODULE.format(
        made=_made_by(table),
        digest=table.spec.digest,
        types="\n".join(f'    "{dtype.name}",' for dtype in table.types),
        verdicts=", ".join(f'"{verdict}"' for verdict in VERDICTS),
        rows="\n".join(f'    "{row.hex()}"  # {a} -> {b}' for a, b, row in _rows(table)),
    )
