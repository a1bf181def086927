# SPDX-License-Identifier: Apache-2.0
"""The collector on a real GPU: `ctest -L gpu`. Where there is none each case says so and is skipped."""
import os
import pathlib
import signal
import statistics
import subprocess
import time

from support import DPROF, EndToEnd, TRAINER

CUDA = ("--backend", "nccl", "--steps", "20")  # takes a GPU for each rank


def gpus():
    """How many there are for a driver that answers: a device file alone may be left over."""
    if not pathlib.Path("/dev/nvidiactl").exists():
        return 0
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return done.stdout.count("GPU ") if done.returncode == 0 else 0


class Gpu(EndToEnd):
    def setUp(self):
        super().setUp()
        if gpus() == 0:
            self.skipTest("no GPU: needs /dev/nvidiactl and an nvidia-smi that answers")
        self.need_trainer()

    def kernels(self, trace):
        return trace.value("SELECT count(*) FROM gpu_activity WHERE kind = 0")

    def record_gpu(self, *options, want=0, **how):
        return self.record_trainer(*CUDA, ranks=1, options=options, want=want, **how)

    def test_kernels(self):
        """Kernels are there, each joined to its launch, within the run, on their stream in order."""
        self.record_gpu()
        trace = self.trace(0)
        self.assertEqual(trace.meta["cuda_source"], "on")
        self.assertGreater(self.kernels(trace), 100)
        joined = trace.value("SELECT count(*) FROM gpu_activity g WHERE kind = 0 AND EXISTS (SELECT 1 FROM host_range h "
                             "WHERE h.correlation = g.correlation)")
        self.assertGreater(joined, 0.95 * self.kernels(trace))
        self.assertEqual(trace.losses(), [])

    def test_clock(self):
        """No kernel begins before its launch was called, but for 50 us of interpolation."""
        self.record_gpu()
        early = self.trace(0).value(
            "SELECT count(*) FROM gpu_activity g JOIN host_range h ON h.correlation = g.correlation "
            "WHERE g.kind = 0 AND g.start_ns < h.start_ns - 50000")
        self.assertEqual(early, 0)

    def test_nccl_launches(self):
        """NCCL's collectives know their kernels. With one rank NCCL tells a plugin nothing."""
        if gpus() < 2:
            self.skipTest("needs two GPUs: NCCL launches nothing of its own for one rank")
        self.record_trainer(*CUDA, ranks=2)
        for rank in (0, 1):
            self.assertGreater(self.trace(rank).value(
                "SELECT count(*) FROM collective WHERE backend = 2 AND start_ns IS NOT NULL"), 0)

    def test_dependencies(self):
        self.record_gpu("--detail", "full")
        trace = self.trace(0)
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_dependency"), 0)
        self.assertGreater(trace.value("SELECT count(*) FROM kernel_shape"), 100)

    def test_off(self):
        self.record_gpu("--cuda", "off")
        trace = self.trace(0)
        self.assertEqual(trace.meta["cuda_source"], "off: --cuda=off")
        self.assertEqual(self.kernels(trace), 0)

    def test_killed(self):
        """What a killed run keeps: all but about the last second."""
        recorder = self.start(DPROF, "record", "-n", "1", "-o", self.run_folder, "--", TRAINER, "--backend", "nccl",
                              "--steps", "100000")
        time.sleep(20)
        ranks = subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()
        self.assertTrue(ranks, "the recorder has no child")
        for pid in ranks:
            os.kill(int(pid), signal.SIGKILL)
        recorder.communicate(timeout=100)
        trace = self.trace(0)
        self.assertGreater(self.kernels(trace), 100)
        last_gpu, = trace.rows("SELECT max(start_ns) FROM gpu_activity")[0]
        last_host, = trace.rows("SELECT max(start_ns) FROM host_range")[0]
        self.assertLess(last_host - last_gpu, 5_000_000_000)

    def test_cost(self):
        """Printed, not judged: time of a run for each mode, three times each, in turn."""
        modes = {"not recorded": None, "off": ("--cuda", "off"), "light": ("--detail", "light"),
                 "standard": ("--detail", "standard"), "full": ("--detail", "full")}
        times = {mode: [] for mode in modes}
        for turn in range(3):
            for mode, options in modes.items():
                job = [TRAINER, "--backend", "nccl", "--steps", "200"]
                started = time.monotonic()
                if options is None:
                    done = self.command(*job)
                    self.assertEqual(done.returncode, 0, done.stderr)
                else:
                    self.record(*job, ranks=1, options=options, run=self.folder / f"{mode}-{turn}")
                times[mode].append(time.monotonic() - started)
        for mode, taken in times.items():
            print(f"{mode}: median {statistics.median(taken):.3f} s of {['%.3f' % one for one in taken]}")
