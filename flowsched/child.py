"""`python child.py PROGRAM ARGUMENTS…`: become a program that is told to stop when its parent dies.

Were `bin/up` or the supervisor killed outright, what they started would go on with nobody to stop it, and the next
`bin/up` would start everything a second time. The kernel's parent-death signal closes that gap on Linux; elsewhere
this only starts the program. Runs before anything heavy is imported, so it stays free of Django.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Ask for the signal, then become the program; the request survives the change."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before we asked
            sys.exit(1)
    os.execv(arguments[0], arguments)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
