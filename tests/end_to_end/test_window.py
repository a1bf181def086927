# SPDX-License-Identifier: Apache-2.0
"""The window on a real X display, with real key and mouse events. What it did is read from the view that it keeps beside
the run."""
import json
import shutil
import time

from support import BIN, GUI, EndToEnd

TIMEOUT_S = 60


class Window(EndToEnd):
    def setUp(self):
        super().setUp()
        self.need(GUI)
        for tool in ("Xvfb", "xdotool"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is not installed")
        self.run_folder = self.folder / "made"
        made = self.command(BIN / "dprof-synth", "--shape", "cpu", "--ranks", "4", "--steps", "30", "-o", self.run_folder)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.view_file = self.run_folder / "dprofview.json"
        self.start_display()
        self.start_window()

    def start_display(self):
        display = self.start("Xvfb", "-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp")
        number = display.stdout.readline().strip()
        self.assertTrue(number, "Xvfb said no display")
        self.display = {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb", "XDG_CONFIG_HOME": str(self.folder),
                        "XDG_STATE_HOME": str(self.folder)}

    def start_window(self):
        self.program = self.start(GUI, self.run_folder, "--theme", "light", "--size", "1400x900", **self.display)
        self.window = self.wait_for(lambda: self.xdo("search", "--onlyvisible", "--name", "made").split(),
                                    "a window with the run's name")[0]
        self.xdo("windowmove", "--sync", self.window, 0, 0)
        self.xdo("windowfocus", "--sync", self.window)

    def xdo(self, *arguments):
        return self.command("xdotool", *arguments, **self.display).stdout

    def wait_for(self, what, words):
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            self.assertIsNone(self.program.poll(), "the window is gone")
            if found := what():
                return found
            time.sleep(0.1)
        self.fail(f"{words}: not within {TIMEOUT_S} s")

    def view(self):
        try:
            return json.loads(self.view_file.read_text())
        except FileNotFoundError:
            return {}

    def length(self):
        begin, end = self.view().get("range_ns", [0, 0])
        return end - begin

    def test_a_dock_is_dragged_out_of_the_window(self):
        tab = (393, 629)  # of the dock Flame

        def is_flame():
            self.xdo("mousemove", *tab, "click", 1)
            time.sleep(1.5)  # until the view is kept; a second click sooner would be a double click
            return self.view().get("dock") == "flame"

        self.wait_for(is_flame, "the tab is there, and can be clicked")
        self.xdo("mousemove", *tab, "mousedown", 1)
        for part in range(1, 9):
            self.xdo("mousemove", tab[0] + part * 25, tab[1] - part * 30)
            time.sleep(0.1)  # moves that wait together are one move to the window, and one starts no drag
        self.xdo("mouseup", 1)
        [out] = self.wait_for(lambda: self.xdo("search", "--onlyvisible", "--name", "^FLAME$").split(), "a window of its own")
        # The window's keys work there, too.
        self.xdo("windowfocus", "--sync", out, "key", "ctrl+5")
        self.wait_for(lambda: self.view()["page"] == "matrix", "Ctrl+5 shows the fifth page")

    def test_keys_and_mouse(self):
        # Looking alone writes nothing; keys of one letter belong to the timeline.
        self.assertFalse(self.view_file.exists())
        self.xdo("key", "0")
        whole = self.wait_for(self.length, "the whole run is in view")
        self.xdo("key", "w")
        self.wait_for(lambda: self.length() < whole, "W zooms in")
        self.xdo("key", "s")
        self.wait_for(lambda: self.length() >= whole, "S zooms out")

        # A drag over the rows chooses a range, one with Shift only measures.
        self.xdo("mousemove", 500, 300, "mousedown", 1, "mousemove", 560, 300, "mousemove", 700, 300, "mouseup", 1)
        chosen = self.wait_for(lambda: [s for s in self.view()["selectors"] if s.startswith("range:")],
                               "a drag chooses a range")
        before = self.view()
        self.xdo("keydown", "shift", "mousemove", 400, 300, "mousedown", 1, "mousemove", 450, 300, "mousemove", 500, 300,
                 "mouseup", 1, "keyup", "shift")
        time.sleep(2)
        self.assertEqual(self.view(), before, f"measuring changes nothing, not {chosen}")

        # The wheel zooms with Ctrl.
        self.xdo("mousemove", 600, 300, "keydown", "ctrl", "click", 4, "keyup", "ctrl")
        self.wait_for(lambda: self.length() < whole, "Ctrl and the wheel zoom in")

        # Letters in a field are text; a note is written from the keyboard alone.
        self.xdo("key", "m")
        self.xdo("type", "--delay", "20", "wasd mph")
        self.xdo("key", "Return")
        notes = self.wait_for(lambda: self.view()["notes"], "a note")
        self.assertEqual([note["text"] for note in notes], ["wasd mph"])
        self.assertEqual(self.view()["tracks"]["pinned"], [], "P in a field pins nothing")

        # Pages by number, tracks by letter.
        self.xdo("key", "ctrl+5")
        self.wait_for(lambda: self.view()["page"] == "matrix", "Ctrl+5 shows the fifth page")
        self.xdo("key", "ctrl+2")
        self.wait_for(lambda: self.view()["page"] == "timeline", "Ctrl+2 goes back")
        self.xdo("mousemove", 100, 190, "click", 1)
        self.wait_for(lambda: any(s.startswith("rank:") for s in self.view()["selectors"]), "a click chooses a rank")
        self.xdo("key", "p")
        self.wait_for(lambda: self.view()["tracks"]["pinned"], "P pins it")

        # A statement in the field above, another one in the dock; both are text.
        asked = []
        self.xdo("key", "colon")
        self.xdo("type", "--delay", "20", " SELECT 1")
        self.xdo("key", "Return")
        asked.append("SELECT 1")
        self.wait_for(lambda: self.view()["sql"]["history"] == asked, "a statement of the field is asked")
        self.assertEqual(self.view()["dock"], "sql")
        self.xdo("key", "alt+8", "ctrl+a")
        self.xdo("type", "--delay", "20", "SELECT 'wasd' AS p")
        self.xdo("key", "ctrl+Return")
        asked.append("SELECT 'wasd' AS p")
        self.wait_for(lambda: self.view()["sql"]["history"] == asked, "a statement of the dock is asked")
        self.xdo("key", "ctrl+Up", "ctrl+Return")
        self.wait_for(lambda: self.view()["sql"]["history"] == asked[::-1], "and the one before, again")
        self.xdo("key", "Escape", "ctrl+5")
        self.wait_for(lambda: self.view()["page"] == "matrix", "Esc leaves the field")
