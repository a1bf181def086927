// SPDX-License-Identifier: Apache-2.0
// Digests the traces of a run, one per core at a time.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/digest/digest.h"
#include "analyzer/run/run.h"
#include "analyzer/vocabulary/progress.h"
#include "base/result.h"
#include "base/shared_list.h"

namespace dprof::analyzer {

// With what belongs to it, each takes about 200 bytes.
inline constexpr size_t kMostCallsInMemory = 8'000'000;

// Collects a run's digests as they arrive. Each rank lists the members of its communicators,
// together ranks² entries: equal lists are stored once. If there are more than so many calls, the
// digests are put into paged memory, except for their calls, which are matched first.
//
// Threading  put() from any thread, for different traces.
class CollectedDigests {
 public:
  explicit CollectedDigests(size_t traces, size_t calls_in_memory = kMostCallsInMemory)
      : digests_(traces), calls_in_memory_(calls_in_memory) {}

  void put(size_t trace, Result<RankDigest> digest);
  [[nodiscard]] bool has(size_t trace) const { return digests_[trace].has_value(); }
  // Call after the last put().
  [[nodiscard]] std::vector<Result<RankDigest>> take() &&;

 private:
  std::vector<std::optional<Result<RankDigest>>> digests_;
  const size_t calls_in_memory_;
  std::mutex mutex_;  // of the next three
  ListPool<int> members_;
  size_t calls_ = 0;
  std::vector<size_t> in_memory_;  // traces
};

// One result per trace, in order. Fails only if `progress` cancels; digests already begun are then
// waited for.
Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress,
                                                   size_t calls_in_memory = kMostCallsInMemory);

}  // namespace dprof::analyzer
