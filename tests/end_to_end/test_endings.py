# SPDX-License-Identifier: Apache-2.0
"""Jobs that fail, and jobs that end well: what `dprof report` says of their end (docs/analysis/endings.md)."""
import json

from support import DPROF, HERE, TRAINER, EndToEnd

CONVNET = ("--model", "convnet", "--batch", 16, "--steps", 12)
SOON = ("--timeout", 5)
# In a script: until the collector has had its turn, at most 10 s.
WAIT_FOR_US = """
import os, sys, time, torch
for _ in range(500):
    if "LD_PRELOAD" not in os.environ or sys.excepthook is not sys.__excepthook__: break
    time.sleep(.02)
"""


class Endings(EndToEnd):
    programs = (DPROF, TRAINER)

    def ending(self, *command, ranks=2, want=1):
        """Records it; the report and the first three lines of its text. `want`: its code, or several that may be; None = any
        code but 0."""
        launcher = [] if ranks is None else ["-n", ranks]
        recorded = self.command(DPROF, "record", *launcher, "-o", self.run_folder, "--", *command)
        wanted = (want,) if isinstance(want, int) else want
        self.assertTrue(recorded.returncode in wanted if wanted else recorded.returncode != 0, recorded.stderr)
        self.assertEqual("FAILED: " in recorded.stderr, want != 0, recorded.stderr)
        done = self.command(DPROF, "report", self.run_folder, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        text = self.command(DPROF, "report", self.run_folder).stdout
        return report, "\n".join(text.splitlines()[:3])

    def check(self, report, kind, ranks):
        verdict = report["ending"]["verdict"]
        self.assertEqual((verdict["kind"], verdict["ranks"]), (kind, ranks), report["ending"])
        if kind == "ok":
            self.assertNotIn("run.failed", [f["rule"] for f in report["findings"] or ()])
            return
        first = report["findings"][0]
        self.assertEqual((first["rule"], first["cause"], first["ranks"]), ("run.failed", kind, ranks))
        self.assertTrue(first["title"] and first["detail"] and first["advice"], first)
        for rank in report["breakdown"]["per_rank"] if report["breakdown"] else ():
            self.assertLess(rank["category_ns"]["exposed_transfer"], 1e9, "a time-out is no transfer")


class OfTheTrainer(Endings):
    def broken(self, fault, kind, *options, words=(), want=1):
        report, head = self.ending(TRAINER, *CONVNET, "--inject", fault, *options, want=want)
        self.check(report, kind, [1])
        for word in ("FAILED", "rank 1", *words):
            self.assertIn(word, head)
        return report

    def test_a_crash(self):
        report = self.broken("crash:rank=1,step=5", "crash", words=("SIGSEGV",), want=139)
        self.assertEqual(report["ending"]["ranks"][1]["signal"], 11)

    def test_a_hang_that_times_out(self):
        report = self.broken("hang:rank=1,step=5", "hang", *SOON, words=("all_reduce",))
        self.assertIn("Timed out", report["ending"]["ranks"][0]["message"])

    def test_a_rank_that_leaves_early(self):
        self.broken("early-exit:rank=1,step=5", "early_exit", *SOON, words=("all_reduce",), want=1)

    def test_a_kill(self):
        self.broken("kill:rank=1,step=5", "killed", words=("SIGKILL",), want=137)

    def test_another_order(self):
        report, head = self.ending(TRAINER, *CONVNET, "--inject", "wrong-order:rank=1,step=5", *SOON)
        self.assertEqual(report["ending"]["verdict"]["kind"], "desync", report["ending"])
        self.assertIn("ranks 0, 1", head)

    def test_a_wrong_size(self):
        report, head = self.ending(TRAINER, *CONVNET, "--inject", "wrong-size:rank=1,step=5", *SOON, want=None)
        self.assertEqual(report["ending"]["verdict"]["kind"], "desync", report["ending"])
        self.assertIn("rank 1", head)

    def test_a_usage_error(self):
        report, head = self.ending(TRAINER, "--no-such-option", want=2)
        self.assertEqual(report["ending"]["verdict"]["kind"], "startup_failure", report["ending"])
        self.assertIn("exit code 2", head)
        self.assertNotIn("startup.rendezvous", [f["rule"] for f in report["findings"]])

    def test_a_good_end(self):
        report, head = self.ending(TRAINER, *CONVNET, want=0)
        self.check(report, "ok", [])
        self.assertNotIn("FAILED", head)


class OfAnyProgram(Endings):
    """Ranks of -n that fail before they say hello: nothing of ours is loaded into them."""

    SCRIPT = """
import os, sys
print("reads the data", file=sys.stderr)
print("with HF_TOKEN=abcdefgh12345678", file=sys.stderr)
if os.environ["RANK"] == "1": open("/nowhere/data.bin")
"""

    def failing(self, *options):
        script = self.folder / "reads.py"
        script.write_text(self.SCRIPT)
        done = self.command(DPROF, "record", "-n", 2, *options, "-o", self.run_folder, "--", "python3", script)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("FAILED: the job failed before its first step: rank 1 ended with exit code 1", done.stderr)
        report = json.loads(self.command(DPROF, "report", self.run_folder, "--format", "json").stdout)
        self.check(report, "startup_failure", [1])
        return report["ending"]["ranks"][-1]["output"]

    def test_a_rank_that_fails_before_it_says_hello(self):
        output = self.failing()
        self.assertEqual(output[:2], ["reads the data", "with HF_TOKEN=***"])
        self.assertEqual(output[-1], "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/data.bin'")
        text = self.command(DPROF, "report", self.run_folder).stdout
        self.assertIn("STANDARD ERROR   rank 1, its last", text)

    def test_so_many_lines_as_were_asked_for(self):
        self.assertEqual(len(self.failing("--keep-output", 1)), 1)

    def test_no_output_is_kept_where_none_is_wanted(self):
        self.assertEqual(self.failing("--keep-output", 0), [])


class UnderTorchrun(Endings):
    def setUp(self):
        super().setUp()
        self.python = self.need_python_torch()

    def job(self, ending, kind, ranks, want=1):
        torchrun = [self.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        report, head = self.ending(*torchrun, HERE / "ending.py", "--ending", ending, ranks=None, want=want)
        self.check(report, kind, ranks)
        return report

    def test_an_exception(self):
        report = self.job("exception", "exception", [1])
        rank = report["ending"]["ranks"][1]
        self.assertEqual((rank["code"], rank["exception"]), (1, "RuntimeError: the sample cannot be read"))
        self.assertRegex(rank["frames"][0], r"/ending\.py:\d+ fail$")
        self.assertRegex(rank["frames"][-1], r"/ending\.py:\d+ (main|<module>)$")
        self.assertIn("raised RuntimeError: the sample cannot be read (ending.py:", report["ending"]["verdict"]["title"])

    def test_an_exception_whose_process_is_still_ending_when_the_others_time_out(self):
        report = self.job("slowly", "exception", [1])
        self.assertEqual(report["ending"]["ranks"][1]["signal"], 15)
        self.assertIn("waited for it", report["ending"]["verdict"]["title"])

    def test_an_allocation_that_fails(self):
        report = self.job("memory", "out_of_memory", [1])
        self.assertIn("can't allocate memory", report["ending"]["ranks"][1]["exception"])

    def test_a_segmentation_fault(self):
        self.assertEqual(self.job("segv", "crash", [1])["ending"]["ranks"][1]["signal"], 11)

    def test_a_deadlock_that_times_out(self):
        self.job("deadlock", "hang", [1])

    def test_a_process_that_leaves_early(self):
        self.job("_exit0", "early_exit", [1])

    def test_all_that_stop_early_by_agreement(self):
        self.job("all-early", "ok", [], want=0)

    def test_one_rank_that_ends_two_seconds_late(self):
        self.job("late", "ok", [], want=0)


class OfNccl(Endings):
    """A program that makes NCCL's calls to the plugin, and what PyTorch's watchdog does to a rank that waits."""

    def test_nccls_watchdog_ends_who_waited(self):
        host = DPROF.parent.parent / "test_bin/nccl_host"
        if not host.exists():
            self.skipTest(f"no {host}: scripts/build tests")
        report, head = self.ending(host, "watchdog", want=128 + 6)
        self.check(report, "hang", [1])
        self.assertIn("rank 0 waited for it in all_reduce #3 of default_pg", head)


class UnderSpawn(Endings):
    """Children of torch.multiprocessing.spawn, which catch what they raise and hand it to their parent."""

    def job(self, ending, kind, ranks, want=1):
        python = self.need_python_torch()
        report, _ = self.ending(python, HERE / "ending.py", "--spawn", 2, "--ending", ending, ranks=None, want=want)
        self.check(report, kind, ranks)
        return report["ending"]["ranks"][1]

    def test_a_spawned_child_that_raises(self):
        rank = self.job("exception", "exception", [1])
        self.assertEqual((rank["code"], rank["exception"]), (1, "RuntimeError: the sample cannot be read"))
        self.assertRegex(rank["frames"][0], r"/ending\.py:\d+ fail$")

    def test_a_spawned_child_that_leaves(self):
        rank = self.job("exit3", "exception", [1])
        self.assertEqual((rank["code"], rank["exception"]), (3, ""))


class HooksOfTheProgram(Endings):
    """The program's own hooks, output and exit code are what they are without a recording."""

    SCRIPT = """
import threading
def mine(kind, value, trace):
    print("mine:", kind.__name__, value, file=sys.stderr)
    before(kind, value, trace)
before, sys.excepthook = sys.excepthook, mine
worker = threading.Thread(target=lambda: 1 // 0, name="worker")
worker.start()
worker.join()
with torch.profiler.record_function("some work"): torch.ones(2).sum()
sys.exit(7) if LEAVE else [][3]
"""

    def stderr_of(self, recorded, leave):
        script = self.folder / "raises.py"
        script.write_text(f"{WAIT_FOR_US}LEAVE = {leave}\n{self.SCRIPT}")
        record = [DPROF, "record", "--overwrite", "-o", self.run_folder, "--"] if recorded else []
        done = self.command(*record, self.python, script)
        lines = [line for line in done.stderr.splitlines() if not line.lstrip().startswith(("dprof:", "→"))]
        return done.returncode, lines

    def setUp(self):
        super().setUp()
        self.python = self.need_python_torch()

    def test_an_exception_ends_the_program_as_without_us(self):
        plain = self.stderr_of(recorded=False, leave=False)
        self.assertEqual(plain[0], 1)
        self.assertIn("mine: IndexError list index out of range", plain[1])
        self.assertEqual(self.stderr_of(recorded=True, leave=False), plain)
        report = json.loads(self.command(DPROF, "report", self.run_folder, "--format", "json").stdout)
        self.assertEqual(report["ending"]["ranks"][0]["exception"], "IndexError: list index out of range")

    def test_one_that_fails_before_it_did_anything_says_why(self):
        script = self.folder / "early.py"
        script.write_text(WAIT_FOR_US + "raise ValueError('no such model')\n")
        report, head = self.ending(self.python, script, ranks=None)
        self.assertEqual(report["ending"]["verdict"]["kind"], "startup_failure", report["ending"])
        self.assertIn("ValueError: no such model (early.py:", " ".join(head.split()))

    def test_an_exit_code_is_no_exception(self):
        self.assertEqual(self.stderr_of(recorded=True, leave=True), self.stderr_of(recorded=False, leave=True))
        report = json.loads(self.command(DPROF, "report", self.run_folder, "--format", "json").stdout)
        rank = report["ending"]["ranks"][0]
        self.assertEqual(rank["code"], 7)
        self.assertIn("ZeroDivisionError", rank["exception"])
        self.assertIn("in a thread", rank["exception"])
