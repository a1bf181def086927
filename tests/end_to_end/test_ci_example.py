# SPDX-License-Identifier: Apache-2.0
"""The pipeline in examples/ci, on Python's torch: it passes as it is, and fails for a real reason."""
from support import DPROF, ROOT, EndToEnd


class CiExample(EndToEnd):
    programs = (DPROF,)

    def pipeline(self, *options):
        python = self.need_python_torch()
        torchrun = f"{python} -m torch.distributed.run --standalone"
        return self.command(ROOT / "examples/ci/pipeline.sh", *options, DPROF=DPROF, TORCHRUN=torchrun, RUN=self.run_folder)

    def test_the_training_as_it_is_passes(self):
        done = self.pipeline()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_change_that_loads_slowly_fails(self):
        done = self.pipeline("--augment", 80)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("input", done.stdout)
