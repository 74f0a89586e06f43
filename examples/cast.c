/* A program that convcheck can ask: Cast of float32 to float8e4m3fn and to bfloat16, and of int32
 * to int8; QuantizeLinear of float32 to int8, and DequantizeLinear back. In C99 (or C++) and with
 * convcheck.h alone.
 *
 *     convcheck backend example c > cast.c
 *     convcheck backend example c-header > convcheck.h
 *     cc -O2 -o mine cast.c -lm
 *     convcheck backend probe --backend process:./mine
 *     convcheck run --backend process:./mine onnx.Cast-21 onnx.QuantizeLinear-13
 *
 * Put your kernels in the place of these.
 */
#include <math.h>
#include <stdint.h>

#include "convcheck.h"

static uint8_t float8e4m3fn(float x, int saturate)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    float a = fabsf(x);
    if (isnan(x) || (isinf(x) && !saturate)) return sign | 0x7f;
    if (a >= 0.015625f) { /* normal, from 2^-6 on: keep 3 bits of the mantissa, ties to even */
        uint32_t bits;
        if (a > 1000) a = 1000;
        memcpy(&bits, &a, 4);
        bits += 0x7ffff + (bits >> 20 & 1);
        bits = (bits >> 20) - (120 << 3); /* the exponent's bias is 7, not 127 */
        if (bits <= 0x7e) return sign | (uint8_t)bits;
        return sign | (saturate ? 0x7e : 0x7f);
    }
    return sign | (uint8_t)lrintf(a * 512); /* subnormal: multiples of 2^-9 */
}

static const char *to_float8e4m3fn(const char *request, const void *input, void *output,
                                   size_t count)
{
    const float *x = (const float *)input;
    uint8_t *code = (uint8_t *)output;
    int saturate = (int)convcheck_number(request, "saturate", 1);
    for (size_t i = 0; i < count; i++) code[i] = float8e4m3fn(x[i], saturate);
    return NULL;
}

static const char *to_bfloat16(const char *request, const void *input, void *output, size_t count)
{
    const uint32_t *bits = (const uint32_t *)input;
    uint16_t *code = (uint16_t *)output;
    (void)request;
    for (size_t i = 0; i < count; i++)
        if ((bits[i] & 0x7fffffff) > 0x7f800000) /* a NaN stays one: the quiet bit is set */
            code[i] = (uint16_t)(bits[i] >> 16 | 0x40);
        else /* ties to even; beyond the largest it becomes infinity */
            code[i] = (uint16_t)((bits[i] + 0x7fff + (bits[i] >> 16 & 1)) >> 16);
    return NULL;
}

static const char *to_int8(const char *request, const void *input, void *output, size_t count)
{
    const int32_t *x = (const int32_t *)input;
    int8_t *code = (int8_t *)output;
    (void)request;
    for (size_t i = 0; i < count; i++) code[i] = (int8_t)(uint8_t)x[i]; /* wraps around */
    return NULL;
}

static const char *quantize_to_int8(const char *request, const void *input, void *output,
                                    size_t count)
{
    const float *x = (const float *)input;
    int8_t *y = (int8_t *)output;
    size_t bytes;
    float scale;
    const void *at = convcheck_input(request, input, "y_scale", &bytes);
    long precision = convcheck_number(request, "precision", 1);
    if (bytes != sizeof scale || precision != 1) /* scales along an axis, another type */
        return convcheck_declined;
    memcpy(&scale, at, sizeof scale);
    at = convcheck_input(request, input, "y_zero_point", &bytes);
    for (size_t i = 0; i < count; i++) {
        float whole = rintf(x[i] / scale); /* ties to even */
        int sum = at ? *(const int8_t *)at : 0;
        if (whole > 1000) whole = 1000;       /* far outside, whatever is added */
        if (!(whole > -1000)) whole = -1000;  /* a NaN, too */
        sum += (int)whole;
        y[i] = (int8_t)(sum > 127 ? 127 : sum < -128 ? -128 : sum);
    }
    return NULL;
}

static const char *dequantize_int8(const char *request, const void *input, void *output,
                                   size_t count)
{
    const int8_t *x = (const int8_t *)input;
    float *y = (float *)output;
    size_t bytes;
    float scale;
    const void *at = convcheck_input(request, input, "x_scale", &bytes);
    if (bytes != sizeof scale) return convcheck_declined; /* scales along an axis */
    memcpy(&scale, at, sizeof scale);
    at = convcheck_input(request, input, "x_zero_point", &bytes);
    for (size_t i = 0; i < count; i++)
        y[i] = (float)(x[i] - (at ? *(const int8_t *)at : 0)) * scale;
    return NULL;
}

static const convcheck_kernel kernels[] = {
    {"Cast", "float32", "float8e4m3fn", to_float8e4m3fn},
    {"Cast", "float32", "bfloat16", to_bfloat16},
    {"Cast", "int32", "int8", to_int8},
    {"QuantizeLinear", "float32", "int8", quantize_to_int8},
    {"DequantizeLinear", "int8", "float32", dequantize_int8},
};

int main(void)
{
    return convcheck_serve("cast.c", "1.0", kernels, sizeof kernels / sizeof *kernels);
}
