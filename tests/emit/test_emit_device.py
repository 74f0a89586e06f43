"""Suites for GPU kernels. CUDA and HIP share a header.

Each available compiler compiles it. It runs on a stand-in for the runtime, thread by thread, so
that copies and thread counts are tested without a GPU.
"""

import shutil

import pytest
from emit.emitted import run, suite, write_files, wrong_answers
from planted.field.caught import latest_cases

from convcheck.emit.languages import device_files

STAND_IN = """
#include <cstdlib>
#include <cstring>
#define __global__
#define __device__
typedef int cudaError_t;
enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
struct dim3 { unsigned x; explicit dim3(unsigned n = 1) : x(n) {} };
static dim3 blockIdx, blockDim, threadIdx;
static const char *cudaGetErrorString(cudaError_t) { return "no such device"; }
static cudaError_t cudaMalloc(void **to, size_t size) {
  *to = std::malloc(size);
  return std::getenv("NO_DEVICE") ? 2 : cudaSuccess;
}
static cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
static cudaError_t cudaLaunchKernel(const void *kernel, dim3 blocks, dim3 threads, void **given,
                                    size_t, int) {
  typedef void (*Kernel)(const void *, void *, size_t);
  blockDim = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads.x; ++threadIdx.x)
      ((Kernel)kernel)(*(void **)given[0], *(void **)given[1], *(size_t *)given[2]);
  return cudaSuccess;
}
"""
PROGRAM = """
#include "convcheck_device.h"
#include "onnx_Cast_28_float32_to_bfloat16.h"

__device__ uint16_t upper_half(float x) {
  union { float number; uint32_t code; } of;
  of.number = x;
  return (uint16_t)(of.code >> 16);
}

__device__ uint16_t rounded(float x) {
  union { float number; uint32_t code; } of;
  of.number = x;
  if ((of.code & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return (uint16_t)((of.code + 0x7fffu + ((of.code >> 16) & 1u)) >> 16);
}

CONVCHECK_DEVICE(cut, float, uint16_t, upper_half)
CONVCHECK_DEVICE(even, float, uint16_t, rounded)

int main(int argc, char **argv) {
  struct convcheck run = convcheck_begin(argc, argv);
  CONVCHECK_ARRAYS(&run, onnx_Cast_28_float32_to_bfloat16, float, uint16_t, even);
  CONVCHECK_ARRAYS(&run, onnx_Cast_28_float32_to_bfloat16, float, uint16_t, cut);
  return convcheck_end(&run);
}
"""
COMPILERS = {
    "nvcc": ("-c", "-x", "cu", "-Xcompiler", "-Wall,-Wextra,-Werror"),
    "hipcc": ("-c", "-x", "hip", "--offload-arch=gfx906", "-Wall", "-Wextra", "-Werror"),
}


@pytest.fixture
def folder(tmp_path):
    case = latest_cases("onnx.Cast")["float32-to-bfloat16"]
    write_files(tmp_path, device_files([suite(case)]))
    (tmp_path / "test.cu").write_text(PROGRAM)
    return tmp_path


def test_kernels_are_run_and_judged(folder):
    (folder / "cuda_runtime.h").write_text(STAND_IN)
    warnings = ("-Wall", "-Wextra", "-Werror")
    made = run("g++", "-std=c++11", *warnings, "-I.", "-xc++", "test.cu", "-o", "test", cwd=folder)
    assert made == (0, "")
    code, output = run(folder / "test")
    points = [line for line in output.splitlines() if "ok " in line]
    assert code == 1
    assert wrong_answers(output) > 0
    assert [line.startswith("ok ") for line in points if ", even: " in line] == [True] * 6
    assert any(line.startswith("not ok ") for line in points if ", cut: " in line)
    code, output = run(folder / "test", NO_DEVICE="1")
    assert code == 4
    assert output.endswith("Bail out! memory for inputs: no such device\n")


def test_it_compiles_where_there_is_a_compiler(folder):
    for name in filter(shutil.which, COMPILERS):
        code, said = run(name, *COMPILERS[name], "test.cu", "-o", f"{name}.o", cwd=folder)
        assert code == 0, said
        assert (folder / f"{name}.o").stat().st_size > 0
