#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dprof check` and `dprof diff` write, as those read it that it is for: Jenkins, GitLab, GitHub, Prometheus."""
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = None
MIB = 1 << 20
MANY = 10_000

# What the xUnit plugin of Jenkins accepts (its junit-10 schema): of each element the attributes that it must and may have, and
# what may stand in it. Anything else is refused, with the whole file.
JUNIT = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"},
                  {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
                  {"testsuite", "properties", "testcase", "system-out", "system-err"}),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}
TIME = re.compile(r"[0-9]*(\.[0-9]*)?")


def refused_by_jenkins(element):
    """The first thing that the schema does not allow; "" where it allows all of it."""
    if element.tag not in JUNIT:
        return f"<{element.tag}>"
    required, optional, inside = JUNIT[element.tag]
    has = set(element.attrib)
    if not required <= has or not has <= required | optional:
        return f"<{element.tag}>: {sorted((required - has) | (has - required - optional))}"
    if element.tag in ("testsuites", "testsuite") and not TIME.fullmatch(element.get("time", "0")):
        return f"<{element.tag}>: time={element.get('time')}"
    if element.tag in ("testsuites", "testsuite", "testcase") and (element.text or "").strip():
        return f"<{element.tag}>: text"
    for child in element:
        if child.tag not in inside:
            return f"<{child.tag}> in <{element.tag}>"
        if refused := refused_by_jenkins(child):
            return refused
    return ""


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.make("good", "--seed", "1")
        cls.make("bad", "--seed", "9", "--scale", "forward=1.5", "--fault", "loader:rank=1,ms=25")
        cls.report("good")
        cls.report("bad")
        (cls.folder / "settings.toml").write_text(
            "[budgets]\nstep_ms = 20\npeak_memory = '1 GB'\n[phase.forward]\nms = 1\n[range.nothing]\nms = 1\n"
            "[rules.'balance.straggler']\nseverity = 'warn'\n")

    @classmethod
    def make(cls, name, *options):
        subprocess.run([BIN / "dprof-synth", "-o", cls.folder / name, "--ranks", "4", "--steps", "40", *options],
                       check=True, capture_output=True)

    @classmethod
    def report(cls, name):
        subprocess.run([BIN / "dprof", "report", cls.folder / name, "--format", "json", "-o", cls.folder / f"{name}.json"],
                       check=True)

    def dprof(self, *words):
        return subprocess.run([BIN / "dprof", *map(str, words)], cwd=self.folder, capture_output=True, text=True)

    def check(self, form, run="bad.json", baseline="good.json"):
        done = self.dprof("check", run, "--baseline", baseline, "--rules", "settings.toml", "--format", form)
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        return done.stdout

    def test_jenkins_accepts_it(self):
        suites = xml.etree.ElementTree.fromstring(self.check("junit"))
        self.assertEqual(refused_by_jenkins(suites), "")
        kinds = {child.tag for case in suites.iter("testcase") for child in case}
        self.assertEqual(kinds, {"failure", "skipped", "system-out"}, "all of what it can write was written")

    def test_what_jenkins_refuses_is_found(self):
        for text in ("<testsuites skipped='1'/>", "<testsuite name='a' tests='1' failures='0'/>",
                     "<testsuite name='a' tests='1' failures='0' errors='0' time='fast'/>",
                     "<testsuite name='a' tests='1' failures='0' errors='0'><testcase name='b' file='c'/></testsuite>",
                     "<testsuite name='a' tests='1' failures='0' errors='0'><failure/></testsuite>"):
            self.assertNotEqual(refused_by_jenkins(xml.etree.ElementTree.fromstring(text)), "", text)

    def test_junitparser_reads_it_back(self):
        file = self.folder / "check.xml"
        file.write_text(self.check("junit"))
        script = ("import json, junitparser, sys\n"
                  "xml = junitparser.JUnitXml.fromfile(sys.argv[1])\n"
                  "print(json.dumps([[xml.tests, xml.failures, xml.errors]] +\n"
                  "  [[suite.tests, suite.failures, suite.skipped, len(list(suite)), suite.name] for suite in xml] +\n"
                  "  [sorted(type(r).__name__ for case in suite for r in case.result) for suite in xml]))")
        venv = subprocess.run([ROOT / "scripts/setup", "--print"], capture_output=True, text=True).stdout.strip()
        for python in (sys.executable, f"{venv}/bin/python"):
            if pathlib.Path(python).exists() and subprocess.run([python, "-c", "import junitparser"],
                                                                capture_output=True).returncode == 0:
                break
        else:
            self.skipTest("junitparser is not installed: scripts/setup --python")
        done = subprocess.run([python, "-c", script, file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        total, suite, results = json.loads(done.stdout)
        cases = json.loads(self.check("json"))["cases"]
        failed = sum(case["counts"] for case in cases)
        undecided = sum(case["outcome"] == "undecided" for case in cases)
        self.assertGreater(failed * undecided, 0)
        self.assertEqual(total, [len(cases), failed, 0])
        self.assertEqual(suite, [len(cases), failed, undecided, len(cases), "dprof.bad"])
        self.assertEqual(results, ["Failure"] * failed + ["Skipped"] * undecided)

    def test_openmetrics_keeps_to_its_grammar(self):
        for form in ("openmetrics", "gitlab"):
            lines = self.check(form).splitlines()
            self.assertEqual(lines[-1], "# EOF")
            family, seen = "", set()
            for line in lines[:-1]:
                if head := re.fullmatch(r"# (TYPE|UNIT|HELP) (\w+) (.*)", line):
                    if head[1] == "TYPE":
                        self.assertEqual(head[3], "gauge")
                        self.assertNotIn(head[2], seen, "a family is in one piece")
                        family = head[2]
                        seen.add(family)
                    self.assertEqual(head[2], family)
                    if head[1] == "UNIT":
                        self.assertTrue(family.endswith("_" + head[3]), line)
                    continue
                sample = re.fullmatch(r'(\w+)(\{\w+="(?:[^"\\\n]|\\.)*"(?:,\w+="(?:[^"\\\n]|\\.)*")*\})? (\S+)', line)
                self.assertIsNotNone(sample, line)
                self.assertEqual(sample[1], family)
                float(sample[3])
            self.assertIn("dprof_phase_seconds", seen)

    def test_promtool_accepts_it(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("promtool is not installed: Debian's package prometheus has it")
        done = subprocess.run([promtool, "check", "metrics"], input=self.check("openmetrics"), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_annotations_and_benchmarks(self):
        lines = self.check("github").splitlines()
        self.assertTrue(1 < len(lines) <= 10, lines)
        for line in lines:
            self.assertRegex(line, r"^::(error|warning|notice) title=[^:,]+::.")
        for one in json.loads(self.check("benchmark")):
            self.assertLessEqual({"name", "unit", "value"}, set(one))

    def many(self, name, step=1.0):
        """The report of a run of 10,000 ranks: that of one of 4, its ranks repeated, each a little different."""
        report = json.loads((self.folder / "bad.json").read_text())

        def repeated(ranks):
            return [dict(copy.deepcopy(ranks[i % len(ranks)]), rank=i) for i in range(MANY)]

        report["run"].update(ranks=MANY, world_size=MANY, name="many")
        for table in (report["breakdown"]["per_rank"], *(phase["per_rank"] for phase in report["phases"])):
            table[:] = repeated(table)
        for rank in report["breakdown"]["per_rank"]:
            for key in rank["category_ns"]:
                rank["category_ns"][key] = int(rank["category_ns"][key] * (1 + 0.3 * step * ((rank["rank"] * 7919) % 97) / 97))
            rank["wall_ns"] = sum(rank["category_ns"].values())
        report["run"]["steps"]["lengths_ns"] = [int(ns * (1 + 0.3 * step)) for ns in report["run"]["steps"]["lengths_ns"]]
        report["findings"] = [dict(finding, title=finding["title"] + " " + "y" * 300) for finding in report["findings"]] * 60
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(report))
        return file.name

    def test_at_ten_thousand_ranks_it_is_small_enough(self):
        before, after = self.many("before", 0), self.many("after", 1)
        comment = self.check("markdown", after, before)
        self.assertIn("10,000 ranks", self.dprof("diff", before, after).stdout)
        self.assertLessEqual(len(comment.encode()), 65_000)
        self.assertIn("dprof check: FAILED", comment)
        summary = self.folder / "summary.md"
        done = subprocess.run([BIN / "dprof", "check", after, "--baseline", before, "--rules", "settings.toml", "--ci", "auto"],
                              cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertLessEqual(summary.stat().st_size, MIB)
        self.assertIn("FAILED", summary.read_text())
        self.assertLessEqual(len([line for line in done.stdout.splitlines() if line.startswith("::")]), 10)
        self.assertEqual(refused_by_jenkins(xml.etree.ElementTree.fromstring(self.check("junit", after, before))), "")
        for page in (self.check("html", after, before), self.dprof("diff", before, after, "--format", "html").stdout):
            self.assertLessEqual(len(page.encode()), 2 * MIB)
            self.assertIn("</html>", page)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
