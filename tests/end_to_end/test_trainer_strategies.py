# SPDX-License-Identifier: Apache-2.0
"""Data parallel strategies of dprof-trainer: which collectives each one needs, and that all of them learn the same."""
import json

import support
from support import CONVNET_GRADIENT_BYTES, TRAINER, EndToEnd

PARAMETERS = CONVNET_GRADIENT_BYTES // 4
TENSORS = 8  # of convnet
BLOCKS = 4
NEAR = 1e-5
ADAM = ("--optimizer", "adam", "--lr", "0.001", "--batch", 16, "--seed", 3, "--loss-every", 1)


class Case(EndToEnd):
    programs = (TRAINER,)

    def start_ranks(self, *arguments, ranks=2):
        """Without any launcher."""
        port = str(support.free_port())
        return [self.start(TRAINER, *arguments, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=port) for rank in range(ranks)]

    def train(self, *arguments, **how):
        """Every rank's account of a training that ends well. 0 ranks: one process without any."""
        truth = self.folder / "truth.json"
        self.spawned(*arguments, "--truth", truth, timeout=120, **how)
        return json.loads(truth.read_text())["ranks"]

    def train_equally(self, *arguments, **how):
        """The same of rank 0, after a look whether all ranks ended with one model."""
        ranks = self.train(*arguments, **how)
        self.assertEqual(len({rank["checksum"] for rank in ranks}), 1, arguments)
        return ranks[0]

    def check_same_training(self, one, other, what):
        self.assertNotEqual(one["first_loss"], one["last_loss"])
        for loss in ("first_loss", "last_loss"):
            self.assertLess(abs(one[loss] - other[loss]), NEAR, what)

    def fail_together(self, *arguments):
        """What rank 0 says when training must end with exit code 1 on every rank."""
        said = []
        for process in self.start_ranks(*arguments):
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, errors)
            said.append(errors)
        return said[0]


class Collectives(Case):
    """Recorded: the counts that each technique is known by."""

    def counts_by_step(self, function, rank=0):
        """How many collectives began before the first step, and within each."""
        trace = self.trace(rank)
        steps = trace.rows("SELECT start_ns, end_ns FROM step ORDER BY step_index")
        begins = [row[2] for row in trace.collectives(function)]
        self.assertTrue(steps)
        return [sum(begin < steps[0][0] for begin in begins)] + [
            sum(start <= begin < end for begin in begins) for start, end in steps]

    def bytes_of(self, function, rank=0):
        return [row[1] for row in self.trace(rank).collectives(function)]

    def test_ddp(self):
        self.record_trainer("--steps", 3)
        for rank in (0, 1):
            self.assertEqual(self.counts_by_step("all_gather", rank), [1, 0, 0, 0])
            self.assertEqual(self.counts_by_step("broadcast", rank), [2, 0, 2, 0])  # the second iteration: new buckets
            self.assertEqual(self.counts_by_step("all_reduce", rank), [0, 1, 1, 1])
            self.assertEqual(self.bytes_of("all_reduce", rank), [CONVNET_GRADIENT_BYTES] * 3)

    def test_batch_norm_buffers_go_with_every_forward(self):
        self.record_trainer("--model", "resnet18", "--batch", 4, "--steps", 3)
        self.assertEqual(self.counts_by_step("broadcast"), [3, 2, 4, 2])
        sizes = self.bytes_of("broadcast")
        self.assertEqual(sizes.count(38_400), 3)
        self.assertEqual(sizes.count(160), 1 + 3)  # the first goes with the parameters

    def test_bucket_limits(self):
        self.record_trainer("--steps", 3, "--first-bucket-mb", 4 / 1024, "--bucket-mb", 64 / 1024)
        self.assertEqual(self.counts_by_step("all_reduce"), [0, 3, 2, 2])
        self.assertEqual(sum(self.bytes_of("all_reduce")), 3 * CONVNET_GRADIENT_BYTES)

    def test_accumulation(self):
        """16 micro-steps, 4 updates: no_sync reduces once for each update, and learns the same."""
        accounts = {}
        for no_sync, reductions in (("on", 1), ("off", 4)):
            self.run_folder = self.folder / no_sync
            accounts[no_sync] = self.record_trainer("--steps", 4, "--accumulate", 4, "--batch", 16, "--loss-every", 1,
                                                    "--no-sync", no_sync)["ranks"][0]
            self.assertEqual(self.counts_by_step("all_reduce"), [0] + [reductions] * 4)
            self.assertEqual(set(self.bytes_of("all_reduce")), {CONVNET_GRADIENT_BYTES})
        self.check_same_training(accounts["on"], accounts["off"], "no_sync")

    def test_reduction_after_backward(self):
        late = self.record_trainer("--steps", 4, "--overlap", "off")
        trace = self.trace(0)
        marks = trace.ranges_named("reduce")
        backward = trace.ranges_named("backward")
        self.assertEqual(len(marks), 4)
        for i, (_, size, enqueue_ns, _, end_ns) in enumerate(trace.collectives("all_reduce")):
            self.assertEqual(size, CONVNET_GRADIENT_BYTES)
            self.assertGreaterEqual(enqueue_ns, sum(backward[i]))
            self.assertLessEqual(end_ns, sum(marks[i]))
        self.assertEqual(late["ranks"][0]["checksum"], self.train_equally("--steps", 4)["checksum"])

    def test_fp16_halves_the_bytes(self):
        self.record_trainer("--steps", 3, "--grad-compress", "fp16")
        self.assertEqual(self.bytes_of("all_reduce"), [CONVNET_GRADIENT_BYTES // 2] * 3)

    def test_top_k_sends_values_and_places(self):
        self.record_trainer("--steps", 3, "--grad-compress", "topk:0.01")
        self.assertEqual(self.bytes_of("all_reduce"), [])
        self.assertEqual(self.counts_by_step("all_gather"), [1, 1, 1, 1])
        self.assertEqual(self.bytes_of("all_gather")[1:], [PARAMETERS // 100 * 8] * 3)

    def test_zero1(self):
        self.record_trainer("--strategy", "zero1", "--steps", 3)
        self.assertEqual(self.counts_by_step("all_reduce"), [0, 1, 1, 1])
        self.assertEqual(self.counts_by_step("broadcast"), [2, TENSORS, TENSORS + 2, TENSORS])

    def test_zero2(self):
        self.record_trainer("--strategy", "zero2", "--steps", 3)
        self.assertEqual(self.counts_by_step("reduce_scatter"), [0, 1, 1, 1])
        self.assertEqual(self.counts_by_step("all_gather"), [1, 1, 1, 1])
        self.assertEqual(self.counts_by_step("broadcast"), [2, 0, 0, 0])
        self.assertEqual(self.bytes_of("all_reduce"), [])

    def test_zero3(self):
        """A block's parameters are gathered in forward and again in backward, its gradients reduced once."""
        self.record_trainer("--strategy", "zero3", "--steps", 2)
        self.assertEqual(self.counts_by_step("reduce_scatter"), [0, BLOCKS, BLOCKS])
        self.assertEqual(self.counts_by_step("all_gather"), [1, 2 * BLOCKS, 2 * BLOCKS])
        self.assertEqual(self.bytes_of("all_reduce"), [])
        self.assertEqual(sum(self.bytes_of("reduce_scatter")), 2 * CONVNET_GRADIENT_BYTES)
        shares = self.bytes_of("all_gather")[1:]  # each rank's half: twice a step, and once for the checksum
        self.assertEqual(sum(shares), 5 * CONVNET_GRADIENT_BYTES // 2)

    def test_data_parallel_copies_the_model_in_each_step(self):
        self.record_trainer("--strategy", "dp", "--steps", 3, ranks=None)
        trace = self.trace(0)
        for mark in ("replicate", "gather", "reduce"):
            self.assertEqual(len(trace.ranges_named(mark)), 3, mark)
        self.assertEqual(trace.value("SELECT count(*) FROM collective"), 0)

    def test_without_ddp_no_gradient_is_averaged(self):
        truth = self.record_trainer("--steps", 3, "--mistake", "no-ddp")
        self.assertEqual(self.trace(0).value("SELECT count(*) FROM collective"), 0)
        self.assertNotEqual(*[rank["checksum"] for rank in truth["ranks"]])


class Results(Case):
    """Not recorded: what the ranks have in the end."""

    def test_ways_of_ddp_end_bit_equal(self):
        want = self.train_equally("--steps", 6)["checksum"]
        for ways in (("--find-unused",), ("--static-graph",), ("--bucket-view",), ("--overlap", "off"),
                     ("--first-bucket-mb", 4 / 1024, "--bucket-mb", 64 / 1024)):
            self.assertEqual(self.train_equally("--steps", 6, *ways)["checksum"], want, ways)

    def test_zero_learns_what_ddp_learns(self):
        want = self.train_equally(*ADAM, "--steps", 10)
        for strategy in ("zero1", "zero2", "zero3"):
            self.check_same_training(want, self.train_equally(*ADAM, "--steps", 10, "--strategy", strategy), strategy)

    def test_zero_divides_memory(self):
        """Bytes per fp32 parameter with Adam on N = 2 ranks: 16, 8 + 8/N, 4 + 12/N, 16/N."""
        for strategy, want in (("ddp", (4, 4, 8)), ("zero1", (4, 4, 4)), ("zero2", (4, 2, 4)), ("zero3", (2, 2, 4))):
            ranks = self.train(*ADAM, "--steps", 2, "--strategy", strategy)
            for part, bytes_each in zip(("parameters", "gradients", "optimizer"), want):
                kept = [rank["state_bytes"][part] for rank in ranks]
                self.assertEqual(sum(kept), 2 * PARAMETERS * bytes_each, f"{strategy} {part}")
                if strategy != "zero1":  # which divides whole tensors
                    self.assertEqual(kept[0], kept[1], f"{strategy} {part}")

    def test_zero_with_clipping_and_accumulation(self):
        ways = (*ADAM, "--steps", 4, "--clip-norm", "0.5", "--accumulate", 3)
        want = self.train_equally(*ways)
        for more in (("--strategy", "zero1"), ("--strategy", "zero2"), ("--strategy", "zero2", "--no-sync", "off"),
                     ("--strategy", "zero3")):
            self.check_same_training(want, self.train_equally(*ways, *more), more)

    def test_zero_on_three_ranks(self):
        """Parameters that do not divide evenly, and ranks that own no tensor."""
        ways = ("--model", "toy", "--optimizer", "adam", "--steps", 4)
        for strategy in ("zero1", "zero2", "zero3"):
            self.train_equally(*ways, "--strategy", strategy, ranks=3)

    def test_zero3_gathers_tied_weights_for_both_blocks(self):
        ways = ("--model", "bert-tiny", "--batch", 2, "--steps", 3, "--loss-every", 1)
        self.check_same_training(self.train_equally(*ways), self.train_equally(*ways, "--strategy", "zero3"), "tied")

    def test_zero3_recomputes_what_it_gathers_again(self):
        ways = (*ADAM, "--steps", 4)
        self.check_same_training(self.train_equally(*ways),
                                 self.train_equally(*ways, "--strategy", "zero3", "--recompute"), "recompute")

    def test_data_parallel_learns_what_one_process_learns(self):
        want = self.train(*ADAM, "--steps", 6, ranks=0)[0]
        for replicas in (2, 3):  # 3: the last one has less of the batch
            got = self.train(*ADAM, "--steps", 6, "--strategy", "dp", "--dp-replicas", replicas, ranks=0)[0]
            self.check_same_training(want, got, replicas)

    def test_compression_learns(self):
        plain = self.train_equally("--steps", 40)
        for form, worst in (("fp16", 0.01), ("topk:0.1", 0.3)):
            lossy = self.train_equally("--steps", 40, "--grad-compress", form)
            self.assertNotEqual(lossy["checksum"], plain["checksum"])
            self.assertLess(abs(lossy["last_loss"] - plain["last_loss"]), worst, form)

    def test_join_goes_on_until_all_data_has_ended(self):
        """Rank 0 has 1.5 times as many samples: rank 1 joins in with zeros, and both end with one model."""
        for more in ((), ("--find-unused",), ("--overlap", "off"), ("--grad-compress", "topk:0.1"),
                     ("--accumulate", 2)):
            zero, one = self.train("--uneven", "join", "--samples", 250, "--batch", 10, "--epochs", 2, *more)
            self.assertEqual(zero["checksum"], one["checksum"], more)
            self.assertEqual(sum(zero["samples"]), 2 * 150)
            self.assertEqual(sum(one["samples"]), 2 * 100)
            self.assertEqual(len(zero["samples"]), len(one["samples"]))
            self.assertIn(0, one["samples"])
            self.assertNotIn(0, zero["samples"])


class Mistakes(Case):
    def test_replicas_differ_without_ddp(self):
        ranks = self.start_ranks("--steps", 3, "--mistake", "no-ddp")
        output = ranks[0].communicate(timeout=60)[0]
        self.assertEqual(ranks[0].returncode, 0)
        self.assertIn("replicas differ", output)
        self.assertNotIn("equal on all ranks", output)

    def test_a_parameter_without_gradient_ends_training(self):
        said = self.fail_together("--steps", 3, "--mistake", "unused")
        self.assertIn("no gradient came for unused", said)
        self.assertIn("--find-unused", said)

    def test_find_unused_trains_in_spite_of_it(self):
        self.train_equally("--steps", 3, "--mistake", "unused", "--find-unused")

    def test_parts_of_strategies_that_do_not_go_together(self):
        for arguments in (("--overlap", "off", "--grad-compress", "fp16"), ("--strategy", "dp"),
                          ("--strategy", "zero3", "--uneven", "join")):
            for process in self.start_ranks(*arguments):
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 2, errors)
                self.assertIn("hint: ", errors)
