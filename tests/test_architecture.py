import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

from places import GOLDEN, TESTS

import convcheck

PACKAGE = Path(convcheck.__file__).parent
DATA = PACKAGE / "data"  # of an installed package: specs, vectors and examples
# each room with the rooms that it may import from
MAY_IMPORT = {
    "numerics": set(),
    "rules": {"numerics"},
    "semantics": {"numerics", "rules"},
    "vectors": {"numerics", "rules", "semantics"},
    "chains": {"numerics", "rules", "semantics", "vectors"},
    "backends": {"numerics", "rules"},
    "judge": {"numerics", "rules", "semantics", "vectors", "backends"},
    "causes": {"numerics", "rules", "semantics", "vectors", "backends", "judge", "chains"},
}
for room, below in (("ask", "judge"), ("pool", "ask"), ("plan", "pool")):
    MAY_IMPORT[room] = MAY_IMPORT[below] | {below, "causes", "chains"}
for room in ("survey", "reproduce", "gate"):
    MAY_IMPORT[room] = MAY_IMPORT["plan"] | {"plan"}
MAY_IMPORT["history"] = MAY_IMPORT["plan"] | {"plan"}
MAY_IMPORT["models"] = MAY_IMPORT["plan"] | {"plan"}
MAY_IMPORT["prove"] = MAY_IMPORT["chains"] | {"backends", "chains"}
MAY_IMPORT["emit"] = MAY_IMPORT["reproduce"] | {"reproduce"}
for room in ("report", "documents", "site"):
    MAY_IMPORT[room] = set(MAY_IMPORT)
ROOMS = {*MAY_IMPORT, "cli"}
MAY_IMPORT["cli"] = ROOMS
OWNERS = {
    "backends/compiled.py": {"llvmlite"},
    "backends/onnx/runtime.py": {"onnxruntime"},
    "backends/onnx/reference_evaluator.py": {"onnx", "ml_dtypes"},
    "backends/onnx/model.py": {"onnx"},
    "backends/onnx/iree.py": {"iree"},
    "backends/onnx/tract.py": {"tract"},
    "backends/onnx/tvm.py": {"tvm"},
    "models/graph.py": {"onnx"},
    "backends/torch.py": {"torch"},
    "backends/pypto/backend.py": {"pypto", "torch"},
    "backends/ml_dtypes.py": {"ml_dtypes"},
    "backends/jax.py": {"jax"},
    "backends/tinygrad.py": {"tinygrad"},
    "backends/mlx.py": {"mlx"},
    "backends/litert.py": {"ai_edge_litert", "ml_dtypes"},
    "backends/triton.py": {"torch", "triton"},
    "backends/process/standalone.py": {"onnxruntime", "torch"},
    "pool/dask.py": {"distributed"},
}
RUNTIMES = {"openvino"}.union(*OWNERS.values())
ONNXRUNTIMES_OWN = {"InsertedPrecisionFreeCast", "InsertedCast_"}
OPERATORS = re.compile(r"Cast|ConvertPromoteTypes|FakeConvert|\bRange\b|pypto\.cast")
# tests without a room of their own
OTHER_TESTS = {"abuse", "proof", "bench", "docs"}
# the most lines of Python of a room; "" are the files outside rooms
BUDGET = {
    "": 945,
    "ask": 2_130,
    "backends": 5_390,
    "causes": 2_040,
    "chains": 1_349,
    "cli": 4_020,
    "documents": 1_826,
    "emit": 741,
    "gate": 1_101,
    "history": 620,
    "judge": 2_912,
    "models": 1_198,
    "numerics": 1_358,
    "plan": 1_428,
    "pool": 1_546,
    "prove": 1_651,
    "report": 5_704,
    "reproduce": 1_119,
    "rules": 4_580,
    "semantics": 5_723,
    "site": 828,
    "survey": 494,
    "vectors": 3_211,
}


@cache
def files(folder: Path = PACKAGE, names: str = "*.py") -> dict[Path, ast.Module]:
    paths = [p for p in sorted(folder.rglob(names)) if DATA not in p.parents]
    return {path: ast.parse(path.read_text()) for path in paths}


def imports(tree: ast.Module) -> set[str]:
    return {name for node in ast.walk(tree) for name in named(node)}


def tops(tree: ast.Module) -> set[str]:
    return {module.split(".")[0] for module in imports(tree)}


def named(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return set()


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def test_imports_run_one_way() -> None:
    for path, tree in files().items():
        here = room(path)
        if not here:
            continue
        allowed = MAY_IMPORT[here] | {here}
        if path.name == "reference.py" and here == "backends":
            allowed |= {"semantics"}
        modules = imports(tree)
        rooms = {m.split(".")[1] for m in modules if m.startswith("convcheck.") and "." in m}
        assert rooms & set(ROOMS) <= allowed, path


def test_all_that_is_printed_goes_through_streams() -> None:
    printing = {"print", "echo", "secho", "print_exc", "print_exception"}
    for path, tree in files().items():
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        names = {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in calls}
        # a console prints what streams draws
        allowed = {"print"} if path.name == "console.py" else set()
        assert not names & printing - allowed, path


def test_runtimes_stay_in_their_own_files() -> None:
    for path, tree in files().items():
        used = tops(tree) & RUNTIMES
        assert used <= OWNERS.get(path.relative_to(PACKAGE).as_posix(), set()), path


def test_runtimes_are_imported_when_used() -> None:
    for path, tree in files().items():
        assert not {m.split(".")[0] for node in tree.body for m in named(node)} & RUNTIMES, path


def test_only_a_console_draws_with_rich() -> None:
    users = {path.name for path, tree in files(PACKAGE / "report").items() if "rich" in tops(tree)}
    assert users == {"console.py"}


def test_no_eval_and_no_pickle() -> None:
    for path, tree in files().items():
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__"}, path
        assert not imports(tree) & {"pickle", "marshal", "shelve"}, path


def test_no_python_file_knows_an_operator() -> None:
    for path, tree in files().items():
        if room(path) in ("cli", ""):
            continue
        docs = {ast.get_docstring(n, clean=False) for n in ast.walk(tree)
                if isinstance(n, ast.Module | ast.FunctionDef | ast.ClassDef)}  # fmt: skip
        texts = {
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        assert not {t for t in texts - docs - ONNXRUNTIMES_OWN if OPERATORS.search(t)}, path


def test_no_room_outgrows_its_budget() -> None:
    """A room that needs more lines takes them from existing code, or its budget is raised here."""
    lines = Counter(dict.fromkeys(BUDGET, 0))
    for path in files():
        lines[room(path)] += len(path.read_text().splitlines())
    assert not {name: count for name, count in lines.items() if count > BUDGET[name]}


def test_no_files_of_a_room_import_each_other() -> None:
    trees = {
        ".".join(["convcheck", *path.relative_to(PACKAGE).with_suffix("").parts]): tree
        for path, tree in files().items()
    }
    modules = {name.removesuffix(".__init__"): tree for name, tree in trees.items()}
    del modules["convcheck"]  # which imports the Python API when it is used
    left = {name: imported_modules(tree) & modules.keys() for name, tree in modules.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert not left


def imported_modules(tree: ast.Module) -> set[str]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return imports(tree) | names


def test_a_test_file_is_imported_by_none() -> None:
    tests = files(TESTS, "test_*.py")
    assert len({path.name for path in tests}) == len(tests)
    for path, tree in tests.items():
        assert not {m for m in imports(tree) if m.split(".")[-1].startswith("test_")}, path


def test_tests_stand_by_room() -> None:
    tests = files(TESTS, "test_*.py")
    folders = {path.parent.relative_to(TESTS).as_posix() for path in tests} - {"."}
    assert folders <= ROOMS | OTHER_TESTS
    assert [path.name for path in tests if path.parent == TESTS] == [Path(__file__).name]


def test_golden_files_are_few_and_each_is_used() -> None:
    said = "".join(path.read_text() for path in TESTS.rglob("*.py"))
    golden = sorted(GOLDEN.iterdir())
    assert len(golden) <= 60
    assert not [p for p in golden if f'"{p.stem}"' not in said and f'"{p.name}"' not in said]


HEAVY = ("numpy", "yaml", "onnx", "onnxruntime", "rich", "ml_dtypes", "distributed")


def _heavy_after(call: str) -> str:
    code = (
        f"import sys; from convcheck.cli import group\ntry: {call}\n"
        f"finally: print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[-1]


def test_help_imports_nothing_heavy() -> None:
    assert _heavy_after("group.main(['--help'], standalone_mode=False)") == "[]"


def test_a_run_has_its_fork_server_started_before_anything_heavy_is_imported() -> None:
    """The server imports modules for workers while this process reads the specs."""
    planted = (
        "from convcheck.pool import forkserver; forkserver.start_server = sys.exit; "
        "group.main(['run', '--backend', 'ort', 'onnx.Cast-21'], standalone_mode=False)"
    )
    assert _heavy_after(planted) == "[]"


def test_a_fork_server_imports_what_workers_need_and_no_numpy_that_draws_the_same_in_all() -> None:
    code = (
        "import os, sys; out = os.dup(1); import convcheck.pool.preload; found = [m for m in "
        "('convcheck.vectors.corpus', 'numpy.random') if m in sys.modules]; "
        "os.write(out, str(found).encode())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['convcheck.vectors.corpus']"
