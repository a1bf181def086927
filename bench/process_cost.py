# SPDX-License-Identifier: Apache-2.0
"""What a command and all its processes used: CPU time, and user-mode instructions where the machine counts them.

    process_cost.py OUT COMMAND…        runs it, writes JSON to OUT, ends with its exit code

`cpu_s` and `instructions` are of the command's tree, `own_cpu_s` is this program's own; `instructions` is null where they
cannot be read (no counter in a virtual machine, perf_event_paranoid).
"""
import ctypes
import json
import os
import pathlib
import platform
import resource
import struct
import sys

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
INSTRUCTIONS = 1  # of type 0, hardware
DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HV, ENABLE_ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
ATTR_BYTES = 128


def counter_of(pid):
    """A descriptor that counts the instructions of `pid` and its children from its exec on, or None."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    flags = DISABLED | INHERIT | EXCLUDE_KERNEL | EXCLUDE_HV | ENABLE_ON_EXEC
    attr = struct.pack("=IIQQQQQ", 0, ATTR_BYTES, INSTRUCTIONS, 0, 0, 0, flags).ljust(ATTR_BYTES, b"\0")
    if number is None:
        return None
    fd = ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.create_string_buffer(attr, ATTR_BYTES), pid, -1, -1, 0)
    return fd if fd >= 0 else None


def cpu_s(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def run(command, **child_of):
    """Runs it; gives its exit code and what it used. `stdout`: a descriptor for its output."""
    ready, go = os.pipe()
    before = cpu_s(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        os.read(ready, 1)
        for name, number in (("stdout", 1), ("stderr", 2)):
            if name in child_of:
                os.dup2(child_of[name], number)
        os.execvp(command[0], command)
    counter = counter_of(pid)
    os.write(go, b"x")
    status = os.waitpid(pid, 0)[1]
    instructions = struct.unpack("=Q", os.read(counter, 8))[0] if counter is not None else None
    for fd in (ready, go, counter):
        if fd is not None:
            os.close(fd)
    return os.waitstatus_to_exitcode(status), {"cpu_s": cpu_s(resource.RUSAGE_CHILDREN) - before,
                                               "instructions": instructions}


def main():
    code, cost = run(sys.argv[2:])
    cost["own_cpu_s"] = cpu_s(resource.RUSAGE_SELF)
    pathlib.Path(sys.argv[1]).write_text(json.dumps(cost))
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
