// SPDX-License-Identifier: Apache-2.0
// Models and optimizers as dictionaries of tensors by the parameter's name.
#pragma once

#include <ATen/core/Dict.h>
#include <torch/optim/optimizer.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trainer_harness/models/model.h"

namespace dprof::trainer_harness {

using NamedTensors = std::map<std::string, torch::Tensor>;

// Parameters and buffers of the model: what all ranks have (`local` false), or what this rank alone
// has.
[[nodiscard]] NamedTensors model_state(const Model& model, bool local);

// Fills `to`'s tensors. Every name must be there, and no other; with `prefix` as well as without.
// `file` is for messages. Throws.
void fill(const NamedTensors& to, NamedTensors from, const std::string& file);

// What an optimizer keeps for a parameter: "momentum_buffer", or "exp_avg", "exp_avg_sq", "step".
using OptimizerState = std::map<std::string, NamedTensors>;

// `names` are those of the optimizer's parameters, in order.
[[nodiscard]] OptimizerState optimizer_state(const torch::optim::Optimizer& optimizer,
                                             const std::vector<std::string>& names);

// `state` may have more than this optimizer needs. Throws where it has less, or another
// optimizer's.
void fill(torch::optim::Optimizer& optimizer, const std::vector<std::string>& names,
          const OptimizerState& state, const std::string& folder);

inline constexpr const char* kModulePrefix = "module.";

// Dictionaries on disk.
using Dictionary = c10::impl::GenericDict;
[[nodiscard]] Dictionary make_dictionary();
[[nodiscard]] Dictionary to_dictionary(const NamedTensors& tensors, const std::string& prefix);
[[nodiscard]] NamedTensors from_dictionary(const Dictionary& dictionary);

// By way of `part`, beside `file`. Throws.
void write_dictionary(const std::filesystem::path& file, const std::filesystem::path& part,
                      const Dictionary& dictionary);
// Throws where the file is damaged, or not of write_dictionary().
[[nodiscard]] Dictionary read_dictionary(const std::filesystem::path& file);

}  // namespace dprof::trainer_harness
