/* Right kernels, in different styles. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t bits32(float x) { uint32_t b; memcpy(&b, &x, 4); return b; }
static uint64_t bits64(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
static float float_of(uint32_t b) { float x; memcpy(&x, &b, 4); return x; }

/* bit trick: add the bias of rounding to the code */
uint16_t f32_to_bf16(float x) {
  uint32_t b = bits32(x);
  if ((b & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return (b + 0x7fff + ((b >> 16) & 1)) >> 16;
}

/* round to odd in float32, then to nearest */
uint16_t f64_to_bf16(double x) {
  uint64_t b = bits64(x);
  uint32_t sign = (uint32_t)(b >> 63) << 31;
  uint64_t m = b & 0x7fffffffffffffff;
  if (m > 0x7ff0000000000000) return 0x7fc0;
  uint32_t odd;
  if (m >= 0x47f0000000000000) {
    odd = 0x7f800000;
  } else if (m >= 0x3810000000000000) {
    odd = (uint32_t)((m - 0x3800000000000000) >> 29) | ((m & 0x1fffffff) != 0);
  } else if (m >= 0x3680000000000000) {
    int shift = 926 - (int)(m >> 52);
    uint64_t digits = (m & 0xfffffffffffff) | 0x10000000000000;
    odd = (uint32_t)(digits >> shift) | ((digits & (((uint64_t)1 << shift) - 1)) != 0);
  } else {
    odd = m != 0;
  }
  odd |= sign;
  return (odd + 0x7fff + ((odd >> 16) & 1)) >> 16;
}

/* magic number: the addition rounds */
uint16_t f32_to_f16(float x) {
  uint32_t b = bits32(x), sign = b & 0x80000000, m = b ^ sign;
  uint16_t y;
  if (m >= 0x47800000) {
    y = m > 0x7f800000 ? 0x7e00 : 0x7c00;
  } else if (m < 0x38800000) {
    y = bits32(float_of(m) + float_of(0x3f000000)) - 0x3f000000;
  } else {
    uint32_t odd = (m >> 13) & 1;
    m += 0xc8000fff + odd;
    y = m >> 13;
  }
  return y | (sign >> 16);
}

/* frexp-like: digits and exponent, shifted by a count */
uint8_t f64_to_e4m3_saturated(double x) {
  uint64_t b = bits64(x), m = b & 0x7fffffffffffffff;
  uint8_t sign = (b >> 63) << 7;
  if (m > 0x7ff0000000000000) return sign | 0x7f;
  int e = (int)(m >> 52) - 1023;
  if (e > 8) return sign | 0x7e;
  int shift = e < -6 ? 43 - e : 49;
  if (shift > 54) return sign;
  uint64_t digits = (m & 0xfffffffffffff) | 0x10000000000000;
  uint64_t kept = digits >> shift, rest = digits & (((uint64_t)1 << shift) - 1);
  uint64_t half = (uint64_t)1 << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  uint64_t y = e < -6 ? kept : kept + ((uint64_t)(e + 6) << 3);
  return sign | (y > 0x7e ? 0x7e : y);
}

/* compare and select on the value, then scale to an integer */
uint8_t f32_to_e4m3_saturated(float x) {
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

/* a table of the largest code of each exponent, and a branch for each range */
uint8_t f16_to_e5m2(uint16_t h) {
  uint16_t m = h & 0x7fff;
  uint8_t sign = (h >> 8) & 0x80;
  if (m > 0x7c00) return sign | 0x7f;
  if (m == 0x7c00) return sign | 0x7b;
  static const uint8_t half[2] = {0x7f, 0x80};
  uint16_t y = (m + half[(m >> 8) & 1]) >> 8;
  return sign | (y > 0x7b ? 0x7b : y);
}

/* table lookup */
float e5m2_to_f32(uint8_t code) {
  static const float steps[4] = {1.0f, 1.25f, 1.5f, 1.75f};
  uint32_t sign = (uint32_t)(code & 0x80) << 24, e = (code >> 2) & 31, m = code & 3;
  if (e == 31) return float_of(sign | 0x7f800000 | (m ? 0x400000 : 0));
  if (e == 0) return float_of(bits32(m * 1.52587890625e-05f) | sign);
  return float_of((bits32(steps[m]) + ((e - 15) << 23)) | sign);
}

/* clz: an integer to a short float */
uint16_t i64_to_bf16(int64_t x) {
  uint64_t m = x < 0 ? -(uint64_t)x : x;
  uint16_t sign = x < 0 ? 0x8000 : 0;
  if (!m) return 0;
  int zeros = __builtin_clzll(m);
  uint64_t top = m << zeros;
  uint64_t kept = top >> 56, rest = top << 8;
  kept += rest > 0x8000000000000000 || (rest == 0x8000000000000000 && (kept & 1));
  return sign | (uint16_t)(((uint64_t)(63 - zeros + 126) << 7) + kept);
}

uint16_t u32_to_f16(uint32_t m) {
  if (!m) return 0;
  if (m >= 65520) return 0x7c00;
  int zeros = __builtin_clz(m);
  uint32_t top = m << zeros, kept = top >> 21, rest = top << 11;
  kept += rest > 0x80000000 || (rest == 0x80000000 && (kept & 1));
  return (uint16_t)(((uint32_t)(31 - zeros + 14) << 10) + kept);
}

/* saturating with min and max, by pointer */
void f32_to_e5m2_saturated(const float *x, uint8_t *y) {
  uint32_t b = bits32(*x), sign = b >> 31 << 7;
  float a = fminf(fmaxf(*x, -57344.0f), 57344.0f);
  if (*x != *x) { *y = sign | 0x7f; return; }
  uint32_t m = bits32(a) & 0x7fffffff;
  if (m < 0x38800000) {
    float small = float_of(m) * 65536.0f;
    *y = sign | (uint8_t)rintf(small);
  } else {
    m += 0xfffff + ((m >> 21) & 1);
    *y = sign | ((m >> 21) - (112 << 2));
  }
}

/* an array, branchless */
void f32_to_u8_low_bits(const float *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t b = bits32(x[i]);
    int e = (int)((b >> 23) & 255) - 150;
    uint32_t digits = (b & 0x7fffff) | 0x800000;
    uint32_t whole = e >= 8 ? 0 : e >= 0 ? digits << e : e > -24 ? digits >> -e : 0;
    y[i] = b >> 31 ? -whole : whole;
  }
}

/* a parameter of the rule */
uint8_t f32_to_e5m2(float x, int saturate) {
  uint32_t b = bits32(x), m = b & 0x7fffffff;
  uint8_t sign = b >> 31 << 7;
  if (m > 0x7f800000) return sign | 0x7f;
  if (m == 0x7f800000) return sign | (saturate ? 0x7b : 0x7c);
  uint32_t y;
  if (m < 0x38800000) {
    y = (uint8_t)rintf(float_of(m) * 65536.0f);
  } else {
    m += 0xfffff + ((m >> 21) & 1);
    y = (m >> 21) - (112 << 2);
  }
  return sign | (y > 0x7b ? (saturate ? 0x7b : 0x7c) : y);
}
