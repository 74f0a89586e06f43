"""Declare the commands with their options and help."""

import importlib
import re
from itertools import takewhile
from typing import Any

import click
from click import Choice, IntRange, argument, option

from convcheck.cli.options import (
    EDGE_OR_BOUNDARY,
    GLOBAL_OPTIONS,
    JOBS,
    JSON,
    SEED,
    SOURCE,
    TARGET,
    TIER,
    TIMEOUT,
    VERBOSE,
    WHERE,
    Call,
    Option,
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
from convcheck.cli.outputs import out_option
from convcheck.errors import UsageError

_NEGATIVE = re.compile(r"-(\.?[0-9].*|(inf|nan)(,.*)?)", re.IGNORECASE)
_MARK = "\0"  # cannot occur in program arguments
_GOT = "--got"


def declare(
    name: str,
    text: str,
    example: str,
    *options: Option,
    kind: "type[Command] | None" = None,
    calls: tuple[str, ...] = (),
) -> click.Command:
    """Return a command that passes its options to `main`, or each of `calls` (MODULE.FUNCTION)."""

    def run(**given: Any) -> Any:
        code = None
        for one in calls or (f"{name}.main",):
            module, _, function = one.partition(".")
            code = getattr(importlib.import_module(f"convcheck.cli.{module}"), function)(**given)
        return code

    call: Call = run
    for one in reversed((*options, *GLOBAL_OPTIONS)):
        call = one(call)
    epilog = f"\b\nExample: {example}"
    made = click.command(name, cls=kind or Command, help=text, epilog=epilog)(call)
    for parameter in made.params:
        if isinstance(parameter, click.Option) and parameter.type is click.STRING:
            parameter.callback = parameter.callback or _not_empty
    return made


def _not_empty(context: click.Context, option: click.Parameter, given: Any) -> Any:
    if "" in (given if isinstance(given, tuple) else (given,)):
        raise UsageError(f"{option.opts[0]} is empty", hint="leave it out, or say what it is")
    return given


class Command(click.Command):
    """A command whose help has one row for all options with the same text."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, last those without a text."""
        rows: dict[str, list[str]] = {}
        for parameter in self.get_params(context):
            if isinstance(parameter, click.Option) and (row := parameter.get_help_record(context)):
                rows.setdefault(parameter.help or "", []).append(row[0])
        others = rows.pop("", [])
        with formatter.section("Options"):
            formatter.write_dl([(", ".join(names), text) for text, names in rows.items()])
            formatter.write_text(", ".join(others))


class TakesValues(Command):
    """A command that takes negative numbers, and several values after `--got`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Repeat --got for each of its values, and mark negative numbers."""
        if _GOT in args:
            at = args.index(_GOT)
            given = list(takewhile(_is_value, args[at + 1 :]))
            rest = args[at + 1 + len(given) :]
            each = [word for answer in given for word in (_GOT, answer)]
            args = [*args[:at], *rest, *(each or [_GOT])]
        at = args.index("--") if "--" in args else len(args)
        head = (_MARK + a if _NEGATIVE.fullmatch(a) else a for a in args[:at])
        return super().parse_args(context, [*head, *args[at:]])


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NEGATIVE.fullmatch(word) is not None


def unmarked(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Remove the marks of negative numbers."""
    return tuple(value.removeprefix(_MARK) for value in values)


_SUITES = ("c", "cuda", "hip", "rust")
_STOP = "Stop at the first failing case, or after N."
_EXPORTED = ("text", "json", "safetensors", "onnx", "pack", *_SUITES)

_TEST = (
    declare(
        "run",
        """Test a backend against the standard, and report failures.

        Without SPEC, test all that the backend implements. SPEC is an id or glob of specs or
        cases. Backend answers:FILE reads them from FILE.

        Exit codes: 0 passed or known, 1 failed, 2 bad input, 3 nothing was judged, 4 the backend
        did not start.""",
        "convcheck run --backend ort onnx.Cast-21 --to float8 -o run.html",
        backends_option,
        selection_options,
        run_options,
        shard_option,
        option("--resume", metavar="FILE", help="Keep results in FILE, and resume from it."),
        option("--fail-fast", "-x", is_flag=True, help=_STOP),
        option("--maxfail", "max_failures", type=IntRange(1), metavar="N", help=_STOP),
        option("--chains", is_flag=True, help="Test graphs of two and three casts instead."),
        option("--open", "is_open", is_flag=True, help="Show what backends do on open inputs."),
        option("--dry-run", is_flag=True, help="Print what would be tested, and stop."),
        option("--update", is_flag=True, help="Update the file of --known."),
        report_options,
        calls=("options.start_worker", "run.main"),
    ),
    declare(
        "explain",
        """Show what the standard requires for one input, and why.

        With --backend, also show its answer. With --got, say whether the given answers are right,
        by which rule, and which causes explain the wrong ones.

        VALUE is a decimal, 0x… bits, a hex float (0x1.8p3), inf, nan, true, false, or the text of
        a string. Decimals between two values are rounded, with a note. Operators on whole tensors
        take one VALUE per input: a number for all elements, or a list such as 1,2,3.

        Exit codes: 0 right, 1 a wrong answer, 2 bad input, 4 the backend did not start.""",
        "convcheck explain onnx.Cast-21 --from float32 --to int4 -1.5 --got -2",
        argument("name", metavar="[SPEC|CASE]", required=False, shell_complete=complete_specs),
        argument("values", metavar="[VALUE]...", nargs=-1, callback=unmarked),
        option(
            "--got",
            multiple=True,
            metavar="ANSWER...",
            callback=unmarked,
            help="The answer to each VALUE, or `refused`; of a tensor its elements or `empty`, "
            "of several outputs a list each, of a promotion its type and values.",
        ),
        SOURCE,
        TARGET,
        WHERE,
        backends_option,
        option("--report", metavar="FILE", help="Explain a finding of this log."),
        option("--finding", metavar="ID", help="The id of the finding."),
        TIMEOUT,
        VERBOSE,
        kind=TakesValues,
    ),
    declare(
        "known",
        """Write the list of known failures of a finished run.

        A run with --known FILE fails only on what is new. FILE is TOML to read and edit: give each
        entry a reason, an issue, a date. Updates keep these, comments and waivers. FILE also lists
        every judged case, so that a case cannot disappear unnoticed.

        Exit codes: 0 written, 2 bad input, 3 nothing was judged.""",
        "convcheck known known.toml run.jsonl --update",
        argument("out", metavar="FILE"),
        argument("report", metavar="REPORT"),
        option("--update", is_flag=True, help="Update the existing list."),
        option("--prune", is_flag=True, help="Only remove entries that no longer hold."),
        calls=("reports.known",),
    ),
    declare(
        "repro",
        """Turn a finding into a script that runs without convcheck.

        With --backend, test the edge inputs of CASE and shrink them to a minimal failing set. With
        --report, take the finding from the log of a run. FINDING is an id that reports print;
        without it, take the first finding of CASE and list the others on stderr.

        Exit codes: 0 written, 2 bad input or no such finding, 4 the backend did not start.""",
        "convcheck repro onnx.Cast-21/float64-to-float16 --backend ort",
        argument("words", metavar="[CASE] [FINDING]", nargs=-1),
        backend_option("Run this backend."),
        option("--report", metavar="FILE", help="Take the finding from this log."),
        option(
            "--cause",
            metavar="NAME",
            help="With --report: the example of this cause, by letter or name.",
        ),
        option(
            "--as",
            "form",
            type=Choice(["python", "onnx", "c"]),
            default="python",
            help="A script (default), an ONNX backend test, or a C header.",
        ),
        option(
            "-o", "--out", metavar="PATH", help="A file (default: stdout); with --as onnx a folder."
        ),
        TIMEOUT,
    ),
)

_READ = (
    declare(
        "report",
        """Render a run's report again, or put shards together.

        FILE is the log of `convcheck run`. Shards of one run are merged; other files are shown
        side by side, with the causes that they share. All but the first must end in .jsonl.
        SPEC and the options that select cases are those of `run`. The exit code is that of the
        run; with
        several, the most serious one.""",
        "convcheck report shard-*.jsonl -o run.jsonl -o run.html",
        report_files,
        selection_options,
        option(
            "--level",
            metavar="LEVEL",
            type=Choice(["normative", "implied", "disputed"]),
            help="Fail on rules of LEVEL and above.",
        ),
        option("--finding", metavar="ID", help="Only this finding; first digits suffice."),
        option("--cause", metavar="NAME", help="Only cases with this cause (letter or name)."),
        report_options,
        calls=("reports.main",),
    ),
    declare(
        "diff",
        """Show what changed between two runs.

        First causes: NEW, GROWN, MOVED, SHRUNK or GONE. Then findings: NEW, CHANGED (other inputs,
        answers or kind of failure), FIXED, or NOT ASKED (hidden by a crash or a missing kernel).
        Runs of different vectors are compared by kind of failure only.

        Exit codes: 0, 1 with --fail, 2 bad input.""",
        "convcheck diff --fail main.jsonl branch.jsonl",
        argument("old", metavar="OLD"),
        argument("new", metavar="NEW"),
        option("--fail", is_flag=True, help="Exit with 1 if a failure is new or changed."),
        JSON,
        VERBOSE,
        calls=("read.diff",),
    ),
    declare(
        "show",
        """Show specs, types, backends, cases, a spec's tables, or a sentence.

        The tables of SPEC are laid out as the standard prints them. `show types` prints the widths
        of sign, exponent and mantissa as s/e/m. SPEC#ID is a quoted sentence, as reports print it:
        its rules, its vectors and, with --report, who breaks it.""",
        "convcheck show cases onnx.Cast-21 --to float8 --count",
        argument(
            "what", metavar="specs|types|backends|cases|SPEC[#ID]", shell_complete=complete_specs
        ),
        selection_options,
        option("--count", is_flag=True, help="Count the inputs of each case."),
        TIER,
        option("--diff", is_flag=True, help="Show what changed between two specs."),
        option("--report", "reports", metavar="FILE", multiple=True, help="A log, for SPEC#ID."),
        calls=("read.show_command",),
    ),
    declare(
        "history",
        """Test every release of a runtime, and date its causes.

        PACKAGE is onnxruntime, openvino or torch. Each release from FIRST to LAST gets its own
        environment, made by uv or pip. Environments and reports are kept, so that the same command
        resumes. Releases that fail to install or start are marked.

        Exit codes: 0 printed, 2 bad input, 3 nothing was judged, 4 nothing can be installed.""",
        "convcheck history onnxruntime==1.16.0..1.31.1 onnx.Cast-19",
        argument("releases", metavar="PACKAGE==FIRST..LAST"),
        selection_options,
        option(
            "--env-dir",
            "folder",
            metavar="DIR",
            help="Keep environments and reports here (default: the user's cache).",
        ),
        option(
            "--bisect",
            "cause",
            metavar="CAUSE",
            help="Find the release that changed this cause, by bisection.",
        ),
        JOBS,
        TIMEOUT,
        JSON,
        calls=("read.history",),
    ),
    declare(
        "site",
        """Write static pages from reports of runtimes and releases.

        A page for each rule, runtime, cause and finding, with changes from release to release, and
        badges. REPORT is the log of `convcheck run`, also as `convcheck history` keeps it. DIR
        must be new, empty, or an earlier site, which is replaced.

        Exit codes: 0 written, 2 bad input.""",
        "convcheck site public ort.jsonl openvino.jsonl",
        argument("folder", metavar="DIR"),
        argument("reports", metavar="REPORT...", nargs=-1),
        calls=("read.site",),
    ),
)

_DECIDE = (
    declare(
        "chain",
        """Prove whether a chain of casts equals the direct cast.

        A chain that ends where it began is compared with the identity. Attributes that are not
        named have their defaults.

        Exit codes: 0 equal wherever both are defined, 1 different in some reading, 2 bad input.
        With --backend: 0 all casts are kept, 1 some are removed, 3 cannot be determined, 4 the
        backend did not start.""",
        "convcheck chain float64 float32 float16",
        argument("types", metavar="[T1 T2 T3...]", nargs=-1, shell_complete=complete_types),
        option(
            "--spec",
            "name",
            metavar="SPEC",
            shell_complete=complete_specs,
            help="The rules to use (default: the newest ONNX Cast).",
        ),
        WHERE,
        option("--table", is_flag=True, help="Judge every chain of three types."),
        backend_option("Run the chain as a graph on NAME and report removed casts."),
        TIMEOUT,
        out_option(
            "json",
            "csv",
            "h",
            "py",
            text="Write JSON to FILE.json (- is stdout), or a table to .csv, .h or .py.",
        ),
        calls=("decide.chain",),
    ),
    declare(
        "prove",
        """Prove that a compiled function equals a rule for every input, or refute it.

        The function is in C, C++ or LLVM IR. It takes and gives a number, or has pointers to the
        first element of its input and output, and maybe their length `n`. Other parameters are
        attributes of the case.

        Exit codes: 0 proved, 1 refuted, 2 bad input, 3 undecided, 4 no compiler or solver.""",
        "convcheck prove onnx.Cast-21/float32-to-bfloat16 kernel.c:f32_to_bf16",
        argument("name", metavar="[CASE]", required=False, shell_complete=complete_specs),
        argument("kernel", metavar="[FILE:NAME]", required=False),
        WHERE,
        option(
            "--map", "table", metavar="FILE", help='Prove each "CASE" = "FILE:NAME" of a TOML file.'
        ),
        option("--cflags", metavar="FLAGS", help="More options of clang."),
        option(
            "--solver",
            type=Choice(["z3", "both"]),
            default="z3",
            help="both: Bitwuzla has to agree.",
        ),
        TIMEOUT,
        out_option("json", "xml", "jsonl", text="Write FILE.json, .xml (JUnit) or .jsonl (log)."),
        calls=("prove.main",),
    ),
    declare(
        "model",
        """List the conversions of an ONNX model, and what is known.

        Each conversion is exact, defined, disputed or undefined for the inputs that can occur.
        Chains of casts are compared with the direct cast. The model is not run.

        Exit codes: 0 printed, 2 bad input.""",
        "convcheck model model.onnx --report ort.jsonl --report openvino.jsonl",
        argument("file", metavar="FILE"),
        option(
            "--report", "reports", metavar="FILE", multiple=True, help="Add results from this log."
        ),
        option(
            "--to",
            "backends",
            metavar="BACKEND",
            multiple=True,
            help="Use only the results of this backend.",
        ),
        option("--data", metavar="FILE", help="Observed tensor values: an .npz file."),
        JSON,
        calls=("decide.model",),
    ),
    declare(
        "export",
        """Write the vectors of cases for other tools, or as suites.

        A suite in C, CUDA, HIP or Rust has the vectors of one case, the expected values, and the
        rule with its sentence. It needs nothing else. Cases that a format cannot hold are left
        out; stderr says how many.

        Exit codes: 0 written, 2 bad input.""",
        "convcheck export onnx.Cast-21 --to bfloat16 --as c --out conformance",
        selection_options,
        option(
            "--as",
            "form",
            type=Choice(_EXPORTED),
            required=True,
            help="Hex inputs, vector files, tensors, ONNX backend tests, or a suite.",
        ),
        option(
            "-o",
            "--out",
            metavar="DIR|FILE",
            help="A folder, or for one case a file; - is stdout (text and json).",
        ),
        TIER,
        SEED,
        calls=("write.export",),
    ),
)

_WRITE = (
    declare(
        "generate",
        """Generate the test vectors, or check those that are there.

        Vector files are canonical JSON with a line for each call, or run of inputs that one rule
        decides. With SPEC, the vectors of other specs stay.""",
        "convcheck generate onnx.Cast-21 --tier boundary --out boundary",
        spec_arguments,
        EDGE_OR_BOUNDARY,
        option(
            "-o", "--out", metavar="DIR", help="Folder to write (default: the one that runs read)."
        ),
        option("--check", is_flag=True, help="Write nothing; exit with 1 if files differ."),
        SEED,
        calls=("write.generate",),
    ),
    declare(
        "lint",
        """Check that spec files are complete, unambiguous and cited.

        Every input class must match exactly one row, and every row must be reachable.

        Exit codes: 0 clean, 2 an error.""",
        "convcheck lint --specs my-specs acme.Cast-1",
        spec_arguments,
        calls=("write.lint",),
    ),
    declare(
        "score",
        """Plant every known bug pattern, and count those caught.

        A mutant is one bug pattern planted in one case. It counts if at least one input can
        expose it.

        Exit codes: 0 every mutant is caught, 1 one is missed, 2 bad input, 3 there is none.""",
        "convcheck score onnx.Cast-21 --from float32 --to float16 -v",
        selection_options,
        EDGE_OR_BOUNDARY,
        VERBOSE,
        JSON,
        calls=("write.score",),
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
                environment, container or machine. It ends when its input ends.

                Exit codes: 0 the input ended, 2 a bad request, 4 the backend did not start.""",
                "convcheck run --backend 'process:ssh pi convcheck backend serve ort'",
                argument("backend", required=False, shell_complete=complete_backends),
                option(
                    "--standalone",
                    is_flag=True,
                    help="Print a server in one file that needs only numpy and the runtime.",
                ),
                calls=("write.serve_backend",),
            ),
            declare(
                "probe",
                """Check, step by step, that a program speaks the process protocol.

                Stops at the first violation and shows the received line and the rule. Values are
                not judged. Without SPEC, every spec is tried.

                Exit codes: 0 follows the protocol, 1 a violation, 4 the program did not start.""",
                "convcheck backend probe --backend process:./mine onnx.Cast-21",
                selection_options,
                option(
                    "--backend",
                    "address",
                    metavar="process:COMMAND",
                    required=True,
                    help="The program to check.",
                ),
                calls=("write.probe",),
            ),
            declare(
                "example",
                """Print a program that speaks the process protocol, to put your kernels in.

                `c` is a C program that includes `c-header`, the file convcheck.h for C99 and C++.
                `python` needs only Python.""",
                "convcheck backend example c-header > convcheck.h",
                argument("which", type=Choice(["c", "c-header", "python"])),
                calls=("write.example",),
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
    "merge": "`convcheck report shard-*.jsonl`, which puts the shards of a run together",
    "probe": "`convcheck backend probe`",
    "serve": "`convcheck backend serve`",
    "survey": "`convcheck run --open`",
    "verify": "`convcheck run --backend answers:FILE CASE`",
}
# Options that are gone -> the ones to use.
REMOVED_OPTIONS = {
    "--baseline": "--known FILE",
    "--capabilities": "--known FILE: its [[judged]] lists the cases that must stay supported",
    "--causes": "--no-causes, or leave it out",
    "--csv": "-o FILE.csv",
    "--emit": "--as",
    "--format": "--as",
    "--github": "-o github:",
    "--html": "-o FILE.html",
    "--json": "-o FILE.jsonl for a run, -o FILE.json for other commands",
    "--junit": "-o FILE.xml",
    "--lang": "--as",
    "--max-elements": "the variable CONVCHECK_MAX_ELEMENTS of the environment",
    "--max-failures": "--maxfail N",
    "--md": "-o FILE.md",
    "--python": "-o FILE.py",
    "--xml": "-o FILE.xml",
}
