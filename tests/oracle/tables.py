"""The standard's tables, filled in by hand for some numbers."""

from .facts import INF32, MINUS_INF32, MINUS_NAN32, NAN32, f32, f64

# Rows: a float32, then the result in the four columns of the standard's table.
SATURATING = {
    f32(0.0): "00 00 00 00", f32(-0.0): "80 00 80 00", NAN32: "nan nan nan nan",
    MINUS_NAN32: "nan nan nan nan", INF32: "7e nan 7b nan", MINUS_INF32: "fe nan fb nan",
    f32(1e30): "7e 7f 7b 7f", f32(-1e30): "fe ff fb ff", f32(1.0): "38 40 3c 40",
    f32(464.0): "7e 7f 5f 63", f32(464.25): "7e 7f 5f 63", f32(240.0): "77 7f 5c 60",
    f32(-1.0625): "b8 c0 bc c0", f32(-1.1875): "ba c2 bd c1", f32(61440.0): "7e 7f 7b 7f",
    f32(2.0**-10): "00 01 14 18", f32(1.5 * 2.0**-10): "01 02 16 1a",
}  # fmt: skip
WITHOUT = {
    f32(0.0): "00 00 00 00", f32(-0.0): "80 00 80 00", NAN32: "nan nan nan nan",
    INF32: "nan nan 7c nan", MINUS_INF32: "nan nan fc nan", MINUS_NAN32: "nan nan nan nan",
    f32(448.0): "7e nan 5f 63", f32(464.0): "7e nan 5f 63", f32(-464.0): "fe nan df e3",
    f32(464.25): "nan nan 5f 63", f32(480.0): "nan nan 60 64", f32(247.75): "77 7f 5c 60",
    f32(248.0): "78 nan 5c 60", f32(-248.0): "f8 nan dc e0", f32(57344.0): "nan nan 7b 7f",
    f32(61439.0): "nan nan 7b 7f", f32(61440.0): "nan nan 7c nan", f32(-61440.0): "nan nan fc nan",
}  # fmt: skip
FNUZ_INF = {INF32: "7e 7f 7b 7f", MINUS_INF32: "fe ff fb ff"}
MINUS = {MINUS_NAN32: "-nan nan -nan nan", MINUS_INF32: "-nan nan fc nan"}
TABLES = [(v, 1, SATURATING) for v in (19, 21, 23)] + [(v, 0, WITHOUT) for v in (19, 21)]
TABLES += [(v, 1, SATURATING | FNUZ_INF) for v in (24, 25, 28)]
TABLES += [(v, 0, WITHOUT | MINUS) for v in (23, 24, 25, 28)]

E8M0 = {
    # x: (saturate, round_mode) = (1, up) (1, down) (1, nearest) (0, up) (0, down) (0, nearest)
    f64(0.0): "i:0 - - - - n:nan", f64(-0.0): "- - - - - -", f64(-1.0): "- - - - - -",
    f64(float("inf")): "n:fe - - - - n:nan", f64(float("-inf")): "- - - - - -",
    0x7FF8000000000000: "n:nan i:nan i:nan i:nan i:nan n:nan",
    0xFFF8000000000000: "n:nan i:nan i:nan i:nan i:nan n:nan",
    f64(2.0**127): "n:fe n:fe n:fe n:fe n:fe n:fe", f64(2.0**127) + 1: "n:fe - - - - i:nan",
    f64(2.0**-127): "n:0 n:0 n:0 n:0 n:0 n:0", f64(2.0**-127) - 1: "n:0 - - - - i:nan",
    f64(1.0): "n:7f n:7f n:7f n:7f n:7f n:7f", f64(1.0) + 1: "i:80 n:7f n:7f i:80 n:7f n:7f",
    f64(1.5): "n:80 n:7f n:80 n:80 n:7f n:80", f64(1.5) - 1: "n:80 n:7f i:7f n:80 n:7f i:7f",
    f64(3.0) + 1: "n:81 n:80 n:81 n:81 n:80 n:81", f64(1e300): "n:fe - - - - n:nan",
    f64(2.0**127) - 1: "n:fe i:fd n:fe n:fe i:fd n:fe", f64(-1e-300): "- - - - - -",
}  # fmt: skip
