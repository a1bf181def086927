# SPDX-License-Identifier: Apache-2.0
"""Hosts whose clocks differ by a known amount: what `dprof report` finds, and that nothing else changes."""
import shutil

import support
from support import DPROF, TRAINER, EndToEnd
from test_collector_clocks import Axis

HOSTS = support.ROOT / "scripts/hosts"
SKIPPED = 77
STEPS = 100
MOST_BOUND_NS = support.MS  # the probes' round trip on a loaded machine


class HostsClock(EndToEnd):
    def setUp(self):
        super().setUp()
        self.need_trainer()

    def need_hosts(self):
        done = self.command(HOSTS, 1, "--", "true")
        if done.returncode == SKIPPED:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)

    def record_on_hosts(self, *trainer, fake=None):
        """Host 1 may have a fake clock on top of the monotonic clock of its time namespace, 1000 s ahead."""
        shutil.rmtree(self.run_folder, ignore_errors=True)
        option = f"$([ $DPROF_HOST_INDEX = 1 ] && echo --fake-clock {fake})" if fake else ""
        arguments = " ".join(str(a) for a in trainer)
        done = self.command(HOSTS, 2, "--", "sh", "-c", f"exec {DPROF} record -o run {option} -- {TRAINER} {arguments}")
        self.assertEqual(done.returncode, 0, f"\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")

    def record_on_this_machine(self, fake, *trainer):
        """Two recorders without namespaces: the fake clock alone makes two hosts."""
        job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port()), "WORLD_SIZE": "2",
               "LOCAL_WORLD_SIZE": "1", "LOCAL_RANK": "0"}
        processes = [self.start(DPROF, "record", "-o", self.run_folder, *options, "--", TRAINER, *trainer, RANK=str(rank),
                                **job)
                     for rank, options in ((0, ()), (1, ("--fake-clock", fake)))]
        for process in processes:
            out, error = process.communicate(timeout=100)
            self.assertEqual(process.returncode, 0, f"\n--- stdout\n{out}\n--- stderr\n{error}")

    def truth_at(self, trace_ns):
        """How far rank 1's clock was ahead of rank 0's, on the axis before alignment, at a time of rank 1's trace."""
        shift = int(self.other.trace.meta["origin_realtime_ns"]) - int(self.reference.trace.meta["origin_realtime_ns"])
        return trace_ns + shift - self.reference.at(self.other.ticks(trace_ns))

    def check_clock(self, report, offset_s, ppm):
        axes = [Axis(self.trace(0)), Axis(self.trace(1), offset_s, ppm)]
        for rank, axis in enumerate(axes):
            axis.trace = self.trace(rank)
        self.reference, self.other = axes
        clock = report["clock"]
        self.assertEqual(len(clock["hosts"]), 2, clock)
        same, host = clock["hosts"]
        self.assertEqual((same["method"], same["offset_ns"], same["bound_ns"]), ("same clock", 0, 0))
        self.assertIn(host["method"], ("probes", "probes and collectives"))
        self.assertGreaterEqual(host["probes"], 16)
        self.assertEqual(host["resets"], 0)
        self.assertEqual(clock["violations"], 0, clock)
        self.assertGreaterEqual(clock["checked"], STEPS)
        self.assertLessEqual(host["bound_ns"], MOST_BOUND_NS)
        if self.other.trace.meta["clock_source"] != "tsc":
            return  # CLOCK_MONOTONIC has another zero on each host: nobody knows the truth
        first, last = (int(self.other.trace.meta[key]) for key in ("first_event_ns", "last_event_ns"))
        shift = int(self.other.trace.meta["origin_realtime_ns"]) - int(self.reference.trace.meta["origin_realtime_ns"])
        truth = self.truth_at(host["at_ns"] + host["offset_ns"] - shift)
        print(f"offset {host['offset_ns']} ns, off by {host['offset_ns'] - truth:.0f} ns, bound {host['bound_ns']} ns, "
              f"likely {host['likely_ns']} ns, drift {host['drift_ppb']} ppb, {host['probes']} probes")
        self.assertLessEqual(abs(host["offset_ns"] - truth), host["bound_ns"])
        drift = (self.truth_at(last) - self.truth_at(first)) / (last - first) * 1e9
        self.assertLessEqual(abs(host["drift_ppb"] - drift), 2 * host["bound_ns"] / (last - first) * 1e9)

    def test_a_fake_clock_on_another_host(self):
        """An offset of 3 s and a drift of 20 ppm, found within the bound that the report prints."""
        self.need_hosts()
        self.record_on_hosts("--steps", STEPS, "--inject", "backward:rank=0,ms=40", fake="3,20")
        report = self.report()
        self.check_clock(report, 3, 20)
        self.check_breakdown(report, ranks=2)

    def test_ten_seconds_and_minus_50_ppm(self):
        self.record_on_this_machine("10,-50", "--steps", STEPS, "--inject", "backward:rank=0,ms=40")
        report = self.report()
        self.check_clock(report, 10, -50)
        self.check_breakdown(report, ranks=2)

    def test_ranks_compare_as_without(self):
        """The straggler, and what it costs, do not depend on the clocks. The ranks compute for 2 ms: of two that compute
        for long, the other can be slow by itself, and the cost is then less than what is injected."""
        self.need_hosts()
        for fake in (None, "3,20"):
            with self.subTest(fake=fake):
                def record():
                    self.record_on_hosts("--steps", STEPS, "--model", "mlp:784,64,10", "--batch", 16,
                                         "--inject", "backward:rank=0,ms=40", fake=fake)

                self.undisturbed(record)
                report = self.report()
                self.check_breakdown(report, ranks=2)
                self.check_culprit(report, 0, 40 * support.MS, ("compute", "host", "mixed"))
                if fake:
                    self.check_clock(report, 3, 20)
