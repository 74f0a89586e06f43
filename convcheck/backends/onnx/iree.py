"""IREE on the CPU as a backend: ONNX models, imported and compiled ahead of time.

`iree` compiles for the CPU by LLVM, `iree:vmvx` for IREE's own virtual machine, and `iree:const`
for the CPU with the inputs as constants, which the compiler folds. One module answers for each
combination of ranks, with dimensions that it learns when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from convcheck.backends.installed import release_of
from convcheck.backends.onnx.arrays import to_answer, to_array
from convcheck.backends.onnx.importer import MadeByRanks, cannot_import
from convcheck.backends.onnx.model import build_ranked, is_of_onnx
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

RUNTIME = "iree"
_SAYS = {
    "": "llvm-cpu, graph inputs",
    "vmvx": "vmvx, graph inputs",
    "const": "llvm-cpu, constants",
}
# By default the compiler takes float64 for float32: the models would not say what is asked.
_KEEPS_TYPES = ["--iree-input-demote-f64-to-f32=false", "--iree-input-demote-i64-to-i32=false"]
_HOST = "--iree-llvmcpu-target-cpu=host"
_MODULE, _FUNCTION = "module", "convcheck"  # IREE's name, and the name of the graph

Module = Callable[..., Any]


class Iree:
    """IREE's compiler and its runtime, one thread; `variant` is '', 'vmvx' or 'const'."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "") -> None:
        """Raise UsageError for an unknown variant, ImportError where IREE is not installed."""
        if variant not in _SAYS:
            hint = f"one of {', '.join(_address(name) for name in _SAYS)}"
            raise UsageError(f"the iree backend has no variant {variant!r}", hint=hint)
        import iree.compiler
        import iree.runtime

        self._config = iree.runtime.Config("local-sync")
        self._variant = variant
        self._made_by_ranks = MadeByRanks(self._made)
        self.name = _address(variant)
        releases = version("iree-base-compiler"), version("iree-base-runtime")
        self.version = f"iree compiler {releases[0]}, runtime {releases[1]}, {_SAYS[variant]}"

    takes = staticmethod(is_of_onnx)

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME, package="iree-base-compiler")

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say, and texts."""
        return cannot_import(case, self.name, constants=self._variant == "const")

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph on the inputs, whose shapes may differ from call to call.

        A graph that is not imported or compiled is Declined, an exception of a run Refused.
        """
        constant = self._variant == "const" or ("input", "constant") in case.setting
        module = self._made(case, (), inputs) if constant else self._made_by_ranks.of(case, inputs)
        if isinstance(module, Declined):
            return module
        import iree.runtime as runtime

        given = (
            [] if constant else [to_array(t, x) for t, x in zip(case.inputs, inputs, strict=True)]
        )
        try:
            fed = [runtime.asdevicearray(self._config.device, array) for array in given]
        except ValueError as error:  # a type that its interface to Python has not
            return Declined(str(error), missing=True)
        try:
            made = module(*fed)
        except (RuntimeError, ValueError, IndexError) as error:
            return Refused(_words(error))
        results = made if isinstance(made, tuple | list) else [made]
        # to_host views memory of the device, which lives as long as the result
        arrays = [np.array(result.to_host()) for result in results]
        return to_answer(case, arrays, inputs, signless=True)

    def _made(
        self, case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()
    ) -> Module | Declined:
        """Compile a case for inputs of some ranks, or with constants."""
        import iree.runtime as runtime
        from iree.compiler.tools import CompilerToolError, compile_str

        target = "vmvx" if self._variant == "vmvx" else "llvm-cpu"
        arguments = [*_KEEPS_TYPES, *([] if target == "vmvx" else [_HOST])]
        try:
            text = _imported(case, ranks, constants)
            code = compile_str(
                text, target_backends=[target], input_type="onnx", extra_args=arguments
            )
        except CompilerToolError as error:
            return Declined(_first_error(str(error)), missing=True)
        except Exception as error:  # of onnx or of the importer: whatever they raise
            return Declined(_words(error), missing=True)
        context = runtime.SystemContext(config=self._config)
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
        made: Module = context.modules[_MODULE][_FUNCTION]
        return made


def _imported(case: Case, ranks: Sequence[int], constants: Sequence[Bits]) -> str:
    """Return a case's model as text of MLIR."""
    from iree.compiler import ir
    from iree.compiler.extras import onnx_importer

    info = onnx_importer.ModelInfo(build_ranked(case, ranks, constants))
    with ir.Context() as context:
        module = info.create_module(context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        return str(module)


def _first_error(message: str) -> str:
    """Return the first error of the compiler, without its place in a text that nobody sees."""
    found = next((line for line in message.splitlines() if "error: " in line), message)
    return _short(found.partition("error: ")[2] or found)


def _words(error: Exception) -> str:
    return _short(f"{type(error).__name__}: {error}")


def _short(text: str) -> str:
    return " ".join(text.split())[:300]


def _address(variant: str) -> str:
    return f"{RUNTIME}:{variant}" if variant else RUNTIME
