"""Select cases by patterns, and take parts of a run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from convcheck.causes.gather import Explanation, gathered, letters_by_name, with_letters
from convcheck.errors import UsageError
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.result import (
    CallExample,
    CaseResult,
    CauseInWords,
    Example,
    RunResult,
    WholeRun,
    case_verdict,
)
from convcheck.plan.selection import Selection
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType, Spec, Value
from convcheck.rules.source import read_all
from convcheck.streams import meant

if TYPE_CHECKING:
    from convcheck.vectors.model import Tier


def select(catalog: Catalog, selection: Selection, tier: "Tier" = "edge") -> list[Case]:
    """Return the selected cases in order. Raises UsageError if a pattern matches nothing.

    The exhaustive tier also has whole calls as conversions of their first input.
    """
    every = cases_of_tier if tier == "exhaustive" else cases
    found = [case for spec in select_specs(catalog, selection.specs) for case in every(spec)]
    return select_of(catalog, found, selection)


def cases_of_tier(spec: Spec) -> Iterator[Case]:
    """Yield a spec's cases in the exhaustive tier."""
    from convcheck.vectors.body.scaled import fixed_cases

    for case in cases(spec):
        yield case
        yield from fixed_cases(spec, case)


def select_of(catalog: Catalog, found: list[Case], selection: Selection) -> list[Case]:
    """Return the selected ones of cases. Raises UsageError if a pattern matches nothing."""
    sources, targets = (_types(catalog, words) for words in (selection.sources, selection.targets))
    tests: list[tuple[str, str, Callable[[Case], bool]]] = []
    tests += [("--from", w, _has(names, lambda c: c.sources)) for w, names in sources.items()]
    tests += [("--to", w, _has(names, lambda c: c.outputs)) for w, names in targets.items()]
    tests += [("--where", w, _has_value(catalog, found, w)) for w in selection.where]
    tests += [("--case", w, _is_like(found, w)) for w in selection.globs]
    for option, word, test in tests:
        if not any(map(test, found)):
            raise _nothing(option, word, selection, found)
    for option in ("--from", "--to", "--case"):
        wanted = [test for o, _, test in tests if o == option]
        found = [case for case in found if not wanted or any(test(case) for test in wanted)]
    found = [case for case in found if _where(case, selection.where)]
    if not found:
        raise UsageError("no case matches all of these together", hint="`convcheck show cases`")
    return found


def select_specs(catalog: Catalog, patterns: Sequence[str]) -> list[Spec]:
    """Return the specs that match any glob; all without globs. Raises UsageError."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in catalog.specs):
            hint = meant(pattern, catalog.specs, "`convcheck show specs`")
            raise UsageError(f"no spec matches {pattern!r}", hint=hint)
    chosen = (n for n in catalog.specs if not patterns or any(fnmatchcase(n, p) for p in patterns))
    return list(read_all(catalog.specs.__getitem__, chosen))


def type_names(catalog: Catalog, words: Iterable[str]) -> frozenset[str]:
    """Return the types in these types and families. Raises UsageError."""
    return frozenset[str]().union(*_types(catalog, words).values())


def _types(catalog: Catalog, words: Iterable[str]) -> dict[str, frozenset[str]]:
    types = {}
    for word in words:
        known = [*catalog.types.types, *catalog.types.sets]
        if word not in known:
            hint = meant(word, known, "`convcheck show types`")
            raise UsageError(f"unknown type {word!r}", hint=hint)
        types[word] = frozenset(catalog.types.sets.get(word, (word,)))
    return types


def _has(names: frozenset[str], types: Callable[[Case], Sequence[DType]]) -> Callable[[Case], bool]:
    return lambda case: any(dtype.name in names for dtype in types(case))


def _is_like(found: Sequence[Case], pattern: str) -> Callable[[Case], bool]:
    def is_like(case: Case, glob: str = pattern) -> bool:
        return fnmatchcase(case.id, glob) or fnmatchcase(case.name, glob)

    # otherwise, it may be a prefix
    return is_like if any(map(is_like, found)) else lambda case: is_like(case, f"{pattern}/*")


def _has_value(catalog: Catalog, found: Sequence[Case], word: str) -> Callable[[Case], bool]:
    name, equals, value = word.partition("=")
    own = {a.name for s in catalog.specs.values() for a in s.attributes if not a.carries}
    known = sorted(own.union(name for case in found for name, _ in case.fixed))
    if name not in known:
        raise UsageError(f"--where {word}: unknown attribute {name!r}", hint=meant(name, known))
    if not equals:
        raise UsageError(f"--where {word}: missing value", hint=f"write --where {name}=VALUE")
    return lambda case: str(_values(case).get(name)) == value


def _values(case: Case) -> dict[str, Value]:
    return {**dict(case.attributes), **dict(case.fixed)}


def _where(case: Case, where: Sequence[str]) -> bool:
    wanted: dict[str, set[str]] = {}
    for word in where:
        name, _, value = word.partition("=")
        wanted.setdefault(name, set()).add(value)
    return all(str(_values(case).get(name)) in values for name, values in wanted.items())


def _nothing(option: str, word: str, selection: Selection, found: Sequence[Case]) -> UsageError:
    specs = ", ".join(selection.specs) or "any spec"
    example = f", such as {found[0].id}" if found else ""
    hint = f"see `convcheck show cases`{example}"
    if option == "--where":
        name, _, value = word.partition("=")
        known = (_values(case) for case in found)
        hint = meant(value, (str(values[name]) for values in known if name in values))
    return UsageError(f"{option} {word} matches no case of {specs}", hint=hint)


def excerpt_of(result: RunResult, catalog: Catalog, selection: Selection) -> RunResult:
    """Return the run with selected cases alone. Raises UsageError for none."""
    specs = {spec.id for spec in select_specs(catalog, selection.specs)} if selection.specs else ()
    asked = [one.case for one in result.cases if not specs or one.case.spec in specs]
    if not asked:
        raise UsageError(f"the run has no case of {', '.join(selection.specs)}")
    kept = {case.id for case in select_of(catalog, asked, selection)}
    cases = tuple(one for one in result.cases if one.case.id in kept)
    return replace(result, cases=cases, whole=_whole(result))


def _whole(result: RunResult) -> WholeRun:
    if result.whole:
        return result.whole
    found = gathered(result.cases, result.causes)
    return WholeRun(letters_by_name(found), found.judged)


def of_finding(result: RunResult, named: str) -> RunResult:
    """Return the run with one finding's failures, by its id or first digits. Raises UsageError."""
    ids = {one for case in result.cases for one in _ids(case)}
    found = sorted(one for one in ids if named and one.startswith(named.lower()))
    if len(found) != 1:
        what = f"several findings: {', '.join(found)}" if found else "no finding of this run"
        hint = "reports print the id in the heading of each finding"
        raise UsageError(f"--finding {named} names {what}", hint=hint)
    cases = (_only(case, found[0]) for case in result.cases if found[0] in _ids(case))
    return replace(result, cases=tuple(cases))


def _ids(case: CaseResult) -> set[str]:
    whole = {finding_id(failure_key_of_case(case))} if fails_whole(case) else set()
    return whole | {one for group in case.groups if (one := finding_of(group, case.case))}


def _only(case: CaseResult, finding: str) -> CaseResult:
    groups = tuple(group for group in case.groups if finding_of(group, case.case) == finding)
    if not groups:  # the case failed as a whole
        return replace(case, groups=(), diagnosis=None)
    message = "" if fails_whole(case) else case.message  # which is another finding
    verdict = case_verdict(groups)
    return replace(case, groups=groups, verdict=verdict, message=message, diagnosis=None)


def of_cause(result: RunResult, named: str) -> RunResult:
    """Return the run with the cases that a cause explains, alone or not. Raises UsageError."""
    ids = {case.case.id for one in explanations_of(result, named) for case in one.cases}
    cases = tuple(one for one in result.cases if one.case.id in ids)
    return replace(result, cases=cases, whole=_whole(result))


def explanations_of(result: RunResult, named: str) -> list[Explanation]:
    """Return the explanations that contain a cause, or fit equally, shortest first.

    `named` is a letter or a name, or several joined, such as A+C. Raises UsageError.
    """
    diagnosis = gathered(result.cases, result.causes)
    told = list(with_letters(diagnosis.explanations, result.whole.letters if result.whole else {}))
    names, letters = set(named.split("+")), set(named.upper().split("+"))
    found = [
        one
        for has, one in told
        if letters <= set(has.split("+"))
        or names <= _names(one.causes)
        or any(names == _names(other) for other in one.others)
    ]
    if found:
        return sorted(found, key=lambda one: len(one.causes))
    every = [some for _, one in told for some in (one.causes, *one.others)]
    known = dict.fromkeys(cause.name for some in every for cause in some)
    has = ", ".join(f"{letter} {'+'.join(c.name for c in one.causes)}" for letter, one in told)
    hint = meant(named, known, f"it has {has}" if has else "it has no explained cases")
    raise UsageError(f"--cause {named} names no cause of this run", hint=hint)


def _names(causes: Sequence[CauseInWords]) -> set[str]:
    return {cause.name for cause in causes}


def shown_example(result: RunResult, named: str) -> tuple[Case, Example | CallExample]:
    """Return a finding's case and first example. Raises UsageError if it has none."""
    for one in of_finding(result, named).cases:
        for group in one.groups:
            if group.examples:
                return one.case, group.examples[0]
    hint = "its cases failed as a whole: `convcheck report --finding` shows them"
    raise UsageError(f"the finding {named} has no example", hint=hint)
