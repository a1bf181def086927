# SPDX-License-Identifier: Apache-2.0
"""The trainer's models and data: sizes to the last parameter, learning, which samples each rank gets."""
import json

import support
from support import DPROF, TRAINER, EndToEnd

WORD = (1 << 64) - 1


def mix(value):
    """The trainer's splitmix64, on which index hashes rest."""
    value = (value + 0x9E3779B97F4A7C15) & WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & WORD
    return value ^ (value >> 31)


def hash_of(indices):
    return sum(map(mix, indices)) & WORD


def total(hashes):
    return sum(hashes) & WORD


class Training(EndToEnd):
    programs = (TRAINER,)

    def train(self, *arguments, ranks=2, want=0, timeout=100):
        """What the ranks said; their truth is then in self.truth."""
        truth = self.folder / "truth.json"
        truth.unlink(missing_ok=True)
        if want == 0:
            text = self.spawned("--truth", truth, *arguments, ranks=ranks, timeout=timeout)
            self.truth = json.loads(truth.read_text())
            return text
        port = str(support.free_port())
        processes = [self.start(TRAINER, "--truth", truth, *arguments, RANK=str(rank), WORLD_SIZE=str(ranks),
                                LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
                     for rank in range(ranks)]
        said = [process.communicate(timeout=timeout) for process in processes]
        self.truth = json.loads(truth.read_text()) if truth.exists() else None
        text = "\n".join(output + errors for output, errors in said)
        self.assertEqual([process.returncode for process in processes], [want] * ranks, text)
        return text

    def alone(self, *arguments, want=0, timeout=100):
        done = self.command(TRAINER, *arguments, timeout=timeout)
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, want, text)
        return text

    def samples(self):
        return [sum(rank["samples"]) for rank in self.truth["ranks"]]

    def hashes(self):
        """By rank, of the samples of each step."""
        return [[int(text, 16) for text in rank["index_hash"]] for rank in self.truth["ranks"]]


class Models(Training):
    def check_size(self, model, parameters, tensors, *more, timeout=100):
        with self.subTest(model):
            text = self.alone("--model", model, "--steps", 1, *more, timeout=timeout)
            self.assertIn(f"model {model}: {parameters} parameters in {tensors} tensors", text)

    def test_parameter_counts(self):
        self.check_size("toy", 4, 2)
        self.check_size("convnet", 27_100, 8)
        self.check_size("mlp:64,256,10", 64 * 256 + 256 + 256 * 10 + 10, 4)
        self.check_size("bert-tiny", 611_456, 34)
        self.check_size("gpt-tiny", 593_408, 29)
        self.check_size("recommender-tiny", 104_273, 16)
        self.check_size("resnet18", 11_689_512, 62, "--batch", 2)

    def test_resnet50_is_whole(self):
        self.check_size("resnet50", 25_557_032, 161, "--batch", 2, timeout=170)

    def test_bert_base_is_whole(self):
        self.check_size("bert-base", 109_514_298, 154, "--batch", 1, timeout=170)

    def test_gpt2_is_whole(self):
        self.check_size("gpt2", 124_439_808, 148, "--batch", 1, timeout=170)

    def test_recommender_is_whole(self):
        self.check_size("recommender", 166_916_161, 36, "--batch", 64, timeout=170)

    def check_learns(self, model, steps, share, *more):
        """The loss falls to `share` of what it was, on ranks that stay equal."""
        self.train("--model", model, "--steps", steps, "--loss-every", 1, *more)
        zero, one = self.truth["ranks"]
        self.assertEqual(zero["checksum"], one["checksum"])
        self.assertLess(zero["last_loss"], share * zero["first_loss"])

    def test_convnet_learns(self):
        self.check_learns("convnet", 60, 0.9)

    def test_resnet_learns(self):
        self.check_learns("resnet18", 12, 0.7, "--batch", 8)

    def test_bert_learns(self):
        self.check_learns("bert-tiny", 40, 0.6)

    def test_gpt_learns(self):
        self.check_learns("gpt-tiny", 40, 0.4)

    def test_recommender_learns(self):
        self.check_learns("recommender-tiny", 60, 0.85)

    def test_mlp_learns(self):
        self.check_learns("mlp:64,256,10", 40, 0.1)

    def test_labels_of_the_toy_cannot_be_learned(self):
        self.train("--model", "toy", "--epochs", 2, "--batch", 50)
        for loss in ("first_loss", "last_loss"):
            self.assertLess(abs(self.truth["ranks"][0][loss] - 0.693), 0.3)

    def test_divided_tables_train_as_whole_ones_do(self):
        """Plain SGD, where a gradient of the wrong size shows."""
        losses = []
        for strategy in ("ddp", "zero1"):
            text = self.train("--model", "recommender-tiny", "--strategy", strategy, "--optimizer", "sgd", "--lr", "0.5",
                              "--steps", 30)
            losses.append(self.truth["ranks"][0]["last_loss"])
            self.assertEqual("104273 parameters" in text, strategy == "zero1", text)
            self.assertEqual("of which 48000 are this rank's alone" in text, strategy == "ddp", text)
        self.assertLess(abs(losses[0] - losses[1]), 1e-3)

    def test_unequal_batches_exchange_rows(self):
        self.train("--model", "recommender-tiny", "--uneven", "skew:2", "--samples", 48, "--batch", 64, "--epochs", 1)
        self.assertEqual(self.samples(), [32, 16])

    def test_images_of_any_size(self):
        self.alone("--model", "resnet18", "--image-size", 64, "--batch", 2, "--steps", 1)
        self.assertIn("hint:", self.alone("--model", "resnet18", "--image-size", 4, "--steps", 1, want=2))
        self.assertIn("--image-size", self.alone("--model", "toy", "--image-size", 32, "--steps", 1, want=2))

    def test_wrong_shape_fails_at_once(self):
        text = self.alone("--mistake", "shape", "--steps", 3, want=1)
        self.assertIn("mat1 and mat2 shapes cannot be multiplied", text)
        self.assertIn("--mistake shape", self.alone("--model", "toy", "--mistake", "shape", "--steps", 1, want=2))

    def test_bad_models_are_refused(self):
        for model in ("mlp:5", "mlp:", "mlp:4,x", "mlp:4,0,2", "mlp:4,,2", "mlp:WIDTHS", "mlp:9999999999,2", "alexnet"):
            with self.subTest(model):
                self.assertIn("hint:", self.alone("--model", model, "--steps", 1, want=2))

    def test_what_divided_tables_cannot_do_is_refused(self):
        for options in (["--checkpoint", self.folder / "saved"], ["--clip-norm", 1], ["--amp", "fp16"],
                        ["--uneven", "join"]):
            with self.subTest(options[0]):
                text = self.train("--model", "recommender-tiny", "--steps", 1, *options, want=2)
                self.assertIn("divides its tables", text)


class RecordedModels(Training):
    programs = (DPROF, TRAINER)

    def test_rows_of_tables_come_by_all_to_all(self):
        """Forward: how many samples, which rows, the rows; backward: their gradients."""
        self.record_trainer("--model", "recommender-tiny", "--steps", 5)
        for rank in range(2):
            self.assertEqual(len(self.trace(rank).collectives("all_to_all")), 5 * 4)


class Data(Training):
    """The toy model reads the samples; the index hash shows which they are."""

    def read(self, *arguments, samples=12, batch=4, epochs=1, **how):
        return self.train("--model", "toy", "--samples", samples, "--batch", batch, "--epochs", epochs, *arguments, **how)

    def test_shares_are_disjoint_and_whole(self):
        for sampler in ("random", "sequential"):
            with self.subTest(sampler):
                self.read("--sampler", sampler)
                self.assertEqual([rank["samples"] for rank in self.truth["ranks"]], [[4, 2], [4, 2]])
                zero, one = self.hashes()
                self.assertEqual(total(zero + one), hash_of(range(12)))
                self.assertEqual(zero + one == [hash_of(range(4)), hash_of(range(4, 6)), hash_of(range(6, 10)),
                                                hash_of(range(10, 12))], sampler == "sequential")

    def test_without_a_sampler_each_rank_reads_everything(self):
        self.read("--sampler", "none")
        zero, one = self.hashes()
        self.assertEqual(zero, one)
        self.assertEqual(total(zero), hash_of(range(12)))

    def test_uneven_shares(self):
        for uneven, want in (("pad", [6, 6]), ("drop", [5, 5]), ("join", [7, 4]), ("skew:10", [10, 1])):
            with self.subTest(uneven):
                self.read("--uneven", uneven, samples=11, batch=11)
                self.assertEqual(self.samples(), want)
                if uneven not in ("pad", "drop"):  # nothing twice, nothing left out
                    self.assertEqual(total(sum(self.hashes(), [])), hash_of(range(11)))

    def test_skew_leaves_a_rank_waiting(self):
        text = self.read("--uneven", "skew:3", "--timeout", 5, batch=1, want=1)
        self.assertRegex(text, r"(?i)timed? ?out|closed by peer")

    def test_join_goes_on_without_the_rank_that_has_ended(self):
        self.read("--uneven", "join", samples=10, batch=1)
        self.assertEqual(self.samples(), [6, 4])
        zero, one = self.truth["ranks"]
        self.assertEqual(zero["checksum"], one["checksum"])

    def test_set_epoch_draws_a_new_order(self):
        for set_epoch in ("on", "off"):
            with self.subTest(set_epoch):
                self.read("--set-epoch", set_epoch, samples=64, epochs=2)
                for rank in self.hashes():
                    self.assertEqual(len(rank), 16)
                    self.assertEqual(rank[:8] == rank[8:], set_epoch == "off")
                for epoch in (slice(0, 8), slice(8, 16)):
                    self.assertEqual(total(sum((rank[epoch] for rank in self.hashes()), [])), hash_of(range(64)))

    def test_workers_change_no_order(self):
        """Neither over epochs, nor where the steps end within one."""
        seen = []
        for workers in (0, 1, 3):
            self.train("--model", "toy", "--samples", 22, "--batch", 3, "--steps", 10, "--loader-workers", workers)
            seen.append(self.hashes())
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_too_few_samples(self):
        self.assertIn("--samples 1", self.read(samples=1, want=2))
