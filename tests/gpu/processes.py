# SPDX-License-Identifier: Apache-2.0
"""Processes below one of ours: finding them, and ending all of them."""
import ctypes
import os
import pathlib
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def keep_orphans():
    """Whoever loses its parent below this process becomes its child, so that end_below() finds it. Where the system refuses,
    such processes are not found."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def below(pid):
    """Children of `pid`, and theirs; those that have ended and wait for their parent are left out."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(entry.name))
    found, open_ = [], [pid]
    while open_:
        next_ = children.get(open_.pop(), [])
        found += next_
        open_ += next_
    return found


def end_below(pid, seconds=5):
    """Ends everything below `pid`. Gives what is left after so many seconds (nothing, unless the kernel holds it)."""
    end = time.monotonic() + seconds
    while True:
        left = below(pid)
        if not left or time.monotonic() > end:
            return left
        for one in left:
            try:
                os.kill(one, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)


def words_of(pid):
    """A process's command line."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def running(pid, word):
    """The process below `pid` whose command line has a word that ends so; not a dprof that has it to start it."""
    for one in below(pid):
        words = words_of(one)
        if words and os.path.basename(words[0]) != "dprof" and any(given.endswith(word) for given in words):
            return one
    return None
