"""The table of all chains of three types for compilers: CSV, a C header, a Python module.

A chain is one byte, in hexadecimal: its two low bits are the verdict; bit 2 is set where the direct
cast may stand for the chain, bit 3 where the chain may stand for the direct cast; ff is no chain.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator

from convcheck import __version__
from convcheck.chains.judgement import VERDICTS, ChainJudgement
from convcheck.chains.table import ChainTable
from convcheck.chains.type_chain import rules_name
from convcheck.judge.words import hexadecimal
from convcheck.numerics.format import Text

NONE = 0xFF  # no chain: the spec lacks one of the casts
_FUSE, _SPLIT = 4, 8
_HEADER = (
    "spec", "attributes", "source", "middle", "destination", "verdict", "proof", "fuse", "split",
    "input",
)  # fmt: skip


def chains_csv(table: ChainTable) -> str:
    """Return a table as CSV, a chain a line; `input` is the code of one that shows a difference."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    rules = (table.spec.id, " ".join(table.attributes))
    for names, each in table.chains.items():
        flags = (str(flag).lower() for flag in (each.is_fused, each.is_split))
        writer.writerow([*rules, *names, each.verdict, each.proof, *flags, _input(each)])
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
    name = rules_name(table.spec, table.attributes)
    return f"{name}; by convcheck {__version__}; rules {table.digest}"


C_HEADER = """\
/* Chains of casts: is source -> middle -> destination what source -> destination gives?
   {made}

   An optimiser that fuses a chain asks {name}_may_fuse; one that inserts a middle type
   asks {name}_may_split. A chain that ends where it began is compared with no cast. */
#ifndef {macro}
#define {macro}

#define {macro}_RULES "{digest}"

enum {name}_type {{
{types}
  {macro}_TYPES
}};

enum {name}_verdict {{
  {macro}_EQUAL = 0,         /* for every input */
  {macro}_WHERE_DEFINED = 1, /* for every input for which both are defined */
  {macro}_DISPUTED = 2,      /* in some readings of the standard, and not in others */
  {macro}_DIFFERENT = 3,     /* for some input */
  {macro}_NO_CHAIN = 255     /* no such type, or the standard lacks one of the casts */
}};

static const unsigned char {name}_table[{macro}_TYPES][{macro}_TYPES][{macro}_TYPES] = {{
{rows}
}};

static inline unsigned {name}_found(
    enum {name}_type source, enum {name}_type middle, enum {name}_type destination) {{
  const unsigned types = {macro}_TYPES;
  if ((unsigned)source >= types || (unsigned)middle >= types || (unsigned)destination >= types)
    return {macro}_NO_CHAIN;
  return {name}_table[source][middle][destination];
}}

static inline enum {name}_verdict {name}_chain_verdict(
    enum {name}_type source, enum {name}_type middle, enum {name}_type destination) {{
  unsigned found = {name}_found(source, middle, destination);
  return (enum {name}_verdict)(found == {macro}_NO_CHAIN ? found : found & 3);
}}

/* Whether the direct cast gives what the chain has to, wherever that has to give something. */
static inline int {name}_may_fuse(
    enum {name}_type source, enum {name}_type middle, enum {name}_type destination) {{
  unsigned found = {name}_found(source, middle, destination);
  return found != {macro}_NO_CHAIN && (found & 4) != 0;
}}

/* Whether the chain gives what the direct cast has to, wherever that has to give something. */
static inline int {name}_may_split(
    enum {name}_type source, enum {name}_type middle, enum {name}_type destination) {{
  unsigned found = {name}_found(source, middle, destination);
  return found != {macro}_NO_CHAIN && (found & 8) != 0;
}}

#endif
"""


def chains_c(table: ChainTable) -> str:
    """Return a table as a C header, which includes nothing. All names begin with the spec and the
    attribute values, so that two tables go into one program.
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
    return C_HEADER.format(
        made=_made_by(table), name=name, macro=macro, digest=table.digest, types=types,
        rows="\n".join(lines),
    )  # fmt: skip


PYTHON_MODULE = '''\
"""Chains of casts: is source -> middle -> destination what source -> destination gives?

{made}

An optimiser that fuses a chain asks `may_fuse`; one that inserts a middle type asks `may_split`.
A chain that ends where it began is compared with no cast at all.
"""

SPEC = "{spec}"
ATTRIBUTES = {attributes}
RULES = "{digest}"
TYPES = (
{types}
)
VERDICTS = ({verdicts})
_NUMBER = {{name: number for number, name in enumerate(TYPES)}}
_NO_CHAIN, _FUSE, _SPLIT = 255, 4, 8


def verdict(source: str, middle: str, destination: str) -> str | None:
    """Return the verdict on a chain, None for an unknown type or a cast that the standard lacks."""
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
    if not {{source, middle, destination}} <= _NUMBER.keys():
        return _NO_CHAIN
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
        spec=table.spec.id,
        attributes=json.dumps(dict(word.split("=", 1) for word in table.attributes)),
        digest=table.digest,
        types="\n".join(f'    "{dtype.name}",' for dtype in table.types),
        verdicts=", ".join(f'"{verdict}"' for verdict in VERDICTS),
        rows="\n".join(f'    "{row.hex()}"  # {a} -> {b}' for a, b, row in _rows(table)),
    )
