// SPDX-License-Identifier: Apache-2.0
// Bandwidth of a collective as nccl-tests defines it (docs/analysis/communication.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analyzer/match/match.h"

namespace dprof::analyzer {

struct Bandwidth {
  double algbw = 0;  // bytes/s: size divided by time
  double busbw = 0;  // what each link carries: comparable between functions and rank counts
};

// The size of a collective as nccl-tests defines it, for `ranks` ranks of which each contributes
// `input_bytes` (a scatter: the root). All-gather and gather: the total over ranks.
[[nodiscard]] double size_of(schema::Function function, int64_t input_bytes, size_t ranks);

// busbw / algbw.
[[nodiscard]] double bus_factor(schema::Function function, size_t ranks);

// The size of one instance from its members' contributions: uneven all-gathers count their sum,
// uneven all-to-alls the most that one member sent (received bytes are not recorded). nullopt =
// unknown.
[[nodiscard]] std::optional<double> size_of(const Instance& instance,
                                            std::span<const RankDigest> digests, size_t ranks);

// nullopt: no time, no bytes or no ranks.
[[nodiscard]] std::optional<Bandwidth> bandwidth_of(schema::Function function, double size,
                                                    size_t ranks, int64_t ns);

}  // namespace dprof::analyzer
