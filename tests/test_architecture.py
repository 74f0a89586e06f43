"""The house: imports run one way, heavy things are imported when used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import convcheck

PACKAGE = Path(convcheck.__file__).parent
# each room with those that it may import from; none is above itself
MAY_IMPORT = {
    "numerics": set(),
    "rules": {"numerics"},
    "semantics": {"numerics", "rules"},
    "vectors": {"numerics", "rules", "semantics"},
    "backends": {"numerics", "rules"},
    "judge": {"numerics", "rules", "semantics", "vectors", "backends"},
    "ask": {"numerics", "rules", "semantics", "vectors", "backends", "judge"},
    "pool": {"numerics", "rules", "semantics", "vectors", "backends", "judge", "ask"},
    "plan": {"numerics", "rules", "semantics", "vectors", "backends", "judge", "ask", "pool"},
}
MAY_IMPORT["survey"] = MAY_IMPORT["reproduce"] = MAY_IMPORT["gate"] = MAY_IMPORT["plan"] | {"plan"}
MAY_IMPORT["report"] = {*MAY_IMPORT, "survey", "reproduce", "gate"}
ROOMS = {*MAY_IMPORT, "cli"}
MAY_IMPORT["cli"] = ROOMS
RUNTIMES = {"onnx", "onnxruntime", "ml_dtypes", "torch", "openvino", "pypto", "distributed"}
OWNERS = {
    "backends/onnx/runtime.py": {"onnxruntime"},
    "backends/onnx/reference_evaluator.py": {"onnx", "ml_dtypes"},
    "backends/onnx/model.py": {"onnx"},
    "backends/onnx/node_tests.py": {"onnx"},
    "backends/openvino/backend.py": {"openvino"},
    "backends/openvino/graph.py": {"openvino"},
    "backends/openvino/tensor.py": {"openvino"},
    "backends/torch.py": {"torch"},
    "backends/pypto/backend.py": {"pypto", "torch"},
    "backends/ml_dtypes.py": {"ml_dtypes"},
    "pool/dask.py": {"distributed"},
    "pool/dask_worker.py": {"distributed"},
}
ONNXRUNTIMES_OWN = {"InsertedPrecisionFreeCast"}
OPERATORS = re.compile(r"Cast|ConvertPromoteTypes|FakeConvert|\bRange\b|pypto\.cast")
LONGEST = 40  # lines of a function
FILES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Name every module that a file imports, anywhere in it."""
    return {name for node in ast.walk(ast.parse(path.read_text())) for name in named(node)}


def named(node: ast.AST) -> set[str]:
    """Name every module that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return set()


def room(path: Path) -> str:
    """Name the room that a file stands in, '' for the package's own files."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


@pytest.mark.parametrize(
    "path", [f for f in FILES if room(f)], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_run_one_way(path: Path) -> None:
    here = room(path)
    allowed = MAY_IMPORT[here] | {here}
    if path.name == "reference.py" and here == "backends":
        allowed |= {"semantics"}
    rooms = {m.split(".")[1] for m in imports(path) if m.startswith("convcheck.") and "." in m}
    assert rooms & set(ROOMS) <= allowed


def test_runtimes_stay_in_their_own_files() -> None:
    for path in FILES:
        used = {m.split(".")[0] for m in imports(path)} & RUNTIMES
        assert used <= OWNERS.get(path.relative_to(PACKAGE).as_posix(), set()), path


def test_runtimes_are_imported_when_used() -> None:
    for path in FILES:
        top = ast.parse(path.read_text()).body
        assert not {m.split(".")[0] for node in top for m in named(node)} & RUNTIMES, path


def test_no_eval_and_no_pickle() -> None:
    for path in FILES:
        names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__"}, path
        assert not imports(path) & {"pickle", "marshal", "shelve"}, path


def test_no_python_file_knows_an_operator() -> None:
    """Rules live in specs/: no operator's name is in the code, outside examples in docstrings."""
    for path in FILES:
        if room(path) in ("cli", ""):
            continue
        tree = ast.parse(path.read_text())
        docs = {ast.get_docstring(n, clean=False) for n in ast.walk(tree)
                if isinstance(n, ast.Module | ast.FunctionDef | ast.ClassDef)}  # fmt: skip
        texts = {
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        assert not {t for t in texts - docs - ONNXRUNTIMES_OWN if OPERATORS.search(t)}, path


def test_a_function_does_one_thing() -> None:
    """A file ends where its idea ends, a function before it has 40 lines."""
    long = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LONGEST
    ]
    assert not long


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from convcheck.cli import group\n"
        "try: group.main(['--help'], standalone_mode=False)\n"
        "finally: print([m for m in ('numpy','yaml','onnx','onnxruntime','rich','ml_dtypes',"
        "'distributed') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
