import pytest
from site_runs import whole_site


@pytest.fixture(scope="session")
def built_site(tmp_path_factory):
    """A site with every kind of page. Tests must not change it."""
    return whole_site(tmp_path_factory.mktemp("site"))
