# SPDX-License-Identifier: Apache-2.0
"""Launchers, exit codes, and runs in which there is nothing to see."""
import json
import shutil
import signal
import time

import support
from support import DPROF, TRAINER, EndToEnd


class Launchers(EndToEnd):
    def test_ranks_under_mpirun(self):
        self.need_trainer()
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed: scripts/setup installs openmpi-bin")
        self.record("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2, TRAINER, "--steps",
                    30, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(support.free_port()))
        for rank in (0, 1):
            trace = self.trace(rank)
            self.check_whole(trace)
            self.assertEqual(trace.meta["launcher"], "openmpi")
            self.assertEqual(trace.meta["rank"], str(rank))
            self.assertEqual(trace.meta["world_size"], "2")
        self.check_breakdown(self.report(), ranks=2)

    def test_own_launcher_tags_the_output(self):
        done = self.record("sh", "-c", "echo rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE", ranks=2,
                           want=5)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] rank 0 of 2, 0 of 2", "[1] rank 1 of 2, 1 of 2"])

    def test_own_launcher_keeps_the_thread_count_that_was_set(self):
        done = self.record("sh", "-c", "echo $OMP_NUM_THREADS", ranks=1, want=5, OMP_NUM_THREADS="3")
        self.assertEqual(done.stdout.strip(), "[0] 3")

    def test_single_process_needs_no_launcher(self):
        self.need_trainer()
        self.record(TRAINER, "--steps", 30)
        self.check_whole(self.trace(0))
        report = self.report()
        self.assertEqual(report["run"]["ranks"], 1)
        self.assertEqual(report["run"]["steps"]["count"], 30)
        self.check_breakdown(report, ranks=1)
        self.assertFalse(report["stragglers"])


class ExitCodes(EndToEnd):
    def test_the_commands_own_code_is_passed_on(self):
        self.record("sh", "-c", "exit 7", want=7)

    def test_a_signal_is_128_and_its_number(self):
        self.record("sh", "-c", "kill -SEGV $$", want=128 + signal.SIGSEGV)

    def test_the_first_failing_rank_ends_the_others(self):
        begin = time.monotonic()
        self.record("sh", "-c", "if [ $RANK = 1 ]; then exit 9; fi; exec sleep 50", ranks=2, want=9)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_command_that_is_not_there(self):
        done = self.command(DPROF, "record", "-o", self.run_folder, "--", "/nonexistent/train")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nonexistent/train", done.stderr)

    def test_usage(self):
        for arguments in (["record"], ["record", "-n", "0", "--", "true"], ["record", "--detail", "most", "--", "true"],
                          ["report"], ["nonsense"], ["report", "x", "--format", "pdf"],
                          ["report", "x", "--sections", "ranks,nonsense"], ["report", "x", "--explain", "first"],
                          ["report", "x", "--explain", "1", "--format", "json"]):
            done = self.command(DPROF, *arguments)
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stderr}")
            self.assertTrue(done.stderr.strip(), arguments)

    def test_a_folder_with_a_run_is_refused(self):
        self.record("true", want=5)
        done = self.record("true", want=2)
        self.assertIn("--overwrite", done.stderr)
        self.record("true", options=["--overwrite"], want=5)

    def test_inputs_that_are_no_runs(self):
        empty = self.folder / "empty.dprof"
        empty.write_bytes(b"")
        text = self.folder / "text.dprof"
        text.write_text("this is not a trace\n" * 100)
        for path in (self.folder / "missing", empty, text):
            done = self.command(DPROF, "report", path)
            self.assertEqual(done.returncode, 3, f"{path}: {done.stderr}")
            self.assertIn(path.name, done.stderr)

    def test_a_damaged_trace_leaves_a_report_of_the_others(self):
        self.record_trainer("--steps", 30)
        damaged = self.run_folder / "rank-00001.dprof"
        damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 3])
        report = self.report(want=3)
        self.assertIn("unreadable_trace", [d["code"] for d in report["recording"]["diagnostics"]])
        self.check_breakdown(report, ranks=1)


class NothingRecorded(EndToEnd):
    def test_a_command_without_torch(self):
        """`true` records nothing: that is said, by the code, too."""
        done = self.record("true", want=5)
        self.assertIn("no_process", done.stderr)
        index = json.loads((self.run_folder / "run.json").read_text())
        self.assertEqual(index["traces"], [])
        report = self.command(DPROF, "report", self.run_folder)
        self.assertEqual(report.returncode, 3)
        self.assertTrue(report.stderr.strip())
