"""Chains of casts: as JSON, and the table of all chains of three types for compilers.

In C and Python, a chain of the table is one byte. The two low bits are the verdict. Bit 2 is set if
the direct cast may replace the chain, bit 3 if the chain may replace the direct cast. ff: no chain.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template
from typing import Any, Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.chains.cast import Results
from convcheck.chains.compare import Proof
from convcheck.chains.judgement import (
    VERDICTS,
    ChainJudgement,
    ChainTable,
    ChainVerdict,
    ReadAs,
    Telling,
)
from convcheck.chains.type_chain import TypeChain, rules_digest, rules_name
from convcheck.documents.report import Named, Pairs, derived, json_text
from convcheck.judge.result import BackendInfo
from convcheck.judge.words import code_text, hexadecimal, value
from convcheck.numerics.format import Text
from convcheck.plan.chains import ChainOfBackend
from convcheck.records import Count, Record
from convcheck.rules.model import DType, Spec
from convcheck.semantics.expected import EXACT, PATTERNS

FORMAT: Final = "convcheck-chain/1"
TABLE_FORMAT: Final = "convcheck-chains/1"


class ResultJson(Record, frozen=True, kw_only=True):
    """The result of an input."""

    type: str
    #: The code in hexadecimal, or a pattern: <nan>, <undefined>.
    result: str
    #: The code's value; null for a pattern.
    value: str | None


class ShownJson(Record, frozen=True, kw_only=True):
    """A counterexample."""

    input: ResultJson
    #: Whether it is the smallest code.
    least: bool
    #: The result of each cast of the chain.
    hops: tuple[ResultJson, ...]
    direct: ResultJson


class WayJson(Record, frozen=True, kw_only=True):
    """The comparison under one reading of disputed texts."""

    #: The reading chosen for each `rule / row`.
    readings: dict[str, str]
    #: Whether the chain equals the direct cast.
    verdict: ChainVerdict
    proof: Proof
    #: How many inputs were compared: all, unless `proof` is vectors.
    inputs: Count
    #: How many inputs have the same result.
    same: Count
    #: How many inputs have different results.
    different: Count
    #: How many inputs are undefined for the chain only.
    chain_undefined: Count
    #: How many inputs are undefined for the direct cast only.
    direct_undefined: Count
    #: How many inputs are undefined for both.
    both_undefined: Count
    #: The smallest counterexample; null if none.
    shown: ShownJson | None


class ByRulesJson(Record, frozen=True, kw_only=True):
    """The rules of a comparison."""

    format: str
    convcheck: str
    #: The spec with the rules.
    spec: str
    #: A hash of the rules and attribute values.
    digest: str
    #: The attributes, as NAME=VALUE.
    where: tuple[str, ...]


class ChainJson(ByRulesJson, frozen=True, kw_only=True):
    """A chain of casts, compared with the direct cast."""

    format: Literal["convcheck-chain/1"]
    #: From source to destination.
    types: tuple[str, ...]
    #: Whether the chain equals the direct cast.
    verdict: ChainVerdict
    #: Whether the direct cast may replace the chain.
    fuse: bool
    #: Whether the chain may replace the direct cast.
    split: bool
    #: The comparison under each reading.
    ways: tuple[WayJson, ...]


class TripleJson(Record, frozen=True, kw_only=True):
    """The verdict on a chain of three types."""

    #: From source to destination.
    types: tuple[str, str, str]
    #: Whether the chain equals the direct cast.
    verdict: ChainVerdict
    proof: Proof
    #: Whether the direct cast may replace the chain.
    fuse: bool
    #: Whether the chain may replace the direct cast.
    split: bool
    #: A counterexample under some reading; absent if none.
    shown: ShownJson | None = None


class ChainsJson(ByRulesJson, frozen=True, kw_only=True):
    """All chains of three types of a spec."""

    format: Literal["convcheck-chains/1"]
    #: In the order of the spec's types.
    chains: tuple[TripleJson, ...]


def _rules(spec: Spec, where: Sequence[str]) -> dict[str, Any]:
    digest = rules_digest(spec, where)
    return {"convcheck": __version__, "spec": spec.id, "digest": digest, "where": tuple(where)}


def _compared(found: ChainJudgement) -> dict[str, Any]:
    types = tuple(dtype.name for dtype in found.chain.types)
    return {
        "types": types, "verdict": found.verdict, "fuse": found.is_fused, "split": found.is_split,
    }  # fmt: skip


def chain_text(found: ChainJudgement, where: Sequence[str]) -> str:
    """Return a judgement as JSON text, a reading per line."""
    ways = tuple(_way(found.chain, way) for way in found.ways)
    rules = _rules(found.chain.spec, where)
    return json_text(ChainJson(format=FORMAT, **rules, **_compared(found), ways=ways), "ways")


def chains_text(table: ChainTable) -> str:
    """Return a table as JSON text, a chain per line."""
    chains = tuple(map(_triple, table.chains.values()))
    rules = _rules(table.spec, table.attributes)
    return json_text(ChainsJson(format=TABLE_FORMAT, **rules, chains=chains), "chains")


def _triple(found: ChainJudgement) -> TripleJson:
    shown = next((way.shown for way in found.ways if way.shown), None)
    example = _shown(found.chain, shown) if shown else None
    return TripleJson(**_compared(found), proof=found.proof, shown=example)


def _way(chain: TypeChain, way: ReadAs) -> WayJson:
    counts = way.comparison.counts
    return WayJson(
        readings={f"{rule} / {row}": name for (rule, row), name in way.readings.items()},
        verdict=way.verdict,
        proof=way.comparison.proof,
        inputs=counts.inputs,
        same=counts.same,
        different=counts.different,
        chain_undefined=counts.chain_open,
        direct_undefined=counts.direct_open,
        both_undefined=counts.both_open,
        shown=_shown(chain, way.shown) if way.shown else None,
    )


def _shown(chain: TypeChain, shown: Telling) -> ShownJson:
    source, *others = chain.types
    return ShownJson(
        input=_code(source, shown.code),
        least=shown.is_least,
        hops=tuple(_result(t, found) for t, found in zip(others, shown.hops, strict=True)),
        direct=_result(others[-1], shown.direct),
    )


def _result(dtype: DType, found: Results) -> ResultJson:
    if found.patterns[0] == EXACT:
        return _code(dtype, int(found.codes[0]))
    return ResultJson(type=dtype.name, result=f"<{PATTERNS[found.patterns[0]]}>", value=None)


def _code(dtype: DType, code: int) -> ResultJson:
    return ResultJson(
        type=dtype.name, result=code_text(dtype.format, code), value=value(dtype.format, code)
    )


class GraphJson(Record, frozen=True, kw_only=True):
    """The result of a chain under one setting."""

    #: The way of building the graph, and backend options.
    setting: Pairs
    #: `cast by cast`, the removed or added casts, or '' if no such change explains the answers.
    made: str
    #: Whether the backend documents this change.
    allowed: bool
    #: How many inputs have these answers.
    count: Count
    #: How many inputs were judged: inputs for which each cast alone is right.
    of: Count
    #: Why there are no answers.
    message: str = ""


class ChainGraphsJson(Record, frozen=True, kw_only=True):
    """The results of a chain."""

    #: From source to destination.
    types: tuple[Named, ...]
    #: Why the chain cannot be judged, for example since a cast alone is wrong; empty if it can.
    untold: tuple[str, ...]
    #: One per setting.
    answers: tuple[GraphJson, ...] = field(name="graphs")


class GraphsJson(Record, frozen=True, kw_only=True):
    """How a backend runs chains."""

    format: Literal["convcheck-graphs/1"]
    convcheck: str
    #: The spec with the rules.
    spec: str
    backend: str
    version: str
    #: Chains with an input that shows removed casts.
    chains: tuple[ChainGraphsJson, ...]


def graphs_text(spec: str, info: BackendInfo, found: Sequence[ChainOfBackend]) -> str:
    """Return a backend's graphs as JSON text, a chain per line."""
    made = GraphsJson(
        format="convcheck-graphs/1",
        convcheck=__version__,
        spec=spec,
        backend=info.name,
        version=info.version,
        chains=derived(tuple[ChainGraphsJson, ...], found),
    )
    return json_text(made, "chains")


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
