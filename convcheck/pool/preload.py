"""The first module that a fork server imports, and only a fork server imports it.

It prepares the process, then imports what every worker needs. It starts no threads, because a
process that forks has one, and it imports nothing random: each fork would draw the same numbers.
"""

import atexit
import gc
import importlib
import os
import resource
import signal
import warnings

from convcheck.pool.forkserver import ADOPT_ORPHANS, end_server, set_on_linux

YOUNG = 200_000  # objects, before cycles are looked for: a process here makes many, and few cycles

os.setpgid(0, 0)  # the terminal's Ctrl-C is not for this process
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
with open(os.devnull, "w") as nothing:
    os.dup2(nothing.fileno(), 1)
    os.dup2(nothing.fileno(), 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
set_on_linux(ADOPT_ORPHANS, 1)
atexit.register(end_server)
warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")  # of an orphan
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # workers get an environment of their own
# np.unique needs numpy.ma
for name in ("numpy.ctypeslib", "numpy.ma", "convcheck.pool.worker", "convcheck.vectors.corpus"):
    importlib.import_module(name)
gc.set_threshold(YOUNG)
gc.freeze()  # no collection looks at what all workers share
