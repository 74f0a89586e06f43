"""Facts from the text, by hand, as tests of the oracle."""

import struct

Attributes = dict[str, object]
OFF: Attributes = {"saturate": 0}
NAN32, MINUS_NAN32, INF32, MINUS_INF32 = 0x7FC00001, 0xFFC00001, 0x7F800000, 0xFF800000


def f16(x: float) -> int:
    return int(struct.unpack("<H", struct.pack("<e", x))[0])


def f32(x: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def f64(x: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


# type, code, value
DECODED = """
float16 0001 1/16777216     float16 03ff 1023/16777216   float16 0400 1/16384   float16 7bff 65504
float16 7c00 inf            float16 fc00 -inf            float16 7c01 nan       float16 fe00 -nan
float16 8000 -0             float16 c000 -2              float16 3555 1365/4096
bfloat16 3f80 1             bfloat16 4049 201/64         bfloat16 ff80 -inf     bfloat16 7fc0 nan
float32 3fc00000 3/2        float32 c2f6e979 -16181625/131072   float32 80000000 -0
float32 ff800001 -nan       float32 7f800000 inf         float32 4b7fffff 16777215
float64 3ff8000000000000 3/2                             float64 fff0000000000000 -inf
float64 4340000000000001 9007199254740994
float8e4m3fn 01 1/512       float8e4m3fn 07 7/512        float8e4m3fn 08 1/64   float8e4m3fn 38 1
float8e4m3fn 7e 448         float8e4m3fn 7f nan          float8e4m3fn ff -nan   float8e4m3fn 80 -0
float8e4m3fnuz 01 1/1024    float8e4m3fnuz 40 1          float8e4m3fnuz 7f 240
float8e4m3fnuz ff -240      float8e4m3fnuz 00 0          float8e4m3fnuz 80 nan
float8e5m2 01 1/65536       float8e5m2 3c 1              float8e5m2 7b 57344    float8e5m2 7c inf
float8e5m2 fc -inf          float8e5m2 7d nan            float8e5m2 ff -nan     float8e5m2 80 -0
float8e5m2fnuz 01 1/131072  float8e5m2fnuz 40 1          float8e5m2fnuz 7f 57344
float8e5m2fnuz 80 nan       float8e5m2fnuz fc -32768
float8e8m0 7f 1             float8e8m0 82 8              float8e8m0 7d 1/4      float8e8m0 ff nan
float4e2m1 1 1/2            float4e2m1 5 3               float4e2m1 7 6         float4e2m1 8 -0
float6e2m3 01 1/8           float6e2m3 08 1              float6e2m3 1f 15/2     float6e2m3 20 -0
float6e3m2 01 1/16          float6e3m2 0c 1              float6e3m2 1f 28       float6e3m2 3f -28
int2 3 -1    int2 2 -2      int4 8 -8   int4 7 7         int8 80 -128           int8 c8 -56
int16 ffff -1               int32 7fffffff 2147483647    int64 8000000000000000 -9223372036854775808
uint2 3 3    uint4 f 15     uint8 ff 255
uint64 ffffffffffffffff 18446744073709551615
bool 1 1     bool 0 0
"""

# version, types, input, attributes, level and readings
FACTS: list[tuple[int, str, int | str, Attributes, str]] = [
    # float 8: negative underflow; one rounding from the exact value; other sources implied
    (21, "float32>float8e4m3fn", f32(-(2.0**-10)), {}, "implied 80"),
    (21, "float32>float8e4m3fnuz", f32(-(2.0**-11)), {}, "normative 0"),
    (21, "float32>float8e5m2", f32(-1e-30), OFF, "implied 80"),
    (21, "float32>float8e4m3fn", f32(-1.01 * 2.0**-10), {}, "normative 81"),
    (19, "float64>float8e4m3fn", f64(1.0625), {}, "normative 38"),
    (19, "float64>float8e4m3fn", f64(1.0625 + 2.0**-50), {}, "implied 39"),
    (19, "int64>float8e5m2", 61439, OFF, "implied 7b"),
    (19, "int64>float8e5m2", 2**64 - 61440, OFF, "implied fc"),
    (19, "uint16>float8e4m3fn", 465, OFF, "implied nan"),
    (19, "bool>float8e4m3fnuz", 1, {}, "implied 40"),
    (24, "float8e8m0>float8e4m3fn", 0x88, {}, "implied 7e"),
    (24, "float8e8m0>float8e5m2", 0xFF, OFF, "implied nan"),
    (24, "float4e2m1>float8e4m3fn", 0x8, {}, "implied 80"),
    (28, "float6e2m3>float8e4m3fnuz", 0x3F, {}, "implied d7"),
    # float 8 to float 8: the table; to itself: the table or nothing
    (19, "float8e5m2>float8e4m3fn", 0x7C, {}, "normative 7e"),
    (23, "float8e4m3fn>float8e5m2", 0xFF, OFF, "implied -nan"),
    (23, "float8e4m3fnuz>float8e5m2", 0x80, OFF, "normative nan"),
    (19, "float8e4m3fnuz>float8e5m2fnuz", 0x40, {}, "normative 40"),
    (19, "float8e5m2>float8e5m2", 0xFC, {}, "disputed fb|fc"),
    (19, "float8e5m2>float8e5m2", 0xFC, OFF, "disputed fc|fc"),
    (23, "float8e4m3fn>float8e4m3fn", 0xFF, OFF, "disputed -nan|nan"),
    (19, "float8e4m3fn>float8e4m3fn", 0xFF, OFF, "disputed nan|nan"),
    (19, "float8e4m3fn>float8e4m3fn", 0x80, {}, "disputed 80|80"),
    (19, "float8e4m3fn>float8e4m3fn", 1, {"saturate": 2}, "undefined"),
    (19, "float8e4m3fn>float16", 1, {"saturate": 2}, "implied 1800"),
    # float to wider and narrower float
    (13, "float32>float16", f32(65519.99), {}, "implied 7bff"),
    (13, "float32>float16", f32(65520.0), {}, "normative 7c00"),
    (9, "float32>float16", f32(-65520.0), {}, "implied fc00"),
    (13, "float64>float16", f64(65520.0 - 2.0**-30), {}, "implied 7bff"),
    (13, "float32>float16", MINUS_INF32, {}, "normative fc00"),
    (6, "float32>float16", INF32, {}, "implied 7c00"),
    (13, "float32>float16", MINUS_NAN32, {}, "implied nan"),
    (13, "float32>float16", f32(2.0**-25), {}, "implied 0"),
    (13, "float32>float16", f32(-(2.0**-25)), {}, "implied 8000"),
    (13, "float32>float16", f32(3 * 2.0**-25), {}, "implied 2"),
    (13, "float32>float16", f32(2.0**-25) + 1, {}, "implied 1"),
    (13, "float32>bfloat16", 0x3F808000, {}, "implied 3f80"),
    (13, "float32>bfloat16", 0x3F808001, {}, "implied 3f81"),
    (13, "float32>bfloat16", 0x3F818000, {}, "implied 3f82"),
    (13, "float32>bfloat16", 0x7F7F8000, {}, "normative 7f80"),
    (13, "float64>bfloat16", f64(1 + 2.0**-8 + 2.0**-40), {}, "implied 3f81"),
    (1, "float64>float32", 0x47EFFFFFEFFFFFFF, {}, "implied 7f7fffff"),
    (13, "float64>float32", 0x47EFFFFFF0000000, {}, "normative 7f800000"),
    (13, "float64>float32", 0x3690000000000000, {}, "implied 0"),
    (13, "float64>float32", 0x3690000000000001, {}, "implied 1"),
    (13, "float64>float32", 0xB690000000000001, {}, "implied 80000001"),
    (13, "float64>float32", f64(1 + 2.0**-24), {}, "implied 3f800000"),
    (13, "float64>float32", f64(1 + 3 * 2.0**-24), {}, "implied 3f800002"),
    (13, "float16>float64", 0x0001, {}, "implied 3e70000000000000"),
    (13, "float16>float32", 0x8000, {}, "implied 80000000"),
    (19, "float8e5m2>float32", 0x80, {}, "disputed 80000000|0"),
    (19, "float8e4m3fn>bfloat16", 0x80, {}, "disputed 8000|0"),
    (23, "float4e2m1>float32", 0x8, {}, "implied 80000000"),
    (24, "float8e8m0>float16", 0xFE, {}, "normative 7c00"),
    (24, "float8e8m0>float32", 0x00, {}, "implied 400000"),
    (13, "float16>float16", 0xFC01, {}, "implied nan"),
    (13, "float32>float32", 0x80000000, {}, "implied 80000000"),
    # integers and bool
    (13, "int16>int8", 200, {}, "normative c8"),
    (9, "int16>int8", 200, {}, "implied c8"),
    (13, "int8>uint64", 0xFF, {}, "normative ffffffffffffffff"),
    (25, "int8>int2", 0xC8, {}, "normative 0"),
    (13, "int8>int8", 0x80, {}, "normative 80"),
    (6, "int8>int8", 0x80, {}, "implied 80"),
    (13, "uint32>float16", 65519, {}, "implied 7bff"),
    (13, "uint32>float16", 65520, {}, "normative 7c00"),
    (9, "int32>float16", 2**32 - 65520, {}, "implied fc00"),
    (13, "int32>float32", 2**24 + 1, {}, "implied 4b800000"),
    (13, "int32>float32", 2**24 + 3, {}, "implied 4b800002"),
    (13, "int64>float32", 2**62 + 2**38 + 1, {}, "implied 5e800001"),
    (13, "uint64>float64", 2**64 - 1, {}, "implied 43f0000000000000"),
    (13, "int8>float32", 0, {}, "implied 0"),
    (13, "bool>float16", 1, {}, "normative 3c00"),
    (9, "bool>int8", 1, {}, "implied 1"),
    (21, "bool>int4", 1, {}, "normative 1"),
    (13, "bool>bool", 1, {}, "normative 1"),
    (9, "bool>bool", 0, {}, "implied 0"),
    (28, "bool>float6e3m2", 1, {}, "implied c"),
    (23, "int8>float4e2m1", 0xF9, {}, "implied f"),
    (28, "int8>float6e2m3", 8, {}, "implied 1f"),
    # float to integer
    (13, "float32>int8", f32(-128.0), {}, "implied 80"),
    (13, "float32>int8", f32(-128.5), {}, "undefined"),
    (13, "float32>int8", f32(127.0), {}, "implied 7f"),
    (13, "float32>int8", f32(127.5), {}, "undefined"),
    (13, "float32>uint8", f32(254.99), {}, "implied fe"),
    (13, "float32>int8", f32(-1.99), {}, "implied ff"),
    (13, "float32>uint8", f32(-0.5), {}, "undefined"),
    (13, "float32>uint8", f32(-0.0), {}, "implied 0"),
    (13, "float32>int32", NAN32, {}, "undefined"),
    (13, "float32>int32", INF32, {}, "undefined"),
    (13, "float32>int32", f32(2.0**31 - 128), {}, "implied 7fffff80"),
    (13, "float32>int32", f32(2.0**31), {}, "undefined"),
    (13, "float64>int64", f64(-(2.0**63)), {}, "implied 8000000000000000"),
    (24, "float8e8m0>int8", 0x00, {}, "implied 0"),
    (21, "float32>int4", f32(2.5), {}, "disputed 2|2"),
    (21, "float32>int4", f32(3.5), {}, "disputed 4|3"),
    (21, "float32>int4", f32(-7.75), {}, "disputed 8|9"),
    (21, "float32>int4", f32(7.25), {}, "undefined"),
    (25, "float16>uint2", f16(2.5), {}, "disputed 2|2"),
    (25, "float16>int2", f16(-1.5), {}, "disputed 2|3"),
    (25, "float16>uint2", f16(-0.0), {}, "disputed 0|0"),
    (25, "float16>uint2", f16(-0.25), {}, "undefined"),
    # to bool
    (13, "float32>bool", f32(-0.0), {}, "normative 0"),
    (13, "float32>bool", NAN32, {}, "normative 1"),
    (13, "float32>bool", f32(2.0**-127), {}, "normative 1"),
    (9, "float32>bool", 0x80000001, {}, "implied 1"),
    (13, "int32>bool", 36, {}, "normative 1"),
    (1, "int32>bool", 0, {}, "implied 0"),
    (19, "float8e4m3fn>bool", 0x80, {}, "normative 0"),
    (19, "float8e4m3fnuz>bool", 0x80, {}, "normative 1"),
    (24, "float8e8m0>bool", 0x00, {}, "implied 1"),
    (24, "float8e8m0>bool", 0x01, {}, "normative 1"),
    # float 4 and float 6
    (23, "float32>float4e2m1", f32(5.0), {}, "implied 6"),
    (23, "float32>float4e2m1", f32(-0.25), {}, "implied 8"),
    (23, "float32>float4e2m1", f32(0.75), {}, "implied 2"),
    (23, "float32>float4e2m1", f32(1e9), {}, "implied 7"),
    (23, "float32>float4e2m1", f32(0.0), {}, "implied 0"),
    (23, "float32>float4e2m1", f32(-0.0), {}, "implied 8"),
    (23, "float32>float4e2m1", INF32, {}, "implied 7"),
    (23, "float32>float4e2m1", MINUS_INF32, {}, "implied f"),
    (23, "float32>float4e2m1", NAN32, {}, "undefined"),
    (28, "float32>float6e2m3", f32(7.5), {}, "implied 1f"),
    (28, "float32>float6e2m3", f32(7.51), {}, "implied 1f"),
    (28, "float32>float6e2m3", f32(0.0625), {}, "implied 0"),
    (28, "float32>float6e2m3", f32(0.0), {}, "implied 0"),
    (28, "float32>float6e2m3", f32(-0.0625) + 1, {}, "implied 21"),
    (28, "float32>float6e3m2", f32(-28.0), {}, "implied 3f"),
    (28, "float32>float6e3m2", f32(25.0), {}, "implied 1e"),
    (28, "float32>float6e3m2", f32(-0.03125), {}, "implied 20"),
    (28, "float8e5m2>float6e2m3", 0x80, {}, "implied 20"),
    (28, "float6e2m3>float6e2m3", 0x20, {}, "implied 20"),
    (28, "float32>float6e2m3", INF32, {}, "implied 1f"),
    (28, "float32>float6e3m2", MINUS_INF32, {}, "implied 3f"),
    (28, "float32>float6e3m2", NAN32, {}, "undefined"),
    (28, "float32>float6e2m3", NAN32, {}, "undefined"),
    # strings
    (9, "string>float32", "inf", {}, "normative 7f800000"),
    (9, "string>float32", "+iNf", {}, "normative 7f800000"),
    (9, "string>float32", "-INF", {}, "normative ff800000"),
    (9, "string>float32", "-inf", {}, "implied ff800000"),
    (9, "string>float16", "nan", {}, "normative nan"),
    (24, "string>float8e4m3fnuz", "INF", {}, "normative 7f"),
    (23, "string>float8e4m3fn", "-INF", OFF, "implied -nan"),
    (21, "string>float8e4m3fn", "-INF", OFF, "normative nan"),
    (21, "string>float8e4m3fn", "464", OFF, "implied 7e"),
    (21, "string>float8e4m3fn", "464.00000000000000001", OFF, "implied nan"),
    (23, "string>float4e2m1", "-INF", {}, "implied f"),
    (28, "string>float6e2m3", "-0", {}, "implied 20"),
    (24, "string>float8e8m0", "nan", {}, "implied nan"),
    (24, "string>float8e8m0", "6", {"round_mode": "nearest"}, "implied 82"),
    (9, "string>float32", "-0.0e5", {}, "implied 80000000"),
    (9, "string>float32", "0.0", {}, "implied 0"),
    (9, "string>float32", "0.1", {}, "implied 3dcccccd"),
    (9, "string>float64", "0.1", {}, "implied 3fb999999999999a"),
    (9, "string>float64", "1E-9", {}, "implied 3e112e0be826d695"),
    (13, "string>float32", "1e39", {}, "implied 7f800000"),
    (13, "string>float32", "-1e-99999999999999999999", {}, "implied 80000000"),
    (13, "string>float32", "0." + "0" * 5000 + "1E5001", {}, "implied 3f800000"),
    (13, "string>float64", "1.0000000000000001110", {}, "implied 3ff0000000000000"),
    (13, "string>float64", "1.0000000000000001111", {}, "implied 3ff0000000000001"),
    (13, "string>float32", "7.50", {}, "implied 40f00000"),
    (13, "string>float32", "007.50", {}, "undefined"),
    (9, "string>uint8", "+1", {}, "undefined"),
    (9, "string>uint8", "007", {}, "undefined"),
    # float64 to float8: what one and two roundings put apart is implied
    (19, "float64>float8e4m3fn", f64(464.0) + 1, OFF, "implied nan"),
    (19, "float64>float8e4m3fn", f64(464.0) + 1, {}, "normative 7e"),
    (19, "float64>float8e4m3fn", f64(464.0) + 2**29, OFF, "normative nan"),
    (19, "float64>float8e5m2", f64(1.125) + 1, {}, "implied 3d"),
    (19, "float64>float8e5m2", f64(-1.125) + 2**30, {}, "normative bd"),
    (13, "string>float32", "99999999999999999999", {}, "implied 60ad78ec"),
    (9, "string>uint8", "-0", {}, "implied 0"),
    (9, "string>uint8", "255", {}, "implied ff"),
    (9, "string>uint64", "18446744073709551616", {}, "undefined"),
    (9, "string>uint64", "100000000000000000000", {}, "undefined"),
    (9, "string>int64", "-9223372036854775808", {}, "implied 8000000000000000"),
    (21, "string>int4", "-8", {}, "implied 8"),
    (9, "string>string", "Hello", {}, "implied Hello"),
    (9, "int8>string", 5, {}, "implied parses-to-x"),
    (9, "float16>string", 5, {}, "disputed plain-to-x|plain|parses-to-x|parses"),
    (24, "float8e8m0>string", 5, {}, "disputed plain-to-x|plain|parses-to-x|parses"),
    (9, "bool>string", 1, {}, "undefined"),
    (9, "string>bool", "1", {}, "undefined"),
]
