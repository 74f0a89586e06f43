/* A program that convcheck can ask, by the process protocol: Cast of float32 to float8e4m3fn and of
 * int32 to int8, in C and with nothing else.
 *
 *     cc -O2 -o mine cast.c -lm
 *     convcheck probe --backend process:./mine
 *     convcheck run --backend process:./mine onnx.Cast-21
 *
 * Requests come on stdin, answers go to stdout: a line of JSON, then the bytes of the tensors.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernels under test. */

static uint8_t to_float8e4m3fn(float x, int saturate)
{
    uint8_t sign = signbit(x) ? 0x80 : 0;
    float a = fabsf(x);
    if (isnan(x) || (isinf(x) && !saturate)) return sign | 0x7f;
    if (a >= 0x1p-6f) { /* normal: keep 3 bits of the mantissa, ties to even */
        uint32_t bits;
        if (a > 1000) a = 1000;
        memcpy(&bits, &a, 4);
        bits += 0x7ffff + (bits >> 20 & 1);
        bits = (bits >> 20) - (120 << 3); /* the exponent's bias is 7, not 127 */
        if (bits <= 0x7e) return sign | (uint8_t)bits;
        return sign | (saturate ? 0x7e : 0x7f);
    }
    return sign | (uint8_t)lrintf(a * 0x1p9f); /* subnormal: multiples of 2^-9 */
}

static int8_t to_int8(int32_t x)
{
    return (int8_t)(uint8_t)x; /* wraps around */
}

/* What little of JSON is needed: what stands behind "key": in a header, from a place on. */

static const char *value(const char *from, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = from ? strstr(from, quoted) : NULL;
    if (!at) return NULL;
    at += strlen(quoted);
    return at + strspn(at, ": \t");
}

static int is(const char *at, const char *text)
{
    return at && strncmp(at, text, strlen(text)) == 0;
}

static long number(const char *at, long otherwise)
{
    return at ? strtol(at, NULL, 10) : otherwise;
}

/* A request: its payload is read whatever it is, and then answered or declined. */

static void answer(const char *line)
{
    const char *inputs = value(line, "inputs"), *outputs = value(line, "outputs");
    const char *type = value(inputs, "type"), *shape = value(inputs, "shape");
    const char *attributes = value(line, "attributes");
    long run = number(value(line, "run"), 0), bytes = 0;
    int saturate = (int)number(value(attributes, "saturate"), 1);
    int cast = is(value(line, "op"), "\"Cast\"");
    for (const char *at = inputs; (at = value(at, "bytes")) != NULL;) bytes += number(at, 0);

    char *payload = malloc(bytes + 1);
    if (!payload || fread(payload, 1, bytes, stdin) != (size_t)bytes) exit(1);
    long count = bytes / 4;
    const char *to = NULL;
    if (cast && is(type, "\"float32\"") && is(outputs, "[\"float8e4m3fn\"")) {
        to = "float8e4m3fn";
        for (long i = 0; i < count; i++) { /* in place: an output is no longer than its input */
            float x;
            memcpy(&x, payload + 4 * i, 4);
            payload[i] = (char)to_float8e4m3fn(x, saturate);
        }
    } else if (cast && is(type, "\"int32\"") && is(outputs, "[\"int8\"")) {
        to = "int8";
        for (long i = 0; i < count; i++) {
            int32_t x;
            memcpy(&x, payload + 4 * i, 4);
            payload[i] = (char)to_int8(x);
        }
    }
    if (to) {
        printf("{\"run\": %ld, \"outputs\": [{\"type\": \"%s\", \"shape\": %.*s], \"bytes\": %ld}]}\n",
               run, to, (int)strcspn(shape, "]"), shape, count);
        fwrite(payload, 1, count, stdout);
    } else
        printf("{\"run\": %ld, \"declined\": \"no such kernel\", \"missing\": true}\n", run);
    free(payload);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (value(line, "hello"))
            printf("{\"hello\": 1, \"name\": \"cast.c\", \"version\": \"1.0\"}\n");
        else
            answer(line);
        fflush(stdout); /* or convcheck waits for what is in the buffer */
    }
    free(line);
    return 0;
}
