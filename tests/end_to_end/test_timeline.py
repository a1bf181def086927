# SPDX-License-Identifier: Apache-2.0
"""The timeline without a screen: its picture, and the state that is the truth for scripts."""
import json
import struct

from support import DPROF, GUI, EndToEnd


class Timeline(EndToEnd):
    def setUp(self):
        super().setUp()
        self.need(GUI)
        self.record_trainer("--steps", 40, "--inject", "loader:rank=1,ms=40")

    def test_screenshot(self):
        picture = self.folder / "timeline.png"
        done = self.command(GUI, self.run_folder, "--screenshot", picture, "--size", "1280x800")
        self.assertEqual(done.returncode, 0, done.stderr)
        head = picture.read_bytes()[:24]
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", head[16:24]), (1280, 800))
        self.assertGreater(picture.stat().st_size, 10_000, "not an empty window")

    def test_state(self):
        file = self.folder / "state.json"
        done = self.command(GUI, self.run_folder, "--dump-state", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        state = json.loads(file.read_text())
        self.assertEqual(state["schema"], "dprof.gui_state/1")
        self.assertEqual(state["pending"], 0)
        self.assertLess(state["range_ns"][0], state["range_ns"][1])
        tracks = [row["track"] for row in state["rows"]]
        for rank in (0, 1):
            self.assertTrue(any(track.startswith(f"rank:{rank}/thread:") for track in tracks), tracks)

    def test_a_selected_finding_is_the_reports(self):
        findings = self.report()["findings"]
        number, finding = next((i, f) for i, f in enumerate(findings, 1) if f["evidence"])
        file = self.folder / "state.json"
        done = self.command(GUI, self.run_folder, "--select", f"finding:{number}", "--dump-state", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        state = json.loads(file.read_text())
        self.assertIn(f"finding:{number}", state["selection"]["selectors"])
        self.assertEqual(sorted(state["selection"]["ranks"]), sorted(finding["ranks"]))
        begin, end = state["range_ns"]
        self.assertTrue(any(place["start_ns"] < end and place["end_ns"] > begin for place in finding["evidence"]),
                        "the timeline goes to the evidence")

    def test_dprof_gui_is_the_same_program(self):
        file = self.folder / "state.json"
        done = self.command(DPROF, "gui", self.run_folder, "--dump-state", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(file.read_text())["schema"], "dprof.gui_state/1")
