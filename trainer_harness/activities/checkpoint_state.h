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

// Parameters and buffers of the model: those that all ranks have, or with `local`, those that only
// this rank has.
[[nodiscard]] NamedTensors model_state(const Model& model, bool local);

// Fills `to`'s tensors from `from`, which must have the same names, with or without kModulePrefix.
// `file` is for messages. Throws.
void fill(const NamedTensors& to, NamedTensors from, const std::string& file);

// An optimizer's state per parameter: "momentum_buffer", or "exp_avg", "exp_avg_sq", "step".
using OptimizerState = std::map<std::string, NamedTensors>;

// `names` are the names of the optimizer's parameters, in order.
[[nodiscard]] OptimizerState optimizer_state(const torch::optim::Optimizer& optimizer,
                                             const std::vector<std::string>& names);

// `state` can have more than this optimizer needs. Throws if it has less, or if it belongs to
// another optimizer.
void fill(torch::optim::Optimizer& optimizer, const std::vector<std::string>& names,
          const OptimizerState& state, const std::string& folder);

inline constexpr const char* kModulePrefix = "module.";

// Dictionaries on disk.
using Dictionary = c10::impl::GenericDict;
[[nodiscard]] Dictionary make_dictionary();
[[nodiscard]] Dictionary to_dictionary(const NamedTensors& tensors, const std::string& prefix);
[[nodiscard]] NamedTensors from_dictionary(const Dictionary& dictionary);

// Writes `part`, in the same folder, then renames it to `file`. Throws.
void write_dictionary(const std::filesystem::path& file, const std::filesystem::path& part,
                      const Dictionary& dictionary);
// Throws if the file is damaged, or was not written by write_dictionary().
[[nodiscard]] Dictionary read_dictionary(const std::filesystem::path& file);

}  // namespace dprof::trainer_harness
