# SPDX-License-Identifier: Apache-2.0
"""Ranks and recorders that are killed or stopped: what was written stays, training is not harmed."""
import os
import signal
import sys
import time

import support
from support import DPROF, HERE, IN_NO_HURRY, MS, TRAINER, EndToEnd, Trace

ENDLESS = 1_000_000  # steps; the case ends it


class Accidents(EndToEnd):
    def open_traces(self):
        """The traces as they are called while they are recorded."""
        return list(self.run_folder.glob("*.dprof"))

    def steps_so_far(self):
        """The smallest number of steps in any of the two traces; 0 while one is missing."""
        counts = []
        for path in self.open_traces():
            try:
                with Trace(path) as trace:
                    counts.append(trace.value("SELECT count(*) FROM step"))
            except support.sqlite3.Error:
                return 0
        return min(counts) if len(counts) == 2 else 0

    def start_training(self, *options, steps=ENDLESS):
        self.need_trainer()
        recorder = self.start(DPROF, "record", "-n", 2, "-o", self.run_folder, *options, "--", TRAINER, "--steps", steps,
                              "--timeout", 10)
        support.wait_until(lambda: self.steps_so_far() > 20 or recorder.poll() is not None, 30, "20 recorded steps")
        self.assertIsNone(recorder.poll(), "the recorder ended by itself")
        return recorder

    def test_killed_rank_loses_nothing(self):
        recorder = self.start_training()
        victim = support.rank_process(recorder.pid, "dprof-trainer", 1)
        self.assertIsNotNone(victim)
        os.kill(victim, signal.SIGKILL)
        killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 128 + signal.SIGKILL, "the first failing rank's code")

        trace = self.trace(1)
        self.check_whole(trace)
        self.assertEqual(trace.meta["ended"], "process_killed")
        self.assertEqual(trace.losses(), [])
        last_ns = trace.value("SELECT max(start_ns + ifnull(duration_ns, 0)) FROM host_range")
        silence_ns = killed_ns - (last_ns + int(trace.meta["origin_monotonic_raw_ns"]))
        self.assertLess(silence_ns, 200 * MS, "records up to the kill are there")
        self.check_whole(self.trace(0))
        report = self.report()
        self.check_breakdown(report, ranks=2)
        self.assertIn("process_killed", [d["code"] for d in report["recording"]["diagnostics"]])

    def test_killed_recorder_does_not_end_training(self):
        """The job goes on without it and ends well, and so does what waits for the job. `recover` finishes the traces."""
        self.need_trainer()
        codes = self.folder / "codes.txt"
        recorder = self.start(DPROF, "record", "-o", self.run_folder, "--", sys.executable, HERE / "two_ranks.py", codes,
                              TRAINER, *IN_NO_HURRY)
        support.wait_until(lambda: self.steps_so_far() > 20, 30, "20 recorded steps")
        os.kill(support.recorder_of(recorder), signal.SIGKILL)
        support.wait_until(lambda: support.recorder_of(recorder) is None, 10, "the recorder has ended")
        self.assertFalse(codes.exists(), "the job must outlive the recorder for this to be a test")
        self.assertEqual(recorder.wait(timeout=120), 5)
        self.assertEqual(codes.read_text().split(), ["0", "0"])

        self.assertEqual(self.command(DPROF, "report", self.run_folder).returncode, 0, "readable as it is")
        recovered = self.command(DPROF, "recover", self.run_folder)
        self.assertIn(recovered.returncode, (0, 5), recovered.stderr)
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.meta["ended"], "recovered")
            self.assertGreater(trace.value("SELECT count(*) FROM step"), 20)
        self.check_breakdown(self.report(), ranks=2)

    def test_killed_recorder_does_not_end_the_ranks_it_started(self):
        """With -n their output goes through dprof, too: they must be able to write on without it."""
        self.need_trainer()
        truth = self.folder / "truth.json"
        recorder = self.start(DPROF, "record", "-n", 2, "-o", self.run_folder, "--", TRAINER, *IN_NO_HURRY, "--log-every",
                              5, "--truth", truth)
        support.wait_until(lambda: self.steps_so_far() > 20, 30, "20 recorded steps")
        os.kill(support.recorder_of(recorder), signal.SIGKILL)
        recorder.send_signal(signal.SIGKILL)
        recorder.wait(timeout=10)
        self.assertFalse(truth.exists(), "the job must outlive them for this to be a test")
        support.wait_until(truth.exists, 150, "the job ends by itself and writes its truth")

    def test_a_reader_does_not_disturb_the_recording(self):
        """A trace may be looked into at any time, also in the moment in which it is finished."""
        self.need_trainer()
        recorder = self.start(DPROF, "record", "-n", 2, "-o", self.run_folder, "--", TRAINER, "--steps", 60)
        support.wait_until(lambda: self.steps_so_far() > 20, 30, "20 recorded steps")
        readers = [Trace(path) for path in self.open_traces()]
        for reader in readers:
            reader.db.execute("BEGIN")
            reader.value("SELECT count(*) FROM step")
        _, messages = recorder.communicate(timeout=60)
        for reader in readers:
            reader.close()
        self.assertEqual(recorder.returncode, 0, messages)
        # A trace that was open when it was finished keeps its working name: readers go by meta.
        traces = [Trace(path) for path in self.run_folder.glob("*.dprof")]
        self.traces += traces
        self.assertEqual(sorted(trace.meta["rank"] for trace in traces), ["0", "1"])
        for trace in traces:
            self.check_whole(trace)
            self.assertEqual(trace.meta["ended"], "complete")
            self.assertEqual(trace.value("SELECT count(*) FROM step"), 60)

    def test_stopped_recorder_counts_what_it_lost(self):
        """Rings fill while the recorder is stopped: training goes on, the losses are counted and reported."""
        self.need_trainer()
        recorder = self.start(DPROF, "record", "-n", 2, "-o", self.run_folder, "--detail", "full", "--", TRAINER,
                              "--model", "toy", "--steps", 6000, "--log-every", 100000)
        support.wait_until(lambda: self.steps_so_far() > 20, 30, "20 recorded steps")
        recording = support.recorder_of(recorder)
        os.kill(recording, signal.SIGSTOP)
        time.sleep(3)
        os.kill(recording, signal.SIGCONT)
        _, messages = recorder.communicate(timeout=90)
        self.assertEqual(recorder.returncode, 5, messages)
        self.assertIn("lost", messages)
        lost = 0
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            lost += sum(count for _, reason, count in trace.losses() if reason == "ring_full")
        self.assertGreater(lost, 0)
        report = self.report()
        self.assertEqual(sum(entry["count"] for entry in report["recording"]["lost"] if entry["reason"] == "ring_full"),
                         lost)
