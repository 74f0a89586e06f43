"""`convcheck chain` and `convcheck model`."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from convcheck.chains.judgement import (
    DIFFERENT,
    DISPUTED,
    chain_table,
    judge_chain,
    numeric_types,
    triples,
)
from convcheck.chains.type_chain import CompiledCasts, latest, takes_chains
from convcheck.cli.options import catalog
from convcheck.cli.outputs import Output, check_outputs, named, progress, show, tracked
from convcheck.documents.chain import (
    chain_text,
    chains_c,
    chains_csv,
    chains_python,
    chains_text,
    graphs_text,
)
from convcheck.documents.decode import read_each
from convcheck.documents.model import model_text
from convcheck.errors import UsageError
from convcheck.judge.result import RunResult
from convcheck.models.conversions import RulesForModel, check_data, converting
from convcheck.models.graph import codes_that_occurred, read_data, read_model
from convcheck.plan.chains import AskedChain, ask_chains, asked_chain, settings
from convcheck.report.draw.chain import UNTOLD, chain_page, chain_table_page, graph_page
from convcheck.report.draw.model import model_page, model_report
from convcheck.rules.find import find_spec
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Spec
from convcheck.site.data import run_name
from convcheck.streams import meant, plural
from convcheck.vectors.corpus import open_corpus

FEWEST = 3  # types of a chain
CHANGED, NOTHING = 1, 3
JSON = "json"
TABLES = {JSON: chains_text, "csv": chains_csv, "h": chains_c, "py": chains_python}


def chain(
    types: tuple[str, ...],
    name: str | None,
    where: tuple[str, ...],
    table: bool,
    backend: str | None,
    timeout: float,
    outputs: tuple[Output, ...],
) -> int:
    """Judge a chain or a table, or run them on a backend."""
    _check_usage(types, table, outputs, backend)
    check_outputs(named(outputs))
    loaded = catalog()
    conversions = CompiledCasts(loaded, _spec(loaded, name), where)
    if backend is not None:
        return _ask(conversions, types, backend, timeout, outputs)
    return _table(conversions, outputs) if table else _chain(conversions, types, outputs)


def _check_usage(
    types: tuple[str, ...], table: bool, outputs: Sequence[Output], backend: str | None
) -> None:
    if table and types:
        raise UsageError("--table takes no types", hint="it has every chain of three types")
    if not table and len(types) < FEWEST:
        given = plural(len(types), "type") if types else "no types"
        hint = "name source, middle and destination, such as float64 float32 float16, or --table"
        raise UsageError(f"{given}: a chain has at least {FEWEST}", hint=hint)
    for form, _, word in outputs:
        if form != JSON and backend:
            raise UsageError(f"-o {word} is a table of the rules", hint="leave out --backend")
        if form != JSON and not table:
            raise UsageError(f"-o {word} is a table", hint="add --table, and leave out the types")


def _spec(loaded: Catalog, name: str | None) -> Spec:
    if name is None:
        return latest(loaded)
    found = find_spec(loaded, name)
    if not takes_chains(found):
        hint = f"such as {latest(loaded).id}"
        raise UsageError(f"{name} does not convert one input to one output", hint=hint)
    return found


def _chain(conversions: CompiledCasts, types: tuple[str, ...], outputs: Sequence[Output]) -> int:
    conversions.check_where(types[1:])
    found = judge_chain(conversions.chain(types))
    attributes = conversions.attributes(types[1:])
    text = partial(chain_text, found, attributes)
    show(chain_page(found, attributes), *((one.path, text) for one in outputs))
    return int(found.verdict in (DIFFERENT, DISPUTED))


def _ask(
    conversions: CompiledCasts, types: tuple[str, ...], backend: str, timeout: float,
    outputs: Sequence[Output],
) -> int:  # fmt: skip
    asked, spec = _asked(conversions, types), conversions.spec
    if not asked:
        show([UNTOLD])
        return NOTHING
    with progress(len(asked) * len(settings(backend)), "chain", "graph") as advance:
        catalog = conversions.catalog.only([spec.id])
        info, found = ask_chains(backend, asked, timeout, catalog, advance)
    text = partial(graphs_text, spec.id, info, found)
    show(graph_page(info, found), *((one.path, text) for one in outputs))
    if any(one.changed for one in found):
        return CHANGED
    return NOTHING if all(one.untold for one in found) else 0


def _asked(conversions: CompiledCasts, types: tuple[str, ...]) -> list[AskedChain]:
    targets = types[1:] or [dtype.name for dtype in numeric_types(conversions.spec)]
    conversions.check_where(targets)
    chosen = [types] if types else triples(conversions.spec)
    found = [asked_chain(conversions, names) for names in tracked(chosen, "chain", "chain")]
    return [one for one in found if one is not None]


def _table(conversions: CompiledCasts, outputs: Sequence[Output]) -> int:
    chosen = triples(conversions.spec)
    conversions.check_where([dtype.name for dtype in numeric_types(conversions.spec)])
    with progress(len(chosen), "chain", "chain") as advance:
        made = chain_table(conversions, chosen, advance)
    texts = [(one.path, partial(TABLES[one.form], made)) for one in outputs]
    counts = Counter(each.verdict for each in made.chains.values())
    show(chain_table_page(counts, made), *texts)
    return 0


def model(
    file: str,
    reports: tuple[str, ...],
    backends: tuple[str, ...],
    data: str | None,
    outputs: tuple[Output, ...],
) -> int:
    """List the conversions of an ONNX model."""
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
