"""Reports of runs, for people and programs."""

LOG = "jsonl"  # it holds a run itself, so that it can be read again
#: The formats of a run's report, each with the module whose `render` draws it.
FORMATS = {
    LOG: "convcheck.documents.encode",
    "xml": "convcheck.documents.junit",
    "md": "convcheck.report.draw.markdown",
    "html": "convcheck.report.html",
}
