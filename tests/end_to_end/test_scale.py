# SPDX-License-Identifier: Apache-2.0
"""A thousand ranks from the command line: the culprit is named, and a rank takes no more memory than it should."""
import json
import os
import subprocess
import sys
import unittest

from support import BIN, DPROF, ROOT, EndToEnd

SYNTH = BIN / "dprof-synth"
FLIGHT_DUMPS = ROOT / "bench" / "flight_dumps.py"
RANKS = 1024
CULPRIT = 517
# Four times what it takes, with ten steps of it; the program itself apart.
MOST_PER_RANK = 600_000
PROGRAM = 60_000_000
MOST_OF_A_PAGE = 2_000_000


class Scale(EndToEnd):
    def peak_of(self, *command):
        """Its output, and how much memory it had at most."""
        with open(self.folder / "out", "wb") as out:
            child = subprocess.Popen([str(word) for word in command], stdout=out, cwd=self.folder, env=self.environment())
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(child.returncode, (0, 1))
        return (self.folder / "out").read_text(), usage.ru_maxrss * 1024

    def test_throttled_rank_of_1024_is_named_within_memory(self):
        """The page of so many ranks is small, and says what it leaves out."""
        self.need(SYNTH)
        run = self.folder / "run"
        done = self.command(SYNTH, "-o", run, "--ranks", RANKS, "--hosts", RANKS // 8, "--shape", "gpu", "--technique",
                            "tensor-data", "--tensor-ranks", 8, "--steps", 10, "--rows-per-step", 30, "--fault",
                            f"gpu-throttle:rank={CULPRIT},factor=1.15")
        self.assertEqual(done.returncode, 0, done.stderr)
        for what in ("from the traces", "from their digests"):
            report, peak = self.peak_of(DPROF, "report", run, "--format", "json")
            self.assertEqual([one["rank"] for one in json.loads(report)["stragglers"]], [CULPRIT], what)
            self.assertLess(peak, PROGRAM + RANKS * MOST_PER_RANK, what)
        page, _ = self.peak_of(DPROF, "report", run, "--format", "html")
        self.assertLess(len(page), MOST_OF_A_PAGE)
        for text in ("of 1,024 ranks", "are not drawn", "… and", f"rank {CULPRIT} holds everyone up"):
            self.assertIn(text, page)

    def test_rank_that_did_not_join_is_reported_in_few_lines(self):
        """Flight-recorder dumps of a job that hangs."""
        dumps, run = self.folder / "dumps", self.folder / "run"
        done = self.command(sys.executable, FLIGHT_DUMPS, dumps, "--ranks", 256, "--missing", 77, "--calls", 24)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.command(DPROF, "import", dumps, "-o", run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("256 files: flight_recorder", done.stderr)
        self.assertLess(len(done.stderr.splitlines()), 10)
        done = self.command(DPROF, "report", run, "--sections", "none")
        report = " ".join(done.stdout.split())
        self.assertIn("for rank 77, which never called it", report)
        self.assertNotIn("exit code", report, "dumps do not say how processes ended")
        self.assertNotIn("for 0 ns", report, "nor how long a rank waited")
        self.assertIn("ranks 0–76, 78–255: running", report)
        self.assertLessEqual(len(done.stdout[done.stdout.index("HANG"):].split("\n\n")[0].splitlines()), 20)


if __name__ == "__main__":
    unittest.main()
