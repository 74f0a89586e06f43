"""Read observations: what releases of runtimes do where the rules leave an answer open.

    runtime: onnxruntime
    release: 1.31.1
    backend: ort           # its address
    operator: onnx.Cast    # all versions with the row
    seen:                  # the cause that gives the answers of a row, for these types
      - {row: float-to-fixed / nan, does: CAUSE, from: [TYPES], to: [TYPES]}

Observations are for default attributes and inputs in bulk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from convcheck.causes.catalogue import causes_of
from convcheck.errors import Place
from convcheck.numerics.codes import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.load import OBSERVATIONS, Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.rules.source import Node, read_all, read_yaml
from convcheck.rules.types import Types
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.semantics.wrong import compile_wrong, readings_at


@dataclass(frozen=True)
class Observation:
    """The behaviour of a runtime's release in a row."""

    runtime: str
    release: str
    #: the backend's address
    backend: str
    #: without a version
    operator: str
    #: rule and row: 'float-to-fixed / nan'
    row: str
    sources: frozenset[str]
    targets: frozenset[str]
    #: the cause that gives its answers
    cause: Cause
    place: Place

    def is_of(self, case: Case, row: str) -> bool:
        """Return whether it is about a row of a case."""
        types = case.inputs[0].name in self.sources and case.outputs[0].name in self.targets
        return self.row == row and self.operator == case.op and types and "/" not in case.name


def observations_of(catalog: Catalog) -> tuple[Observation, ...]:
    """Return the observations of a catalog. Raises SpecError."""
    causes = {cause.name: cause for cause in causes_of(catalog)}
    roots = [data_dir("specs"), *catalog.folders]
    paths = [
        (root, path) for root in roots for path in sorted((root / OBSERVATIONS).glob("*.yaml"))
    ]
    nodes = [
        read_yaml(path, f"{root.name}/{path.relative_to(root).as_posix()}") for root, path in paths
    ]
    return tuple(each for node in nodes for each in _seen(node, causes, catalog.types))


def seen_at(
    catalog: Catalog, case: Case, row: str, code: Bits
) -> Iterator[tuple[Observation, Reading]]:
    """Yield observations of a row with their readings for one code, shape (1,)."""
    spec = catalog.specs[case.spec]
    for one in observations_of(catalog):
        program = compile_wrong(spec, case, (one.cause,)) if one.is_of(case, row) else None
        if program is not None:
            given = readings_at(program, points_of(case, code))[0]
            if given.patterns[0] != UNDEFINED:
                yield one, given


def _seen(node: Node, causes: Mapping[str, Cause], types: Types) -> Iterator[Observation]:
    node.only("runtime", "release", "backend", "operator", "seen")
    head = [node.need(key).text() for key in ("runtime", "release", "backend", "operator")]
    runtime, release, backend, operator = head

    def read(entry: Node) -> Observation:
        entry.only("row", "does", "from", "to")
        cause = causes[entry.need("does").word(tuple(causes), "cause")]
        sources, targets = (frozenset(types.names(entry.need(key))) for key in ("from", "to"))
        row = entry.need("row").text()
        return Observation(
            runtime, release, backend, operator, row, sources, targets, cause, entry.place
        )

    yield from read_all(read, node.listed("seen"))
