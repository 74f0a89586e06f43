from datetime import UTC, datetime, timedelta
from xml.etree.ElementTree import parse

from command import convcheck, refused

ASKED = ("onnx.Cast-21", "--from", "int8", "--to", "int16", "--to", "int32")
EPOCH = 1_700_000_000


def junit(folder, name, **environment):
    words = ("run", "--backend", "planted.deviating:Slow", *ASKED)
    done = convcheck(*words, "-o", name, "-o", f"{name}.json", cwd=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return parse(folder / name).getroot()


def test_each_case_has_its_time_and_of_a_report_that_is_read_none_is_known(tmp_path):
    before = datetime.now(UTC).replace(microsecond=0)
    root = junit(tmp_path, "junit.xml")
    times = {test.get("name"): float(test.get("time", "-1")) for test in root.iter("testcase")}
    assert times["int8-to-int32"] >= 0.3
    assert times["int8-to-int16"] >= 0
    [suite] = root
    assert abs(float(suite.get("time", "0")) - sum(times.values())) < 0.002
    began = datetime.fromisoformat(suite.get("timestamp", ""))
    assert before <= began <= datetime.now(UTC) + timedelta(seconds=1)
    convcheck("report", "junit.xml.json", "-o", "again.xml", cwd=tmp_path)
    again = parse(tmp_path / "again.xml").getroot()
    assert not any({"time", "timestamp"} & one.attrib.keys() for one in again.iter())


def test_equal_runs_give_equal_bytes_where_the_date_is_given(tmp_path):
    for name in ("1.xml", "2.xml"):
        root = junit(tmp_path, name, SOURCE_DATE_EPOCH=str(EPOCH))
    assert (tmp_path / "1.xml").read_bytes() == (tmp_path / "2.xml").read_bytes()
    assert [suite.get("timestamp") for suite in root] == ["2023-11-14T22:13:20Z"]


def test_a_date_that_is_none_is_said_before_anything_is_asked():
    words = ("run", "--backend", "reference", *ASKED)
    assert "SOURCE_DATE_EPOCH is 'now'" in refused(*words, SOURCE_DATE_EPOCH="now")
