"""Becomes another program that ends when its parent does. Run by its path, imports nothing of ours.

Usage: `python child.py PARENT_PID PROGRAM ARGUMENT…`. Linux (prctl(2)); elsewhere the program
merely starts. The kernel's SIGKILL is right here: web and worker may be killed at any instant,
and nothing else surely ends them when their parent was killed.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # It may have died before the line above.
    if os.getppid() == int(parent):
        os.execv(program, [program, *arguments])  # noqa: S606 - a list, no shell


if __name__ == "__main__":
    main()
