// SPDX-License-Identifier: Apache-2.0
#include "analyzer/breakdown/bandwidth.h"

#include <algorithm>

namespace dprof::analyzer {

using schema::Function;

double size_of(Function function, int64_t input_bytes, size_t ranks) {
  const auto input = static_cast<double>(input_bytes);
  if (function == Function::kAllGather || function == Function::kGather)
    return input * static_cast<double>(ranks);
  return input;
}

double bus_factor(Function function, size_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (function) {
    case Function::kAllReduce:
      return 2 * (n - 1) / n;
    case Function::kReduceScatter:
    case Function::kAllGather:
    case Function::kAllToAll:
    case Function::kGather:
    case Function::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

std::optional<double> size_of(const Instance& instance, std::span<const RankDigest> digests,
                              size_t ranks) {
  int64_t sum = 0;
  int64_t most = 0;
  size_t known = 0;
  for (const Member& member : instance.members) {
    const std::optional<int64_t> bytes = digests[member.digest].collectives[member.record].bytes;
    if (!bytes || *bytes < 0) continue;
    ++known;
    sum += *bytes;
    most = std::max(most, *bytes);
  }
  if (known == 0) return std::nullopt;
  switch (instance.function) {
    case Function::kAllGather:
    case Function::kGather:
      if (known == ranks) return static_cast<double>(sum);
      // Assumes that the others contributed the same on average.
      return static_cast<double>(sum) * static_cast<double>(ranks) / static_cast<double>(known);
    case Function::kAllToAll:
    case Function::kScatter:
      return static_cast<double>(most);
    default:
      return instance.bytes ? std::optional(static_cast<double>(*instance.bytes))
                            : static_cast<double>(most);
  }
}

std::optional<Bandwidth> bandwidth_of(Function function, double size, size_t ranks, int64_t ns) {
  if (size <= 0 || ns <= 0 || ranks == 0) return std::nullopt;
  const double algbw = size * static_cast<double>(kNsPerSecond) / static_cast<double>(ns);
  return Bandwidth{algbw, algbw * bus_factor(function, ranks)};
}

}  // namespace dprof::analyzer
