// SPDX-License-Identifier: Apache-2.0
// Options for the model, its arithmetic, and the data.
#include "trainer_harness/common/usage_error.h"
#include "trainer_harness/settings/declare.h"

namespace dprof::trainer_harness {

void declare_training(CLI::App& app, Options& options) {
  TrainingOptions& to = options.training;
  Group group(app, "Training");
  group.value("--model", to.model, "NAME", "what is trained; --list names them")
      ->capture_default_str();
  group
      .value("--steps", to.steps, "N", "stop after N optimizer updates (default: after the epochs)")
      ->check(above_zero());
  group.value("--epochs", to.epochs, "N", "passes over the data (default: the model's)")
      ->check(above_zero());
  CLI::Option* batch =
      group
          .value("--batch", to.batch, "B", "samples per rank and micro-step (default: the model's)")
          ->check(above_zero());
  group
      .value("--global-batch", to.global_batch, "B",
             "samples of all ranks together; each takes its part")
      ->check(above_zero())
      ->excludes(batch);
  group.choice<OptimizerKind>(
      "--optimizer", to.optimizer,
      {{"sgd", OptimizerKind::kSgd},
       {"adam", OptimizerKind::kAdam},
       {"custom", OptimizerKind::kCustom}},
      "SGD, Adam, or a custom optimizer of the trainer's own (default: the model's)");
  group.value("--lr", to.learning_rate, "X", "learning rate (default: the model's)")
      ->check(not_negative());
  group.value("--momentum", to.momentum, "X", "of SGD (default: the model's)")
      ->check(not_negative());
  group
      .value("--clip-norm", to.clip_norm, "X",
             "gradient clipping: the norm over all parameters is at most X")
      ->check(above_zero());
  group.value("--seed", to.seed, "N", "of the parameters and the data")->capture_default_str();
  group.on_off("--rank-seed", to.rank_seed,
               "each rank has random numbers of its own (dropout) once the model is built");
  group
      .value("--accumulate", to.accumulate, "K",
             "gradient accumulation: K micro-steps per optimizer update")
      ->check(above_zero())
      ->capture_default_str();
  group.on_off("--no-sync", to.no_sync,
               "no_sync: reduce gradients in the last micro-step of an update only; off: in each "
               "(mistake M3)");
  group.choice<Amp>("--amp", to.amp,
                    {{"off", Amp::kOff}, {"bf16", Amp::kBf16}, {"fp16", Amp::kFp16}},
                    "mixed precision: autocast to 16 bits");
  group.on_off("--grad-scaler", to.grad_scaler,
               "GradScaler: scale the loss, skip a step with overflow (default: with fp16)");
  group.on_off("--recompute", to.recompute,
               "activation checkpointing: compute each block again in backward");
  group.on_off("--sync-bn", to.sync_bn,
               "SyncBatchNorm: batch statistics over all ranks, 2 small collectives per layer");
  group
      .value("--loss-every", to.loss_every, "K",
             "read the loss every K steps; 1: a host synchronisation in each (mistake M15)")
      ->check(above_zero())
      ->capture_default_str();
}

namespace {

void read_uneven(DataOptions& to, const std::string& text) {
  if (text == "pad") {
    to.uneven = Uneven::kPad;
  } else if (text == "drop") {
    to.uneven = Uneven::kDrop;
  } else if (text == "join") {
    to.uneven = Uneven::kJoin;
  } else if (text.starts_with("skew:")) {
    to.uneven = Uneven::kSkew;
    to.skew = real_number("--uneven", text.substr(5));
    if (to.skew < 1) {
      throw UsageError("--uneven " + text +
                       ": the factor is below 1\nhint: skew:1.5 gives rank 0 half as much more");
    }
  } else {
    throw UsageError("--uneven " + text + " is not known\nhint: pad, drop, join or skew:1.5");
  }
}

}  // namespace

void declare_data(CLI::App& app, Options& options) {
  DataOptions& to = options.data;
  Group group(app, "Data");
  group
      .text("--data", "NAME", "samples are made from the seed: synthetic is the only word",
            [](const std::string&) {})
      ->check(CLI::IsMember(std::vector<std::string>{"synthetic"}))
      ->default_str("synthetic");
  group.value("--samples", to.samples, "N", "size of the data set (default: the model's)")
      ->check(above_zero());
  group.value("--image-size", to.image_size, "PIXELS", "edge of the images (default: the model's)")
      ->check(above_zero());
  group.choice<SamplerKind>(
      "--sampler", to.sampler,
      {{"random", SamplerKind::kRandom},
       {"sequential", SamplerKind::kSequential},
       {"none", SamplerKind::kNone}},
      "DistributedSampler: how the ranks share the data; none: each reads all of it (mistake M1)");
  group.on_off("--set-epoch", to.set_epoch,
               "set_epoch: draw a new order in each epoch; off: mistake M2");
  group
      .value("--loader-workers", to.loader_workers, "W",
             "DataLoader workers: threads that make batches ahead; 0: the training thread does")
      ->check(not_negative())
      ->capture_default_str();
  group
      .text(
          "--uneven", "pad|drop|join|skew:F",
          "data that does not divide evenly: "
          "repeat samples, leave some out, go on until all have ended, or a rank 0 with F times the others' (mistake M4)",
          [&to](const std::string& text) { read_uneven(to, text); })
      ->default_str("pad");
}

}  // namespace dprof::trainer_harness
