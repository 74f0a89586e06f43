/* Kernels with mistakes that runtimes have made. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static uint32_t bits32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static uint64_t bits64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
static float float_of(uint32_t b) { float x; memcpy(&x, &b, 4); return x; }

static uint16_t bf16(float x) {
  uint32_t b = bits32(x);
  if ((b & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return (b + 0x7fff + ((b >> 16) & 1)) >> 16;
}

static uint8_t e4m3(float x) {
  float a = fabsf(x);
  uint8_t sign = (bits32(x) >> 31) << 7;
  if (a != a) return sign | 0x7f;
  if (a >= 448) return sign | 0x7e;
  if (a < 0.015625f) return sign | (uint8_t)rintf(a * 512);
  uint32_t m = bits32(a);
  m += 0x7ffff + ((m >> 20) & 1);
  uint32_t y = (m >> 20) - (120 << 3);
  return sign | (y > 0x7e ? 0x7e : y);
}

/* through float32, so rounded twice */
uint16_t f64_to_bf16_twice(double x) { return bf16((float)x); }
uint8_t f64_to_e4m3_twice(double x) { return e4m3((float)x); }
uint16_t i64_to_bf16_twice(int64_t x) { return bf16((float)x); }
uint16_t u64_to_bf16_twice(uint64_t x) { return bf16((float)x); }
uint8_t i32_to_e4m3_twice(int32_t x) { return e4m3(float_of((uint32_t)bf16((float)x) << 16)); }

/* the low half is dropped */
uint16_t f32_to_bf16_truncated(float x) {
  uint32_t b = bits32(x);
  return (b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : b >> 16;
}

/* ties away from zero */
uint16_t f32_to_bf16_away(float x) {
  uint32_t b = bits32(x);
  return (b & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (b + 0x8000) >> 16;
}

/* a NaN with low bits only becomes an infinity */
uint16_t f32_to_bf16_cut_nan(float x) {
  uint32_t b = bits32(x);
  if ((b & 0x7f800000) == 0x7f800000) return b >> 16;
  return (b + 0x7fff + ((b >> 16) & 1)) >> 16;
}

/* subnormals are zero */
uint16_t f32_to_f16_flushed(float x) {
  uint32_t b = bits32(x), m = b & 0x7fffffff, sign = b >> 16 & 0x8000;
  if (m >= 0x47800000) return sign | (m > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (m < 0x38800000) return sign;
  m += 0xc8000fff + ((m >> 13) & 1);
  return sign | m >> 13;
}

/* an infinity is the largest value where it should be NaN */
uint8_t f32_to_e4m3_infinity(float x) { return e4m3(x); }

/* an overflow of saturated E5M2 is an infinity */
uint8_t f32_to_e5m2_overflow(float x) {
  uint32_t b = bits32(x), m = b & 0x7fffffff, y;
  uint8_t sign = b >> 31 << 7;
  if (m > 0x7f800000) return sign | 0x7f;
  if (m < 0x38800000) {
    y = (uint8_t)rintf(float_of(m) * 65536.0f);
  } else {
    m += 0xfffff + ((m >> 21) & 1);
    y = (m >> 21) - (112 << 2);
  }
  return sign | (y > 0x7c ? 0x7c : y);
}

/* a conversion that saturates where the standard keeps the low bits */
uint8_t i32_to_u8_clamped(int32_t x) { return x < 0 ? 0 : x > 255 ? 255 : x; }

/* a cast to bool that looks at the whole part */
uint8_t f64_to_bool_whole(double x) { return x > -1 && x < 1 ? 0 : 1; }

/* rounding where the standard truncates */
int32_t f32_to_i32_rounded(float x) { return (int32_t)rintf(x); }

/* the sign of zero is lost */
float f64_to_f32_unsigned_zero(double x) { float y = (float)x; return y == 0 ? 0.0f : y; }
