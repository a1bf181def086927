# SPDX-License-Identifier: Apache-2.0
"""`dprof report` on recorded jobs of frameworks (tests/fixtures/frameworks, README.md), as golden texts. DPROF names the
program. With --update the texts are written anew: look at the difference before you commit it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures/frameworks"
UPDATE = "--update" in sys.argv


def report_of(name):
    with tempfile.TemporaryDirectory(prefix="dprof-frameworks-") as folder:
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
            archive.extractall(folder)
        done = subprocess.run([os.environ["DPROF"], "report", name], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"dprof report of {name} ended with {done.returncode}: {done.stderr}")
        return done.stdout


class Recorded(unittest.TestCase):
    maxDiff = None

    def compare(self, name):
        text, golden = report_of(name), ROOT / f"tests/golden/frameworks/{name}.txt"
        if UPDATE:
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        self.assertEqual(text, golden.read_text(encoding="utf-8"), "better? DPROF=… recorded_test.py --update")
        return text

    def test_fsdp2(self):
        self.check_sleeper(self.compare("fsdp2"))

    def test_lightning(self):
        self.check_sleeper(self.compare("lightning_ddp"))

    def check_sleeper(self, text):
        """Whatever else the text says, and whoever updates it: rank 1 slept 15 ms in each step."""
        first = re.search(r"^  1  rank 1 holds everyone up: \+([\d.]+) ms per step .* host$", text, re.MULTILINE)
        self.assertIsNotNone(first, text)
        self.assertAlmostEqual(float(first[1]), 15, delta=3)


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--update"])
