"""Files for the abuse cases: a report, its shards, lists, links to them."""

import pytest
from abuse_cases import ONE, RUN, copied
from command import convcheck

WRONG = "planted.rounding_backends:Truncating"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    failing = ("--backend", WRONG, "onnx.Cast-21", "--from", "float16", "--to", "bfloat16")
    for words in (
        (*RUN.split(), "-o", "r.json"),
        ("run", *failing, "-o", "failing.json"),
        ("known", "k.toml", "failing.json"),
        *((*f"run --backend reference {ONE} onnx.Cast-23 --shard {n}/2".split(), "-o",
           f"s{n}.json") for n in (1, 2)),
    ):  # fmt: skip
        assert convcheck(*words, cwd=folder).returncode in (0, 1)
    (folder / "inputs").write_text("0x01\n")
    (folder / "answers").write_text("00000000\n3f800000\n")
    (folder / "link.json").symlink_to("r.json")
    (folder / "hard.json").hardlink_to(folder / "r.json")
    (folder / "loop").symlink_to("loop")
    (folder / "full").mkdir()
    (folder / "full" / "letter.txt").write_text("of somebody else")
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    found = copied(prepared, tmp_path)
    (found / "hard.json").unlink()
    (found / "hard.json").hardlink_to(found / "r.json")
    return found
