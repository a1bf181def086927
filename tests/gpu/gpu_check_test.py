# SPDX-License-Identifier: Apache-2.0
"""The GPU check itself, where there is no GPU: its time limits, its verdicts, its pages. A part of a test stands in for a real one."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import page  # noqa: E402
import run  # noqa: E402
from parts import QUESTIONS, Question  # noqa: E402

# Questions that the copies of the runner below ask instead of the real ones.
MADE_UP = '''
import time
from parts import Question
def good(part):
    part.run("true")
    part.figure("answer", 42, "ms", 41.0, 43.0, 5)
    return "42 | ms"
def broken(part):
    part.expect("more than 100 kernels", False, 7)
    return "7 kernels"
def raises(part):
    raise RuntimeError("a fault of the check")
def fails(part):
    part.run("false")
def hangs(part):
    part.start("sleep", "1000")
    time.sleep(1000)
QUESTIONS = [Question("good", "Good?", 30, good), Question("hangs", "Hangs?", 2, hangs), Question("broken", "Broken?", 30, broken),
             Question("raises", "Raises?", 30, raises), Question("fails", "Fails?", 30, fails), Question("good-2", "Good again?", 30, good)]
'''


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_copy(self, *arguments, gpus):
        """The runner with made-up questions, as if so many GPUs were there."""
        copy = self.folder / "DIR/gpu_check"
        copy.mkdir(parents=True, exist_ok=True)
        for file in ("part.py", "parts.py", "page.py"):
            (copy / file).write_text((HERE / file).read_text())
        (copy / "made_up.py").write_text(MADE_UP)
        text = (HERE / "run.py").read_text().replace("from parts import QUESTIONS", "from made_up import QUESTIONS")
        (copy / "run.py").write_text(text.replace("gpus, about = gpu_count()", f"gpus, about = {gpus}"))
        done = subprocess.run([sys.executable, copy / "run.py", self.folder / "OUT", *arguments], capture_output=True, text=True,
                              timeout=100)
        file = self.folder / "OUT/results.json"
        self.results = {one["name"]: one for one in json.loads(file.read_text())["results"]} if file.exists() else {}
        return done

    def test_without_a_gpu_nothing_is_measured_and_nothing_fails(self):
        done = self.run_copy(gpus=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({one["status"] for one in self.results.values()}, {"not measured"})
        self.assertEqual({one["why"] for one in self.results.values()}, {"no GPU"})
        self.assertIn("0 measured, 0 failed, 6 not measured", done.stdout)

    def test_no_part_stops_the_others(self):
        done = self.run_copy(gpus=1)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual({name: one["status"] for name, one in self.results.items()},
                         {"good": "measured", "hangs": "failed", "broken": "failed", "raises": "failed", "fails": "failed",
                          "good-2": "measured"})
        self.assertIn("took longer than 2 s", self.results["hangs"]["why"])
        self.assertIn("more than 100 kernels: found 7", self.results["broken"]["why"])
        self.assertIn("a fault of the check", self.results["raises"]["why"])
        self.assertIn("false ended with 1", self.results["fails"]["why"])
        sleeping = subprocess.run(["pgrep", "-f", "^sleep 1000$"], capture_output=True, text=True).stdout
        self.assertEqual(sleeping, "", "what a part began ends with it")
        text = (self.folder / "OUT/results.md").read_text()
        self.assertIn("| good | Good? | 42 \\| ms |", text)
        self.assertIn("answer 42 ms (95 %: 41 to 43)", text)

    def test_what_does_not_fit_into_the_time_says_so(self):
        done = self.run_copy("--minutes", "0.4", gpus=1)
        self.assertEqual({one["why"] for one in self.results.values()}, {"out of time"}, done.stderr)

    def test_usage(self):
        self.assertEqual(self.run_copy("--only", "nothing", gpus=1).returncode, 2)
        self.assertEqual(self.run_copy("--only", "good,good-2", gpus=1).returncode, 0)
        self.assertEqual(set(self.results), {"good", "good-2"})


class Pages(unittest.TestCase):
    def test_the_page_is_what_the_questions_make(self):
        results = HERE / "results.json"
        made = page.page(json.loads(results.read_text()) if results.exists() else None, QUESTIONS)
        self.assertEqual((ROOT / "docs/gpu_results.md").read_text(), made,
                         "scripts/gpu-check --page - > docs/gpu_results.md")

    def test_names_are_unique_and_the_limits_fit(self):
        names = [question.name for question in QUESTIONS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(sum(question.limit_s for question in QUESTIONS), 25 * 60, "20 minutes, and some parts end early")

    def test_what_no_gpu_means(self):
        self.assertEqual(run.gpu_count(), 0) if not os.path.exists("/dev/nvidiactl") else self.skipTest("this machine has a GPU")
        self.assertTrue(Question)


if __name__ == "__main__":
    unittest.main()
