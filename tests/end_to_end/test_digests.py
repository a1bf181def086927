# SPDX-License-Identifier: Apache-2.0
"""Digests that are made before anybody asks for a report: by the recorder, and by `dprof digest` in shares."""
import signal

import support
from support import BIN, DPROF
from test_collector_robustness import MARKS, PROBE, Probed

SYNTH = BIN / "dprof-synth"
RANKS = 12


class Digests(Probed):
    def kept(self, run=None):
        """The kept digests: what each file is, and the stamp in it ("-": it says too little)."""
        found = {}
        for path in sorted(((run or self.run_folder) / ".digest").glob("*")):
            found[path.name] = (path.stat().st_ino, path.read_bytes().split(b"\n")[0].split()[-1].decode())
        return found

    def check_kept(self, ranks, run=None):
        """Each rank has one, which a report takes as it is: none is made anew, and the report is that of the traces."""
        kept = self.kept(run)
        self.assertEqual(list(kept), [f"rank-{rank:05}.dprof.digest" for rank in range(ranks)])
        for _, stamp in kept.values():
            self.assertRegex(stamp, r"^\d+:\d+:\d+:[0-9a-f]{8}$")
        report = self.json_of(run)
        self.assertEqual(self.kept(run), kept)
        self.assertEqual(self.json_of(run, "--no-cache"), report)

    def json_of(self, run=None, *options):
        done = self.command(DPROF, "report", run or self.run_folder, "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    # By the recorder

    def test_a_recorder_leaves_them(self):
        self.record(PROBE, "--marks", MARKS, ranks=2)
        self.check_kept(2)

    def test_beside_traces_that_were_moved(self):
        self.record(PROBE, "--marks", MARKS, ranks=2, options=("--local", self.folder / "disk"))
        self.check_kept(2)
        self.assertEqual(list((self.folder / "disk").iterdir()), [])

    def test_two_recorders_make_their_own(self):
        recorders = [self.start(DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", MARKS, RANK=str(rank),
                                MASTER_ADDR="127.0.0.1", MASTER_PORT="29998", WORLD_SIZE="2") for rank in (0, 1)]
        for recorder in recorders:
            self.assertEqual(recorder.wait(60), 0)
        self.check_kept(2)

    def test_not_where_nobody_wants_them(self):
        self.record(PROBE, "--marks", MARKS, ranks=2, options=("--digest", "off"))
        self.assertEqual(self.kept(), {})
        self.record(PROBE, "--marks", MARKS, ranks=2, options=("--overwrite",), DPROF_RECORD_DIGEST="off")
        self.assertEqual(self.kept(), {})

    def test_an_overwritten_run_takes_them_along(self):
        self.record(PROBE, "--marks", MARKS, ranks=2)
        self.record(PROBE, "--marks", MARKS, ranks=1, options=("--overwrite",))
        self.check_kept(1)

    def test_not_of_a_job_that_a_signal_ended(self):
        counter = self.folder / "counter"
        recorder = self.start(DPROF, "record", "-o", self.run_folder, "--", PROBE, "--marks", MARKS, "--counter", counter,
                              "--last-ms", 60_000)
        support.wait_until(lambda: counter.exists() and int.from_bytes(counter.read_bytes()[:8], "little") == MARKS, 30,
                           "all marks are written")
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(30)
        self.assertEqual(self.kept(), {})

    def test_their_fault_is_none_of_the_job(self):
        """What is in the way of .digest, and no cache either: stderr says so, and the exit code is the command's."""
        blocked = self.folder / "blocked"
        blocked.write_text("")
        script = self.folder / "job.sh"
        script.write_text(f"{PROBE} --marks {MARKS}; touch {self.run_folder}/.digest\n")
        done = self.record("sh", script, XDG_CACHE_HOME=str(blocked))
        self.assertIn("not all digests could be made", done.stderr)

    # By `dprof digest`

    def synth(self):
        self.need(SYNTH)
        done = self.command(SYNTH, "--ranks", RANKS, "--hosts", 3, "--steps", 6, "--clock", "host1:offset_ms=3000,ppm=20",
                            "-o", self.run_folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def digest(self, *arguments, want=0):
        done = self.command(DPROF, "digest", self.run_folder, *arguments)
        self.assertEqual(done.returncode, want, done.stderr)
        return done

    def test_shares_are_the_whole(self):
        self.synth()
        numbers = set()
        for share in range(1, 6):
            before = set(self.kept())
            self.digest("--shard", f"{share}/5")
            made = set(self.kept()) - before
            self.assertIn(len(made), (2, 3), "an even deal")
            self.assertFalse(made & numbers)
            numbers |= made
        self.check_kept(RANKS)
        self.assertEqual(self.digest().stdout, f"0 digests made, {RANKS} already existed, 0 failed\n")

    def test_shares_at_the_same_time_and_a_report_meanwhile(self):
        self.synth()
        shares = [self.start(DPROF, "digest", self.run_folder, "--shard", f"{share}/3") for share in (1, 2, 3)]
        twice = self.start(DPROF, "digest", self.run_folder)
        report = self.json_of()
        for process in (*shares, twice):
            _, messages = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, messages)
        self.assertEqual(self.json_of(), report)
        self.check_kept(RANKS)
        self.assertEqual([path for path in (self.run_folder / ".digest").iterdir() if path.suffix == ".part"], [])

    def test_a_damaged_trace_is_said_and_the_others_are_made(self):
        self.synth()
        with open(self.run_folder / "rank-00003.dprof", "r+b") as trace:
            trace.truncate(3000)
        done = self.digest(want=3)
        self.assertIn("rank-00003.dprof", done.stderr)
        self.assertEqual(done.stdout, f"{RANKS - 1} digests made, 0 already existed, 1 failed\n")
        self.assertEqual(len(self.kept()), RANKS - 1)

    def test_what_makes_no_sense_is_refused(self):
        self.synth()
        for shard in ("0/3", "4/3", "x/y", "3", "1/", "/3", "1/0", "1/3x"):
            self.assertIn("hint:", self.digest("--shard", shard, want=2).stderr)
        self.assertEqual(self.command(DPROF, "digest", self.folder / "nowhere").returncode, 3)
        (self.folder / "empty").mkdir()
        self.assertEqual(self.command(DPROF, "digest", self.folder / "empty").returncode, 3)
