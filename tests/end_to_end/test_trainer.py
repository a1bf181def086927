# SPDX-License-Identifier: Apache-2.0
"""dprof-trainer by itself, without a recorder: the yardstick must be right before anything is measured with it."""
import json
import signal
import time

import support
from support import MS, TRAINER, EndToEnd


class Trainer(EndToEnd):
    programs = (TRAINER,)

    def train(self, *arguments, ranks=2, **environment):
        """Starts the ranks without any launcher."""
        port = str(support.free_port())
        return [self.start(TRAINER, *arguments, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **environment) for rank in range(ranks)]

    def train_to_the_end(self, *arguments, **how):
        truth = self.folder / "truth.json"
        for process in self.train(*arguments, "--truth", truth, **how):
            output, errors = process.communicate(timeout=90)
            self.assertEqual(process.returncode, 0, output + errors)
        return json.loads(truth.read_text())

    def test_replicas_stay_equal_and_learn(self):
        truth = self.train_to_the_end("--steps", 60)
        zero, one = truth["ranks"]
        self.assertEqual(zero["checksum"], one["checksum"])
        self.assertEqual(len(zero["step_ns"]), 60)
        self.assertLess(zero["last_loss"], zero["first_loss"] - 0.2)

    def test_three_ranks(self):
        truth = self.train_to_the_end("--steps", 10, ranks=3)
        self.assertEqual(len({rank["checksum"] for rank in truth["ranks"]}), 1)

    def test_a_seed_gives_one_result(self):
        results = [self.train_to_the_end("--steps", 15, "--seed", seed)["ranks"][0]["checksum"] for seed in (1, 1, 2)]
        self.assertEqual(results[0], results[1])
        self.assertNotEqual(results[0], results[2])

    def test_faults_change_times_and_nothing_else(self):
        plain = self.train_to_the_end("--steps", 15)["ranks"][0]
        truth = self.train_to_the_end("--steps", 15, "--inject", "backward:rank=0,ms=4,from=5,to=10", "--inject",
                                      "loader:rank=1,ms=3", "--inject", "compute:rank=0,ms=2,every=5,mode=busy")
        self.assertEqual(truth["ranks"][0]["checksum"], plain["checksum"])
        self.assertEqual([fault["count"] for fault in truth["injected"]], [5, 15, 3])
        for fault in truth["injected"]:
            self.assertGreaterEqual(fault["mean_ns"], fault["ms"] * MS)
        self.assertEqual([strike["step"] for strike in truth["injected"][2]["strikes"]], [0, 5, 10])

    def test_marks_change_no_result(self):
        results = {self.train_to_the_end("--steps", 10, "--marks", marks)["ranks"][0]["checksum"]
                   for marks in ("user", "nvtx", "none")}
        self.assertEqual(len(results), 1)

    def test_epochs_end_with_the_data(self):
        for sampler, steps in (("random", 50), ("sequential", 50), ("none", 100)):
            truth = self.train_to_the_end("--model", "toy", "--epochs", 1, "--sampler", sampler)
            self.assertEqual(len(truth["ranks"][0]["step_ns"]), steps, sampler)

    def test_checkpoint(self):
        folder = self.folder / "saved"
        self.train_to_the_end("--steps", 10, "--checkpoint", folder, "--checkpoint-every", 5)
        self.assertEqual([file.name for file in folder.iterdir()], ["checkpoint.pt"])
        self.assertGreater((folder / "checkpoint.pt").stat().st_size, support.CONVNET_GRADIENT_BYTES)

    def test_a_dead_peer_ends_training(self):
        ranks = self.train("--steps", 1_000_000, "--timeout", 10)
        self.assertTrue(ranks[0].stdout.readline())  # the first step is done
        ranks[1].send_signal(signal.SIGKILL)
        begin = time.monotonic()
        _, errors = ranks[0].communicate(timeout=30)
        self.assertEqual(ranks[0].returncode, 1)
        self.assertIn("rank 0", errors)
        self.assertLess(time.monotonic() - begin, 20)

    def test_usage(self):
        cases = ((["--inject", "laoder:rank=1,ms=1"], {}, "the kinds are compute, loader, backward"),
                 (["--inject", "loader:rank=5,ms=1"], {}, "ranks count from 0"),
                 (["--model", "gpt"], {}, "convnet"),
                 (["--steps", "0"], {}, "above 0"),
                 (["--backend", "nccl"], {}, "needs ranks"),
                 ([], {"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR is not set"))
        for arguments, environment, want in cases:
            done = self.command(TRAINER, *arguments, **environment)
            self.assertEqual(done.returncode, 2, f"{arguments}: {done.stderr}")
            self.assertIn(want, done.stderr)
            self.assertIn("hint:", done.stderr)

    def test_ranks_that_never_come(self):
        done = self.command(TRAINER, "--timeout", 2, RANK="1", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                            MASTER_PORT=str(support.free_port()))
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 1: could not meet the others", done.stderr)

    def test_no_cuda_library_is_loaded_on_the_cpu(self):
        """Two small ones come with libtorch_cpu itself."""
        process = self.start(TRAINER, "--steps", 1_000_000)
        process.stdout.readline()
        maps = open(f"/proc/{process.pid}/maps").read()
        process.kill()
        for library in ("libtorch_cuda", "libc10_cuda", "libnccl", "libcuda.so", "libcublas"):
            self.assertNotIn(library, maps)

    def test_nccl_without_a_gpu_says_so(self):
        """CUDA_VISIBLE_DEVICES hides the GPUs that there may be."""
        rank, = self.train("--backend", "nccl", "--timeout", 10, "--steps", 1, ranks=1, CUDA_VISIBLE_DEVICES="")
        _, errors = rank.communicate(timeout=60)
        self.assertEqual(rank.returncode, 1)
        self.assertIn("NCCL", errors)
        self.assertIn("hint:", errors)
