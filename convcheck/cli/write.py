"""`convcheck generate`, `lint`, `score`, `backend` and `export`."""

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from convcheck.backends.process.environment import SERVER
from convcheck.backends.process.probe import STEPS, Probe, ProbeStep, questions
from convcheck.backends.process.serve import serve
from convcheck.backends.protocol import last_words, open_backend
from convcheck.causes.catalogue import causes_of, observations_of, unseen
from convcheck.causes.score import Score, mutants, scores
from convcheck.chains.asked import turned_back_by_nothing
from convcheck.cli.options import catalog
from convcheck.cli.outputs import Output, check_outputs, named, progress, show, tracked
from convcheck.documents.score import score_text
from convcheck.emit.languages import FORMS
from convcheck.emit.suite import Suite, suite_of
from convcheck.errors import ConvcheckError, UnavailableError, UsageError
from convcheck.files import write_text, write_whole
from convcheck.judge.words import clean
from convcheck.plan.select import select, select_specs
from convcheck.plan.selection import Selection
from convcheck.report.blocks import BLANK, Block, Text, under
from convcheck.report.draw.console import put
from convcheck.report.where import JudgedCases
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir, user_folders
from convcheck.rules.model import Case
from convcheck.rules.requirements import check_requirements
from convcheck.rules.types import Types
from convcheck.semantics.lint import faults, lint_spec
from convcheck.streams import number, plural, say
from convcheck.vectors import folder as folders
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.model import Tier
from convcheck.vectors.store.write import Files, by_file, differing, others_in, write_folder

DIFFERENT = 1


def generate(patterns: tuple[str, ...], tier: Tier, out: str | None, check: bool, seed: int) -> int:
    """Generate or check test vectors."""
    loaded = catalog()
    folder = _folder(out, tier, partial=bool(patterns), check=check)
    selected = select_specs(loaded, patterns)
    kept = others_in(folder, selected, tier, seed) if patterns else None
    asked = by_file(chain.from_iterable(map(cases, selected)), loaded.specs)
    make = Corpus(loaded, tier, seed, ()).vectors
    files = Files(selected, tracked(asked, f"{tier} vectors"), make, tier, seed, kept)
    if check:
        return _check(differing(files, folder), folder)
    changed = write_folder(files, folder)
    say(
        f"{plural(files.vectors, 'vector')}, {files.size / 1e6:.1f} MB, in {folder}: "
        f"{plural(changed, 'file')} changed"
    )
    return 0


def _folder(out: str | None, tier: str, partial: bool, check: bool) -> Path:
    hint = "--out DIR"
    if out is None and (tier != "edge" or (partial and not check)):
        said = "which folder? the default one is only for the edge tier of all specs"
        raise UsageError(said, hint=hint)
    folder = Path(out) if out else data_dir("vectors")
    if not check and out is None and user_folders():
        raise UsageError("which folder? the default one is not for your own specs", hint=hint)
    if not check and {"site-packages", "dist-packages"} & {*folder.resolve().parts}:
        hint = "--out with a folder of yours"
        raise UsageError(f"{folder} is part of an installation, and not written to", hint=hint)
    return folder


def _check(differ: list[str], folder: Path) -> int:
    for name in differ:
        say(name)
    if differ:
        verb = "differs" if len(differ) == 1 else "differ"
        say(f"{plural(len(differ), 'file')} in {folder} {verb} from what the specs "
            "give; run `convcheck generate`", err=True)  # fmt: skip
        return DIFFERENT
    say(f"{folder} is up to date")
    return 0


BAD_SPEC = 2


def lint(patterns: tuple[str, ...]) -> int:
    """Prove that specs are complete, unambiguous, reachable, cited and true to their examples."""
    loaded = catalog(decided=False)  # report all errors, not only the first
    chosen = select_specs(loaded, patterns)
    if not patterns:
        observations_of(loaded)  # raises if observations or causes cannot be read
        check_requirements(loaded, {cause.name: cause for cause in causes_of(loaded)})
    proofs = []
    for spec in tracked(chosen, "lint", "spec"):
        proof = lint_spec(spec)
        proof.diagnostics += turned_back_by_nothing(loaded, spec)
        proofs.append(proof)
    found = faults(proofs)
    with progress(1, "lint", "catalogue of causes") as advance:
        corpus = open_corpus(loaded, "edge", 0, data_dir("vectors"))
        blind = [] if patterns else list(unseen(corpus))  # causes that no input exposes
        advance()
    for error in blind:
        say(str(error), err=True)
    for diagnostic, having in found.items():
        say(diagnostic.of(having), err=True)
    if found:
        bad = len({name for having in found.values() for name in having})
        say(f"{plural(len(found), 'error')} in {plural(bad, 'spec')}", err=True)
    if found or blind:
        return BAD_SPEC
    cases, points = sum(p.cases for p in proofs), sum(p.points for p in proofs)
    asked = f"{plural(len(proofs), 'spec')}, {plural(cases, 'case')}"
    say(f"{asked}: the first row that matches decides each of {plural(points, 'point')};")
    say("every row, cell and reading decides some point; every example holds")
    return 0


MISSED, NOTHING = 1, 3


def score(selection: Selection, tier: Tier, verbose: bool, outputs: tuple[Output, ...]) -> int:
    """Plant every cause in the rules, and count the causes caught."""
    check_outputs(named(outputs))
    loaded = catalog()
    causes, cases = causes_of(loaded), select(loaded, selection)
    corpus = open_corpus(loaded, tier, 0, data_dir("vectors"))
    corpus.check(cases)
    found = scores(mutants(corpus, tracked(cases, "score"), causes), cases)
    text = partial(score_text, found, tier, len(causes))
    show(_score_page(found, tier, verbose), *((one.path, text) for one in outputs))
    if not any(score.observable for score in found):
        return NOTHING
    return MISSED if any(score.missed for score in found) else 0


FAILED = 1
SCHEME = "process:"
EXAMPLES = {"c": "cast.c", "c-header": "convcheck.h", "python": "cast.py"}


def example(which: str) -> int:
    """Print a program that speaks the process protocol."""
    write_text((data_dir("examples") / EXAMPLES[which]).read_text(encoding="utf-8"), "-")
    return 0


def serve_backend(backend: str | None, standalone: bool) -> int:
    """Serve a backend on stdin and stdout. Raises UnavailableError."""
    if standalone and backend is not None:
        hint = f"convcheck backend serve --standalone > server.py, then python3 server.py {backend}"
        raise UsageError("--standalone takes no BACKEND: the file has them all", hint=hint)
    if standalone:
        write_text(SERVER.read_text(encoding="utf-8"), "-")
        return 0
    if backend is None:
        hint = "convcheck backend serve ort, or --standalone for a file"
        raise UsageError("which backend?", hint=hint)
    answers = os.dup(1)
    os.dup2(2, 1)  # send the runtime's prints to stderr
    loaded = catalog()
    try:
        opened = open_backend(backend, loaded)
    except ConvcheckError:
        raise
    except (Exception, SystemExit) as error:
        message = f"backend {backend!r} could not be started: {last_words(error)}"
        raise UnavailableError(message) from error
    with open(0, "rb", buffering=1 << 20, closefd=False) as requests:
        serve(opened, loaded, requests, answers)
    return 0


def probe(selection: Selection, address: str) -> int:
    """Check that a program speaks the process protocol."""
    command = address.removeprefix(SCHEME)
    if command == address or not command.strip():
        hint = "--backend 'process:./mine --flag'; other backends need no probe"
        raise UsageError(f"{address!r} is not a program", hint=hint)
    loaded = catalog()
    asked = questions(select(loaded, selection))
    probe = Probe(command, loaded, asked)
    put([Text(address, "bold"), BLANK])
    wrong = ""  # the failed step
    with progress(len(asked), "probing", "question") as advance:
        probe.advance = advance
        for step in probe.steps():
            put(_step(step))
            wrong = step.name if step.wrong else ""
    put(_printed(probe.printed) if wrong else _supported(probe))
    if wrong == "starts":
        return UnavailableError.exit_code
    return FAILED if wrong else 0


def _supported(probe: Probe) -> list[Block]:
    first = probe.supported[-1].spec
    todo = f"convcheck run --backend {shlex.quote(SCHEME + probe.command)} {first}"
    return [
        *_gave_outputs(probe.supported, probe.catalog.types),
        BLANK,
        Text("it speaks the protocol; to see whether it is right:"),
        Text(todo, indent=2, whole=True),
    ]


_BINARY, _FOLDER = "safetensors", "json"
_NOTHING = "nothing is defined, or settled"


def export(selection: Selection, form: str, out: str | None, tier: Tier, seed: int) -> int:
    """Write the vectors of cases."""
    loaded = catalog()
    cases = list({case.id: case for case in select(loaded, selection)}.values())
    corpus = open_corpus(loaded, tier, seed, data_dir("vectors"))
    if _is_one_file(form, cases, out):
        check_outputs({"--out": out})
        _write_one(form, corpus, cases[0], out)
    elif out in (None, "-"):
        said = f"which folder? {form} of {plural(len(cases), 'case')} cannot go to stdout"
        raise UsageError(said, hint="--out DIR")
    else:
        _write_folder(form, corpus, cases, Path(str(out)))
    return 0


def _is_one_file(form: str, cases: Sequence[Case], out: str | None) -> bool:
    if len(cases) > 1 or FORMS[form].content is None:
        return False
    if out in (None, "-"):
        return form != _BINARY
    return not (str(out).endswith("/") or Path(str(out)).is_dir())


def _write_one(form: str, corpus: Corpus, case: Case, out: str | None) -> None:
    content, why_not = FORMS[form].content, FORMS[form].why_not(case)
    if why_not or content is None:
        raise UsageError(f"{case.id} has no {form} form: {why_not}", hint="--as json")
    corpus.check([case])
    made = content(suite_of(corpus, case))
    if form == _BINARY:
        write_whole(Path(str(out)), made)
    else:
        write_text(made.decode(), out or "-")


def _write_folder(form: str, corpus: Corpus, cases: Sequence[Case], path: Path) -> None:
    folders.check(path, form)
    reasons = {case: FORMS[form].why_not(case) for case in cases}
    kept = [case for case in cases if not reasons[case]]
    if not kept:
        first, reason = next(iter(reasons.items()))
        said = f"none of the cases has a form in {form}; {first.id}: {reason}"
        raise UsageError(said, hint="--as json holds every case")
    if form == _FOLDER:
        kept = by_file(kept, corpus.catalog.specs)
    corpus.check(kept)
    left = Counter(filter(None, reasons.values()))
    counts = Counter[str]()

    def suites() -> Iterator[Suite]:
        for case in tracked(kept, f"export as {form}"):
            if suite := FORMS[form].suite_of(corpus, case):
                counts.update(case=1, vector=len(suite.vectors), unsettled=suite.left_out)
                yield suite

    folders.write_export(FORMS[form].files(corpus, suites(), path), path, form)
    left[_NOTHING] += len(kept) - counts["case"]
    said = f"in {path}: {plural(counts['case'], 'case')}, {plural(counts['vector'], 'vector')}"
    if unsettled := counts["unsettled"]:
        said += f"; left out, without one expected value: {plural(unsettled, 'vector')}"
    say(said, err=True)
    for reason, count in (+left).items():
        say(f"left out: {plural(count, 'case')}, {reason}", err=True)


_NAME = max(map(len, STEPS))
_MOST = 60  # lines of supported cases


def _step(it: ProbeStep) -> Iterator[Block]:
    if not it.wrong:
        name = [("✓ ", "green"), (f"{it.name:<{_NAME}}   ", "")]
        yield Text(clean(it.note), "dim", label=name, cut=True)
        return
    yield Text(it.name, "bold", label=[("✗ ", "bold red")])
    parts = (("got", it.wrong), ("protocol", it.rule), ("to do", it.hint))
    for label, words in parts:
        if words:
            yield Text(clean(words), label=f"    {label:<9} ")


def _printed(lines: Sequence[str]) -> Iterator[Block]:
    yield from (Text(clean(line), label="    stderr    ") for line in lines)


def _gave_outputs(cases: Sequence[Case], types: Types) -> Iterator[Block]:
    yield BLANK
    yield Text("gave outputs for", "bold")
    found = JudgedCases(cases, types).where(cases).lines
    yield from (Text(said, indent=2, hang=2) for said in found[:_MOST])
    if len(found) > _MOST:
        yield Text(f"… and {len(found) - _MOST} more", indent=2)


_WEAKEST = 3  # causes listed per spec
_MISSED = 20  # mutants listed


def _score_page(found: Sequence[Score], tier: Tier, verbose: bool) -> Iterator[Block]:
    missed = [mutant for score in found for mutant in score.missed]
    yield Text(_summary(found, tier), "bold", hang=2)
    yield BLANK
    for score in found:
        said = f"{number(score.caught)} of {number(score.observable)} caught"
        style = "bold red" if score.missed else ""
        yield Text(score.spec, style, right=[(said, "dim")])
        for mutant in score.weakest if verbose else score.weakest[:_WEAKEST]:
            noun = "call" if mutant.case.whole_calls else "vector"
            caught = plural(mutant.caught, noun)
            yield under(f"{caught}  {mutant.cause.name}: {mutant.case.name}", "dim", hang=2)
    if missed:
        yield BLANK
        yield Text(f"not caught: {number(len(missed))}", "bold")
        listed = missed if verbose else missed[:_MISSED]
        for mutant in listed:
            said = f"{mutant.case.id}: {mutant.cause.says} ({mutant.cause.name})"
            said += "" if mutant.witness is None else f"; {mutant.witness} shows it"
            yield Text(said, indent=3, hang=2)
        if len(listed) < len(missed):
            yield Text(f"   (and {number(len(missed) - len(listed))} more: -v)", "dim")


def _summary(found: Sequence[Score], tier: Tier) -> str:
    shows = sum(score.observable for score in found)
    caught = sum(score.caught for score in found)
    cases = plural(sum(score.cases for score in found), "case")
    if not shows:
        return f"no wrong conversion of the catalogue shows in {cases}"
    catch = "all of them" if caught == shows else f"{number(caught)} of them"
    show = f"{plural(shows, 'wrong conversion')} {'shows' if shows == 1 else 'show'} in {cases}"
    return f"{show}; the {tier} vectors catch {catch}"
