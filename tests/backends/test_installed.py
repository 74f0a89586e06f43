"""What `list backends` says of runtimes without starting them."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from convcheck.backends.installed import release_of
from convcheck.errors import UnavailableError


def test_what_is_installed_has_a_release() -> None:
    assert release_of("numpy") == f"numpy {version('numpy')}"
    assert release_of("yaml", package="PyYAML") == f"PyYAML {version('PyYAML')}"


def test_what_is_missing_has_a_hint() -> None:
    with pytest.raises(UnavailableError, match="No module named 'no_such'") as caught:
        release_of("openvino", module="no_such")
    assert caught.value.hint == "in a checkout of convcheck: pip install '.[openvino]'"
