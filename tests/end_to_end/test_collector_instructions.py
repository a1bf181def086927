# SPDX-License-Identifier: Apache-2.0
"""What a hook costs, in instructions: the same in every run, so that a test can hold it to a budget.

The budgets are in docs/hot_path.md, with what was measured. A change that needs more has to say so there.
"""
import pathlib
import re
import shutil

from support import BIN, ROOT, EndToEnd

HOOKS = BIN / "bench_hooks"
CALLS = 4000


class Instructions(EndToEnd):
    programs = ()

    def budget(self, hook):
        """The row of the page: | `hook` | budget | measured |."""
        page = (ROOT / "docs/hot_path.md").read_text()
        found = re.search(rf"^\| `{hook}` \| (\d+) \|", page, re.M)
        self.assertIsNotNone(found, f"docs/hot_path.md has no budget for {hook}")
        return int(found.group(1))

    def check(self, hook, *options):
        if not HOOKS.exists():
            self.skipTest("the benchmarks are not part of this build (DPROF_BENCH=OFF)")
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed: scripts/setup installs it")
        done = self.command("valgrind", "--tool=callgrind", f"--toggle-collect=measured_{hook}",
                            f"--callgrind-out-file={self.folder / 'callgrind.out'}", HOOKS, hook, "--count", "--calls", CALLS,
                            *options)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        collected = re.search(r"Collected : (\d+)", done.stderr)
        self.assertIsNotNone(collected, done.stderr[-2000:])
        per_call = int(collected.group(1)) / CALLS
        print(f"{hook}: {per_call:.1f} instructions per call, budget {self.budget(hook)}")
        self.assertGreater(per_call, 1, "nothing was measured")
        self.assertLessEqual(per_call, self.budget(hook))

    def through_library(self):
        library = pathlib.Path(BIN).parent / "lib/libdprof.so"
        self.need(library)
        return ("--library", library)

    def test_ring_push(self):
        self.check("ring_push")

    def test_nvtx_range(self):
        self.check("nvtx_range", *self.through_library())

    def test_nvtx_while_off(self):
        self.check("nvtx_off", *self.through_library())

    def test_nccl_event(self):
        self.check("nccl_event", *self.through_library())

    def test_core_range(self):
        self.check("core_range")

    def test_text_cache(self):
        self.check("text_cache")
