# SPDX-License-Identifier: Apache-2.0
"""dprof-trainer by itself, without a recorder: the yardstick must be right before anything is measured with it."""
import json
import os
import pathlib
import re
import signal
import socket
import time

import support
from support import MS, TRAINER, EndToEnd


ONE_RANK = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


class Trainer(EndToEnd):
    programs = (TRAINER,)

    def train(self, *arguments, ranks=2, **environment):
        """Starts the ranks without any launcher."""
        port = str(support.free_port())
        return [self.start(TRAINER, *arguments, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **environment) for rank in range(ranks)]

    def train_to_the_end(self, *arguments, ranks=2, **environment):
        truth = self.folder / "truth.json"
        self.spawned(*arguments, "--truth", truth, ranks=ranks, **environment)
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
        self.assertEqual(sorted(file.name for file in folder.iterdir()), ["model.pt", "optimizer.pt"])
        for file in folder.iterdir():  # the optimizer has a momentum of each parameter
            self.assertGreater(file.stat().st_size, support.CONVNET_GRADIENT_BYTES)

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
        cases = ((["--inject", "laoder:rank=1,ms=1"], {}, "loader"),
                 (["--inject", "loader:rank=5,ms=1"], {}, "rank 5"),
                 (["--model", "gpt"], {}, "--list names the models"),
                 (["--steps", "0"], {}, "above 0"),
                 (["--fast"], {}, "--fast"),
                 (["--overlap", "maybe"], {}, "on or off"),
                 (["--backend", "nccl"], {}, "needs ranks"),
                 (["--strategy", "zero2"], {}, "needs ranks"),
                 (["--resume"], {}, "--checkpoint"),
                 (["--truth", "no/such/truth.json"], {}, "there is no folder"),
                 (["--static-graph", "--find-unused"], ONE_RANK, "--find-unused"),
                 (["--strategy", "parameter-server"], ONE_RANK, "two ranks or more"),
                 (["--shares", "1,1"], ONE_RANK, "2 entries, but the job has 1 ranks"),
                 (["--mistake", "one-device"], ONE_RANK, "gpu"),
                 (["--local_rank", "1"], ONE_RANK, "--local_rank 1"),
                 (["--nice", "-5"], {}, "--nice"),
                 (["--affinity", "0;x"], {}, "'x' is no core"),
                 ([], {"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR is not set"),
                 ([], {"WORLD_SIZE": "2"}, "RANK is not set"),
                 ([], {**ONE_RANK, "MASTER_PORT": "high"}, "MASTER_PORT=high"))
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

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.command(TRAINER, "--timeout", 5, **{**ONE_RANK, "MASTER_PORT": str(taken.getsockname()[1])})
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 0: could not meet the others", done.stderr)
        self.assertIn("free MASTER_PORT", done.stderr)

    def test_double_ranks_do_not_hang(self):
        """Mistake M9: each process takes itself for rank 0."""
        begin = time.monotonic()
        for process in self.train("--mistake", "rendezvous", "--timeout", 4):
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn("could not meet the others", errors)
        self.assertLess(time.monotonic() - begin, 40)

    def test_a_second_process_group_is_refused(self):
        """Mistake M10."""
        for rank, process in enumerate(self.train("--mistake", "double-init", "--timeout", 10)):
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"rank {rank}: trying to initialize the default process group twice!", errors)

    def test_nccl_for_tensors_on_the_cpu(self):
        """Mistake M13; where there is no GPU it already ends at NCCL itself."""
        for process in self.train("--mistake", "nccl-cpu", "--timeout", 10, CUDA_VISIBLE_DEVICES=""):
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1)
            self.assertIn("NCCL", errors)

    def test_state_of_each_rank_is_reported(self):
        ranks = self.train("--model", "toy", "--batch", 10, "--steps", 20, "--optimizer", "adam", "--truth",
                           self.folder / "truth.json")
        outputs = [process.communicate(timeout=90)[0] for process in ranks]
        self.assertIn("state per rank: parameters 16 B, gradients 16 B, optimizer ", outputs[0])
        self.assertEqual(outputs[1], "", "rank 0 speaks for all")
        for account in json.loads((self.folder / "truth.json").read_text())["ranks"]:
            self.assertEqual(account["samples"], [10] * 20)
            self.assertEqual(account["state_bytes"]["parameters"], 16)
            self.assertGreaterEqual(account["state_bytes"]["optimizer"], 32)

    def test_throughput_counts_each_sample_once(self):
        """Of 8 each: two ranks; one server and two workers; the two ends of a pipeline; the parts of a global batch."""
        for ranks, samples, arguments in ((2, 16, ()), (3, 16, ("--strategy", "parameter-server")),
                                          (2, 8, ("--strategy", "model-parallel")), (2, 16, ("--shares", "3,1"))):
            done = self.command(TRAINER, "--spawn", ranks, "--steps", 10, "--batch", 8, *arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            line = re.search(r"done: 10 steps in ([\d.]+) s, .* ([\d]+) samples/s", done.stdout)
            seconds, rate = float(line[1]), float(line[2])  # rounded
            self.assertAlmostEqual(rate * seconds / (10 * samples), 1, delta=0.02 + 0.01 / seconds, msg=arguments)

    def test_threads_niceness_and_cores(self):
        process = self.start(TRAINER, "--steps", 1_000_000, "--threads", 2, "--nice", 5, "--affinity", "0")
        process.stdout.readline()
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        self.assertEqual(stat[16], "5")
        self.assertEqual(os.sched_getaffinity(process.pid), {0})
        process.kill()

    def test_list(self):
        done = self.command(TRAINER, "--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for want in ("Strategies", "parameter-server", "convnet", "SyncBatchNorm", "slow-link", "M24", "mlp:WIDTHS",
                     "comm.sync-each-microbatch"):
            self.assertIn(want, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_environment_check(self):
        done = self.command(TRAINER, "--check-env", CUDA_VISIBLE_DEVICES="", **ONE_RANK)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for want in ("torch:", "gloo:", "nccl:", "gpus:     none", "rank 0 of 1, local rank 0, meets at 127.0.0.1:29500",
                     "cores:", "clock:"):
            self.assertIn(want, done.stdout)

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
