// SPDX-License-Identifier: Apache-2.0
// Bandwidth of a collective as nccl-tests defines it (docs/analysis/communication.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

struct Bandwidth {
  double algbw = 0;  // bytes/s: the size, by the time
  double busbw = 0;  // what each link has to carry: comparable between functions and rank counts
};

// What nccl-tests takes for the size of a collective of `ranks`, of which each gives `input_bytes`
// (a scatter: the root). All-gather and gather: the total over ranks.
[[nodiscard]] double size_of(schema::Function function, int64_t input_bytes, size_t ranks);

// busbw / algbw.
[[nodiscard]] double bus_factor(schema::Function function, size_t ranks);

// The size of one instance by what its members gave: uneven all-gathers count their sum, uneven
// all-to-alls the most that a member sent (what it received is not recorded). nullopt = unknown.
[[nodiscard]] std::optional<double> size_of(const Instance& instance,
                                            std::span<const RankDigest> digests, size_t ranks);

// nullopt: no time, no bytes or no ranks.
[[nodiscard]] std::optional<Bandwidth> bandwidth_of(schema::Function function, double size,
                                                    size_t ranks, int64_t ns);

}  // namespace dprof::analyzer
