"""The commands, declared: what each is called, takes and prints as its help."""

from __future__ import annotations

import click

from convcheck.cli.declare import TakesValues, declare, unmarked
from convcheck.cli.options import (
    EDGE_OR_BOUNDARY,
    JOBS,
    JSON,
    SEED,
    SOURCE,
    TARGET,
    TIER,
    TIMEOUT,
    VERBOSE,
    WHERE,
    backend_option,
    backends_option,
    complete_backends,
    complete_specs,
    complete_types,
    report_files,
    report_options,
    run_options,
    selection_options,
    shard_option,
    spec_arguments,
)

_SUITES = ("c", "cuda", "hip", "rust")
_EXPORTED = ("text", "json", "safetensors", "onnx", *_SUITES)

_TEST = (
    declare(
        "run",
        """Test a backend against the standard, and report failures.

        Without SPEC, run every spec of the standard that the backend implements. SPEC is the id of
        a spec or of a case, or a glob of either: 'onnx.*'. One that matches nothing is an error.
        Answers in a file, a line each, to what `convcheck export --as text` wrote of a case, are a
        backend, too: answers:FILE, or answers:- for stdin.

        With --known, the exit code is for what is not in that list. --update brings the list up to
        date, or begins it. It is TOML, to be read and edited: give each entry its reason, an issue,
        a day until which it is to be fixed.

        Exit codes: 0 everything judged passed (or is a known failure, unchanged), 1 a failure, 2
        bad input, 3 nothing was judged, 4 the backend could not be started. With several backends,
        the most serious code wins: 1, then 4, then 3.""",
        """
convcheck run --backend ort
convcheck run --backend ort onnx.Cast-21 --to float8 --where saturate=0 --tier boundary
convcheck run --backend ort onnx.Cast-21/float32-to-bfloat16
convcheck run --backend ort --backend onnx-reference onnx.Cast-21
convcheck run --backend 'process:./mine --flag' --known known.toml --html report.html
convcheck run --backend ort --known known.toml --update
convcheck run --backend mypackage.mymodule:MyBackend -x --json report.json
convcheck run --backend answers:answers.txt onnx.Cast-21/float32-to-bfloat16
convcheck run --backend ort --shard 3/16 --json shard-3.json
convcheck run --backend ort --chains onnx.Cast-21 --from float64
convcheck run --open --backend ort --backend onnx-reference onnx.Cast-21
""",
        backends_option,
        selection_options,
        run_options,
        shard_option,
        click.option(
            "--resume",
            metavar="FILE",
            help="Keep results in FILE as they come; resume from it after an interruption. With "
            "--open in FILE.1, FILE.2 and so on, one per backend.",
        ),
        click.option("--fail-fast", "-x", is_flag=True, help="Stop at the first failing case."),
        click.option(
            "--maxfail",
            "max_failures",
            type=click.IntRange(1),
            metavar="N",
            help="Stop when N cases have failed.",
        ),
        click.option(
            "--chains",
            is_flag=True,
            help="Test graphs of two and three casts, under every backend setting, instead of "
            "single casts.",
        ),
        click.option(
            "--open",
            "is_open",
            is_flag=True,
            help="Show what backends do where the standard leaves the answer open: undefined and "
            "disputed rows. Nothing is judged.",
        ),
        click.option("--dry-run", is_flag=True, help="Print what would be asked, and stop."),
        click.option("--update", is_flag=True, help="Bring the list of --known up to date."),
        report_options,
        calls=("early.start_worker", "run.main"),
    ),
    declare(
        "explain",
        """Show what the standard requires for one input, and why.

        With --backend, also what it answers. With --got, whether answers that somebody reports are
        right, by which rule, and which bug patterns give all of them; where the standard leaves it
        open, what runtimes were seen to do.

        VALUE and ANSWER are decimals, 0x… bits, hex floats (0x1.8p3), inf, nan, true or false; for
        a string, the text itself. Decimals that the type cannot represent are rounded, with a note.
        For operators on whole tensors, give one VALUE per input (START STOP STEP): one for all
        elements, or a list such as 1,2,3. Attributes that are not named have their defaults.

        Exit codes: 0, or 1 where an answer fails; 2 bad input; 4 the backend could not be
        started.""",
        """
convcheck explain onnx.Cast-21 --from float32 --to float8e4m3fn --where saturate=0 464.25
convcheck explain onnx.Cast-21/float32-to-bfloat16 0x3f808001 --backend ort
convcheck explain onnx.Cast-21 --from float32 --to int4 -1.5 2.5 --got -2 3
convcheck explain --report run.json --finding 3f2a91c4 --backend ort
convcheck explain onnx.Cast-9/string-to-float16 1e400 --got refused
convcheck explain openvino.Range-4/float32-float32-float32-to-float16 0 1 0.1
convcheck explain openvino.ConvertPromoteTypes-14/int8-uint8/tensor-tensor
""",
        click.argument(
            "name", metavar="[SPEC|CASE]", required=False, shell_complete=complete_specs
        ),
        click.argument("values", metavar="[VALUE]...", nargs=-1, callback=unmarked),
        click.option(
            "--got",
            multiple=True,
            metavar="ANSWER...",
            callback=unmarked,
            help="What came back, an answer for each VALUE, in their order, or `refused` for an "
            "error. For a tensor or a sequence its elements, or `empty`; for several outputs a "
            "list each; for a promotion its type and values.",
        ),
        SOURCE,
        TARGET,
        WHERE,
        backends_option,
        click.option("--report", metavar="FILE", help="Explain a finding of this run's JSON."),
        click.option(
            "--finding", metavar="ID", help="With --report: the finding's id, as reports show it."
        ),
        TIMEOUT,
        VERBOSE,
        kind=TakesValues,
    ),
    declare(
        "known",
        """Write the list of known failures of a finished run.

        A run with --known fails only on what is new. The list is TOML, to be read and edited: give
        each entry its reason, an issue, a day until which it is to be fixed. --update rewrites
        entries whose failures changed, removes those that pass now and adds what is new; --prune
        only removes and narrows. Both keep reasons, issues, days, comments and waivers. The list
        also has every judged case; a later run fails if the backend stops supporting one.
        `convcheck run --known FILE --update` is the same for a run that is made now.

        Exit codes: 0 written, 2 bad input, 3 nothing was judged and nothing written.""",
        """
convcheck known known.toml run.json
convcheck known known.toml run.json --update     after a new version of the backend
convcheck known known.toml run.json --prune
""",
        click.argument("out", metavar="FILE"),
        click.argument("report", metavar="REPORT"),
        click.option("--update", is_flag=True, help="Update the existing list."),
        click.option("--prune", is_flag=True, help="Only remove what no longer holds."),
    ),
    declare(
        "repro",
        """Turn a finding into a script that runs without convcheck.

        With --backend, run the edge inputs of CASE and shrink them to a minimal failing set; with
        --report, take the finding from a run's JSON. FINDING is an id as reports show it; without
        one, the first finding of the case is taken, and stderr names the others. Exit codes: 0 it
        is written, 2 bad input, or there is no such finding, 4 the backend could not be
        started.""",
        """
convcheck repro onnx.Cast-21/float64-to-float16 --backend ort --out repro.py
python repro.py                      exits 1 while the answer is wrong, 0 once it is right
convcheck repro onnx.Cast-21/float64-to-float16 --report run.json --as c
convcheck repro 3f2a91c4 --report run.json --out repro.py
convcheck repro --report run.json --cause A --out repro.py
convcheck repro onnx.Cast-21/float64-to-float16 --backend ort --as onnx --out /tmp/cast
convcheck repro onnx.Cast-21/float64-to-float16 3f2a91c4 --backend ort
""",
        click.argument("words", metavar="[CASE] [FINDING]", nargs=-1),
        backend_option("Run this backend."),
        click.option("--report", metavar="FILE", help="Take the finding from a run's JSON."),
        click.option(
            "--cause",
            metavar="NAME",
            help="With --report: a wrong answer that this cause explains, the one that the report "
            "shows; its letter there, or its name.",
        ),
        click.option(
            "--as",
            "form",
            type=click.Choice(["python", "onnx", "c"]),
            default="python",
            show_default=True,
            help="A script; a test in the layout of ONNX's own backend tests; a C header.",
        ),
        click.option(
            "--out", metavar="PATH", help="A file; - is stdout, the default. Of onnx a folder."
        ),
        TIMEOUT,
    ),
)

_READ = (
    declare(
        "report",
        """Render a run's report again, or put shards together.

        The runs are those that `run --json` wrote. No backend is run. With --known, the run is
        compared with that list. SPEC and the options that select cases are those of `run`. Several
        files, all but the first ending in .json, are shown side by side, with the causes that they
        share. The shards of a run are put together, as if it had been run in one piece. The exit
        code is that of the runs shown: with several, the most serious.""",
        """
convcheck report run.json
convcheck report run.json --html run.html --junit run.xml
convcheck report run.json --known known.toml --github
convcheck report run.json onnx.Cast-21 --to float8 --where saturate=0
convcheck report run.json --finding 3f2a91c4 -v
convcheck report run.json --cause B
convcheck report ort.json openvino.json
convcheck report shard-*.json --json run.json
""",
        report_files,
        selection_options,
        click.option(
            "--level",
            type=click.Choice(["normative", "implied", "disputed"]),
            help="Fail on rules of this level and stronger, instead of the run's level.",
        ),
        click.option(
            "--finding", metavar="ID", help="Only this finding, by its id or its first digits."
        ),
        click.option(
            "--cause",
            metavar="NAME",
            help="Only cases in which this cause is at work: its letter or its name.",
        ),
        report_options,
    ),
    declare(
        "diff",
        """Show what changed between two runs.

        Changes by cause come first: NEW, GROWN, MOVED, SHRUNK or GONE counts cases; OTHER means a
        failing case changed cause. Then by finding: NEW did not fail before; CHANGED fails
        differently (other inputs, other answers, another way); FIXED no longer fails, though it was
        asked; NOT ASKED is hidden by a crash or a missing kernel. Cases in only one of the runs are
        added or removed. Known failures count like any others, and so do those below the gate.
        Specs with other vectors are compared by kinds of failures alone.

        Exit codes: 0 whatever changed; with --fail, 1 where anything is new or changed, or an added
        case fails; 2 bad input.""",
        """
convcheck diff old.json new.json
convcheck diff --fail main.json branch.json
convcheck diff -v --json diff.json ort-1.24.json ort-1.31.json
""",
        click.argument("old", metavar="OLD"),
        click.argument("new", metavar="NEW"),
        click.option(
            "--fail",
            is_flag=True,
            help="Exit with 1 if anything fails that did not, or fails differently.",
        ),
        JSON,
        VERBOSE,
    ),
    declare(
        "show",
        """Show specs, types, backends, cases, or a spec's tables.

        `show specs` and `show cases` take SPEC and the options that select cases, as `run` does. A
        spec's tables are as the standard prints them: a number in brackets beside a cell refers to
        its level and citation, where these are not the first ones. --diff shows what changed from
        one SPEC to another. `show types` has the bits of sign, exponent and mantissa as s/e/m.""",
        """
convcheck show specs 'onnx.*'
convcheck show cases onnx.Cast-21 --to float8 --count
convcheck show backends
convcheck show types
convcheck show onnx.Cast-21
convcheck show --diff onnx.Cast-23 onnx.Cast-24
""",
        click.argument(
            "what", metavar="specs|types|backends|cases|SPEC", shell_complete=complete_specs
        ),
        selection_options,
        click.option("--count", is_flag=True, help="Count the inputs of each case."),
        TIER,
        click.option("--diff", is_flag=True, help="Show what changed between two specs."),
    ),
    declare(
        "history",
        """Test every release of a runtime, and date its causes.

        PACKAGE is onnxruntime, openvino or torch. FIRST and LAST are releases, both included. Each
        has an environment of its own, made with uv, or pip, from the package index that it is set
        to use. All of them are kept, as folders DIR/PACKAGE-VERSION, and so is the report of each
        release: the same command goes on from an interrupted one. A release whose report is there
        needs no environment: its folder may be deleted. Releases that fail to install or start are
        marked.

        Exit codes: 0 the history is printed, 2 bad input, 3 nothing was judged, 4 nothing can be
        installed, 130 interrupted.""",
        """
convcheck history onnxruntime==1.15.1..1.31.1 onnx.Cast-19
convcheck history onnxruntime==1.16.0..1.31.1 --to float8 --env-dir envs --jobs 4
convcheck history onnxruntime==1.16.0..1.31.1 onnx.Cast-19 --bisect nan-to-max
""",
        click.argument("releases", metavar="PACKAGE==FIRST..LAST"),
        selection_options,
        click.option(
            "--env-dir",
            "folder",
            metavar="DIR",
            help="Keep environments and reports here, to be used again. Default: the user's cache.",
        ),
        click.option(
            "--bisect",
            "cause",
            metavar="CAUSE",
            help="Find the release with which this cause came or went, by halves.",
        ),
        JOBS,
        TIMEOUT,
    ),
    declare(
        "site",
        """Write static pages from reports of runtimes and releases.

        They need no server and no network: a page for each rule, runtime, cause and finding, what
        changed from release to release, and badges. A report is what `convcheck run --json` writes,
        of one backend or several, or what `convcheck history` keeps; of each runtime, release and
        spec there is one. DIR must be new, be empty, or hold an earlier site, which is replaced as
        a whole. Exit codes: 0, or 2 for bad input.""",
        """
convcheck site public ort.json openvino.json
convcheck site public envs/reports/*/*.json
""",
        click.argument("folder", metavar="DIR"),
        click.argument("reports", metavar="REPORT...", nargs=-1),
    ),
)

_DECIDE = (
    declare(
        "chain",
        """Prove whether a chain of casts equals the direct cast.

        T1 T2 T3 … are types. A chain that ends where it began is compared with the identity.
        Attributes that are not named have their defaults. Exit codes: 0 the chain is equal to the
        direct cast wherever both are defined, or the table is made; 1 it is different, in some
        reading at least; 2 bad input. With --backend: 0 all casts are kept, 1 some are removed, 3
        cannot be determined, 4 it could not be started.""",
        """
convcheck chain float64 float32 float16
convcheck chain uint8 int8 int16 --spec openvino.Convert-1
convcheck chain float16 float8e5m2 float16 --where saturate=0
convcheck chain --table --spec onnx.Cast-21 -o chains.h
convcheck chain float64 float32 int8 --backend ort
""",
        click.argument("types", metavar="[T1 T2 T3...]", nargs=-1, shell_complete=complete_types),
        click.option(
            "--spec",
            "name",
            metavar="SPEC",
            shell_complete=complete_specs,
            help="By the rules of this spec. Default: the newest version of the operator that has "
            "the most versions.",
        ),
        WHERE,
        click.option("--table", is_flag=True, help="Judge every chain of three types of the spec."),
        backend_option(
            "Run the chain as a graph on this backend and report removed casts; with --table, "
            "every chain that some input can decide."
        ),
        TIMEOUT,
        click.option(
            "-o",
            "outputs",
            metavar="FILE",
            multiple=True,
            help="Write it as JSON to FILE.json; the table also to FILE.csv, or as code that looks "
            "chains up to FILE.h or FILE.py. - is JSON on stdout. May be repeated.",
        ),
    ),
    declare(
        "model",
        """List the conversions of an ONNX model, and what is known.

        Of each node whose operator has a spec: whether it is exact, defined, disputed or undefined
        for inputs that can occur, as far as the graph bounds them, and what reports have of the
        backends. Those of subgraphs and of local functions are listed, too, and chains of casts are
        compared with the direct cast. The model is not run, and external data is not read. Exit
        codes: 0, or 2 for bad input.""",
        """
convcheck model model.onnx
convcheck model model.onnx --report ort.json --report openvino.json --json model.json
convcheck model model.onnx --report ort.json --to ort --data activations.npz
""",
        click.argument("file", metavar="FILE"),
        click.option(
            "--report",
            "reports",
            metavar="FILE",
            multiple=True,
            help="Add results from this report. May be repeated.",
        ),
        click.option(
            "--to",
            "backends",
            metavar="BACKEND",
            multiple=True,
            help="Use only this backend's results. May be repeated.",
        ),
        click.option(
            "--data", metavar="FILE", help="Observed tensor values (.npz, keyed by tensor name)."
        ),
        JSON,
    ),
    declare(
        "export",
        """Write the vectors of cases for other tools, or as suites.

        The folder must be new, be empty, or hold an earlier export in the same format; each file is
        written whole or not at all. Cases that a format cannot hold are left out and counted on
        stderr: safetensors holds no strings; text holds no operator on whole tensors; an ONNX test
        holds only elements with one expected value (or any NaN), not those that are undefined or
        disputed.

        A suite in C, CUDA, HIP or Rust is source that needs nothing else: the vectors of one case,
        the expected values, and the rule with its sentence, which is printed where an answer is
        wrong. A macro, or a trait of Rust, plugs a function in. Strings, operators on whole
        tensors, cases that leave an attribute out or may be refused have none. Exit codes: 0, or 2
        for bad input.""",
        """
convcheck export onnx.Cast-21/float32-to-float8e4m3fn/saturate=1 --as text | ./mine \\
  | convcheck run --backend answers:- onnx.Cast-21/float32-to-float8e4m3fn/saturate=1
convcheck export onnx.Range-11/float32-float32-float32 --as json
convcheck export onnx.Cast-21 --to float8 --as safetensors --out /tmp/float8
convcheck export onnx.Cast-21 --as onnx --out /tmp/conversions/cast
convcheck export onnx.Cast-21 --from float32 --to bfloat16 --as c --out conformance
""",
        selection_options,
        click.option(
            "--as",
            "form",
            type=click.Choice(_EXPORTED),
            required=True,
            help="text: an input per line, in hex; json: the vector file; safetensors: raw bit "
            "patterns in bulk; onnx: tests in the layout of ONNX's own; or a suite in a language.",
        ),
        click.option(
            "--out",
            metavar="DIR|FILE",
            help="Where to write: a folder, or for one case a file, or - for stdout (the default "
            "for text and json).",
        ),
        TIER,
        SEED,
    ),
)

_WRITE = (
    declare(
        "generate",
        """Generate the test vectors, or check those that are there.

        Files are canonical JSON, one case a file, one vector a line, written whole or not at all.
        With SPEC, what a folder has of other specs stays.""",
        """
convcheck generate --check                        are the checked-in vectors up to date?
convcheck generate --out vectors                  write them
convcheck generate onnx.Cast-21 --tier boundary --out /tmp/boundary
""",
        spec_arguments,
        EDGE_OR_BOUNDARY,
        click.option(
            "--out",
            metavar="DIR",
            help="Folder to write; by default the one that vectors are read from.",
        ),
        click.option(
            "--check", is_flag=True, help="Write nothing; name the files that differ, exit 1."
        ),
        SEED,
    ),
    declare(
        "lint",
        """Check that spec files are complete, unambiguous and cited.

        Every input class must match exactly one row, and every row must be reachable. Exit codes: 0
        clean, 2 an error.""",
        """
convcheck lint
convcheck lint --specs my-specs acme.Cast-1
""",
        spec_arguments,
    ),
    declare(
        "score",
        """Plant every known bug pattern, and count those caught.

        A mutant is one bug pattern planted in one case. It counts if at least one input can expose
        it: some vector, any code of a source of up to 16 bits, or what the edge vectors test of a
        wider one on the way to any type; for whole calls, some call of the boundary tier. Exit
        codes: 0 the vectors catch every mutant; 1 they miss one; 2 bad input; 3 none can be
        observed.""",
        """
convcheck score onnx.Cast-21
convcheck score --specs my-specs acme.Cast-1 --from float32 -v
""",
        selection_options,
        EDGE_OR_BOUNDARY,
        VERBOSE,
        JSON,
    ),
    click.Group(
        "backend",
        help="Serve, probe or begin a backend: for authors of adapters.",
        epilog="Example: convcheck backend probe --backend process:./mine",
        commands=[
            declare(
                "serve",
                """Serve any BACKEND over the process protocol, on stdin and stdout.

                This is the other end of `--backend process:COMMAND`, for a runtime in another
                environment, container or machine. It ends when its input ends. What the runtime
                prints goes to stderr.

                With --standalone, print a program that needs no convcheck, but Python from 3.8 on,
                numpy and the runtime, which it is given as its argument: `python3 server.py ort`.
                Where that environment is on this machine, `--backend env:PATH/TO/PYTHON:ort` is the
                same.

                Exit codes: 0 the input ended, 2 a bad request, 4 the backend could not be
                started.""",
                """
convcheck run --backend 'process:convcheck backend serve ort' onnx.Cast-21
convcheck run --backend 'process:ssh board convcheck backend serve mypackage.mymodule:MyBackend'
convcheck run --backend 'process:docker run -i --rm image convcheck backend serve ort'
convcheck backend serve --standalone > server.py
convcheck run --backend 'process:ssh board python3 server.py ort'
""",
                click.argument("backend", required=False, shell_complete=complete_backends),
                click.option(
                    "--standalone",
                    is_flag=True,
                    help="Print a server in one file, for an environment that has a runtime and "
                    "numpy only.",
                ),
                calls=("backend.serve_backend",),
            ),
            declare(
                "probe",
                """Check, step by step, that a program speaks the process protocol.

                Stops at the first protocol violation and shows the received line and the rule.
                Values are not judged: that is for `convcheck run`. Without SPEC, every spec is
                tested. For each combination of types, attribute values are tried until one is
                answered. Exit codes: 0 all well, 1 something is wrong, 4 it could not be
                started.""",
                """
convcheck backend probe --backend process:./mine
convcheck backend probe --backend 'process:python mine.py --fast' onnx.Cast-21
convcheck backend probe --backend process:./mine onnx.Cast-21 --from float32
""",
                selection_options,
                click.option(
                    "--backend",
                    "address",
                    metavar="process:COMMAND",
                    required=True,
                    help="The program, as `convcheck run --backend` takes it.",
                ),
                calls=("backend.probe",),
            ),
            declare(
                "example",
                """Print a program that speaks the process protocol, to put your kernels in.

                `c` has four kernels, a function each, and includes what `c-header` prints:
                convcheck.h, one file for C99 and C++. `python` needs nothing but Python.""",
                """
convcheck backend example c > cast.c
convcheck backend example c-header > convcheck.h
cc -O2 -o mine cast.c -lm
convcheck run --backend process:./mine onnx.Cast-21
""",
                click.argument("which", type=click.Choice(["c", "c-header", "python"])),
                calls=("backend.example",),
            ),
        ],
    ),
)

# The commands, by what they are for, in the order of `--help`.
GROUPS = {"Test": _TEST, "Read": _READ, "Decide": _DECIDE, "Write": _WRITE}
# Commands that are gone -> the ones to use.
REMOVED = {
    "baseline": "`convcheck known FILE REPORT`, or `convcheck run --known FILE --update`",
    "bench": "the benchmarks in tests/bench of the checkout",
    "diagnose": "`convcheck run`: its report says the causes; `convcheck report` of an older run",
    "emit": "`convcheck export --as c` (cuda, hip, rust)",
    "example": "`convcheck backend example`",
    "judge": "`convcheck explain CASE VALUE --got ANSWER`",
    "list": "`convcheck show specs` (types, backends, cases)",
    "merge": "`convcheck report shard-*.json`, which puts the shards of a run together",
    "probe": "`convcheck backend probe`",
    "serve": "`convcheck backend serve`",
    "survey": "`convcheck run --open`",
    "verify": "`convcheck run --backend answers:FILE CASE`",
}
