# SPDX-License-Identifier: Apache-2.0
"""The probe of a LibTorch whose build is not known, on the one that dprof is built with: its layout fits, no other does."""
import os
import pathlib
import unittest

from support import BIN, DPROF, IN_NO_HURRY, EndToEnd

# Layout of 2.N -> what differs in 2.11.
OTHERS = {"6": "IValue's list", "9": "ProcessGroup's back ends", "13": "TensorImpl's number of elements"}


class TorchProbe(EndToEnd):
    def setUp(self):
        super().setUp()
        self.torch_cpu = next(pathlib.Path(os.environ.get("DPROF_TORCH_VENV", "/nowhere")).glob(
            "lib/python3*/site-packages/torch/lib/libtorch_cpu.so"), None)
        self.library = BIN.parent / "lib/libdprof_torch.so"
        if self.torch_cpu is None or not self.library.exists():
            raise unittest.SkipTest("built without LibTorch")

    def probe(self, **environment):
        done = self.command(DPROF, "doctor", "--probe-torch", self.library, self.torch_cpu, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def record_for_six_seconds(self, cache):
        """As if the build of LibTorch were not known: long enough for the verdict, and for operators after it."""
        self.record_trainer(*IN_NO_HURRY, options=["--overwrite"], DPROF_TORCH_TRUST="none", XDG_CACHE_HOME=str(cache))

    def test_its_own_layout_fits(self):
        self.assertEqual(self.probe(), "fits")

    def test_another_layout_is_refused_by_the_name_of_the_field(self):
        for layout, field in OTHERS.items():
            answer = self.probe(DPROF_TORCH_LAYOUT=layout)
            self.assertTrue(answer.startswith(f"differs {field}"), f"{layout}: {answer}")
        self.assertEqual(self.probe(DPROF_TORCH_LAYOUT="5"), "differs it is older than 2.6")

    def test_a_recording_asks_once_and_keeps_the_verdict(self):
        cache = self.folder / "cache"
        for _ in range(2):
            self.record_for_six_seconds(cache)
            for rank in (0, 1):
                self.assertEqual(self.trace(rank).meta["torch_source"], "on")
        kept = list((cache / "dprof/torch").iterdir())
        self.assertEqual([path.read_text() for path in kept], ["fits\n"])

    def test_a_cache_that_cannot_be_written_is_no_loss(self):
        """The verdict is asked for again; the job and its trace are as ever."""
        cache = self.folder / "cache"
        cache.write_text("no folder")
        for _ in range(2):
            self.record_for_six_seconds(cache)
            self.assertEqual(self.trace(0).meta["torch_source"], "on")
        self.assertEqual(cache.read_text(), "no folder")

    def test_what_differs_is_said_in_the_trace(self):
        self.record_trainer("--steps", 30, want=5, DPROF_TORCH_TRUST="none", DPROF_TORCH_LAYOUT="13")
        for rank in (0, 1):
            self.assertIn("cannot be read: TensorImpl's number of elements", self.trace(rank).meta["torch_source"])
            rows = self.trace(rank).rows("SELECT s.value FROM diagnostic d JOIN string s ON s.id = d.text_id "
                                         "WHERE d.code = 'torch_version_mismatch'")
            self.assertEqual(len(rows), 1)
            self.assertIn("TensorImpl", rows[0][0])
