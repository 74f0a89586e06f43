"""A Python of an environment with a planted runtime that converts int8 to int16, and has one
fault.

planted_runtime.py dies|hangs|lies|raises|ends|strange|fine -I SERVER ort

`ends` ends before the first request. `strange` names an unknown type.
"""

import os
import runpy
import signal
import sys
import time

import numpy as np

ILL = 7


class Planted:
    name, version = "planted", "1"

    def __init__(self, variant):
        pass

    def answer(self, question, given):
        numbers = given[0].codes.view(np.int8).astype(np.int16)
        if (numbers == ILL).any():
            if HOW == "dies":
                os.kill(os.getpid(), signal.SIGSEGV)
            if HOW == "hangs":
                time.sleep(60)
            if HOW == "raises":
                raise KeyError("a fault of the server")
            if HOW == "lies":
                numbers[numbers == ILL] = ILL + 1
        made = "int16x" if HOW == "strange" else "int16"
        return [(made, numbers.shape, numbers.view(np.uint16))]


HOW, server = sys.argv[1], runpy.run_path(sys.argv[3])
if HOW == "ends":
    sys.exit(3)
server["RUNTIMES"]["ort"] = Planted
sys.argv = sys.argv[3:]
sys.exit(server["serve_alone"]())
