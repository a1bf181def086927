# SPDX-License-Identifier: Apache-2.0
"""Techniques of a training step in dprof-trainer: precision, optimizers, accumulation, clipping, SyncBatchNorm, recomputing."""
import json
import os
import re

from support import CONVNET_GRADIENT_BYTES, TRAINER, EndToEnd

NEAR = 1e-5
RESNET18_NORM_LAYERS = 20
RESNET = ("--model", "resnet18", "--image-size", 32)


class Case(EndToEnd):
    programs = (TRAINER,)

    def train(self, *arguments, ranks=2, want=0):
        """Every rank's account of a training, and what was printed. 0 ranks: one process without any."""
        truth = self.folder / "truth.json"
        self.output = self.spawned("--truth", truth, "--loss-every", 1, *arguments, ranks=ranks, want=want)
        return json.loads(truth.read_text())["ranks"] if want == 0 else None

    def train_equally(self, *arguments, ranks=2):
        accounts = self.train(*arguments, ranks=ranks)
        self.assertEqual(len({account["checksum"] for account in accounts}), 1, accounts)
        return accounts[0]

    def skipped(self):
        """What the gradient scaler of each rank that speaks says of its steps: skipped ones, all of them, the last scale."""
        found = re.findall(r"grad scaler: skipped (\d+) of (\d+) steps, scale ([\d.]+)", self.output)
        self.assertTrue(found, self.output)
        return [(int(skipped), int(steps), float(scale)) for skipped, steps, scale in found]

    def refuse(self, what, *arguments, ranks=2):
        self.train(*arguments, ranks=ranks, want=2)
        self.assertIn(what, self.output)
        self.assertIn("hint: ", self.output)


class MixedPrecision(Case):
    def test_autocast_computes_in_16_bits_and_reduces_in_32(self):
        exact = self.train_equally("--steps", 5, "--batch", 16)
        for amp in ("bf16", "fp16"):
            self.run_folder = self.folder / amp
            account = self.record_trainer("--steps", 5, "--batch", 16, "--loss-every", 1, "--amp", amp)["ranks"][0]
            difference = abs(account["first_loss"] - exact["first_loss"])
            self.assertGreater(difference, 0, amp)
            self.assertLess(difference, 0.05, amp)
            reduced = [row[1] for row in self.trace(0, self.run_folder).collectives("all_reduce")]
            self.assertEqual(reduced, [CONVNET_GRADIENT_BYTES] * 5, amp)

    def test_scaling_changes_no_result(self):
        """Scales are powers of two, so that bf16 and fp32 lose nothing by them."""
        for amp in ("off", "bf16"):
            plain = self.train_equally("--steps", 5, "--batch", 16, "--amp", amp)
            scaled = self.train_equally("--steps", 5, "--batch", 16, "--amp", amp, "--grad-scaler", "on")
            self.assertEqual(self.skipped(), [(0, 5, 65536)])
            self.assertLess(abs(scaled["last_loss"] - plain["last_loss"]), NEAR)

    def test_overflow_skips_the_step_on_all_ranks(self):
        """A high learning rate makes for large gradients: some of 65,536 times their size are not finite in fp16."""
        for strategy in ("ddp", "zero2"):
            self.train_equally("--steps", 12, "--batch", 4, "--lr", 1, "--amp", "fp16", "--strategy", strategy, "--log-rank",
                               "all")
            first, second = self.skipped()
            self.assertEqual(first, second, strategy)
            self.assertGreater(first[0], 0, strategy)
            self.assertLess(first[0], 12, strategy)
            self.assertEqual(first[2], 65536 / 2 ** first[0], strategy)

    def test_mistake_no_zero_grad(self):
        """One overflow stays in gradients that nobody clears: every step is skipped."""
        self.train_equally("--steps", 8, "--batch", 8, "--amp", "fp16", "--mistake", "amp-no-zero")
        skipped, steps, _ = self.skipped()[0]
        self.assertEqual((skipped, steps), (8, 8))

    def test_a_scaler_needs_the_optimizer_on_its_rank(self):
        self.refuse("gradient scaler", "--strategy", "parameter-server", "--amp", "fp16", "--steps", 2)
        self.refuse("--clip-norm", "--strategy", "parameter-server", "--clip-norm", 1, "--steps", 2)


class Optimizers(Case):
    def test_custom_is_descent(self):
        custom = self.train_equally("--steps", 6, "--optimizer", "custom", "--lr", 0.05)
        descent = self.train_equally("--steps", 6, "--optimizer", "sgd", "--lr", 0.05, "--momentum", 0)
        self.assertEqual(custom["checksum"], descent["checksum"])

    def test_each_learns_in_a_way_of_its_own(self):
        checksums = set()
        for optimizer in (("sgd", "--momentum", 0), ("sgd", "--momentum", 0.9), ("adam",)):
            account = self.train_equally("--steps", 30, "--lr", 0.01, "--optimizer", *optimizer)
            self.assertLess(account["last_loss"], account["first_loss"] - 0.1, optimizer)
            checksums.add(account["checksum"])
        self.assertEqual(len(checksums), 3)

    def test_momentum_is_for_sgd(self):
        self.refuse("--momentum", "--optimizer", "adam", "--momentum", 0.5, "--steps", 2)


class Clipping(Case):
    ONE = ("--steps", 3, "--batch", 16, "--optimizer", "sgd", "--momentum", 0)

    def test_gradients_have_the_norm_that_was_asked_for(self):
        """Where the norm is always above the bound, a step's length is the bound times the rate."""
        short = self.train_equally(*self.ONE, "--lr", 10, "--clip-norm", 0.001)
        long = self.train_equally(*self.ONE, "--lr", 0.1, "--clip-norm", 0.1)
        free = self.train_equally(*self.ONE, "--lr", 0.1)
        self.assertLess(abs(short["last_loss"] - long["last_loss"]), NEAR)
        self.assertGreater(abs(free["last_loss"] - long["last_loss"]), 10 * NEAR)

    def test_a_high_bound_changes_nothing(self):
        self.assertEqual(self.train_equally(*self.ONE, "--clip-norm", 1e9)["checksum"],
                         self.train_equally(*self.ONE)["checksum"])

    def test_the_norm_is_over_all_ranks_parameters(self):
        whole = self.train_equally(*self.ONE, "--lr", 0.1, "--clip-norm", 0.1)
        for strategy in ("zero1", "zero2", "zero3"):
            divided = self.train_equally(*self.ONE, "--lr", 0.1, "--clip-norm", 0.1, "--strategy", strategy)
            self.assertLess(abs(whole["last_loss"] - divided["last_loss"]), NEAR, strategy)


class Loop(Case):
    def test_accumulation_is_a_larger_batch(self):
        """An epoch of one update, so that both see the same samples in it; what they learnt shows in the update after."""
        losses = []
        for name, accumulation in (("whole", ("--batch", 32)), ("parts", ("--batch", 8, "--accumulate", 4))):
            data = ("--samples", 64, "--lr", 0.1, "--checkpoint", self.folder / name)
            account = self.train_equally(*data, *accumulation, "--steps", 4)
            self.assertEqual(account["samples"], [32] * 4)
            losses.append(self.train_equally(*data, "--batch", 32, "--steps", 5, "--resume")["last_loss"])
        self.assertLess(losses[0], account["first_loss"] - 0.01)
        self.assertLess(abs(losses[0] - losses[1]), NEAR)

    def test_the_last_window_of_an_epoch_is_an_update_too(self):
        """Five batches for each rank, two for an update; the last one alone counts as much as two would."""
        partial = self.train_equally("--samples", 40, "--batch", 4, "--accumulate", 2, "--epochs", 2)
        self.assertEqual(partial["samples"], [8, 8, 4] * 2)
        alone = self.train_equally("--samples", 8, "--batch", 4, "--accumulate", 2, "--epochs", 3)
        plain = self.train_equally("--samples", 8, "--batch", 4, "--epochs", 3)
        self.assertEqual(alone["checksum"], plain["checksum"])

    def test_mistake_partial_window(self):
        """The fifth batch of each epoch gets no update; the loss is not divided, which is a higher rate."""
        mistaken = self.record_trainer("--samples", 40, "--batch", 4, "--accumulate", 2, "--epochs", 2, "--mistake",
                                       "partial-window")["ranks"][0]
        self.assertEqual(mistaken["samples"], [8, 8] * 2)
        trace = self.trace(0)
        self.assertEqual(len(trace.ranges_named("micro_step")), 10)
        self.assertEqual(len(trace.ranges_named("optimizer")), 4)
        undivided = self.train_equally("--samples", 16, "--batch", 4, "--accumulate", 2, "--steps", 3, "--lr", 0.01,
                                       "--momentum", 0, "--mistake", "partial-window")
        doubled = self.train_equally("--samples", 16, "--batch", 4, "--accumulate", 2, "--steps", 3, "--lr", 0.02,
                                     "--momentum", 0)
        self.assertLess(abs(undivided["last_loss"] - doubled["last_loss"]), NEAR)

    def test_seeds_of_ranks(self):
        """Toy draws its samples when they are asked for: ranks with one seed draw the same."""
        for rank_seed, equal in (("on", False), ("off", True)):
            accounts = self.train("--model", "toy", "--steps", 3, "--rank-seed", rank_seed)
            self.assertEqual(accounts[0]["last_loss"] == accounts[1]["last_loss"], equal, rank_seed)

    def test_resumes_within_an_epoch(self):
        """Seven updates in one go, and four and three: the epoch of five goes on at its fifth batch."""
        data = ("--samples", 160, "--batch", 16, "--log-every", 1)
        whole = self.train_equally(*data, "--steps", 7)
        self.train_equally(*data, "--steps", 4, "--checkpoint", self.folder / "saved")
        resumed = self.train_equally(*data, "--steps", 7, "--checkpoint", self.folder / "saved", "--resume")
        self.assertEqual(len(resumed["step_ns"]), 3)
        self.assertEqual(resumed["checksum"], whole["checksum"])

    def test_a_rank_without_data_makes_every_update(self):
        accounts = self.train("--strategy", "model-parallel", "--samples", 48, "--batch", 8, "--epochs", 2, ranks=3)
        self.assertEqual([len(account["step_ns"]) for account in accounts], [12] * 3)

    def test_an_epoch_without_an_update_is_refused(self):
        self.refuse("has not one update", "--samples", 8, "--batch", 4, "--accumulate", 2, "--steps", 1, "--mistake",
                    "partial-window")

    def test_global_batch_is_divided(self):
        accounts = self.train("--global-batch", 24, "--steps", 2)
        self.assertEqual([account["samples"] for account in accounts], [[12, 12]] * 2)
        self.refuse("--global-batch 25", "--global-batch", 25, "--steps", 2)


class SyncBatchNorm(Case):
    # An epoch of one update: one process has all the samples that two ranks have together.
    HALVES = (*RESNET, "--samples", 8, "--batch", 4, "--steps", 3, "--lr", 0.01)
    WHOLE = (*RESNET, "--samples", 8, "--batch", 8, "--steps", 3, "--lr", 0.01)

    def test_two_ranks_are_one(self):
        want = self.train(*self.WHOLE, ranks=0)[0]
        synced = self.train(*self.HALVES, "--sync-bn")
        apart = self.train(*self.HALVES)
        for loss in ("first_loss", "last_loss"):
            mean = sum(account[loss] for account in synced) / 2
            self.assertLess(abs(mean - want[loss]), 1e-4 * want[loss], loss)
            self.assertGreater(abs(sum(account[loss] for account in apart) / 2 - want[loss]), 1e-3, loss)

    def test_two_small_collectives_a_layer(self):
        self.record_trainer(*self.HALVES, "--sync-bn")
        for rank in (0, 1):
            trace = self.trace(rank)
            gathered = [row[1] for row in trace.collectives("all_gather")][1:]  # the first compares the ranks' models
            self.assertEqual(len(gathered), 3 * RESNET18_NORM_LAYERS)
            reduced = [row[1] for row in trace.collectives("all_reduce") if row[1] <= 2 * 512 * 4]
            self.assertEqual(len(reduced), 3 * RESNET18_NORM_LAYERS)

    def test_needs_layers_and_ranks(self):
        self.refuse("no batch normalisation", "--sync-bn", "--steps", 1)
        self.refuse("--sync-bn", *RESNET, "--sync-bn", "--steps", 1, ranks=0)


class Recompute(Case):
    DEEP = "mlp:" + ",".join(["256"] * 24)

    def peak_bytes(self, *arguments):
        process = self.start(TRAINER, "--steps", 1, *arguments)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        return usage.ru_maxrss * 1024

    def test_same_results(self):
        deep, gpt = ("--model", self.DEEP, "--lr", 0.1), ("--model", "gpt-tiny", "--batch", 4)
        both = ("--amp", "bf16", "--strategy", "zero3")
        for options in ((*deep, *both[:2]), (*deep, *both[2:]), gpt, (*gpt, *both)):
            kept = self.train_equally(*options, "--steps", 3)
            again = self.train_equally(*options, "--steps", 3, "--recompute")
            self.assertEqual(kept["checksum"], again["checksum"], options)

    def test_running_statistics_count_each_batch_once(self):
        saved = []
        for name, extra in (("kept", ()), ("again", ("--recompute",))):
            self.train(*RESNET, "--batch", 4, "--steps", 2, "--checkpoint", self.folder / name, *extra, ranks=0)
            saved.append((self.folder / name / "model.pt").read_bytes())
        self.assertTrue(saved[0] == saved[1], "the buffers differ")

    def test_saves_activations(self):
        """Of one layer in two they need not be kept while the other runs backward."""
        arguments = ("--model", "gpt-tiny", "--batch", 512)
        self.assertLess(self.peak_bytes(*arguments, "--recompute"), self.peak_bytes(*arguments) - (48 << 20))

    def test_needs_a_block_in_the_middle(self):
        self.refuse("--recompute", "--model", "toy", "--recompute", "--steps", 1)
