# SPDX-License-Identifier: Apache-2.0
"""The window with 64 to 1,024 ranks: who is guilty is seen on each page, without a click; and nobody is where all is well.
A thousand ranks from the command line: the culprit is named, and a rank takes no more memory than it should."""
import json
import os
import subprocess
import unittest

from support import BIN, DPROF, GUI, EndToEnd

SYNTH = BIN / "dprof-synth"
PAGES = ("overview", "heatmap", "collectives", "matrix", "memory", "topology")
GUILTY = 37
HOST = range(40, 48)  # node-5
LATE = " problem "  # the culprit's colour
# Of a report of these twelve steps: seven times what a rank takes (86 kB); the program itself apart.
MOST_PER_RANK = 600_000
PROGRAM = 60_000_000
MOST_OF_A_PAGE = 2_000_000


class ManyRanks(EndToEnd):
    def setUp(self):
        super().setUp()
        self.need(GUI)
        self.need(SYNTH)

    def make(self, ranks, *faults, rows=10):
        done = self.command(SYNTH, "--ranks", ranks, "--hosts", ranks // 8, "--shape", "gpu", "--technique", "tensor-data",
                            "--tensor-ranks", 16, "--rows-per-step", rows, "--steps", 12, "-o", self.run_folder,
                            *(word for fault in faults for word in ("--fault", fault)))
        self.assertEqual(done.returncode, 0, done.stderr)

    def pages(self):
        """What each page draws, as the run opens, and the state."""
        script = self.folder / "pages.script"
        lines = [line for page in PAGES
                 for line in (f"view {page}", f"dump-draw-list {self.folder / page}.txt")]
        script.write_text("\n".join([*lines, f"dump-state {self.folder / 'state.json'}"]) + "\n")
        done = self.command(GUI, self.run_folder, "--script", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ({page: (self.folder / f"{page}.txt").read_text().splitlines() for page in PAGES},
                json.loads((self.folder / "state.json").read_text()))

    def names_in_colour(self, lines, *names):
        """Whether one of these texts is there in the culprit's colour."""
        return any(LATE in line and any(name in line for name in names) for line in lines if line.startswith("text"))

    def shows_the_culprit(self, ranks):
        drawn, state = self.pages()
        first = state["worth_a_look"][0]
        self.assertEqual((first["rank"], first["reason"]), (GUILTY, "culprit"))
        self.assertIn("victim", [one["reason"] for one in state["worth_a_look"]])
        self.assertEqual(state["grid"], [{"of": "tensor", "size": 16}, {"of": "data", "size": ranks // 16}])
        for page, lines in drawn.items():
            self.assertTrue(self.names_in_colour(lines, f"rank {GUILTY}", f'"{GUILTY}"'), f"{page} does not name rank {GUILTY}")

    def shows_the_host(self, fault, pages):
        self.make(64, fault)
        drawn, state = self.pages()
        culprits = [one for one in state["worth_a_look"] if one["reason"] == "culprit"]
        self.assertEqual(sorted(one["rank"] for one in culprits), list(HOST))
        self.assertEqual({one["host"] for one in culprits}, {"node-5"})
        names = ["node-5"] + [f"rank {rank}" for rank in HOST] + [f'"{rank}"' for rank in HOST]
        for page in pages:
            self.assertTrue(self.names_in_colour(drawn[page], *names), f"{page} names nobody of node-5")

    def shows_nobody(self, ranks):
        self.make(ranks)
        drawn, state = self.pages()
        self.assertNotIn("culprit", [one["reason"] for one in state["worth_a_look"]])
        self.assertNotIn("rotating", [one["reason"] for one in state["worth_a_look"]])
        for page, lines in drawn.items():
            loud = [line for line in lines if LATE in line and line.startswith(("text", "rect", "frame"))]
            self.assertEqual(loud, [], page)

    def report_as(self, form):
        """Its text, and how much memory it had at most."""
        with open(self.folder / "out", "wb") as out:
            child = subprocess.Popen([str(DPROF), "report", str(self.run_folder), "--format", form], stdout=out,
                                     cwd=self.folder, env=self.environment())
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertIn(child.returncode, (0, 1))
        return (self.folder / "out").read_text(), usage.ru_maxrss * 1024

    def test_64_ranks(self):
        self.make(64, f"gpu-throttle:rank={GUILTY},factor=1.3")
        self.shows_the_culprit(64)

    def test_1024_ranks(self):
        """One run, for it takes long to make: reports, a page that is small and says what it leaves out, and the window."""
        self.make(1024, f"gpu-throttle:rank={GUILTY},factor=1.15", rows=30)
        for what in ("from the traces", "from their digests"):
            report, peak = self.report_as("json")
            self.assertEqual([one["rank"] for one in json.loads(report)["stragglers"]], [GUILTY], what)
            self.assertLess(peak, PROGRAM + 1024 * MOST_PER_RANK, what)
        page, _ = self.report_as("html")
        self.assertLess(len(page), MOST_OF_A_PAGE)
        for text in ("of 1,024 ranks", "are not drawn", "… and", f"rank {GUILTY} holds everyone up"):
            self.assertIn(text, page)
        self.shows_the_culprit(1024)

    def test_a_slow_host(self):
        self.shows_the_host("slow-rank:host=5,factor=1.3", PAGES)

    def test_a_slow_link(self):
        self.shows_the_host("slow-link:host=5,factor=4", [page for page in PAGES if page != "collectives"])

    def test_another_rank_in_each_step(self):
        """Nobody is to blame, and that is what is said."""
        self.make(64, "sleep-forward:ms=30,shape=rotating")
        drawn, state = self.pages()
        first = state["worth_a_look"][0]
        self.assertEqual((first["rank"], first["reason"]), (None, "rotating"))
        self.assertGreater(first["ns"], 20_000_000)
        self.assertIn("a different rank is late each time", state["findings"][0]["title"])
        for page, lines in drawn.items():
            self.assertFalse(self.names_in_colour(lines, "rank "), page)

    def test_64_healthy_ranks(self):
        self.shows_nobody(64)

    def test_256_healthy_ranks(self):
        self.shows_nobody(256)


if __name__ == "__main__":
    unittest.main()
