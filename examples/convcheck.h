/* convcheck.h: kernels that convcheck can ask, one function a pair of types.
 *
 * In C99 and in C++, one file, with nothing but the standard library; for little-endian machines.
 * List the functions, and end `main` with convcheck_serve. For each request that convcheck sends,
 * by its process protocol, the function for its operator and types is called; a request for which
 * there is none is declined, and counts as unsupported.
 */
#ifndef CONVCHECK_H
#define CONVCHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel: converts the `count` elements of the first input, and returns NULL; or it refuses them and returns why, in
 * words without quotation marks. Types narrower than a byte have an element a byte, in its low
 * bits. `request` is for convcheck_number, convcheck_is and convcheck_input.
 */
typedef const char *(*convcheck_function)(const char *request, const void *input, void *output,
                                          size_t count);

typedef struct {
    const char *op;   /* without its version: "Cast" */
    const char *from; /* types as `convcheck show types` has them */
    const char *to;
    convcheck_function convert;
} convcheck_kernel;

/* What stands behind "key": in a header, from a place in it on; NULL where there is no such key. */
static inline const char *convcheck_value(const char *from, const char *key)
{
    size_t length = strlen(key);
    for (; from && (from = strchr(from, '"')) != NULL; from++)
        if (strncmp(from + 1, key, length) == 0 && strncmp(from + 1 + length, "\":", 2) == 0)
            return from + length + 3 + strspn(from + length + 3, " ");
    return NULL;
}

static inline int convcheck_equal(const char *value, const char *word)
{
    size_t length = strlen(word);
    return value && value[0] == '"' && strncmp(value + 1, word, length) == 0
           && value[length + 1] == '"';
}

/* The value of an attribute that is a number, such as saturate. */
static inline long convcheck_number(const char *request, const char *attribute, long otherwise)
{
    const char *value = convcheck_value(convcheck_value(request, "attributes"), attribute);
    return value ? strtol(value, NULL, 10) : otherwise;
}

/* Whether an attribute that is a word, such as round_mode, has this value. */
static inline int convcheck_is(const char *request, const char *attribute, const char *word)
{
    return convcheck_equal(convcheck_value(convcheck_value(request, "attributes"), attribute), word);
}

/* What a kernel returns that has no answer to such a request, which counts as unsupported. */
static const char convcheck_declined[] = "no such kernel";

/* The bytes of an input of a request, by its name; NULL where it is left out. `input` is what the
 * kernel gets: the inputs stand there one after the other, the first one at its beginning. Those
 * after it need not be aligned.
 */
static inline const void *convcheck_input(const char *request, const void *input,
                                          const char *name, size_t *bytes)
{
    const char *at = convcheck_value(request, "inputs"), *place = (const char *)input;
    while ((at = convcheck_value(at, "name")) != NULL) {
        *bytes = strtoul(convcheck_value(at, "bytes"), NULL, 10);
        if (convcheck_equal(at, name)) return place;
        place += *bytes;
    }
    *bytes = 0;
    return NULL;
}

/* The bytes of an element. The first number in a type's name are its bits; bool has none. */
static inline size_t convcheck_bytes(const char *type)
{
    unsigned long bits = strtoul(type + strcspn(type, "0123456789"), NULL, 10);
    return bits > 8 ? bits / 8 : 1;
}

static inline void convcheck_answer(const char *line, const convcheck_kernel *kernels,
                                    size_t number)
{
    const char *inputs = convcheck_value(line, "inputs"), *outputs = convcheck_value(line, "outputs");
    const char *type = convcheck_value(inputs, "type"), *shape = convcheck_value(inputs, "shape");
    const char *at, *why;
    const convcheck_kernel *end = kernels + number;
    long run = strtol(convcheck_value(line, "run"), NULL, 10);
    size_t bytes = 0, count;
    char *input, *output;
    for (at = inputs; (at = convcheck_value(at, "bytes")) != NULL;) bytes += strtoul(at, NULL, 10);
    input = (char *)malloc(bytes + 1); /* it is read, whatever it is */
    if (!input || fread(input, 1, bytes, stdin) != bytes) exit(1);
    for (; kernels < end; kernels++)
        if (convcheck_equal(convcheck_value(line, "op"), kernels->op)
            && convcheck_equal(type, kernels->from) && convcheck_equal(outputs + 1, kernels->to))
            break;
    if (kernels == end) {
        printf("{\"run\": %ld, \"declined\": \"no such kernel\", \"missing\": true}\n", run);
        free(input);
        return;
    }
    count = strtoul(convcheck_value(inputs, "bytes"), NULL, 10) / convcheck_bytes(kernels->from);
    bytes = count * convcheck_bytes(kernels->to);
    output = (char *)calloc(bytes + 1, 1);
    if (!output) exit(1);
    why = kernels->convert(line, input, output, count);
    if (why == convcheck_declined)
        printf("{\"run\": %ld, \"declined\": \"%s\", \"missing\": true}\n", run, why);
    else if (why)
        printf("{\"run\": %ld, \"refused\": \"%s\"}\n", run, why);
    else {
        printf("{\"run\": %ld, \"outputs\": [{\"type\": \"%s\", \"shape\": %.*s], \"bytes\": %lu}]}\n",
               run, kernels->to, (int)strcspn(shape, "]"), shape, (unsigned long)bytes);
        fwrite(output, 1, bytes, stdout);
    }
    free(input);
    free(output);
}

/* Answers requests until there are no more; `name` and `version` are what reports show. Returns
 * what `main` returns.
 */
static inline int convcheck_serve(const char *name, const char *version,
                                  const convcheck_kernel *kernels, size_t number)
{
    size_t room = 1024, length = 0;
    char *line = (char *)malloc(room);
    int c;
    while (line && (c = getchar()) != EOF) {
        if (c != '\n') {
            line[length++] = (char)c;
            if (length == room) line = (char *)realloc(line, room *= 2);
            continue;
        }
        line[length] = 0;
        length = 0;
        if (convcheck_value(line, "hello"))
            printf("{\"hello\": 1, \"name\": \"%s\", \"version\": \"%s\"}\n", name, version);
        else
            convcheck_answer(line, kernels, number);
        fflush(stdout); /* or convcheck waits for what is in the buffer */
    }
    return line ? (free(line), 0) : 1;
}

#endif
