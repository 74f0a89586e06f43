"""A function in C, C++ or LLVM IR, compiled and run in this process: compiled:FILE:NAME FLAGS.

It converts a number, or the numbers behind a pointer: `T f(S x)`, `void f(const S *x, T *y)`, or
`void f(const S *x, T *y, size_t n)`. Further parameters are attributes with integer values.
"""

import contextlib
import ctypes
import json
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from convcheck.backends.native import release_of
from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.errors import UnavailableError, UsageError, install_hint
from convcheck.numerics.format import Float, Format, Text
from convcheck.numerics.number import Bits
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec

FLAGS = (
    "-O2", "-g0", "-fno-vectorize", "-fno-slp-vectorize", "-fno-discard-value-names",
    "-mllvm", "-unroll-runtime=false", "-Wno-everything",
)  # fmt: skip
# LLVM's floats: bits, and those of exponent and mantissa
WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_FIELDS = {"half": (5, 10), "bfloat": (8, 7), "float": (8, 23), "double": (11, 52)}
_LANGUAGES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}
# input, output, and number of elements
SIGNATURE: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_SECONDS = 60  # for clang


@dataclass(frozen=True)
class Kernel:
    """A function of a module in LLVM IR."""

    path: Path
    name: str
    #: llvmlite's function and module
    function: Any
    module: Any
    #: what it was read from: the compiler and its options, or LLVM IR
    made: str

    @property
    def names(self) -> list[str]:
        """Return the names of its parameters."""
        return [one.name for one in self.function.arguments]

    @property
    def types(self) -> list[str]:
        """Return the types of its parameters, as LLVM writes them."""
        return [str(one.type) for one in self.function.arguments]

    @property
    def result(self) -> str:
        """Return the type of its result."""
        head = next(line for line in str(self.function).splitlines() if line.startswith("define"))
        return head.split(" @")[0].split()[-1]

    @property
    def by_pointer(self) -> bool:
        """Return whether it reads and writes behind pointers."""
        return self.types[:2] == ["ptr", "ptr"]

    @property
    def takes_length(self) -> bool:
        """Return whether it converts arrays, whose length is its third parameter."""
        return self.by_pointer and self.names[2:3] in (["n"], ["length"], ["count"], ["size"])

    def mismatch(self, case: Case) -> str:
        """Return why it cannot convert the case's types, or ''."""
        source, target = case.inputs[0].format, case.outputs[0].format if case.outputs else Text()
        alone = len(case.inputs) > 1 and len(self.types) == 1
        if alone or isinstance(source, Text) or isinstance(target, Text):
            return "it converts one number to another"
        if self.by_pointer:
            return "" if self.result == "void" else f"it gives {self.result} besides"
        if not self.types or not _holds(self.types[0], source):
            return f"its first parameter is no number of {8 * source.storage.itemsize} bits"
        boolean = target.storage.itemsize == 1 and self.result == "i1"
        if not boolean and not _holds(self.result, target):
            return f"its result is no number of {8 * target.storage.itemsize} bits"
        return ""

    def given(self, spec: Spec, case: Case, more: Sequence[Bits]) -> list[int]:
        """Return the codes of its further parameters: attributes, and `more` inputs of one value.

        Raises UsageError for an unknown one.
        """
        known = {one.name: str(one.default) for one in spec.attributes}
        known |= {name: str(value) for name, value in case.given}
        named = zip(spec.inputs[1:], more, strict=False)
        known |= {name: str(int(tensor.flat[0])) for (name, _), tensor in named}
        skip = 1 if not self.by_pointer else 3 if self.takes_length else 2
        for name in self.names[skip:]:
            if not re.fullmatch(r"-?\d+", known.get(name, "")):
                hint = f"a parameter is an attribute or an input: {', '.join(known) or 'none'}"
                raise UsageError(f"{self.name}: which value has the parameter {name!r}?", hint=hint)
        return [int(known[name]) for name in self.names[skip:]]


def _holds(type_: str, fmt: Format) -> bool:
    """Return whether a type of LLVM holds the codes of a format."""
    if type_ in _FIELDS:
        return isinstance(fmt, Float) and (fmt.exponent, fmt.mantissa) == _FIELDS[type_]
    return width(type_) == 8 * fmt.storage.itemsize


def width(type_: str) -> int:
    """Return the bits of a number's type in LLVM IR, 0 for other types."""
    return WIDTHS.get(type_) or int(type_[1:] if re.fullmatch(r"i\d+", type_) else 0)


def load(address: str) -> Kernel:
    """Return the function at FILE:NAME FLAGS. Raises UsageError or UnavailableError."""
    where, *flags = shlex.split(address) or [""]
    path, _, name = where.rpartition(":")
    file = Path(path)
    if not path or not file.is_file():
        hint = "write FILE:NAME, such as kernel.c:f32_to_e4m3"
        said = f"no file {path!r} in {where!r}" if where else "which function?"
        raise UsageError(said, hint=hint)
    try:
        from llvmlite import binding
    except ImportError as error:
        raise UnavailableError(
            f"cannot read LLVM IR: {error}", hint=install_hint("prove")
        ) from error
    made = "LLVM IR"
    try:
        if file.suffix == ".ll":
            module = binding.parse_assembly(file.read_text("utf-8"))
        elif file.suffix == ".bc":
            module = binding.parse_bitcode(file.read_bytes())
        else:
            module = binding.parse_bitcode(_compiled(file, flags))
            made = " ".join([_version(), "-O2", *flags])
        module.verify()
        known = [one.name for one in module.functions if not one.is_declaration]
        mangled = [one for one in known if re.match(rf"_Z{len(name)}{re.escape(name)}(?!\d)", one)]
        if name not in known and len(mangled) == 1:
            [name] = mangled
        if name in known:
            module = binding.parse_assembly(_normalized(module, name))
    except (RuntimeError, ValueError) as error:
        said = str(error).strip().splitlines()[-1]
        raise UsageError(f"{path} is no LLVM IR: {said}", hint="clang -S -emit-llvm") from None
    if name not in known:
        hint = f"it has {', '.join(known)}" if known else "--cflags -Dstatic= shows static ones"
        raise UsageError(f"{path} has no function {name!r}", hint=hint)
    return Kernel(file, name, module.get_function(name), module, made)


def _compiled(file: Path, flags: Sequence[str]) -> bytes:
    if file.suffix not in _LANGUAGES:
        raise UsageError(f"{file} is no .c, .cpp, .ll or .bc", hint="clang -S -emit-llvm")
    command = [
        "clang",
        "-x",
        _LANGUAGES[file.suffix],
        *FLAGS,
        *flags,
        "-emit-llvm",
        "-c",
        "-o",
        "-",
    ]
    try:
        done = subprocess.run(  # noqa: S603
            [*command, str(file)], capture_output=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise UnavailableError("no clang", hint="install clang, or give LLVM IR (.ll)") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"clang takes more than {_SECONDS} s for {file}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        errors = [line for line in said if "error" in line] or said or ["it failed"]
        raise UsageError(f"clang: {errors[0]}", hint="--cflags takes its options")
    return done.stdout


def _normalized(module: Any, name: str) -> str:
    """Return a module with one function and what it uses.

    Local variables are values, which leave loops by phis of their exits. Ranges of counts of bits,
    which say nothing, are removed.
    """
    from llvmlite import binding

    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != name and not one.name.startswith("llvm."):
            one.linkage = "internal"
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    tuning = binding.create_pipeline_tuning_options()
    passes.run(module, binding.create_pass_builder(machine(), tuning))
    text = str(module)
    ranges = dict(re.findall(r"^(!\d+) = !\{(i\d+ 0, i\d+ \d+)\}$", text, re.MULTILINE))

    def plain(call: re.Match[str]) -> str:
        size = int(call[2])
        usual = ranges.get(call[3]) == f"i{size} 0, i{size} {size + 1}"
        return call[1] if usual else call[0]

    # it is run on this machine, whatever it was written for
    text = re.sub(r"^target (triple|datalayout) = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"(call i(\d+) @llvm\.ct\w+\.i\d+\([^)]*\)), !range (!\d+)", plain, text)
    return re.sub(r"call range\(i(\d+) 0, (\d+)\) (i\d+ @llvm\.ct)", _unranged, text)


def _unranged(call: re.Match[str]) -> str:
    return f"call {call[3]}" if int(call[2]) == int(call[1]) + 1 else call[0]


def _version() -> str:
    done = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=False)  # noqa: S607
    return re.sub(r"^.*?version ([\w.]+).*$", r"clang \1", done.stdout.splitlines()[0])


class Compiled:
    """A compiled function as a backend."""

    def __init__(self, address: str = "", *, catalog: Catalog) -> None:
        self.kernel, self._catalog = load(address), catalog
        self.name, self.version = self.kernel.path.name, f"{self.kernel.name}, {self.kernel.made}"
        self._engines: dict[tuple[object, ...], Any] = {}

    @staticmethod
    def available() -> str:
        """Return what can be used. Raises UnavailableError."""
        found = release_of("prove", module="llvmlite", package="llvmlite")
        return f"functions in C, C++ and LLVM IR: compiled:FILE:NAME ({found})"

    @staticmethod
    def takes(spec: Spec) -> bool:
        """A run without SPEC has no functions for all cases."""
        return not spec.body.whole_calls

    def support(self, case: Case) -> Declined | None:
        """Decline cases with other types."""
        said = self.kernel.mismatch(case)
        return Declined(f"{self.kernel.name}: {said}", missing=True) if said else None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert every element. Further inputs need one value."""
        if any(tensor.size != 1 for tensor in inputs[1:]):
            return Declined("it takes one value of each further input", missing=True)
        codes = np.array(inputs[0], order="C")
        out = np.empty(codes.shape, case.outputs[0].format.storage)
        given = self.kernel.given(self._catalog.specs[case.spec], case, inputs[1:])
        call = self._call((codes.dtype.itemsize, out.dtype.itemsize), given)
        call(codes.ctypes.data, out.ctypes.data, codes.size)
        return Outputs((out,), (case.outputs[0].name,))

    def _call(self, sizes: tuple[int, int], given: Sequence[int]) -> Any:
        from llvmlite import binding

        key = (*sizes, *given)
        if key not in self._engines:
            module = binding.parse_assembly(with_loop(self.kernel, sizes, given))
            engine = binding.create_mcjit_compiler(module, machine())
            engine.finalize_object()
            address = engine.get_function_address("convcheck_elements")
            signature: Any = ctypes.CFUNCTYPE(
                None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
            )
            self._engines[key] = engine, signature(address)
        return self._engines[key][1]


def machine() -> Any:
    """Return llvmlite's target: this processor."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    with contextlib.suppress(RuntimeError):  # conversions of half from float64
        binding.load_library_permanently("libgcc_s.so.1")
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=2)


def with_loop(kernel: Kernel, sizes: tuple[int, int], given: Sequence[int]) -> str:
    """Return the module with a function that calls the kernel for each of n elements."""
    types, name = kernel.types, json.dumps(kernel.name)
    if kernel.by_pointer:
        first = ["ptr %a", "ptr %b", *([f"{types[2]} 1"] if kernel.takes_length else [])]
        call = "call void @{}({})"
    else:
        first = [f"{types[0]} %x"]
        extended = "%z = zext i1 %y to i8\n  store i8 %z" if kernel.result == "i1" else ""
        call = f"%x = load {types[0]}, ptr %a, align 1\n  %y = call {kernel.result} @{{}}({{}})\n  "
        call += f"{extended or f'store {kernel.result} %y'}, ptr %b, align 1"
    more = [f"{type_} {value}" if type_ not in WIDTHS else
            f"{type_} bitcast (i{WIDTHS[type_]} {value} to {type_})"
            for type_, value in zip(types[len(first) :], given, strict=True)]  # fmt: skip
    return (
        str(kernel.module)
        + f"""
define void @convcheck_elements(ptr %in, ptr %out, i64 %n) {{
begin:
  %any = icmp ne i64 %n, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %begin ], [ %next, %loop ]
  %at = mul i64 %i, {sizes[0]}
  %to = mul i64 %i, {sizes[1]}
  %a = getelementptr i8, ptr %in, i64 %at
  %b = getelementptr i8, ptr %out, i64 %to
  {call.format(name, ", ".join([*first, *more]))}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""
    )
