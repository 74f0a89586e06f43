/* Read a pack. `reader FILE...` prints id, input, rule and expected values of each vector. C99.

   The first line of a file is the head of the case; each other line is a vector:
   [INPUT,RULE,EXPECTED...], or {"input":INPUT,"rule":RULE,"expected":[EXPECTED...]} for a call. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t fnv1a(uint64_t code, const char *from, const char *to) {
  while (from < to) code = (code ^ (unsigned char)*from++) * UINT64_C(0x100000001b3);
  return code;
}

/* Return the end of the JSON text that begins with a quote. */
static char *end_of_text(char *at) {
  for (at++; *at && *at != '"'; at++) at += *at == '\\';
  return at + 1;
}

static void vector(uint64_t code, char *line) {
  int is_call = *line == '{';
  char *input = line + (is_call ? strlen("{\"input\":") : 1);
  char *end = is_call ? strstr(input, ",\"rule\":") : end_of_text(input);
  char *rule = is_call ? end + strlen(",\"rule\":") : end + 1;
  char *expected = strpbrk(rule, ",]"), *last = strrchr(line, ']');
  int length = (int)(expected - rule);
  expected += is_call ? strlen(",\"expected\":[") : *expected == ',';
  printf("%016llx\t%.*s\t%.*s\t[%.*s]\n", (unsigned long long)fnv1a(code, input, end),
         (int)(end - input), input, length, rule, (int)(last - expected), expected);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    if (!file) return perror(argv[i]), 2;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) return 2;
    text[size] = 0;
    fclose(file);
    char *line = strtok(text, "\n"), *name = line + strlen("{\"case\":\"");
    uint64_t code = fnv1a(UINT64_C(0xcbf29ce484222325), name, end_of_text(name - 1) - 1);
    code = fnv1a(code, " ", " " + 1);
    while ((line = strtok(NULL, "\n")) && *line != ']') vector(code, line);
    free(text);
  }
  return 0;
}
