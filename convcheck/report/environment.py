"""Describe the machine and libraries that can affect a runtime's answers."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from convcheck.judge.result import Cpu, Environment

_PACKAGES = ("numpy", "onnx", "onnxruntime", "ml_dtypes")
_FEATURES = re.compile(  # features that select conversion kernels, of x86 and Arm
    r"sse4\w+|ssse3|avx\w*|amx\w*|f16c|fma\w*|gfni"
    r"|neon|asimd\w*|fphp|fp16|bf16|i8mm|sve\w*|sme|sme[0-9_]\w*"
)


def environment() -> Environment:
    """Describe the machine and the libraries, without importing them."""
    model, features = _cpu()
    versions = {"python": platform.python_version(), **{p: _version(p) for p in _PACKAGES}}
    cpu = Cpu(model, tuple(features), os.cpu_count())
    return Environment(platform.platform(), cpu, _threads(), versions)


def _cpu() -> tuple[str, list[str]]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine(), []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, fact = line.partition(":")
        facts.setdefault(key.strip(), fact.strip())
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    return model, sorted(f for f in flags if _FEATURES.fullmatch(f))


def _threads() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
