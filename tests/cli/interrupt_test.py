#!/usr/bin/env python3
"""interrupt_test.py RANKFALL: Ctrl-C and SIGTERM in the middle of a long job on a terminal: the line of progress ends, the command
says that it was stopped, and the process ends by the signal. And `manual` on a terminal that has no man: no roff."""

import os
import pty
import select
import signal
import sys
import time

rankfall = sys.argv[1]
failed = False


def stop(number):
    """What the terminal got, and how the process ended."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(rankfall, [rankfall, "measure", "bert-base@init", "--samples", "1000", "--tokens", "128"])
    out = b""
    sent = False
    end = time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        if not sent and b"%" in out:
            os.kill(pid, number)
            sent = True
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return out.decode(errors="replace"), status


for number, word in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")):
    out, status = stop(number)
    if not out.endswith(f"\r\nrankfall: {word}\r\n"):
        failed = True
        print(f"FAILED: the terminal's last words are {out[-120:]!r}")
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != number:
        failed = True
        print(f"FAILED: ended with status {status}, expected signal {number}")

pid, terminal = pty.fork()
if pid == 0:
    os.execve(rankfall, [rankfall, "manual"], {"PATH": "/nonexistent", "TERM": "xterm"})
out = b""
try:
    while piece := os.read(terminal, 65536):
        out += piece
except OSError:
    pass
_, status = os.waitpid(pid, 0)
if b"\n.SH" in out or b"rankfall help COMMAND" not in out or os.waitstatus_to_exitcode(status) != 2:
    failed = True
    print(f"FAILED: manual without man: status {status}, {out[-200:]!r}")
sys.exit(failed)
