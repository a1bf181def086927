# SPDX-License-Identifier: Apache-2.0
"""docs/trainer.md against the program: every technique has a test or needs a GPU, every option is described and exists."""
import pathlib
import re
import subprocess
import sys

import run
from support import BIN, DPROF, ROOT, TRAINER, EndToEnd

PAGE = ROOT / "docs/trainer.md"
REFERENCE = ROOT.parent / "shared/reference/training.md"  # the list that the page answers; beside a developer's checkout only


def table(text, heading):
    """The rows of the first table below `heading`, as lists of cells; without its head."""
    lines = text.split(heading, 1)[1].splitlines()
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("|")]
    end = next((i for i, line in enumerate(lines[1:], 1) if line.startswith("## ")), len(lines))
    count = sum(line.startswith("|") for line in lines[:end])
    return [[cell.strip() for cell in row] for row in rows[2:count]]


class Table(EndToEnd):
    programs = (DPROF, TRAINER)

    def test_each_technique_has_a_test_or_needs_a_gpu(self):
        cases = {f"{module}.{test.removeprefix('test_')}" for module, _, test in run.case_names()}
        rows = table(PAGE.read_text(), "\n## Techniques")
        self.assertGreaterEqual(len(rows), 53)
        for item, _, _, tests in rows:
            named = re.findall(r"`([\w.]+)`", tests)
            self.assertTrue(named or "gpu" in tests, f"{item}: neither a test nor gpu")
            for test in named:
                self.assertIn(test, cases, item)

    def test_the_page_has_every_technique_of_the_reference(self):
        if not REFERENCE.exists():
            self.skipTest("the reference is not beside this checkout")
        wanted = [re.split(r", [CG]\b", row[0])[0] for row in table(REFERENCE.read_text(), "\n## 1. Complete table")]
        self.assertEqual(len(wanted), 53)
        have = {row[0] for row in table(PAGE.read_text(), "\n## Techniques")}
        self.assertEqual([item for item in wanted if item not in have], [])

    def test_options_on_the_page_and_in_the_program_are_the_same(self):
        known = set(re.findall(r"--[a-z][\w-]*", self.command(TRAINER, "--help").stdout)) - {"--help"}
        described = set(re.findall(r"`(--[a-z][\w-]*)", PAGE.read_text()))
        self.assertEqual(sorted(known - described), [], "options that the page does not describe")
        self.assertEqual(sorted(described - known - {"--help", "--no-python"}), [], "options that do not exist")

    def test_what_dprof_shows_is_what_recorded_runs_show(self):
        """A few rows of scripts/trainer-table, recorded again."""
        done = subprocess.run([sys.executable, ROOT / "scripts/trainer-table", "--check", "--build", BIN.parent, "--only",
                               "^(no_sync|Parameter server|Custom all_gather|NCCL backend)$"], capture_output=True, text=True,
                              timeout=170)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 4, done.stdout)
