/* Runs the suites in this folder against your conversion, and prints TAP.

   #include "onnx_Cast_21_float32_to_bfloat16.h"

   int main(int argc, char **argv) {
     struct convcheck run = convcheck_begin(argc, argv);
     CONVCHECK(&run, onnx_Cast_21_float32_to_bfloat16, float, uint16_t, your_function);
     return convcheck_end(&run);
   }

   The program exits with 0 if every answer is right, 1 if one is wrong, 2 for an unknown argument,
   3 if nothing was judged, 4 after "Bail out!". With --exhaustive it also tests every input, if the
   suite has a table for it. Valid C99 and C++11. */
#ifndef CONVCHECK_H
#define CONVCHECK_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef CONVCHECK_CHUNK
#define CONVCHECK_CHUNK 16384 /* inputs of a call; they fit a second-level cache */
#endif
#define CONVCHECK_ROWS 64    /* maximum of a suite */
#define CONVCHECK_READINGS 8 /* likewise */
#define CONVCHECK_TURNS 6    /* maximum of a series */
#define CONVCHECK_SHOWN 3    /* wrong answers printed per row */

/* The expected result: a code or a pattern. */
enum {
  CONVCHECK_EXACT,
  CONVCHECK_NAN,          /* any NaN */
  CONVCHECK_NEGATIVE_NAN, /* any NaN with its sign bit set */
  CONVCHECK_ZERO,         /* a zero of either sign */
  CONVCHECK_UNDEFINED     /* anything */
};

/* A type of numbers. A code is in the low bits of its bytes; other bits are ignored. */
struct convcheck_format {
  const char *name;
  int bits, bytes;
  int is_float, exponent, mantissa, bias; /* the last three are 0 for integers */
  int has_sign, has_zero, nan_is_sign;    /* nan_is_sign: NaN is the code of -0 */
  uint64_t sign, magnitude;               /* the sign bit, all other bits */
  uint64_t infinity, last_number;         /* magnitudes: 0 without infinity; above it is NaN */
};

/* A row of the standard's rules, with its sentence. */
struct convcheck_row {
  const char *name, *about;
  int rule;     /* rows of one rule share a reading */
  int readings; /* 1, or more for a disputed sentence */
  const char *const *names;
};

struct convcheck_vector {
  uint64_t input;
  int row, pattern;
  uint64_t code;
};

/* Consecutive inputs with the same expected result. */
struct convcheck_plateau {
  uint32_t length;
  int row, pattern;
  uint64_t code;
};

/* Consecutive plateaus of a few alternating kinds, whose codes rise by a step each period. */
struct convcheck_series {
  uint64_t first;
  uint32_t count;
  uint64_t step;
  int turns;
  struct convcheck_plateau plateau[CONVCHECK_TURNS];
};

/* The expected results under one reading. `series` covers all inputs in order, or is NULL. */
struct convcheck_reading {
  const struct convcheck_vector *vectors;
  const struct convcheck_series *series;
};

struct convcheck_suite {
  const char *id, *rules;
  const struct convcheck_format *input, *output;
  int rows, readings;
  size_t vectors;
  const struct convcheck_row *row;
  const struct convcheck_reading *reading;
};

struct convcheck_example {
  uint64_t input, code, got;
  int pattern;
};

/* The results of a row's inputs under a reading. */
struct convcheck_tally {
  uint64_t asked, undefined, wrong;
  struct convcheck_example example[CONVCHECK_SHOWN];
};

/* A place in the series of a reading. */
struct convcheck_cursor {
  const struct convcheck_series *series;
  uint32_t place;
  int turn;
  uint64_t first, added;
};

enum { CONVCHECK_VECTORS, CONVCHECK_EVERY, CONVCHECK_DONE };

/* A program's state. The next call has `count` inputs and buffers for the outputs. */
struct convcheck {
  unsigned char *input, *output;
  size_t count;
  int exhaustive, usage, phase;
  unsigned long points, failed;
  uint64_t judged, at;
  const struct convcheck_suite *suite;
  const char *function;
  struct convcheck_cursor cursor[CONVCHECK_READINGS];
  struct convcheck_tally tally[CONVCHECK_READINGS][CONVCHECK_ROWS];
};

/* Tests a function or macro that converts one number. Its types need as many bytes as the codes:
   float, _Float16, uint16_t, a struct. */
#define CONVCHECK(run, suite, in_type, out_type, function)                                         \
  do {                                                                                             \
    CONVCHECK_SIZES(suite, in_type, out_type);                                                     \
    convcheck_open(run, &suite, #function);                                                        \
    while (convcheck_next(run)) {                                                                  \
      const unsigned char *convcheck_in = (run)->input;                                            \
      unsigned char *convcheck_out = (run)->output;                                                \
      const size_t convcheck_count = (run)->count;                                                 \
      size_t convcheck_i;                                                                          \
      for (convcheck_i = 0; convcheck_i < convcheck_count; ++convcheck_i) {                        \
        in_type convcheck_x;                                                                       \
        out_type convcheck_y;                                                                      \
        memcpy(&convcheck_x, convcheck_in + convcheck_i * sizeof(in_type), sizeof(in_type));       \
        convcheck_y = function(convcheck_x);                                                       \
        memcpy(convcheck_out + convcheck_i * sizeof(out_type), &convcheck_y, sizeof(out_type));    \
      }                                                                                            \
    }                                                                                              \
  } while (0)

/* Tests a function that converts arrays: function(const in_type *, out_type *, size_t). */
#define CONVCHECK_ARRAYS(run, suite, in_type, out_type, function)                                  \
  do {                                                                                             \
    CONVCHECK_SIZES(suite, in_type, out_type);                                                     \
    convcheck_open(run, &suite, #function);                                                        \
    while (convcheck_next(run))                                                                    \
      function((const in_type *)(const void *)(run)->input, (out_type *)(void *)(run)->output,     \
               (run)->count);                                                                      \
  } while (0)

/* Compiles only for types of the same size as the suite's codes. */
#define CONVCHECK_SIZES(suite, in_type, out_type)                                                  \
  do {                                                                                             \
    (void)sizeof(char[sizeof(in_type) == suite##_INPUT ? 1 : -1]);                                 \
    (void)sizeof(char[sizeof(out_type) == suite##_OUTPUT ? 1 : -1]);                               \
  } while (0)

/* Codes ---------------------------------------------------------------------------------------- */

static inline uint64_t convcheck_load(const unsigned char *from, int bytes) {
  uint8_t one = 0;
  uint16_t two = 0;
  uint32_t four = 0;
  uint64_t eight = 0;
  switch (bytes) {
    case 1: memcpy(&one, from, 1); return one;
    case 2: memcpy(&two, from, 2); return two;
    case 4: memcpy(&four, from, 4); return four;
    default: memcpy(&eight, from, 8); return eight;
  }
}

static inline void convcheck_store(unsigned char *to, int bytes, uint64_t code) {
  const uint8_t one = (uint8_t)code;
  const uint16_t two = (uint16_t)code;
  const uint32_t four = (uint32_t)code;
  switch (bytes) {
    case 1: memcpy(to, &one, 1); return;
    case 2: memcpy(to, &two, 2); return;
    case 4: memcpy(to, &four, 4); return;
    default: memcpy(to, &code, 8); return;
  }
}

static inline int convcheck_is_nan(const struct convcheck_format *format, uint64_t code) {
  if (!format->is_float) return 0;
  return format->nan_is_sign ? code == format->sign
                             : (code & format->magnitude) > format->last_number;
}

/* Whether a code matches the expected result. */
static inline int convcheck_fits(const struct convcheck_format *format, int pattern, uint64_t due,
                                 uint64_t got) {
  switch (pattern) {
    case CONVCHECK_EXACT: return got == due;
    case CONVCHECK_NAN: return convcheck_is_nan(format, got);
    case CONVCHECK_NEGATIVE_NAN: return convcheck_is_nan(format, got) && (got & format->sign) != 0;
    case CONVCHECK_ZERO: return (got & format->magnitude) == 0;
    default: return 1;
  }
}

static inline double convcheck_power(int exponent) {
  double power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

/* Writes the number that a code denotes. */
static inline void convcheck_value(const struct convcheck_format *format, uint64_t code, char *to,
                                   size_t size) {
  const uint64_t magnitude = code & format->magnitude;
  const char *sign = (code & format->sign) != 0 ? "-" : "";
  if (!format->is_float) {
    if ((code & format->sign) == 0)
      snprintf(to, size, "%" PRIu64, code);
    else
      snprintf(to, size, "-%" PRIu64, (format->sign | format->magnitude) - code + 1);
  } else if (convcheck_is_nan(format, code)) {
    snprintf(to, size, "%sNaN", format->nan_is_sign ? "" : sign);
  } else if (format->infinity != 0 && magnitude == format->infinity) {
    snprintf(to, size, "%sInf", sign);
  } else {
    const uint64_t one = (uint64_t)1 << format->mantissa;
    const int field = (int)(magnitude >> format->mantissa);
    const int normal = field != 0 || !format->has_zero;
    const int exponent = (normal ? field : 1) - format->bias - format->mantissa;
    const uint64_t significand = (magnitude & (one - 1)) + (normal ? one : 0);
    snprintf(to, size, "%s%.*g", sign, format->mantissa > 23 ? 17 : 9,
             (double)significand * convcheck_power(exponent));
  }
}

/* Judging -------------------------------------------------------------------------------------- */

static inline void convcheck_count(struct convcheck_tally *tally,
                                   const struct convcheck_format *format, uint64_t input,
                                   int pattern, uint64_t due, uint64_t got) {
  ++tally->asked;
  if (pattern == CONVCHECK_UNDEFINED) {
    ++tally->undefined;
  } else if (!convcheck_fits(format, pattern, due, got)) {
    if (tally->wrong < CONVCHECK_SHOWN) {
      struct convcheck_example *example = &tally->example[tally->wrong];
      example->input = input;
      example->pattern = pattern;
      example->code = due;
      example->got = got;
    }
    ++tally->wrong;
  }
}

static inline void convcheck_judge_vectors(struct convcheck *run, int reading) {
  const struct convcheck_format *format = run->suite->output;
  const struct convcheck_vector *vector = run->suite->reading[reading].vectors + run->at;
  size_t i;
  for (i = 0; i < run->count; ++i, ++vector) {
    const unsigned char *from = run->output + i * (size_t)format->bytes;
    const uint64_t got = convcheck_load(from, format->bytes) & (format->sign | format->magnitude);
    convcheck_count(&run->tally[reading][vector->row], format, vector->input, vector->pattern,
                    vector->code, got);
  }
}

/* Whether all answers equal a code. The only hot loop: it compares eight bytes at a time. */
static inline int convcheck_all_are(const struct convcheck_format *format,
                                    const unsigned char *from, size_t count, uint64_t code) {
  const uint64_t apart = format->bytes == 1 ? UINT64_C(0x0101010101010101)
                                            : UINT64_C(0x0001000100010001);
  const uint64_t due = code * apart, mask = (format->sign | format->magnitude) * apart;
  const size_t size = count * (size_t)format->bytes;
  uint64_t differ = 0, got;
  size_t i;
  if (format->bytes > 2) return 0;
  for (i = 0; i + 8 <= size; i += 8) {
    memcpy(&got, from + i, 8);
    differ |= got ^ due;
  }
  got = due;
  memcpy(&got, from + i, size - i);
  return ((differ | (got ^ due)) & mask) == 0;
}

/* Judges the answers to a plateau or a part of it. */
static inline void convcheck_judge_plateau(struct convcheck *run, int reading, uint64_t input,
                                       uint64_t end, const struct convcheck_plateau *plateau,
                                       uint64_t code) {
  const struct convcheck_format *format = run->suite->output;
  const unsigned char *from = run->output + (size_t)(input - run->at) * (size_t)format->bytes;
  struct convcheck_tally *tally = &run->tally[reading][plateau->row];
  if (plateau->pattern == CONVCHECK_UNDEFINED) {
    tally->asked += end - input;
    tally->undefined += end - input;
  } else if (plateau->pattern == CONVCHECK_EXACT &&
             convcheck_all_are(format, from, (size_t)(end - input), code)) {
    tally->asked += end - input;
  } else {
    const uint64_t mask = format->sign | format->magnitude;
    for (; input < end; ++input, from += format->bytes)
      convcheck_count(tally, format, input, plateau->pattern, code,
                      convcheck_load(from, format->bytes) & mask);
  }
}

/* Moves on to the next plateau, which begins at `first`. */
static inline void convcheck_advance(struct convcheck_cursor *cursor, uint64_t first) {
  cursor->first = first;
  if (++cursor->turn == cursor->series->turns) {
    cursor->turn = 0;
    cursor->added += cursor->series->step;
  }
  if (++cursor->place == cursor->series->count) {
    ++cursor->series;
    cursor->place = 0;
    cursor->turn = 0;
    cursor->added = 0;
  }
}

static inline void convcheck_judge_every(struct convcheck *run, int reading) {
  const uint64_t mask = run->suite->output->sign | run->suite->output->magnitude;
  const uint64_t end = run->at + run->count;
  struct convcheck_cursor *cursor = &run->cursor[reading];
  uint64_t input = run->at;
  while (input < end) {
    const struct convcheck_plateau *plateau = &cursor->series->plateau[cursor->turn];
    const uint64_t code = (plateau->code + cursor->added) & mask;
    const uint64_t last = cursor->first + plateau->length;
    const uint64_t stop = last < end ? last : end;
    convcheck_judge_plateau(run, reading, input, stop, plateau, code);
    input = stop;
    if (input == last) convcheck_advance(cursor, last);
  }
}

/* The total number of inputs. */
static inline uint64_t convcheck_inputs(const struct convcheck *run) {
  return run->phase == CONVCHECK_VECTORS ? run->suite->vectors
                                         : (uint64_t)1 << run->suite->input->bits;
}

/* Printing ------------------------------------------------------------------------------------- */

/* The reading of a row's rule with the fewest wrong answers. */
static inline int convcheck_meant(const struct convcheck *run, int row) {
  const struct convcheck_row *rows = run->suite->row;
  uint64_t fewest = UINT64_MAX;
  int reading, other, meant = 0;
  for (reading = 0; reading < rows[row].readings; ++reading) {
    uint64_t wrong = 0;
    for (other = 0; other < run->suite->rows; ++other)
      if (rows[other].rule == rows[row].rule) wrong += run->tally[reading][other].wrong;
    if (wrong < fewest) {
      fewest = wrong;
      meant = reading;
    }
  }
  return meant;
}

static inline void convcheck_print_due(const struct convcheck_format *format, int pattern,
                                       uint64_t code) {
  static const char *const words[] = {"", "any NaN", "any NaN with the sign bit set",
                                      "a zero of either sign", "anything"};
  char value[40];
  if (pattern != CONVCHECK_EXACT) {
    printf("%s", words[pattern]);
    return;
  }
  convcheck_value(format, code, value, sizeof value);
  printf("0x%0*" PRIx64 " (%s)", (format->bits + 3) / 4, code, value);
}

static inline void convcheck_print_failure(const struct convcheck *run,
                                           const struct convcheck_tally *tally,
                                           const struct convcheck_row *row, int meant) {
  const struct convcheck_suite *suite = run->suite;
  const int digits = (suite->input->bits + 3) / 4;
  uint64_t i;
  printf("  ---\n  wrong: %" PRIu64 " of %" PRIu64 "\n%s", tally->wrong,
         tally->asked - tally->undefined, row->about);
  if (row->readings > 1) printf("  reading: %s\n", row->names[meant]);
  printf("  answers:\n");
  for (i = 0; i < tally->wrong && i < CONVCHECK_SHOWN; ++i) {
    const struct convcheck_example *example = &tally->example[i];
    printf("    - input: ");
    convcheck_print_due(suite->input, CONVCHECK_EXACT, example->input);
    printf("\n      expected: ");
    convcheck_print_due(suite->output, example->pattern, example->code);
    printf("\n      got: ");
    convcheck_print_due(suite->output, CONVCHECK_EXACT, example->got);
    printf("\n");
  }
  printf("  explained by: convcheck explain %s 0x%0*" PRIx64 "\n  ...\n", suite->id, digits,
         tally->example[0].input);
}

static inline void convcheck_print_row(struct convcheck *run, int index) {
  const struct convcheck_row *row = &run->suite->row[index];
  const int meant = convcheck_meant(run, index);
  const struct convcheck_tally *tally = &run->tally[meant][index];
  const char *of = run->phase == CONVCHECK_EVERY ? "inputs" : "vectors";
  if (tally->asked == 0) return;
  ++run->points;
  run->failed += tally->wrong != 0;
  run->judged += tally->asked - tally->undefined;
  printf("%s %lu - %s, %s: %s, %" PRIu64 " of %" PRIu64 " %s", tally->wrong ? "not ok" : "ok",
         run->points, run->suite->id, run->function, row->name, tally->asked,
         convcheck_inputs(run), of);
  if (tally->undefined == tally->asked)
    printf(" # SKIP undefined, any answer will do");
  else if (row->readings > 1)
    printf(", read as: %s", row->names[meant]);
  printf("\n");
  if (tally->wrong) convcheck_print_failure(run, tally, row, meant);
}

/* Calls ---------------------------------------------------------------------------------------- */

static inline void convcheck_start(struct convcheck *run, int phase) {
  int reading;
  memset(run->tally, 0, sizeof run->tally);
  run->phase = phase;
  run->at = run->count = 0;
  for (reading = 0; reading < run->suite->readings; ++reading) {
    struct convcheck_cursor *cursor = &run->cursor[reading];
    memset(cursor, 0, sizeof *cursor);
    cursor->series = run->suite->reading[reading].series;
  }
}

static inline void convcheck_open(struct convcheck *run, const struct convcheck_suite *suite,
                                  const char *function) {
  run->suite = suite;
  run->function = function;
  convcheck_start(run, run->usage ? CONVCHECK_DONE : CONVCHECK_VECTORS);
}

static inline void convcheck_judge(struct convcheck *run) {
  int reading;
  for (reading = 0; reading < run->suite->readings; ++reading) {
    if (run->phase == CONVCHECK_VECTORS)
      convcheck_judge_vectors(run, reading);
    else
      convcheck_judge_every(run, reading);
  }
  run->at += run->count;
}

static inline void convcheck_fill(struct convcheck *run) {
  const uint64_t left = convcheck_inputs(run) - run->at;
  const int bytes = run->suite->input->bytes;
  size_t i;
  run->count = left < CONVCHECK_CHUNK ? (size_t)left : CONVCHECK_CHUNK;
  if (run->phase == CONVCHECK_VECTORS) {
    const struct convcheck_vector *vector = run->suite->reading[0].vectors + run->at;
    for (i = 0; i < run->count; ++i)
      convcheck_store(run->input + i * (size_t)bytes, bytes, vector[i].input);
  } else if (bytes == 4) {
    for (i = 0; i < run->count; ++i) convcheck_store(run->input + 4 * i, 4, run->at + i);
  } else {
    for (i = 0; i < run->count; ++i)
      convcheck_store(run->input + i * (size_t)bytes, bytes, run->at + i);
  }
}

/* Judges the last call, and prepares the inputs of the next. Returns 0 after the last. */
static inline int convcheck_next(struct convcheck *run) {
  while (run->phase != CONVCHECK_DONE) {
    int row, next;
    if (run->count != 0) convcheck_judge(run);
    if (run->at < convcheck_inputs(run)) {
      convcheck_fill(run);
      return 1;
    }
    for (row = 0; row < run->suite->rows; ++row) convcheck_print_row(run, row);
    next = run->phase == CONVCHECK_VECTORS && run->exhaustive && run->suite->reading[0].series != NULL;
    convcheck_start(run, next ? CONVCHECK_EVERY : CONVCHECK_DONE);
  }
  return 0;
}

static inline struct convcheck convcheck_begin(int argc, char **argv) {
  static uint64_t input[CONVCHECK_CHUNK], output[CONVCHECK_CHUNK];
  struct convcheck run;
  int i;
  memset(&run, 0, sizeof run);
  run.input = (unsigned char *)input;
  run.output = (unsigned char *)output;
  for (i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--exhaustive") == 0)
      run.exhaustive = 1;
    else
      run.usage = 1;
  }
  if (run.usage)
    fprintf(stderr, "usage: %s [--exhaustive]\n", argv[0]);
  else
    printf("TAP version 13\n");
  return run;
}

/* Prints the plan. Returns the program's exit status. */
static inline int convcheck_end(const struct convcheck *run) {
  if (run->usage) return 2;
  printf("1..%lu\n", run->points);
  if (run->judged == 0) printf("# nothing was judged\n");
  if (fflush(stdout) != 0) return 4;
  return run->failed != 0 ? 1 : run->judged == 0 ? 3 : 0;
}

#endif
