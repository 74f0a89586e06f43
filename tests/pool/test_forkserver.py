import multiprocessing
import shutil
import tempfile
import time

from command import convcheck, convcheck_process

RUN = ("run", "onnx.Cast-13", "--from", "float16", "--to", "float32", "--no-progress", "-j", "1")
TELLING = ("--backend", "tests.planted.bad_backends:Telling")


def test_a_worker_has_nothing_of_the_command_and_ends_as_a_python_does(tmp_path):
    told = tmp_path / "told"
    done = convcheck_process(*RUN, *TELLING, CONVCHECK_TEST_TOLD=str(told))
    assert done.returncode == 1, done.stderr
    assert told.read_text().splitlines() == ["False ['-c'] True", "ends"]


def test_a_backend_that_removes_the_folder_of_the_socket_ends_no_run():
    folder = tempfile.mkdtemp()  # a socket's path is short
    done = convcheck_process(
        "run", "--backend", "tests.planted.untyped_backends:RemovesTemporaryFolder", "onnx.Cast-21",
        "--from", "bool", "--to", "float32", "--to", "float16", "-j", "1", "--no-progress",
        TMPDIR=folder, CONVCHECK_TEST_FOLDER=folder,
    )  # fmt: skip
    shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 1, done.stderr
    assert "died of SIGABRT" in done.stdout


def test_a_folder_whose_name_is_too_long_for_a_socket_is_told(tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    done = convcheck_process(*RUN, "--backend", "ort", TMPDIR=str(folder))
    assert done.returncode in (0, 4), done.stderr  # from Python 3.14 on it is not too long
    assert not done.returncode or "TMPDIR must be a folder" in done.stderr


def test_the_processes_of_others_are_left_alone():
    """Other processes of the standard library's fork server are not stray workers."""
    other = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(60,))
    other.start()
    done = convcheck(*RUN, "--backend", "tests.planted.bad_backends:Segfault")
    assert done.returncode == 1, done.stderr
    assert other.is_alive()
    other.kill()
    other.join()
