#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shell steps of examples/ci, as the CI systems run them: with their variables and files."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CI = ROOT / "examples/ci"
BIN = None


class Recipes(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        for seed in range(3):
            self.make(f"good{seed}", "--seed", str(seed + 1))
        self.make("bad", "--seed", "9", "--scale", "forward=1.5")

    def make(self, name, *options):
        subprocess.run([BIN / "dprof-synth", "-o", self.folder / name, "--ranks", "2", "--steps", "40", *options],
                       check=True, capture_output=True)

    def shell(self, script, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GITLAB_", "CI"))}
        environment.update(DPROF=str(BIN / "dprof"), **variables)
        return subprocess.run(["bash", "-c", script], cwd=self.folder, env=environment, capture_output=True, text=True)

    def check(self, run, **variables):
        return self.shell(f"{CI}/dprof-check.sh {run} kept", **variables)

    def test_good_runs_become_baselines_and_a_bad_one_fails(self):
        first = self.check("good0", KEEP="1")
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        self.assertIn("no baseline yet", first.stdout)
        for run in ("good1", "good2"):
            self.assertEqual(self.check(run, KEEP="1").returncode, 0)
        self.assertEqual(len(list((self.folder / "kept").iterdir())), 3)
        bad = self.check("bad")
        self.assertEqual(bad.returncode, 1, bad.stdout)
        self.assertIn("forward", bad.stdout)
        self.assertEqual(len(list((self.folder / "kept").iterdir())), 3, "a bad run is no baseline")

    def test_undecided_fails_only_where_that_is_wished(self):
        self.assertEqual(self.check("good0").returncode, 0)
        self.assertEqual(self.check("good0", STRICT="1").returncode, 4)

    def test_the_step_of_the_github_action(self):
        action = (CI / "github/action.yml").read_text()
        script = re.search(r"run: \|\n((?: {8}.*\n)+)", action).group(1)
        summary = self.folder / "summary.md"
        done = self.shell(script.replace("        ", ""), GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary), RUN="good0",
                          OPTIONS="", KEEP="1", HERE=str(CI / "github"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("::warning title=dprof%3A step_time::", done.stdout)
        self.assertIn("dprof check: CANNOT TELL", summary.read_text())

    def test_the_step_of_the_gitlab_job(self):
        lines = re.findall(r"^    - (.*(?:KEEP=1|dprof-check).*)$", (CI / "gitlab-ci.yml").read_text(), re.M)
        self.assertEqual(len(lines), 2)
        script = "\n".join(lines).replace("examples/ci", str(CI)).replace("check.sh run ", "check.sh good0 ")
        done = self.shell(script, GITLAB_CI="true", CI_COMMIT_BRANCH="main", CI_DEFAULT_BRANCH="main")
        self.assertEqual(done.returncode, 4, done.stderr)
        suites = xml.etree.ElementTree.parse(self.folder / "dprof-junit.xml").getroot()
        self.assertEqual(suites.find("testsuite").get("skipped"), "1")
        self.assertTrue((self.folder / "dprof-metrics.txt").read_text().endswith("# EOF\n"))


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
