"""A module that kills the process that imports it."""

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)
