"""An environment with an old ONNX Runtime, made once per session as in `convcheck history`."""

import fcntl

from convcheck.history.environments import Release, made_environment, parse_wanted

RELEASE = Release("1.16.3", "2023-11-20")


def old_environment(folder):
    wanted = parse_wanted(f"onnxruntime=={RELEASE.version}..{RELEASE.version}")
    with (folder / "environment.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return made_environment(wanted, RELEASE, folder)
