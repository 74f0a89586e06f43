"""`convcheck export`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs, tracked
from convcheck.emit.languages import FORMS
from convcheck.emit.suite import Suite, suite_of
from convcheck.errors import UsageError
from convcheck.files import write_text, write_whole
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.rules.load import data_dir
from convcheck.rules.model import Case
from convcheck.streams import plural, say
from convcheck.vectors import folder
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.model import Tier
from convcheck.vectors.store.write import by_file

_BINARY, _FOLDER = "safetensors", "json"
_NOTHING = "nothing is defined, or settled"


def main(selection: Selection, form: str, out: str | None, tier: Tier, seed: int) -> int:
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
    folder.check(path, form)
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

    folder.write_export(FORMS[form].files(corpus, suites(), path), path, form)
    left[_NOTHING] += len(kept) - counts["case"]
    said = f"in {path}: {plural(counts['case'], 'case')}, {plural(counts['vector'], 'vector')}"
    if unsettled := counts["unsettled"]:
        said += f"; left out, without one expected value: {plural(unsettled, 'vector')}"
    say(said, err=True)
    for reason, count in (+left).items():
        say(f"left out: {plural(count, 'case')}, {reason}", err=True)
