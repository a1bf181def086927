# SPDX-License-Identifier: Apache-2.0
"""What the recorder reads from the system while two real ranks run: threads, memory, host."""
import os
import pathlib
import shutil
import signal
import time

from support import DPROF, TRAINER, EndToEnd, wait_until

SECONDS = 6
FAKE_NVML = TRAINER.parent.parent / "test_bin/libdprof_test_fake_nvml.so"


class SystemSamples(EndToEnd):
    programs = (DPROF, TRAINER, FAKE_NVML)

    def record_for(self, seconds, *command, **environment):
        """Two ranks that compute until they are ended, so many seconds after both have been seen."""
        recorder = self.start(DPROF, "record", "-n", 2, "-o", self.run_folder, "--", *command, TRAINER, "--steps",
                              1_000_000, **environment)
        wait_until(lambda: len(list(self.run_folder.glob("*.dprof"))) == 2, 60, "two ranks are recorded")
        time.sleep(seconds)
        recorder.terminate()
        _, errors = recorder.communicate(timeout=100)
        self.assertEqual(recorder.returncode, 128 + signal.SIGTERM, errors)

    def samples(self, trace, kind, subject=None):
        return trace.rows(
            "SELECT time_ns, system_sample.value FROM system_sample JOIN string ON string.id = kind_id "
            "WHERE string.value = ? AND (? IS NULL OR subject = ?) ORDER BY system_sample.id", kind, subject, subject)

    def main_thread(self, trace):
        return trace.value("SELECT os_tid FROM thread_text WHERE role = 'main'")

    def growth(self, rows):
        """How much a counter grew, and over how long."""
        self.assertGreater(len(rows), 1)
        return rows[-1][1] - rows[0][1], rows[-1][0] - rows[0][0]

    def test_what_is_sampled(self):
        self.record_for(SECONDS, DPROF_NVML_LIBRARY=str(FAKE_NVML))
        for check in (self.check_each_second, self.check_looks_at_the_main_thread, self.check_host, self.check_gpus):
            with self.subTest(check.__name__):
                check()

    def check_each_second(self):
        for rank in (0, 1):
            trace = self.trace(rank)
            resident = trace.rows("SELECT time_ns, allocated_bytes, peak_allocated_bytes FROM memory_sample "
                                  "WHERE device_id = -1 ORDER BY id")
            seconds = (resident[-1][0] - resident[0][0]) / 1e9
            self.assertGreater(seconds, SECONDS / 2)
            self.assertGreaterEqual(len(resident) - 1, 0.9 * seconds)
            for _, allocated, peak in resident:
                self.assertGreater(allocated, 10_000_000)  # it has torch in it
                if peak is not None:
                    self.assertGreaterEqual(peak, allocated)
            self.assertIsNotNone(resident[0][2])

            main = self.main_thread(trace)
            cpu = self.samples(trace, "thread.cpu_ns", main)
            self.assertGreaterEqual(len(cpu) - 1, 0.9 * (cpu[-1][0] - cpu[0][0]) / 1e9)
            used, elapsed = self.growth(cpu)
            self.assertGreater(used, 0)
            self.assertLess(used, 1.05 * elapsed)  # one thread, at most one CPU
            for kind in ("thread.run_queue_ns", "thread.voluntary_switches"):
                values = [value for _, value in self.samples(trace, kind, main)]
                self.assertEqual(values, sorted(values), kind)
                self.assertTrue(values, kind)
            self.assertTrue(self.samples(trace, "process.threads"))

    def check_looks_at_the_main_thread(self):
        """20 a second, also of a thread that does nothing."""
        if not pathlib.Path("/proc/self/syscall").exists():
            self.skipTest("this kernel does not show what a thread waits for")
        for rank in (0, 1):
            trace = self.trace(rank)
            looks = self.samples(trace, "thread.wait", self.main_thread(trace))
            self.assertEqual(looks, self.samples(trace, "thread.wait"), "of the main thread alone")
            seconds = (looks[-1][0] - looks[0][0]) / 1e9
            self.assertGreater(seconds, SECONDS / 2)
            self.assertGreater(len(looks), 10 * seconds)
            self.assertLess(len(looks), 30 * seconds)
            values = {value for _, value in looks}
            self.assertIn(0, values)  # it trains
            self.assertLessEqual(values, set(range(6)))

    def check_host(self):
        """In the first rank's trace only, once it is there: in a round before that the second is the lowest one."""
        first, second = self.trace(0), self.trace(1)
        for kind in ("host.cpu_busy_ns", "host.memory_available_bytes", "host.load_1min_milli"):
            samples = self.samples(first, kind)
            self.assertGreaterEqual(len(samples), SECONDS / 2, kind)
            self.assertEqual([one for one in self.samples(second, kind) if one[0] >= samples[0][0]], [], kind)
        index = int(pathlib.Path("/sys/class/net/lo/ifindex").read_text())
        sent, _ = self.growth(self.samples(first, "nic.lo.tx_bytes", index))
        self.assertGreater(sent, 100_000)  # Gloo's gradients go over the loopback

    def check_gpus(self):
        first, second = self.trace(0), self.trace(1)
        for gpu, clock, reasons in ((0, 1980, 0), (1, 1380, 0x40)):
            clocks = self.samples(first, "gpu.sm_clock_mhz", gpu)
            self.assertGreaterEqual(len(clocks), SECONDS / 2)
            self.assertEqual({value for _, value in clocks}, {clock})
            self.assertEqual({value for _, value in self.samples(first, "gpu.throttle_reasons_mask", gpu)}, {reasons})
        self.assertEqual([value for _, value in self.samples(first, "gpu.uuid.GPU-bbbb")], [1])
        begun = self.samples(first, "gpu.sm_clock_mhz", 0)[0][0]
        self.assertEqual([one for one in self.samples(second, "gpu.sm_clock_mhz") if one[0] >= begun], [])

    def test_ranks_on_one_core_wait_for_it(self):
        if shutil.which("taskset") is None:
            self.skipTest("taskset is not installed")
        core = min(os.sched_getaffinity(0))
        self.record_for(SECONDS, "taskset", "-c", core)
        waited = used = elapsed = 0
        for rank in (0, 1):
            trace = self.trace(rank)
            main = self.main_thread(trace)
            part, span = self.growth(self.samples(trace, "thread.run_queue_ns", main))
            waited += part
            elapsed = max(elapsed, span)
            used += self.growth(self.samples(trace, "thread.cpu_ns", main))[0]
        self.assertGreater(waited, 0.15 * elapsed)  # both compute most of the time, one at a time
        self.assertLess(used, 1.1 * elapsed)

    def test_a_missing_nvml_is_reported(self):
        self.record_for(2, DPROF_NVML_LIBRARY="/nowhere/libnvidia-ml.so.1")
        rows = self.trace(0).rows("SELECT string.value FROM diagnostic JOIN string ON string.id = text_id "
                                  "WHERE code = 'not_sampled'")
        self.assertEqual(len(rows), 1)
        self.assertIn("/nowhere/libnvidia-ml.so.1", rows[0][0])
