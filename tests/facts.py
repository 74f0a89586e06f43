"""Compare the facts of runs: `python tests/facts.py BEFORE.json AFTER.json`, exit 1 if any
differs.

Facts are each case's verdict, its rows' counts by verdict (the main placement apart), and its
causes. Words, order, digests, examples and places are ignored.
"""

import json
import sys
from collections import Counter
from pathlib import Path

FORMATS = ("convcheck-report/2", "convcheck-run/3")  # the first has rows in each group


def facts(report):
    """Yield the facts of a JSON report, one per line. Raises ValueError for another format."""
    if report.get("format") not in FORMATS:
        raise ValueError(f"{report.get('format')!r} is none of {', '.join(FORMATS)}")
    rules = report.get("rules", ())
    for case in report["cases"]:
        counts = Counter[str]()
        for group in case.get("groups", ()):
            where = "elsewhere" if group.get("placement") else "main"
            by = rules[group["rule"]] if rules else group
            verdict = group.get("verdict", "pass")
            counts[f"{by['rule']} / {by['row']} {verdict} {where}"] += group["count"]
        rows = "  ".join(f"{row} {count}" for row, count in sorted(counts.items()))
        yield f"{case.get('case', case)['id']}  {case['verdict']}  {rows}"
    for cause in report.get("causes") or ():
        names = " and ".join(one["name"] for one in cause["together"])
        for case in cause["cases"]:
            yield f"{case['case']}  {case['wrong']} wrong of {case['answers']}: {names}"


def read(path):
    """Return a report: one object, or the joined lines of a log."""
    text = path.read_text()
    try:
        return json.loads(text)
    except ValueError:
        head, *lines = map(json.loads, text.splitlines())
    rows = {"rule": [], "case": [], "end": []}
    for line in lines:
        for key in line.keys() & rows.keys():
            rows[key].append(line[key])
    return {**head, "rules": rows["rule"], "cases": rows["case"], **rows["end"][-1]}


def difference(before, after):
    """Return the facts of only one report, marked by - and +."""
    one, other = (set(facts(read(path))) for path in (before, after))
    changed = [("-", fact) for fact in one - other] + [("+", fact) for fact in other - one]
    return [f"{sign} {fact}" for sign, fact in sorted(changed, key=lambda each: each[1])]


if __name__ == "__main__":
    found = difference(*map(Path, sys.argv[1:3]))
    print("\n".join(found) or "the same facts")
    sys.exit(bool(found))
