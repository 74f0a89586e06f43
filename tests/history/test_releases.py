import pytest
from packaging.version import Version
from planted.releases import NOT_HERE, WHEEL, index, page_of

from convcheck.errors import UnavailableError, UsageError
from convcheck.history.environments import Release, Wanted, find_releases, index_url, parse_wanted

WANTED = Wanted("onnxruntime", Version("1.0"), Version("1.4"))


def found(kind, page, monkeypatch, wanted=WANTED):
    with index(kind, page) as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        return find_releases(wanted)


def test_a_range_of_a_package():
    wanted = parse_wanted("ONNXRuntime==1.15.1..1.31.1")
    assert (wanted.package, wanted.runtime) == ("onnxruntime", "ort")
    assert (str(wanted.first), str(wanted.last)) == ("1.15.1", "1.31.1")


@pytest.mark.parametrize(("text", "says"), [
    ("onnxruntime", "is not a range of releases"),
    ("onnxruntime==1.15.1", "is not a range of releases"),
    ("onnxruntime==..1.15.1", "is not a range of releases"),
    ("onnxruntime>=1.15.1..1.16", "is not a range of releases"),
    ("onnxruntime==1.15.1...1.16", "is not a range of releases"),
    ("onnxruntime==new..newer", "'new' is not a version"),
    ("onnxruntime==1.16..1.15", "ends before it begins"),
    ("numpy==1.16..1.18", "numpy is not the package of a known runtime"),
])  # fmt: skip
def test_what_is_no_range(text, says):
    with pytest.raises(UsageError) as error:
        parse_wanted(text)
    assert says in error.value.message
    assert error.value.hint


def test_releases_with_the_day_of_their_first_file(monkeypatch):
    files = {
        WHEEL.format("1.10"): "2024-01-01", WHEEL.format("0.9"): "2020-01-01",
        WHEEL.format("1.2"): "2022-02-02", NOT_HERE.format("1.2"): "2022-01-31",
        NOT_HERE.format("1.3"): "2022-03-03", WHEEL.format("1.4"): "", WHEEL.format("1.1rc1"): "",
        "onnxruntime-1.0.tar.gz": "2019-01-01", "README": "",
    }  # fmt: skip
    second, third, fourth = found(*page_of(files), monkeypatch)
    assert second == Release("1.2", "2022-01-31")
    assert (third.version, third.date) == ("1.3", "2022-03-03")
    assert third.lacks.startswith("no wheel for Python 3")
    assert fourth == Release("1.4")


def test_a_release_candidate_where_it_is_named(monkeypatch):
    wanted = Wanted("onnxruntime", Version("1.1rc1"), Version("1.2"))
    files = {WHEEL.format(v): "" for v in ("1.1rc1", "1.1rc2", "1.2")}
    assert [r.version for r in found(*page_of(files), monkeypatch, wanted)] == ["1.1rc1", "1.2"]


def test_an_index_of_html_has_no_dates(monkeypatch):
    page = f'<a href="../../x/{WHEEL.format("1.0")}#sha256=0">x</a><a>y</a>'.encode()
    assert found("text/html", page, monkeypatch) == [Release("1.0")]


@pytest.mark.parametrize(("kind", "page", "error", "says"), [
    (*page_of({WHEEL.format("3.0"): ""}), UsageError, "has no release of onnxruntime 1.0 to"),
    (*page_of({}), UsageError, "has no release of"),
    ("text/plain", b"hello", UnavailableError, "is not a page of a package index"),
    ("application/vnd.pypi.simple.v1+json", b"[]", UnavailableError, "is not a page of"),
])  # fmt: skip
def test_an_index_without_such_releases(kind, page, error, says, monkeypatch):
    with pytest.raises(error, match=says):
        found(kind, page, monkeypatch)


def test_an_index_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    assert index_url() == "http://127.0.0.1:9/simple"
    with pytest.raises(UnavailableError, match="cannot read the package index"):
        find_releases(WANTED)
    monkeypatch.setenv("PIP_INDEX_URL", "file:///etc")
    with pytest.raises(UnavailableError, match="is not the address of a package index"):
        find_releases(WANTED)
