// A kernel by a template.
#include <cstdint>
#include <cstring>

template <int Exponent, int Mantissa, int Bias>
static uint16_t narrow(double x) {
  uint64_t b;
  std::memcpy(&b, &x, 8);
  uint64_t m = b & 0x7fffffffffffffff;
  const uint16_t sign = (uint16_t)((b >> 63) << (Exponent + Mantissa));
  const uint16_t infinity = ((1 << Exponent) - 1) << Mantissa;
  if (m > 0x7ff0000000000000) return sign | infinity | (1 << (Mantissa - 1));
  int e = (int)(m >> 52) - 1023;
  if (e > Bias) return sign | infinity;
  int low = 1 - Bias;
  int shift = 52 - Mantissa + (e < low ? low - e : 0);
  if (shift > 54) return sign;
  uint64_t digits = (m & 0xfffffffffffff) | 0x10000000000000;
  uint64_t kept = digits >> shift, rest = digits & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  uint64_t y = e < low ? kept : kept + (uint64_t(e - low) << Mantissa);
  return sign | (uint16_t)y;
}

extern "C" uint16_t f64_to_f16(double x) { return narrow<5, 10, 15>(x); }
