// SPDX-License-Identifier: Apache-2.0
// Writes what happened on a rank as PyTorch's profiler would have: one JSON file per rank.
#pragma once

#include <filesystem>
#include <string>

#include "synth/model/model.h"
#include "synth/truth/truth.h"

namespace dprof::synth {

// Not in rank order: readers must rely on the file's content.
[[nodiscard]] std::string kineto_file_name(int rank);

Status write_kineto(const std::filesystem::path& file, const Model& model, const Truth& truth,
                    int rank, const Trail& trail);

}  // namespace dprof::synth
