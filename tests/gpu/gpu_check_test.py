# SPDX-License-Identifier: Apache-2.0
"""The GPU check itself, where there is no GPU: its time limits, verdicts and pages. Made-up parts stand in for the real ones.

DPROF_TEST_BIN_DIR names the folder of the fake driver; cases that lack theirs are skipped and say so.
"""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import costs  # noqa: E402
import machine  # noqa: E402
import page  # noqa: E402
import recording  # noqa: E402
from part import Part, Question, Trace  # noqa: E402
from parts import QUESTIONS  # noqa: E402

ENOUGH = 250  # seconds of a part whose limit is not what is tested

MADE_UP = '''
import os, signal, time
from part import Missing, Question
def good(part):
    part.run("true")
    part.figure("answer", 42, "ms", 41.0, 43.0, 5)
    part.expect("an answer", True, 42)
    return "42 | <ms>"
def broken(part):
    part.expect("more than 100 kernels", False, 7)
    return "7 kernels"
def raises(part):
    raise RuntimeError("a fault of the check")
def dies(part):
    part.figure("seen before the end", 1)
    os.kill(os.getpid(), signal.SIGKILL)
def fails(part):
    part.run("false")
def missing(part):
    raise Missing("needs two GPUs")
def hangs(part):
    part.figure("seen before the hang", 7)
    part.start("sh", "-c", "setsid sleep 4711 & sleep 4712")
    time.sleep(1000)
def hung_command(part):
    part.run("sh", "-c", "echo half; sleep 4713", timeout=3)
'''


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "OUT"

    def start(self, parts, *arguments, gpus=1):
        """The runner with made-up parts (name → limit in seconds), as if so many GPUs were there."""
        bundle = self.folder / "DIR"
        shutil.rmtree(bundle, ignore_errors=True)
        shutil.copytree(HERE, bundle / "tests/gpu", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "bench", bundle / "bench", ignore=shutil.ignore_patterns("__pycache__", "*.cpp"))
        questions = ", ".join(f'Question("{name}", "{name}?", {limit}, {name})' for name, limit in parts.items())
        (bundle / "tests/gpu/parts.py").write_text(f"{MADE_UP}\nQUESTIONS = [{questions}]\n")
        with open(bundle / "tests/gpu/machine.py", "a") as file:
            file.write(f"\n\ndef gpus_seen():\n    return {gpus}, None\n")
        return subprocess.Popen([sys.executable, bundle / "tests/gpu/run.py", self.out, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def run_parts(self, parts, *arguments, gpus=1, want=0):
        process = self.start(parts, *arguments, gpus=gpus)
        said, _ = process.communicate(timeout=200)
        self.assertEqual(process.returncode, want, said)
        self.read()
        return said

    def read(self):
        file = self.out / "results.json"
        self.results = {one["name"]: one for one in json.loads(file.read_text())["results"]} if file.exists() else {}

    def statuses(self):
        return {name: one["status"] for name, one in self.results.items()}

    def assert_nothing_sleeps(self):
        for number in (4711, 4712, 4713):
            found = subprocess.run(["pgrep", "-f", f"^sleep {number}$"], capture_output=True, text=True).stdout
            self.assertEqual(found, "", "what a part began ends with it")

    def test_without_a_gpu_nothing_is_measured_and_nothing_fails(self):
        said = self.run_parts({"good": ENOUGH, "broken": ENOUGH, "hangs": ENOUGH}, gpus=0)
        self.assertEqual({(one["status"], one["why"]) for one in self.results.values()}, {("not measured", "no GPU")})
        self.assertIn("| broken | broken? | not measured: no GPU |", said)
        self.assertIn("0 measured, 0 failed, 3 not measured", said)
        self.assertIn("Not measured: no GPU was available", (self.out / "results.md").read_text())

    def test_no_part_stops_the_others(self):
        others = ("good", "broken", "raises", "dies", "fails", "missing", "hung_command")
        # It has to measure something first, which has taken more than 20 s on a busy machine.
        self.run_parts({"hangs": 45, **dict.fromkeys(others, ENOUGH)}, want=1)
        self.assertEqual(self.statuses(),
                         {"good": "measured", "hangs": "failed", "broken": "failed", "raises": "failed", "dies": "failed",
                                           "fails": "failed", "missing": "not measured", "hung_command": "failed"})
        why = {name: one["why"] for name, one in self.results.items()}
        self.assertEqual(why["hangs"], "took longer than 45 s")
        self.assertEqual(why["broken"], "expected more than 100 kernels, found 7")
        self.assertIn("a fault of the check", why["raises"])
        self.assertIn("the part itself ended with -9", why["dies"])
        self.assertIn("false ended with 1", why["fails"])
        self.assertIn("sleep 4713' took longer than 3 s: half", why["hung_command"])
        self.assertEqual(why["missing"], "needs two GPUs")
        for name in ("hangs", "dies"):
            self.assertEqual(len(self.results[name]["figures"]), 1, "what was measured before is kept")
        self.assert_nothing_sleeps()
        self.assertIn("== fails: failed\n\n$ false", (self.out / "logs.txt").read_text())

    def test_a_page_of_results(self):
        self.run_parts({"good": ENOUGH, "broken": ENOUGH}, want=1)
        text = (self.out / "results.md").read_text()
        self.assertIn("| good | good? | 42 \\| \\<ms\\> |", text)
        self.assertIn("| broken | broken? | failed: expected more than 100 kernels, found 7 |", text)
        self.assertIn("- answer: 42 ms (95 %: 41 to 43), n = 5", text)
        self.assertIn("- **not as expected**: more than 100 kernels; found 7", text)
        self.assertIn("1 of 2 questions are answered", text)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["logs.txt", "results.json", "results.md"])

    def test_the_whole_ends_in_time(self):
        began = time.monotonic()
        self.run_parts({"good": ENOUGH})
        alone = time.monotonic() - began  # what this machine takes for a part and the runner around it, now
        began = time.monotonic()
        # 55 s are for the parts, and 15 must be left for one to begin: the first may take 40 on a busy machine.
        self.run_parts({"good": ENOUGH, "hangs": 41, "missing": ENOUGH}, "--minutes", "1", want=1)
        self.assertLess(time.monotonic() - began, 60 + 3 * alone)
        self.assertEqual((self.results["good"]["status"], self.results["hangs"]["status"]), ("measured", "failed"))
        self.assertEqual((self.results["missing"]["status"], self.results["missing"]["why"]), ("not measured", "out of time"))
        self.run_parts({"good": ENOUGH}, "--minutes", "0.3")
        self.assertEqual(self.results["good"]["why"], "out of time")

    def test_what_was_answered_stays_if_the_whole_is_ended(self):
        process = self.start({"good": ENOUGH, "hangs": ENOUGH})
        end = time.monotonic() + 60
        while not subprocess.run(["pgrep", "-f", "^sleep 4711$"], capture_output=True).stdout and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=200)
        self.read()
        self.assertEqual(self.statuses(), {"good": "measured"})
        self.assert_nothing_sleeps()

    def test_usage(self):
        self.assertIn("no such part: nothing", self.run_parts({"good": ENOUGH}, "--only", "nothing", want=2))
        self.run_parts({"good": ENOUGH, "broken": ENOUGH}, "--only", "good")
        self.assertEqual(self.statuses(), {"good": "measured"})
        self.run_parts({"good": ENOUGH}, "--skip", gpus=0, want=77)


class Figures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        options = types.SimpleNamespace(bundle=self.folder, python=sys.executable, rehearse=False, scratch=self.folder,
                                        seconds=60)
        self.part = Part(Question("made-up", "?", 60, None), options)

    def test_a_recorded_span_is_compared_with_its_neighbours(self):
        spans = costs.Spans(self.part, "job", 1)
        now, lines = 0, []
        for number in range(19):
            level = None if number % 2 == 0 else costs.LEVELS[number // 2 % 3]
            begin = now
            step = int((1_000_000 + 10_000 * number) * {None: 1, "light": 1.01, "standard": 1.02,
                                                        "full": 1.05}[level])  # it grows slower
            for _ in range(20):
                now += step
                lines.append(f"{now} {step}")
            spans.spans.append((level, begin, now))
        spans.log.write_text("\n".join(lines))
        for level, more in (("light", 1.01), ("standard", 1.02), ("full", 1.05)):
            pairs = spans.pairs()[level]
            self.assertEqual(len(pairs), 3)
            for recorded, without in pairs:
                self.assertAlmostEqual(recorded / without, more, places=4)
        self.assertIn("full +5.00 %", costs.ratios_text(self.part, "made-up", spans))

    def trace_of(self, kernels, waits=()):
        """A trace with (launch, start, end) of kernels, and (begin, end) of waits for the device; ns."""
        file = self.folder / "shared/native/run/rank-00000.dprof"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with sqlite3.connect(file) as database:
            database.executescript("""
                CREATE TABLE meta (key, value); CREATE TABLE string (id, value);
                CREATE TABLE host_range (id, start_ns, duration_ns, name_id, correlation);
                CREATE TABLE gpu_activity (id, device_id, stream_id, start_ns, duration_ns, name_id, kind, correlation);
                CREATE VIEW loss_text AS SELECT 'cuda' AS source, 'ring_full' AS reason, 1 AS count WHERE 0;
                INSERT INTO meta VALUES ('cuda_source', 'on');
                INSERT INTO string VALUES (1, 'cudaLaunchKernel'), (2, 'cudaDeviceSynchronize'), (3, 'gemm');""")
            for number, (launch, start, end) in enumerate(kernels):
                if launch is not None:
                    database.execute("INSERT INTO host_range VALUES (?, ?, 5000, 1, ?)", (number, launch, number))
                database.execute("INSERT INTO gpu_activity VALUES (?, 0, 7, ?, ?, 3, 0, ?)",
                                 (number, start, end - start, number))
            for begin, end in waits:
                database.execute("INSERT INTO host_range VALUES (?, ?, ?, 2, NULL)", (len(kernels), begin, end - begin))
        database.close()
        (file.parent.parent / "commands.json").write_text("[]")
        return Trace(file)

    def test_kernels_without_a_launch_are_found(self):
        launched = [(at * 10_000, at * 10_000 + 4000, at * 10_000 + 9000) for at in range(100)]
        recording.check_kernels(self.part, self.trace_of(launched), "C++")
        self.assertEqual(self.part.broken(), [])
        recording.check_kernels(self.part, self.trace_of(launched + [(None, 0, 1)] * 6), "C++")
        self.assertEqual(self.part.broken(),
                         ["expected C++: at least 95% of the kernels are joined to their launch, found 94.34%"])

    def test_kernels_before_their_launch_are_found(self):
        good = [(at * 1_000_000, at * 1_000_000 + 4000, at * 1_000_000 + 9000) for at in range(1, 100)]
        self.trace_of(good, [(at * 1_000_000 + 6000, at * 1_000_000 + 9500) for at in range(1, 100)])
        self.assertIn("of 99 kernels 0 before their launch, the earliest +4.0 us after it", recording.clock(self.part))
        self.assertEqual(self.part.broken(), [])
        self.trace_of([*good, (200_000_000, 199_900_000, 200_000_500)])
        recording.clock(self.part)
        self.assertEqual(len(self.part.broken()), 1)
        self.trace_of(good,
                      [(at * 1_000_000 + 6000, at * 1_000_000 + 6500) for at in range(1, 99)] + [(99_020_000, 98_900_000)])
        recording.clock(self.part)
        self.assertEqual(len(self.part.broken()), 2, "a kernel ends 109 us after somebody waited for it")


class Pages(unittest.TestCase):
    def test_the_page_is_what_the_questions_make(self):
        results = HERE / "results.json"
        made = page.page(json.loads(results.read_text()) if results.exists() else None, QUESTIONS)
        self.assertEqual((ROOT / "docs/gpu_results.md").read_text(), made, "scripts/gpu-check --page - writes it")

    def test_names_are_unique_and_the_limits_fit(self):
        names = [question.name for question in QUESTIONS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(sum(question.limit_s for question in QUESTIONS), 20 * 60)
        self.assertTrue(all("|" not in question.asks for question in QUESTIONS))

    def test_the_list_is_that_of_the_program(self):
        said = subprocess.run([sys.executable, HERE / "run.py", "--list"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split()[0] for line in said.splitlines()], [question.name for question in QUESTIONS])


class Machine(unittest.TestCase):
    def test_build_id(self):
        file = pathlib.Path(sys.executable).resolve()
        said = subprocess.run(["readelf", "-n", file], capture_output=True, text=True).stdout
        ids = [line.split()[-1] for line in said.splitlines() if "Build ID" in line]
        self.assertEqual(machine.build_id(file), ids[0] if ids else None)
        self.assertIsNone(machine.build_id(__file__))

    def test_a_gpu_is_what_cuda_says(self):
        folder = pathlib.Path(os.environ.get("DPROF_TEST_BIN_DIR", ROOT / "build/release/test_bin")) / "fake_cuda"
        if not (folder / "libcuda.so.1").exists():
            self.skipTest("the fake driver is not built: scripts/build tests")
        code = f"import sys; sys.path.insert(0, {str(HERE)!r}); import machine; print(machine.gpus_seen())"
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(folder)}).stdout
        self.assertEqual(said.strip(), "(1, None)")


class Bundle(unittest.TestCase):
    def test_it_is_made_and_its_programs_need_glibc_and_torch_alone(self):
        if not (ROOT / "build/release/bin/dprof-trainer").exists():
            self.skipTest("build/release is not built: scripts/build tests")
        with tempfile.TemporaryDirectory() as folder:
            bundle = pathlib.Path(folder, "bundle")
            done = subprocess.run([ROOT / "scripts/gpu-check", "--no-setup", "--bundle", bundle], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(set(json.loads((bundle / "about.json").read_text())), {"commit", "torch"})
            for program in ("bin/dprof", "bin/dprof-trainer", "test_bin/launch_probe", "run"):
                self.assertTrue(os.access(bundle / program, os.X_OK), program)
            done = subprocess.run([ROOT / "scripts/gpu-check", "--check", bundle], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
