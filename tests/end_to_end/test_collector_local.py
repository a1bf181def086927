# SPDX-License-Identifier: Apache-2.0
"""`dprof record --local`: traces grow on a disk of the node and end in the run folder, whatever comes between."""
import os
import signal
import socket
import sqlite3
import subprocess

import support
from support import DPROF
from test_collector_robustness import MARKS, PROBE, Probed


class Local(Probed):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.local = ("--local", self.disk)

    def check_moved(self, run=None):
        """Nothing is left on the node's disk, and only a run (and its digests) is in the run folder."""
        self.assertEqual(list(self.disk.iterdir()), [])
        names = {path.name for path in (run or self.run_folder).iterdir()}
        self.assertEqual({name for name in names if not name.startswith("rank-")} - {".digest"}, {"run.json"})

    def recover(self, want, run=None, **environment):
        done = self.command(DPROF, "recover", run or self.run_folder, **environment)
        self.assertEqual(done.returncode, want, done.stderr)
        return done.stderr

    def diagnostic(self, code, run=None):
        """The diagnostic of the report with this code, or None."""
        return next((one for one in self.report(run)["recording"]["diagnostics"] if one["code"] == code), None)

    def unknowns(self):
        return " ".join(self.command(DPROF, "report", self.run_folder, "--sections", "unknown").stdout.split())

    def start_rank(self, rank, **environment):
        """The recorder of one rank of two, as srun starts them."""
        return self.start(DPROF, "record", "-o", self.run_folder, *self.local, "--", PROBE, "--marks", MARKS, RANK=str(rank),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT="29999", WORLD_SIZE="2", **environment)

    def finish(self, recorder, want):
        _, messages = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, want, messages)

    def start_marks(self, *options, run=None, last_ms=60_000, **environment):
        """A recording whose marks are written, and whose process lives on."""
        counter = self.folder / "counter"
        recorder = self.start(DPROF, "record", "-o", run or self.run_folder, *self.local, *options, "--", PROBE, "--marks",
                              MARKS, "--counter", counter, "--last-ms", last_ms, **environment)
        support.wait_until(lambda: counter.exists() and int.from_bytes(counter.read_bytes()[:8], "little") == MARKS, 30,
                           "all marks are written")
        return recorder

    def test_finished_traces_are_moved(self):
        done = self.record(PROBE, "--marks", MARKS, ranks=2, options=self.local)
        self.check_moved()
        self.assertEqual([entry["file"] for entry in self.index()["traces"]], ["rank-00000.dprof", "rank-00001.dprof"])
        for rank in (0, 1):
            self.check_marks(rank)
        self.assertIn("recorded 2 ranks", done.stderr)

    def test_nothing_of_a_trace_is_in_the_run_folder_before(self):
        """A network file system there costs nothing while the job runs: no journal, no reader kept out."""
        recorder = self.start_marks(last_ms=6000, DPROF_FAKE_FS_TYPE="0x6969")
        (folder,) = self.disk.iterdir()
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        support.wait_until(lambda: list(folder.glob("*.dprof")), 5, "a trace is there")
        self.assertEqual(list(self.run_folder.glob("*.dprof*")), [])
        _, messages = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, messages)
        self.check_moved()

    def test_two_recorders_of_one_job(self):
        for recorder in [self.start_rank(rank) for rank in (0, 1)]:
            self.finish(recorder, 0)
        for rank in (0, 1):
            self.check_marks(rank)
        self.assertEqual(list(self.disk.iterdir()), [])
        self.assertEqual(list(self.run_folder.glob("*.local")), [])

    def test_a_recorder_that_is_killed(self):
        """What was committed is found by the note in the run folder, finished and moved."""
        recorder = self.start_marks(last_ms=2000)
        support.wait_until(lambda: any(self.disk.glob("*/*.dprof-wal")), 10, "something is committed")
        self.wait_committed()
        os.kill(support.recorder_of(recorder), signal.SIGKILL)
        recorder.communicate(timeout=60)
        self.assertIn("1 moved here", self.recover(5))
        self.check_moved()
        self.assertEqual(self.marks(self.trace(0)), list(range(MARKS)))
        self.assertEqual(self.trace(0).meta["ended"], "recovered")
        self.assertEqual(self.index()["traces"][0]["rank"], 0)
        self.recover(0)

    def wait_committed(self):
        def committed():
            (path,) = self.disk.glob("*/*.dprof")
            try:
                with support.Trace(path) as trace:
                    return len(self.marks(trace)) == MARKS
            except sqlite3.OperationalError:  # its tables are being made
                return False
        support.wait_until(committed, 10, "the marks are committed")

    def test_a_kill_while_traces_are_moved(self):
        recorder = self.start_marks(last_ms=1, DPROF_FAKE_FS_DELAY_US="500000")
        part = support.wait_until(lambda: list(self.run_folder.glob(".*.part")), 60, "a trace is being moved")
        os.kill(support.recorder_of(recorder), signal.SIGKILL)
        recorder.communicate(timeout=60)
        self.assertTrue(part[0].exists())
        self.assertIn("0 finished, 1 already complete, 0 damaged; 1 moved here", self.recover(0))
        self.check_moved()
        self.check_marks()

    def test_the_disk_of_another_node(self):
        """It is said where the traces are; what is here is kept."""
        recorder = self.start_marks(last_ms=2000)
        support.wait_until(lambda: any(self.disk.glob("*/*.dprof-wal")), 10, "something is committed")
        self.wait_committed()
        os.kill(support.recorder_of(recorder), signal.SIGKILL)
        recorder.communicate(timeout=60)
        (folder,) = self.disk.iterdir()
        folder.rename(self.folder / "away")
        said = self.recover(5)
        self.assertIn(f"{folder}: traces of ", said)
        (self.folder / "away").rename(folder)
        self.recover(5)
        self.check_moved()

    def test_no_room_in_the_run_folder(self):
        """Nothing is lost: the traces wait on the node's disk."""
        target = self.folder / "target"
        target.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", target], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
        try:
            run = target / "run"
            done = self.record(PROBE, "--marks", 5000, run=run, options=(*self.local, "--linger", 1), want=5)
            self.assertIn(f"a trace left in {self.disk}", done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(list(run.glob("*.dprof")) + list(run.glob(".*.part")), [])
            report = self.command(DPROF, "report", run)
            self.assertEqual(report.returncode, 3)
            self.assertIn(f"they are on {socket.gethostname()}, in {self.disk}", report.stderr)
            self.assertIn("hint: once the recording has ended, `dprof recover RUN` on that node moves them", report.stderr)
            self.assertIn("No space left on device", self.recover(3, run))
            subprocess.run(["mount", "-o", "remount,size=64m", target], check=True)
            self.recover(0, run)
            self.check_moved(run)
            self.assertEqual(self.marks(self.trace(0, run)), list(range(5000)))
            self.traces.pop().close()
        finally:
            subprocess.run(["umount", "-l", target], check=True)

    def test_a_disk_that_cannot_be_used(self):
        """The run folder takes the traces then, and it is said why."""
        self.disk.write_text("a file")
        done = self.record(PROBE, "--marks", MARKS, options=self.local)
        self.assertIn(f"--local: {self.disk}: Not a directory; recording into {self.run_folder}", done.stderr)
        self.assertNotIn("not_local", done.stderr, "it is said once, at the start")
        self.check_marks()
        diagnostic = self.diagnostic("not_local")
        self.assertEqual((diagnostic["count"], diagnostic["severity"]), (1, "info"))
        self.assertIn(f"did not use --local: {self.disk}: Not a directory", diagnostic["text"])
        self.assertIn("give --local a folder", self.unknowns())

    def test_each_recorder_without_its_disk_is_counted(self):
        self.disk.write_text("a file")
        for rank in (0, 1):
            self.finish(self.start_rank(rank), 0)
        self.assertEqual(self.diagnostic("not_local")["count"], 2)

    def test_a_trace_that_was_left_is_counted(self):
        """Whoever reads the run without it is warned, and learns where it is; after `recover` it is there."""
        self.finish(self.start_rank(0), 0)
        slow = self.start_rank(1, DPROF_FAKE_FS_DELAY_US="500000")
        support.wait_until(lambda: list(self.run_folder.glob(".*.part")), 60, "a trace is being moved")
        slow.send_signal(signal.SIGINT)
        slow.communicate(timeout=60)
        (left,) = self.disk.iterdir()
        diagnostic = self.diagnostic("traces_left")
        self.assertEqual((diagnostic["count"], diagnostic["severity"]), (1, "data_loss"))
        self.assertIn(f"1 trace on {socket.gethostname()}, in {left}: ", diagnostic["text"])
        self.assertIn("was not waited for", diagnostic["text"])
        self.assertIn("`dprof recover RUN` on that node moves them", self.unknowns())
        away = left.rename(self.folder / "away")
        self.assertEqual(self.diagnostic("traces_left")["count"], 1, "on another node the note gives the number")
        away.rename(left)
        self.recover(0)
        self.assertIsNone(self.diagnostic("traces_left"))
        self.check_marks(1)
