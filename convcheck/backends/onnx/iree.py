"""IREE on the CPU: ONNX models compiled with LLVM, or for IREE's virtual machine (`iree:vmvx`)."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.onnx.importer import CONSTANT, Importer, Model

# by default, the compiler replaces float64 by float32
_KEEPS_TYPES = ["--iree-input-demote-f64-to-f32=false", "--iree-input-demote-i64-to-i32=false"]
_HOST = "--iree-llvmcpu-target-cpu=host"
_MODULE, _FUNCTION = "module", "convcheck"  # IREE's name, and the graph's
_ERROR = "error: "


class Iree(Importer):
    """IREE's compiler and runtime."""

    runtime, package = "iree", "iree-base-compiler"
    says: Mapping[str, str] = {
        "": "llvm-cpu, graph inputs",
        "vmvx": "vmvx, graph inputs",
        CONSTANT: "llvm-cpu, constants",
    }
    refusals = (RuntimeError, ValueError, IndexError)
    signless = True

    def _start(self) -> str:
        import iree.compiler
        import iree.runtime

        self._config = iree.runtime.Config("local-sync")
        return f"iree compiler {version(self.package)}, runtime {version('iree-base-runtime')}"

    def _compiled(self, proto: Any) -> Model:
        import iree.runtime as runtime
        from iree.compiler.tools import compile_str

        target = "vmvx" if self._variant == "vmvx" else "llvm-cpu"
        arguments = [*_KEEPS_TYPES, *([] if target == "vmvx" else [_HOST])]
        code = compile_str(
            _imported(proto), target_backends=[target], input_type="onnx", extra_args=arguments
        )
        context = runtime.SystemContext(config=self._config)
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
        return context.modules[_MODULE][_FUNCTION]

    def _tensor(self, array: NDArray[Any]) -> Any:
        import iree.runtime as runtime

        return runtime.asdevicearray(self._config.device, array)

    def _run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        made = model(*fed)
        results = made if isinstance(made, tuple | list) else [made]
        # to_host views device memory, which dies with the result
        return [np.array(result.to_host()) for result in results]

    def _words(self, error: Exception) -> str:
        lines = str(error).splitlines()
        first = next((line for line in lines if _ERROR in line), "")
        if first and type(error).__name__ == "CompilerToolError":
            return " ".join(first.partition(_ERROR)[2].split())[:300]
        return super()._words(error)


def _imported(proto: Any) -> str:
    from iree.compiler import ir
    from iree.compiler.extras import onnx_importer

    info = onnx_importer.ModelInfo(proto)
    with ir.Context() as context:
        module = info.create_module(context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        return str(module)
