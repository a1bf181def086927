# SPDX-License-Identifier: Apache-2.0
"""The GPU check (tests/gpu) where dprof was built beside a GPU: `ctest -L gpu`. Where there is none each case says so."""
import json
import subprocess
import sys

from support import BIN, EndToEnd, ROOT


class Gpu(EndToEnd):
    def answered(self, name):
        self.need_trainer()
        out = self.folder / "out"
        done = subprocess.run([sys.executable, ROOT / "tests/gpu/run.py", out, "--bundle", BIN.parent, "--only", name],
                              capture_output=True, text=True, timeout=600)
        result, = json.loads((out / "results.json").read_text())["results"]
        if result["status"] == "not measured":
            self.skipTest(result["why"])
        self.assertEqual(result["status"], "measured", f"{result['why']}\n{done.stderr}\n{(out / 'log.txt').read_text()}")

    def test_kernels(self):
        self.answered("kernels")

    def test_python(self):
        self.answered("python")

    def test_clock(self):
        self.answered("clock")

    def test_two_ranks(self):
        self.answered("two-ranks")

    def test_torch_profiler(self):
        self.answered("torch-profiler")

    def test_dependencies(self):
        self.answered("dependencies")

    def test_killed(self):
        self.answered("killed")

    def test_graphs(self):
        self.answered("graphs")

    def test_allocator(self):
        self.answered("allocator")

    def test_flush(self):
        self.answered("flush")

    def test_import(self):
        self.answered("import")

    def test_nvml(self):
        self.answered("nvml")

    def test_cost(self):
        self.answered("cost")
