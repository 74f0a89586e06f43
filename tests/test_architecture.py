"""The house: imports run one way, heavy things are imported when used, files stay small."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import convcheck

PACKAGE = Path(convcheck.__file__).parent
ROOMS = ("numerics", "spec", "semantics", "vectors", "backends", "run", "gate", "report", "cli")
MAY_IMPORT = {
    "numerics": set(),
    "spec": {"numerics"},
    "semantics": {"numerics", "spec"},
    "vectors": {"numerics", "spec", "semantics"},
    "backends": {"numerics", "spec"},
    "run": {"numerics", "spec", "semantics", "vectors", "backends"},
    "gate": {"numerics", "spec", "vectors", "run"},
    "report": {"numerics", "spec", "semantics", "vectors", "backends", "run"},
    "cli": set(ROOMS),
}
RUNTIMES = {"onnx", "onnxruntime", "ml_dtypes", "torch", "openvino", "pypto", "distributed"}
OWNERS = {
    "ort.py": {"onnxruntime"},
    "onnx_reference.py": {"onnx", "ml_dtypes"},
    "onnx_model.py": {"onnx"},
    "onnx_tests.py": {"onnx"},
    "openvino.py": {"openvino"},
    "openvino_graph.py": {"openvino"},
    "openvino_tensor.py": {"openvino"},
    "torch.py": {"torch"},
    "pypto.py": {"pypto", "torch"},
    "ml_dtypes.py": {"ml_dtypes"},
    "cluster.py": {"distributed"},
    "on_worker.py": {"distributed"},
}
ONNXRUNTIMES_OWN = {"InsertedPrecisionFreeCast"}
OPERATORS = re.compile(r"Cast|ConvertPromoteTypes|FakeConvert|\bRange\b|pypto\.cast")
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
        assert used <= OWNERS.get(path.name, set()), path


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


def test_files_are_rooms_not_halls() -> None:
    long = {str(p): n for p in FILES if (n := len(p.read_text().splitlines())) > 300}
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
