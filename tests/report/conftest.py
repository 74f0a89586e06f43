"""What several files of tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_runs import whole_site


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that has every kind of page; nobody changes it."""
    return whole_site(tmp_path_factory.mktemp("site"))
