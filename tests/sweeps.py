from contextlib import closing

from catalogue import CATALOG, compiled
from planted.swept import Swept

from convcheck.ask.jobs import Job
from convcheck.ask.stream import Sweep
from convcheck.judge.answers import CHUNK
from convcheck.judge.tally import finish, merge
from convcheck.plan.units import Gathering, part_of
from convcheck.pool.lane import Reported, Restarts
from convcheck.pool.local import locally
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.vectors.corpus import Span
from convcheck.vectors.generate import form_decision

CAST = CATALOG.specs["onnx.Cast-21"]
HALF = [c for c in cases(CAST) if c.inputs[0].name == "float16" and c.outputs[0].name != "string"]
SPAN = Span(0x3F800000, 4 * CHUNK)


def swept(backend, case, span=SPAN, tile=1 << 13):
    rules = compiled(case), form_decision(CAST)
    return Sweep(backend, case, *rules, span, lambda *call: None, tile).tally()


def swept_in_worker(name, plan, corpus, timeout=20.0):
    """Run units of one case on a backend of `planted.sweeping`; return restarts, too."""
    gathering, restarts = Gathering(plan, corpus.conversion), 0
    setup = Setup(f"tests.planted.sweeping:{name}", corpus, None, timeout)
    jobs = [Job(number, unit.case, span=unit.span) for number, unit in enumerate(plan)]
    with closing(locally(setup, jobs, 1, timeout)) as reports:
        for report in reports:
            if isinstance(report, Reported):
                gathering.add(part_of(plan[report.position], report.result))
            elif isinstance(report, Restarts):
                restarts = report.count
    (result,) = gathering.results()
    return result, restarts


def finished(case, *tallies):
    return finish(case, merge(tallies), "exhaustive")


def groups(case, change, span=SPAN):
    result = finished(case, swept(Swept(compiled(case), change), case, span))
    assert result.checked == span.count
    assert sum(g.count for g in result.groups) == span.count
    return [g for g in result.groups if g.verdict not in ("pass", "undefined", "tolerated")]


def case_of(target, *attributes, source="float32"):
    return find_case(CATALOG, "onnx.Cast-21", source, target, attributes)


def comparable(result):
    """Remove the digest of passes, and the extreme example of undefined answers.

    Invalid codes are counted by the call.
    """
    kept = []
    for group in result.groups:
        if group.kind == "not a code of the type":
            group = replace(group, examples=(), digest="")
        examples = group.examples[:1] if group.verdict == "undefined" else group.examples
        digest = "" if group.verdict == "pass" else group.digest
        kept.append(replace(group, digest=digest, examples=examples))
    return replace(result, groups=tuple(kept))
