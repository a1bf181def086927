# SPDX-License-Identifier: Apache-2.0
"""Training that ends badly: what is still in its trace?"""
import os
import signal

import processes
from part import HERE, Broken, wait_until
from ranks import SHARED_GPU

MOST_MISSING_S = 3.0  # of GPU rows: about a second is CUPTI's, and rows wait for the next flush


class End:
    """One recorded job, and how it is ended."""

    def __init__(self, part, name, run, code):
        self.part, self.name, self.run, self.code = part, name, run, code
        self.log = part.folder / f"{run}.txt"

    def start(self):
        part = self.part
        seconds = 8 if self.run == "os_exit" else 1000
        if part.mode == "fake":
            job = (part.probe, "loop", "--seconds", min(seconds, 60), "--log", self.log)
        else:
            job = part.python_job("--seconds", seconds, "--log", self.log,
                                  *(["--end", "os_exit"] if self.run == "os_exit" else []))
        self.word = "launch_probe" if part.mode == "fake" else "train.py"
        self.recorder = part.start_record(*job, run=self.run)

    def has_trained(self):
        """Some seconds of steps: a flush or more is behind them."""
        if self.recorder.poll() is not None:
            raise Broken(f"{self.name}: the job ended by itself with {self.recorder.returncode}")
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return len(lines) > 10 and int(lines[-1].split()[0]) - int(lines[0].split()[0]) > 3e9

    def strike(self):
        rank = processes.running(self.recorder.pid, self.word)
        if rank is None:
            raise Broken(f"{self.name}: the rank is not there")
        if self.run == "kill":
            os.kill(rank, signal.SIGKILL)
        else:  # a terminal sends it to all that run in the foreground
            os.killpg(self.recorder.pid, signal.SIGINT)

    def check(self):
        """Gives how much is missing at the end, in seconds."""
        part, trace = self.part, self.part.trace(self.run)
        integrity = trace.value("PRAGMA integrity_check")
        part.expect(f"{self.name}: the trace is undamaged", integrity == "ok", integrity)
        part.expect(f"{self.name}: kernels are kept", trace.kernels() > 100, trace.kernels())
        gpu, = trace.rows("SELECT max(start_ns + duration_ns) FROM gpu_activity WHERE kind = 0")[0]
        host = trace.value("SELECT max(last) FROM (SELECT max(start_ns) AS last FROM host_range "
                           "UNION SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_event_ns')")
        if gpu is None:
            return None
        missing = (host - gpu) / 1e9
        part.expect(f"{self.name}: at most {MOST_MISSING_S:.0f} s of GPU rows are missing", missing <= MOST_MISSING_S,
                    f"{missing:.2f} s")
        part.figure(f"{self.name}: GPU rows missing at the end", missing, "s")
        part.figure(f"{self.name}: meta.ended; exit_status", f"{trace.meta.get('ended')}; {trace.meta.get('exit_status')}")
        return missing


def killed(part):
    """Three jobs at once on one GPU, to save time."""
    ends = [End(part, "kill -9", "kill", 137), End(part, "Ctrl-C", "interrupt", None), End(part, "os._exit", "os_exit", 3)]
    if part.mode == "fake":
        ends.pop()  # the stand-in has no Python
    for end in ends:
        end.start()
    for end in ends[:2]:
        wait_until(end.has_trained, part.left() * 0.7, f"{end.name}: some seconds of training")
        end.strike()
    said = []
    for end in ends:
        part.finish(end.recorder, want=None)
        if end.code is not None:
            part.expect(f"{end.name}: dprof ends with {end.code}", end.recorder.returncode == end.code, end.recorder.returncode)
        if part.mode == "cpu":
            continue
        missing = end.check()
        said.append(f"{end.name}: {'no GPU rows' if missing is None else f'{missing:.2f} s missing'}")
    return "; ".join(said)


def hang(part):
    """One rank makes a collective that the other does not make: its kernel never ends, and CUPTI holds the others back."""
    part.record("sh", "-c", 'NCCL_HOSTID=rank$RANK exec "$0" "$@"', part.python, HERE / "jobs/hang.py", ranks=2,
                options=("--hang-after", 5, "--on-hang", "kill"), want=None, **SHARED_GPU)
    said = []
    for rank in (0, 1):
        trace = part.trace(rank=rank)
        launched = trace.calls("cudaLaunchKernel*", "cuLaunchKernel*")
        kernels = trace.kernels()
        open_kernels = trace.value("SELECT count(*) FROM gpu_activity WHERE kind = 0 AND duration_ns IS NULL")
        part.figure(f"rank {rank}: launches; kernels; kernels without an end", f"{launched}; {kernels}; {open_kernels}")
        part.expect(f"rank {rank}: 95 % of the kernels before the hang are there", kernels >= 0.95 * launched > 0,
                    f"{kernels} of {launched}")
        said.append(f"rank {rank}: {kernels:,} kernels of {launched:,} launches")
    return "; ".join(said)
