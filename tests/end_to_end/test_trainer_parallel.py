# SPDX-License-Identifier: Apache-2.0
"""Ranks with different parts: pipelines, a parameter server, unequal shares; and what a loop does beside training."""
import array
import json
import re
import signal
import zipfile

import support
from support import TRAINER, EndToEnd

FAST = ("--lr", "0.05")  # so that a wrong gradient shows within a few steps


def saved_numbers(folder):
    """Every parameter of a saved model, by its place in the file: in the order of the names."""
    with zipfile.ZipFile(folder / "model.pt") as file:
        names = [(int(found[1]), found[0]) for found in
                 (re.fullmatch(r".*/data/(\d+)", name) for name in file.namelist()) if found]
        numbers = array.array("f")
        for _, name in sorted(names):
            numbers.frombytes(file.read(name))
    return numbers


class Parallel(EndToEnd):
    programs = (TRAINER,)

    def start_ranks(self, *arguments, ranks=2):
        """Starts the ranks without any launcher."""
        port = str(support.free_port())
        return [self.start(TRAINER, *arguments, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in range(ranks)]

    def end_of(self, processes):
        """Exit code, stdout and stderr of each rank."""
        ended = []
        for process in processes:
            output, errors = process.communicate(timeout=90)
            ended.append((process.returncode, output, errors))
        return ended

    def train(self, *arguments, ranks=2):
        """Trains to the end; gives the truth and what the ranks said."""
        truth = self.folder / "truth.json"
        said = self.spawned(*arguments, "--truth", truth, ranks=ranks if ranks > 1 else 0)
        return json.loads(truth.read_text()), said

    def trained(self, *arguments, ranks=2, name="model"):
        """The parameters that a training ends with."""
        folder = self.folder / name
        self.train(*arguments, "--checkpoint", folder, ranks=ranks)
        return saved_numbers(folder)

    def refused(self, *arguments, ranks=2, why):
        """No rank trains, and one at least says why: the others may only see that it is gone."""
        ended = self.end_of(self.start_ranks(*arguments, "--timeout", 10, ranks=ranks))
        for code, _, errors in ended:
            self.assertGreater(code, 0, errors)
            self.assertIn("hint:", errors)
        self.assertTrue(any(why in errors for _, _, errors in ended), ended)

    def assert_close(self, one, other, tolerance):
        self.assertEqual(len(one), len(other))
        self.assertGreater(len(one), 0)
        self.assertLessEqual(max(abs(a - b) for a, b in zip(one, other)), tolerance)


class ModelParallel(Parallel):
    def test_pipelines_train_as_a_single_process_does(self):
        common = ("--steps", 8, "--batch", 30, *FAST)
        want = self.trained(*common, ranks=1, name="single")
        start = self.trained("--steps", 1, "--batch", 30, *FAST, ranks=1, name="start")
        self.assertGreater(max(abs(a - b) for a, b in zip(want, start)), 1e-3)
        for ranks, schedule, micro_batches in ((2, "gpipe", 4), (2, "1f1b", 4), (4, "1f1b", 8), (4, "gpipe", 1)):
            got = self.trained(*common, "--strategy", "model-parallel", "--pipeline", schedule, "--micro-batches",
                               micro_batches, ranks=ranks, name=f"{schedule}-{ranks}-{micro_batches}")
            self.assert_close(got, want, 1e-5)

    def test_a_deep_perceptron_accumulates_and_clips(self):
        common = ("--model", "mlp:32,32,32", "--steps", 6, "--batch", 8, "--accumulate", 2, "--clip-norm", 0.5, *FAST)
        want = self.trained(*common, ranks=1, name="single")
        got = self.trained(*common, "--strategy", "model-parallel", ranks=2, name="pipeline")
        self.assert_close(got, want, 1e-5)

    def test_rank_0_knows_the_loss_and_epochs_end_together(self):
        common = ("--samples", 100, "--batch", 30, "--epochs", 2)
        single, _ = self.train(*common, "--strategy", "single", ranks=1)
        chain, said = self.train(*common, "--strategy", "model-parallel", ranks=3)
        for rank in chain["ranks"]:
            self.assertEqual(len(rank["step_ns"]), 8)
            self.assertAlmostEqual(rank["first_loss"], single["ranks"][0]["first_loss"], places=5)
        self.assertIn("step 0 loss", said)

    def test_what_cannot_be_cut_is_refused(self):
        self.refused("--model", "toy", "--strategy", "model-parallel", why="cannot be cut into")
        self.refused("--model", "bert-tiny", "--strategy", "model-parallel", why="bert-tiny")
        self.refused("--strategy", "model-parallel", "--mistake", "mp-one-device", why="gpu")

    def test_messages_of_a_recorded_pipeline(self):
        """A link carries the shapes, then a message per micro-batch and direction."""
        self.need(support.DPROF)
        self.record_trainer("--steps", 6, "--strategy", "model-parallel", "--micro-batches", 4, "--loss-every", 100)
        for rank, function in ((0, "send"), (1, "recv")):
            sizes = [row[1] for row in self.trace(rank).collectives(function)]
            activations = [size for size in sizes if size > 100]
            self.assertEqual(len(activations), 6 * 4)
        for rank in (0, 1):
            trace = self.trace(rank)
            self.assertEqual(len(trace.ranges_named("stage_forward")), 6 * 4)
            self.assertEqual(len(trace.ranges_named("stage_backward")), 6 * 4)


class ParameterServer(Parallel):
    def test_sync_is_ddp_of_the_workers(self):
        common = ("--steps", 8, "--batch", 16, *FAST)
        want = self.trained(*common, ranks=2, name="ddp")
        got = self.trained(*common, "--strategy", "parameter-server", ranks=3, name="server")
        self.assert_close(got, want, 1e-5)

    def test_sync_is_never_stale_and_ends_equal(self):
        truth, said = self.train("--steps", 6, "--strategy", "parameter-server", ranks=3)
        self.assertIn("served 6 updates of 12 gradients, staleness mean 0.00, max 0", said)
        self.assertEqual(len({rank["checksum"] for rank in truth["ranks"]}), 1)

    def test_async_counts_its_staleness(self):
        """Every gradient is an update of its own; the slow worker's are older than the quick one's."""
        truth, said = self.train("--steps", 12, "--strategy", "parameter-server", "--ps-mode", "async", "--inject",
                                 "forward:rank=1,ms=30", ranks=3)
        found = re.search(r"served 24 updates of 24 gradients, staleness mean ([\d.]+), max (\d+)", said)
        self.assertTrue(found, said)
        self.assertGreater(float(found[1]), 0)
        self.assertGreaterEqual(int(found[2]), 1)
        self.assertEqual(len({rank["checksum"] for rank in truth["ranks"]}), 1)

    def test_a_lost_worker_ends_the_job(self):
        ended = self.end_of(self.start_ranks("--strategy", "parameter-server", "--steps", 1000, "--timeout", 5,
                                             "--inject", "kill:rank=1,step=3", ranks=3))
        self.assertEqual(ended[1][0], -signal.SIGKILL)
        self.assertNotEqual(ended[2][0], 0)
        self.assertIn("a worker was lost", ended[2][2])
        self.assertNotEqual(ended[0][0], 0)


class LoadBalance(Parallel):
    def test_shares_change_who_computes_and_no_result(self):
        common = ("--steps", 8, "--batch", 16, *FAST)
        want = self.trained(*common, "--shares", "1,1", name="equal")
        got = self.trained(*common, "--shares", "3,1", name="unequal")
        self.assert_close(got, want, 1e-4)
        single = self.trained("--steps", 8, "--batch", 32, *FAST, ranks=1, name="single")
        self.assert_close(got, single, 1e-4)

    def test_the_slow_rank_is_given_less(self):
        _, said = self.train("--steps", 60, "--batch", 32, "--rebalance", 10, "--inject",
                             "forward:rank=1,ms=100")  # more than a busy machine takes from the other
        divisions = [tuple(map(int, pair)) for pair in re.findall(r"samples per rank: (\d+), (\d+)", said)]
        self.assertEqual(len(divisions), 6, said)
        self.assertTrue(all(sum(division) == 64 for division in divisions), divisions)
        self.assertLess(divisions[-1][1], 24, divisions)

    def test_wrong_shares_are_refused(self):
        self.refused("--shares", "1,1,1", why="--shares")
        self.refused("--shares", "1,0", why="--shares")


class SideWork(Parallel):
    programs = (TRAINER, support.DPROF)

    def count(self, function, rank=0):
        return len(self.trace(rank).collectives(function))

    def test_metrics_take_the_collectives_they_say(self):
        self.record_trainer("--steps", 10, "--metrics", "all-gather", "--metrics-every", 2)
        self.assertEqual(self.count("all_gather"), 1 + 5)  # ddp's own at the start
        self.assertEqual(len(self.trace(1).ranges_named("metrics")), 5)
        done = self.record(TRAINER, "--steps", 10, "--metrics", "reduce", "--metrics-every", 5, ranks=2,
                           run=self.folder / "reduce")
        trace = self.trace(0, run=self.folder / "reduce")
        self.assertEqual([row[1] for row in trace.collectives("reduce")], [32, 32])  # four sums
        self.assertRegex(done.stdout, r"step 4 over 128 samples: mean loss [\d.]+, accuracy [\d.]+")

    def test_barriers_where_they_are_asked_for(self):
        self.record_trainer("--steps", 6, "--barrier", "step")
        self.assertEqual(self.count("barrier"), 6)
        run = self.folder / "epoch"
        self.record_trainer("--model", "toy", "--samples", 40, "--epochs", 3, "--barrier", "epoch", run=run)
        self.assertEqual(len(self.trace(1, run=run).collectives("barrier")), 3)

    def test_a_barrier_of_rank_0_alone_hangs_until_the_timeout(self):
        ended = self.end_of(self.start_ranks("--mistake", "rank0-barrier", "--steps", 20, "--timeout", 4))
        self.assertNotEqual(ended[0][0], 0)
        self.assertIn("rank 0:", ended[0][2])
        self.assertIn("hint:", ended[0][2])

    def test_figures_are_logged(self):
        _, said = self.train("--steps", 10, "--memory-every", 5, "--monitor-every", 5, "--empty-cache-every", 5)
        self.assertEqual(len(re.findall(r"memory of rank 0: [\d.]+ MiB resident", said)), 2)
        self.assertEqual(len(re.findall(r"throughput \d+ samples/s on rank 0, [\d.]+ ms per step", said)), 2)

    def test_every_rank_logs_if_asked_to(self):
        for only_0, count in (("0", 1), ("all", 2)):
            ended = self.end_of(self.start_ranks("--steps", 3, "--log-rank", only_0))
            self.assertEqual(sum("step 0 loss" in output for _, output, _ in ended), count)


class Checkpoint(Parallel):
    def setUp(self):
        super().setUp()
        self.saved = self.folder / "saved"

    def checksum(self, *arguments, ranks=2):
        truth, _ = self.train(*arguments, ranks=ranks)
        return truth["ranks"][0]["checksum"]

    def save(self, *arguments, ranks=2):
        return self.checksum("--checkpoint", self.saved, *arguments, ranks=ranks)

    def resume(self, *arguments, ranks=2):
        return self.checksum("--checkpoint", self.saved, "--resume", *arguments, ranks=ranks)

    def test_a_resumed_run_is_the_whole_run(self):
        """With momentum, and over the end of an epoch; names with and without the wrapper's prefix."""
        common = ("--samples", 400, "--batch", 16, *FAST)  # 13 steps an epoch
        whole = self.checksum(*common, "--steps", 20)
        for prefix in ("off", "on"):
            half = self.save(*common, "--steps", 10, "--module-prefix", prefix)
            self.assertNotEqual(half, whole)
            self.assertEqual(sorted(file.name for file in self.saved.iterdir()), ["model.pt", "optimizer.pt"])
            names = zipfile.ZipFile(self.saved / "model.pt").read("archive/data.pkl")
            self.assertEqual(b"module.conv1.weight" in names, prefix == "on")
            self.assertEqual(self.resume(*common, "--steps", 20), whole)

    def test_ranks_that_divide_the_optimizer_save_their_parts(self):
        for strategy in ("zero1", "zero2", "zero3", "model-parallel"):
            common = ("--batch", 16, "--optimizer", "adam", "--strategy", strategy)
            whole = self.checksum(*common, "--steps", 8)
            self.saved = self.folder / strategy
            self.save(*common, "--steps", 4)
            self.assertTrue((self.saved / "optimizer.rank-1.pt").exists())
            self.assertEqual(self.resume(*common, "--steps", 8), whole, strategy)

    def test_a_parameter_server_goes_on(self):
        common = ("--batch", 16, "--strategy", "parameter-server", *FAST)
        whole = self.checksum(*common, "--steps", 8)
        self.save(*common, "--steps", 4)
        self.assertEqual(self.resume(*common, "--steps", 8), whole)

    def test_another_number_of_ranks(self):
        self.save("--steps", 6, "--optimizer", "adam", ranks=3)
        _, said = self.train("--checkpoint", self.saved, "--resume", "--steps", 9, "--optimizer", "adam", ranks=2)
        self.assertIn("at epoch 0, step 6", said)
        # A chain of stages finds its parameters by name, too.
        self.resume("--steps", 12, "--optimizer", "adam", "--strategy", "model-parallel", ranks=4)
        # The pieces of ZeRO-2 are of a number of ranks.
        self.saved = self.folder / "pieces"
        self.save("--steps", 4, "--optimizer", "adam", "--strategy", "zero2", ranks=2)
        self.refused("--checkpoint", self.saved, "--resume", "--optimizer", "adam", "--strategy", "zero2", "--steps",
                     8, ranks=3, why="the number of ranks that saved it")

    def test_who_saves(self):
        self.save("--steps", 3, "--save-by", "all")
        self.assertEqual(sorted(file.name for file in self.saved.iterdir()), ["model.pt", "optimizer.pt"])
        self.resume("--steps", 5)

    def test_nothing_to_resume_is_a_fresh_start_and_said(self):
        _, said = self.train("--checkpoint", self.saved, "--resume", "--steps", 2)
        self.assertIn("a fresh start", said)

    def test_damaged_and_foreign_files_are_refused(self):
        resume = ("--checkpoint", self.saved, "--resume", "--steps", 5)
        self.save("--steps", 2)
        self.refused(*resume, "--model", "toy", why="is of another model")
        self.refused(*resume, "--optimizer", "adam", why="another optimizer")
        model = self.saved / "model.pt"
        model.write_bytes(model.read_bytes()[:5000])
        self.refused(*resume, why="is damaged")
        model.unlink()
        (self.saved / "notes.txt").write_text("something else")
        self.refused(*resume, why="has no model.pt, but other files")
