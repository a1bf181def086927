// SPDX-License-Identifier: Apache-2.0
// What the command line of dprof-trainer asks for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trainer_harness/faults.h"

namespace CLI {
class App;
}

namespace dprof::trainer_harness {

enum class Backend : uint8_t { kGloo, kNccl };
enum class SamplerKind : uint8_t { kRandom, kSequential, kNone };
enum class MarkKind : uint8_t { kUserScope, kNvtx, kNone };

// An empty optional is the model's own default.
struct Options {
  std::string model = "convnet";
  std::optional<int64_t>
      steps;  // ends the run wherever in an epoch it is; else `epochs` whole ones
  std::optional<int64_t> epochs;
  std::optional<int64_t> batch;
  std::optional<double> learning_rate;
  std::optional<double> momentum;
  uint64_t seed = 42;

  Backend backend = Backend::kGloo;
  int64_t timeout_s = 60;
  double bucket_mb = 25;

  SamplerKind sampler = SamplerKind::kRandom;
  bool set_epoch = true;

  std::filesystem::path checkpoint;  // a folder; empty: none is saved
  int64_t checkpoint_every = 50;
  int64_t log_every = 20;
  bool log_every_rank = false;
  MarkKind marks = MarkKind::kUserScope;

  std::vector<Fault> faults;
  std::filesystem::path truth;  // a file; empty: none is written
};

// Adds the options to `app`, which fills `options` when it parses. `models` are the names that
// --model takes.
void declare_options(CLI::App& app, Options& options, const std::vector<std::string>& models);

}  // namespace dprof::trainer_harness
