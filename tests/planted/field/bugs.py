from planted.field import bfloat16, e8m0, float8, float16, integers, widening

BUGS = tuple(bug for part in (bfloat16, float16, float8, e8m0, widening, integers)
             for bug in part.BUGS)  # fmt: skip
