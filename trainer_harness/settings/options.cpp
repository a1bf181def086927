// SPDX-License-Identifier: Apache-2.0
#include "trainer_harness/settings/options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <map>

namespace dprof::trainer_harness {
namespace {

// CLI11's own say "not in range 0 to 1.8e308" in 300 digits.
double number_in(const std::string& text) {
  size_t used = 0;
  try {
    const double value = std::stod(text, &used);
    return used == text.size() && std::isfinite(value) ? value : std::nan("");
  } catch (const std::exception&) {
    return std::nan("");
  }
}

const CLI::Validator kAboveZero(
    [](std::string& text) {
      return number_in(text) > 0 ? std::string() : "'" + text + "' is not a number above 0";
    },
    "");

const CLI::Validator kNotNegative(
    [](std::string& text) {
      return number_in(text) >= 0 ? std::string() : "'" + text + "' is not a number of 0 or more";
    },
    "");

// An option that takes one of a few words. CLI11's own transformer shows the enumerators' numbers
// in the help.
template <typename Value>
void add_choice(CLI::App& app, const std::string& name, Value& value,
                const std::map<std::string, Value>& words, const std::string& group,
                const std::string& help) {
  std::vector<std::string> names;
  std::string standard;
  for (const auto& [word, meaning] : words) {
    names.push_back(word);
    if (meaning == value) standard = word;
  }
  app.add_option_function<std::string>(
         name, [&value, words](const std::string& word) { value = words.at(word); }, help)
      ->check(CLI::IsMember(names))
      ->type_name("NAME")
      ->group(group)
      ->default_str(standard);
}

void declare_training(CLI::App& app, Options& options, const std::vector<std::string>& models) {
  app.add_option("--model", options.training.model, "what is trained")
      ->check(CLI::IsMember(models))
      ->type_name("NAME")
      ->group("Training")
      ->capture_default_str();
  app.add_option("--steps", options.training.steps,
                 "stop after N optimizer updates (default: after the epochs)")
      ->type_name("N")
      ->check(kAboveZero)
      ->group("Training");
  app.add_option("--epochs", options.training.epochs, "passes over the data (default: the model's)")
      ->type_name("N")
      ->check(kAboveZero)
      ->group("Training");
  app.add_option("--batch", options.training.batch,
                 "samples per rank and step (default: the model's)")
      ->type_name("B")
      ->check(kAboveZero)
      ->group("Training");
  app.add_option("--lr", options.training.learning_rate, "learning rate (default: the model's)")
      ->check(kNotNegative)
      ->group("Training");
  app.add_option("--momentum", options.training.momentum, "of SGD (default: the model's)")
      ->check(kNotNegative)
      ->group("Training");
  app.add_option("--seed", options.training.seed, "of the parameters and the data")
      ->type_name("N")
      ->group("Training")
      ->capture_default_str();
  add_choice<SamplerKind>(app, "--sampler", options.data.sampler,
                          {{"random", SamplerKind::kRandom},
                           {"sequential", SamplerKind::kSequential},
                           {"none", SamplerKind::kNone}},
                          "Training", "how the ranks share the data; none: each reads all of it");
  add_choice<bool>(app, "--set-epoch", options.data.set_epoch, {{"on", true}, {"off", false}},
                   "Training", "draw a new order in each epoch");
}

void declare_distribution(CLI::App& app, Options& options) {
  add_choice<Backend>(app, "--backend", options.distribution.backend,
                      {{"gloo", Backend::kGloo}, {"nccl", Backend::kNccl}}, "Distribution",
                      "what carries the gradients; nccl trains on the GPUs");
  app.add_option("--timeout", options.distribution.timeout_s,
                 "give up waiting for other ranks after so long")
      ->type_name("SECONDS")
      ->check(kAboveZero)
      ->group("Distribution")
      ->capture_default_str();
  app.add_option("--bucket-mb", options.distribution.bucket_mb,
                 "gradients that are reduced together, in MiB")
      ->check(kAboveZero)
      ->group("Distribution")
      ->capture_default_str();
}

void declare_output(CLI::App& app, Options& options) {
  app.add_option("--checkpoint", options.output.checkpoint, "save to this folder, from rank 0")
      ->type_name("DIR")
      ->group("Output");
  app.add_option("--checkpoint-every", options.output.checkpoint_every,
                 "steps between two checkpoints")
      ->type_name("K")
      ->check(kAboveZero)
      ->group("Output")
      ->capture_default_str();
  app.add_option("--log-every", options.output.log_every, "steps between two lines about the loss")
      ->type_name("K")
      ->check(kAboveZero)
      ->group("Output")
      ->capture_default_str();
  add_choice<bool>(app, "--log-rank", options.output.log_every_rank, {{"0", false}, {"all", true}},
                   "Output", "which ranks write lines");
  add_choice<MarkKind>(
      app, "--marks", options.output.marks,
      {{"user", MarkKind::kUserScope}, {"nvtx", MarkKind::kNvtx}, {"none", MarkKind::kNone}},
      "Output", "how steps and phases are marked: record_function ranges, NVTX, not at all");
}

void declare_faults(CLI::App& app, Options& options) {
  app.add_option_function<std::vector<std::string>>(
         "--inject",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) options.faults.push_back(parse_fault(text));
         },
         "delay a rank: KIND:rank=R,ms=D[,from=S,to=S,every=K,mode=sleep|busy]; KIND is " +
             fault_kind_names() + ". May be given several times")
      ->type_name("FAULT")
      ->allow_extra_args(false)
      ->group("Faults");
  app.add_option("--truth", options.output.truth,
                 "write what was really injected, and when, as JSON")
      ->type_name("FILE")
      ->group("Faults");
}

}  // namespace

void declare_options(CLI::App& app, Options& options, const std::vector<std::string>& models) {
  declare_training(app, options, models);
  declare_distribution(app, options);
  declare_output(app, options);
  declare_faults(app, options);
}

}  // namespace dprof::trainer_harness
