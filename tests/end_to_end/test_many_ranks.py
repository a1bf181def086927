# SPDX-License-Identifier: Apache-2.0
"""The window with 64 and 1,024 ranks: who is guilty is seen on each page, without a click; and nobody is where all is well."""
import json
import unittest

from support import BIN, GUI, EndToEnd

SYNTH = BIN / "dprof-synth"
PAGES = ("overview", "heatmap", "collectives", "matrix", "memory")
GUILTY = 37


class ManyRanks(EndToEnd):
    def setUp(self):
        super().setUp()
        self.need(GUI)
        self.need(SYNTH)

    def pages(self, ranks, *faults):
        """What each page draws, as a run of so many ranks opens, and the state."""
        run = self.folder / "run"
        done = self.command(SYNTH, "--ranks", ranks, "--hosts", ranks // 8, "--shape", "gpu", "--technique", "tensor-data",
                            "--tensor-ranks", 8, "--rows-per-step", 10, "--steps", 8, "-o", run,
                            *(word for fault in faults for word in ("--fault", fault)))
        self.assertEqual(done.returncode, 0, done.stderr)
        script = self.folder / "pages.script"
        lines = [line for page in PAGES
                 for line in (f"view {page}", f"dump-draw-list {self.folder / page}.txt")]
        script.write_text("\n".join([*lines, f"dump-state {self.folder / 'state.json'}"]) + "\n")
        done = self.command(GUI, run, "--script", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ({page: (self.folder / f"{page}.txt").read_text().splitlines() for page in PAGES},
                json.loads((self.folder / "state.json").read_text()))

    def shows_the_culprit(self, ranks):
        drawn, state = self.pages(ranks, f"gpu-throttle:rank={GUILTY},factor=1.3")
        first = state["worth_a_look"][0]
        self.assertEqual((first["rank"], first["reason"]), (GUILTY, "culprit"))
        self.assertIn("victim", [one["reason"] for one in state["worth_a_look"]])
        for page, lines in drawn.items():
            names = [line for line in lines if f"rank {GUILTY}" in line or f'"{GUILTY}"' in line]
            self.assertTrue(names, f"{page} does not name rank {GUILTY}")
            if page != "collectives":
                self.assertTrue(any(" problem " in line for line in names), f"{page}: {names}")

    def shows_nobody(self, ranks):
        drawn, state = self.pages(ranks)
        self.assertNotIn("culprit", [one["reason"] for one in state["worth_a_look"]])
        for page, lines in drawn.items():
            loud = [line for line in lines if " problem " in line and line.startswith(("text", "rect", "frame"))]
            self.assertEqual(loud, [], page)

    def test_64_ranks(self):
        self.shows_the_culprit(64)

    def test_1024_ranks(self):
        self.shows_the_culprit(1024)

    def test_64_healthy_ranks(self):
        self.shows_nobody(64)

    def test_1024_healthy_ranks(self):
        self.shows_nobody(1024)


if __name__ == "__main__":
    unittest.main()
