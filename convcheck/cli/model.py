"""`convcheck model`: the conversions of a model, with facts from specs and reports."""

from __future__ import annotations

from functools import partial

from convcheck.cli.options import catalog
from convcheck.cli.outputs import Output, check_outputs, named, show, tracked
from convcheck.errors import UsageError
from convcheck.judge.result import RunResult
from convcheck.models.conversions import RulesForModel, check_data, converting
from convcheck.models.graph import codes_that_occurred, read_data, read_model
from convcheck.report.draw.model import model_page
from convcheck.report.json.decode import read_each
from convcheck.report.json.model import model_text
from convcheck.report.model import model_report
from convcheck.report.site.names import run_name
from convcheck.rules.load import Catalog, data_dir
from convcheck.streams import meant
from convcheck.vectors.corpus import open_corpus


def main(
    file: str,
    reports: tuple[str, ...],
    backends: tuple[str, ...],
    data: str | None,
    outputs: tuple[Output, ...],
) -> int:
    """List the conversions of an ONNX model, with facts from specs and reports."""
    check_outputs(named(outputs), {"the model": file, "--data": data})
    loaded = catalog()
    runs = _runs(loaded, reports, backends)
    graph = read_model(file, loaded.types.types)
    arrays = read_data(data) if data is not None else {}
    check_data(graph, arrays)
    nodes = converting(graph, loaded)
    corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
    rules = RulesForModel(corpus, graph.opset, codes_that_occurred(graph, arrays))
    found = [rules.of(node) for node in tracked(nodes, "model", "node")]
    told = model_report(file, graph, found, runs, loaded)
    show(model_page(told), *((one.path, partial(model_text, told)) for one in outputs))
    return 0


def _runs(
    loaded: Catalog, reports: tuple[str, ...], backends: tuple[str, ...]
) -> list[tuple[str, RunResult]]:
    """Return the runs in reports with their names, filtered by `backends` if given."""
    if backends and not reports:
        hint = "--report FILE, as `convcheck run --backend ort -o FILE` writes it"
        raise UsageError("--to chooses among reports, and there is none", hint=hint)
    runs = [run for path in dict.fromkeys(reports) for run in read_each(path, loaded.types.types)]
    names = [run_name(run.backend) for run in runs]
    known = [{name.runtime, str(name), run.backend.address, run.backend.name}
             for name, run in zip(names, runs, strict=True)]  # fmt: skip
    for one in backends:
        if not any(one in some for some in known):
            said = [str(name) for name in names]
            raise UsageError(f"no report is of {one}", hint=meant(one, said))
    chosen = [not backends or bool(some & {*backends}) for some in known]
    return [(str(name), run) for name, run, yes in zip(names, runs, chosen, strict=True) if yes]
