/* Tests functions that run on a GPU, with CUDA or HIP. Include it before the suites.

   #include "convcheck_device.h"
   #include "onnx_Cast_21_float32_to_bfloat16.h"

   __device__ uint16_t your_function(float x);

   CONVCHECK_DEVICE(on_gpu, float, uint16_t, your_function)

   int main(int argc, char **argv) {
     struct convcheck run = convcheck_begin(argc, argv);
     CONVCHECK_ARRAYS(&run, onnx_Cast_21_float32_to_bfloat16, float, uint16_t, on_gpu);
     return convcheck_end(&run);
   }

   A failed GPU call ends the program with "Bail out!" and exit status 4. */
#ifndef CONVCHECK_DEVICE_H
#define CONVCHECK_DEVICE_H

#ifdef CONVCHECK_H
#error "include convcheck_device.h before the suites: it sets CONVCHECK_CHUNK"
#endif
#define CONVCHECK_CHUNK 1048576 /* inputs of a call */

#include <stdlib.h>

#if defined(__HIPCC__) || defined(__HIP__)
#include <hip/hip_runtime.h>
#define CONVCHECK_GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define CONVCHECK_GPU(name) cuda##name
#endif

#include "convcheck.h"

#define CONVCHECK_BLOCK 256 /* threads */

static inline void convcheck_try(CONVCHECK_GPU(Error_t) status, const char *call) {
  if (status == CONVCHECK_GPU(Success)) return;
  printf("Bail out! %s: %s\n", call, CONVCHECK_GPU(GetErrorString)(status));
  exit(4);
}

/* Defines a function on host arrays that calls a device function for each number. The types are
   those of its argument and its result. */
#define CONVCHECK_DEVICE(name, in_type, out_type, function)                                        \
  __global__ void name##_on_device(const in_type *in, out_type *out, size_t count) {               \
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;                                \
    if (i < count) out[i] = function(in[i]);                                                       \
  }                                                                                                \
  static void name(const in_type *in, out_type *out, size_t count) {                               \
    static void *device_in, *device_out;                                                           \
    const unsigned blocks = (unsigned)((count + CONVCHECK_BLOCK - 1) / CONVCHECK_BLOCK);           \
    void *arguments[] = {&device_in, &device_out, &count};                                         \
    if (device_in == NULL) {                                                                       \
      convcheck_try(CONVCHECK_GPU(Malloc)(&device_in, CONVCHECK_CHUNK * sizeof(in_type)),          \
                    "memory for inputs");                                                          \
      convcheck_try(CONVCHECK_GPU(Malloc)(&device_out, CONVCHECK_CHUNK * sizeof(out_type)),        \
                    "memory for outputs");                                                         \
    }                                                                                              \
    convcheck_try(CONVCHECK_GPU(Memcpy)(device_in, in, count * sizeof(in_type),                    \
                                        CONVCHECK_GPU(MemcpyHostToDevice)),                        \
                  "inputs to the device");                                                         \
    convcheck_try(CONVCHECK_GPU(LaunchKernel)((const void *)name##_on_device, dim3(blocks),        \
                                              dim3(CONVCHECK_BLOCK), arguments, 0, 0),             \
                  #function);                                                                      \
    convcheck_try(CONVCHECK_GPU(Memcpy)(out, device_out, count * sizeof(out_type),                 \
                                        CONVCHECK_GPU(MemcpyDeviceToHost)),                        \
                  #function);                                                                      \
  }

#endif
