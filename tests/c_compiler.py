import shutil

import pytest

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


def c_compiler():
    if CC is None:
        pytest.skip("no C compiler")
    return CC
