from __future__ import annotations

from planted.field import bfloat16, e8m0, float8, float16, integers, widening

BUGS = (
    *bfloat16.BUGS,
    *float16.BUGS,
    *float8.BUGS,
    *e8m0.BUGS,
    *widening.BUGS,
    *integers.BUGS,
)
