"""Prepare a fork server and import what every worker needs.

It forks, so it starts no threads, and imports no random generators: each fork would draw the same
numbers.
"""

import atexit
import gc
import importlib
import os
import resource
import signal
import warnings

from convcheck.pool.forkserver import ADOPT_ORPHANS, end_server, set_on_linux

YOUNG = 200_000  # objects before a garbage collection

os.setpgid(0, 0)  # ignore the terminal's Ctrl-C
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
with open(os.devnull, "w") as nothing:
    os.dup2(nothing.fileno(), 1)
    os.dup2(nothing.fileno(), 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
set_on_linux(ADOPT_ORPHANS, 1)
atexit.register(end_server)
warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")  # about orphans
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # workers get another environment
# np.unique needs numpy.ma
for name in ("numpy.ctypeslib", "numpy.ma", "convcheck.pool.worker", "convcheck.vectors.corpus"):
    importlib.import_module(name)
gc.set_threshold(YOUNG)
gc.freeze()  # keeps shared objects out of collections
