# SPDX-License-Identifier: Apache-2.0
"""`dprof record --on-hang`: jobs that hang while they are recorded, and jobs that only look so (docs/record.md)."""
import json
import os
import signal

from support import BIN, DPROF, HERE, TRAINER, EndToEnd, Trace, rank_process, wait_until

PROBE = BIN.parent / "test_bin/step_probe"
CONVNET = ("--model", "convnet", "--batch", 16)
HANGS = (*CONVNET, "--steps", 12, "--inject", "hang:rank=1,step=5")
LONG = ("--timeout", 100)  # the watch is quicker
WORDS = "the job hangs"


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class HangWatch(EndToEnd):
    stopped = None

    def tearDown(self):
        if self.stopped:  # it would outlive its recorder
            end(self.stopped)
        super().tearDown()

    def watched(self, *command, mode="stacks", after="2s", ranks=None):
        launcher = [] if ranks is None else ["-n", ranks]
        return self.command(DPROF, "record", *launcher, "-o", self.run_folder, "--on-hang", mode, "--hang-after", after, "--",
                            *command)

    def report(self):
        done = self.command(DPROF, "report", self.run_folder, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_rank_1_hangs(self, said, function):
        for words in (WORDS, "rank 1 has not entered all_reduce #10 of", "where rank 0 waits"):
            self.assertIn(words, said)
        report = self.report()
        verdict = report["ending"]["verdict"]
        self.assertEqual((verdict["kind"], verdict["ranks"]), ("hang", [1]), report["ending"])
        culprit = report["hang"]["ranks"][0]
        self.assertEqual(culprit["rank"], 1)
        self.need_stacks()
        frames = [frame for frame in culprit["stack"] if function in frame["function"]]
        self.assertTrue(frames, culprit)
        self.assertIn(function, report["hang"]["reason"])
        self.assertIn(function, self.command(DPROF, "report", self.run_folder).stdout)
        self.assertRegex(said, f"rank 1 is in .*{function}")
        return frames[0]

    def need_stacks(self):
        """Where nobody may look into processes, or dprof was built without libdw, there are none; the trace says so."""
        for text, in self.trace(1).rows("SELECT value FROM diagnostic JOIN string ON string.id = text_id "
                                        "WHERE code = 'no_stacks'"):
            if "permitted" in text or "without libdw" in text:
                self.skipTest(text)

    def start_watched(self, *command, ranks, mode="stacks", after="1s"):
        return self.start(DPROF, "record", "-n", ranks, "-o", self.run_folder, "--on-hang", mode, "--hang-after", after, "--",
                          *command)

    def said_until(self, process, words):
        said = ""
        while words not in said:
            line = process.stderr.readline()
            self.assertTrue(line, f"it ended without '{words}':\n{said}")
            said += line
        return said

    def has_stepped(self):
        """Every trace has two steps."""
        def steps(path):
            try:
                with Trace(path) as trace:
                    return trace.value("SELECT count(*) FROM step")
            except Exception:  # being made
                return 0
        paths = list(self.run_folder.glob("*.dprof")) if self.run_folder.exists() else []
        return len(paths) == 2 and all(steps(path) >= 2 for path in paths)


class OfTheTrainer(HangWatch):
    programs = (DPROF, TRAINER)

    def test_stacks_are_native_ones(self):
        done = self.watched(TRAINER, *HANGS, "--timeout", 6, ranks=2)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.check_rank_1_hangs(done.stderr, "FaultPlayer::end_rank")
        rows = self.trace(0).rows("SELECT DISTINCT os_tid FROM stack_frame WHERE kind = 1")
        self.assertGreater(len(rows), 3, "of all threads")

    def test_kill_ends_the_job_and_it_is_still_a_hang(self):
        done = self.watched(TRAINER, *HANGS, *LONG, mode="kill", ranks=2)
        self.assertEqual(done.returncode, 128 + signal.SIGTERM, done.stderr)
        self.assertIn("killing 2 ranks because the job hangs", done.stderr)
        codes = [said["code"] for said in json.loads((self.run_folder / "run.json").read_text())["diagnostics"]]
        self.assertEqual([code for code in codes if code.startswith("hang")], ["hang", "hang_killed"])
        self.check_rank_1_hangs(done.stderr, "FaultPlayer::end_rank")

    def test_a_stopped_rank_is_said_and_that_it_goes_on(self):
        process = self.start_watched(TRAINER, *CONVNET, "--steps", 300, *LONG, ranks=2)
        wait_until(self.has_stepped, 30, "two steps")
        rank = rank_process(process.pid, TRAINER.name, 1)
        self.stopped = rank
        os.kill(rank, signal.SIGSTOP)
        said = self.said_until(process, "is stopped")
        self.assertRegex(said, r"\n  rank 1: process .* it is stopped", "whether it had come to the collective or not")
        self.said_until(process, "stacks of all threads")
        os.kill(rank, signal.SIGCONT)
        self.said_until(process, "the job continues; the hang lasted")
        _, rest = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, rest)
        # On a busy machine a second may pass without a step again.
        self.assertEqual(rest.count(WORDS), rest.count("the job continues"), rest)
        report = self.report()
        self.assertEqual(report["ending"]["verdict"]["kind"], "ok", report["ending"])
        self.assertIsNone(report["hang"])

    def test_a_hang_that_goes_on_is_reported_as_one(self):
        process = self.start_watched(TRAINER, *HANGS, *LONG, ranks=2, mode="report")
        self.said_until(process, WORDS)
        ending = wait_until(lambda: self.report()["ending"], 10, "a report that knows it, while the job is recorded")
        self.assertEqual((ending["verdict"]["kind"], ending["verdict"]["ranks"]), ("hang", [1]), ending)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        verdict = self.report()["ending"]["verdict"]
        self.assertEqual((verdict["kind"], verdict["ranks"]), ("hang", [1]), verdict)


class OfSteps(HangWatch):
    programs = (DPROF, PROBE)

    def test_slow_steps_are_no_hang(self):
        done = self.watched(PROBE, "--steps", 4, "--step-ms", 1200, mode="kill", ranks=2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(WORDS, done.stderr)

    def test_where_nobody_waits_nobody_is_killed(self):
        done = self.watched(PROBE, "--steps", 2, "--step-ms", 2500, mode="kill", after="1s", ranks=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no rank waits in a collective, so this may not be a hang", done.stderr)

    def test_a_default_run_is_left_alone(self):
        shows = "env | grep DPROF_STACKS || echo none"
        done = self.command(DPROF, "record", "-o", self.run_folder, "--", "/bin/sh", "-c", shows)
        self.assertEqual(done.stdout, "none\n")

    def test_wrong_options(self):
        for options in (("--hang-after", "5s"), ("--on-hang", "panic"), ("--on-hang", "report", "--hang-after", "soon")):
            done = self.command(DPROF, "record", *options, "-o", self.run_folder, "--", "true")
            self.assertEqual(done.returncode, 2, options)


class OfPython(HangWatch):
    def setUp(self):
        super().setUp()
        self.python = self.need_python_torch()

    def job(self, ending, function, mode="stacks"):
        done = self.watched(self.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
                            HERE / "ending.py", "--ending", ending, "--timeout", 100, mode=mode)
        self.assertNotEqual(done.returncode, 0)
        frame = self.check_rank_1_hangs(done.stderr, function)
        self.assertEqual((frame["kind"], os.path.basename(frame["file"])), ("python", "ending.py"))
        text = (HERE / "ending.py").read_text().splitlines()[frame["line"] - 1]
        return text.strip()

    def test_a_deadlock_on_a_lock(self):
        self.assertEqual(self.job("deadlock", "lock_twice", mode="kill"), "lock.acquire()")

    def test_a_blocked_read_from_a_pipe(self):
        self.assertEqual(self.job("read", "read_nothing", mode="kill"), "os.read(reader, 1)")
