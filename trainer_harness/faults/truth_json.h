// SPDX-License-Identifier: Apache-2.0
// The parts of the truth as JSON, for the code that writes and merges it; other code uses truth.h.
#pragma once

#include <nlohmann/json.hpp>

#include "trainer_harness/faults/truth.h"

namespace dprof::trainer_harness {

using TruthJson = nlohmann::ordered_json;

[[nodiscard]] TruthJson to_json(const Moment& moment);
[[nodiscard]] TruthJson to_json(const Strike& strike);
[[nodiscard]] TruthJson to_json(const Deed& deed);
[[nodiscard]] TruthJson state_json(const RankTruth& truth);

// This process, by host and process id.
[[nodiscard]] std::string host_name();

// `accounts` as encode() writes them, by rank.
void write_truth_json(const std::filesystem::path& file, const JobTruth& job,
                      std::vector<TruthJson> accounts);

}  // namespace dprof::trainer_harness
