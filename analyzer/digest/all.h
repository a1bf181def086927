// SPDX-License-Identifier: Apache-2.0
// Digests the traces of a run, one on each core at a time.
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

// Takes the digests of a run as they come. Each rank knows the members of its communicators,
// together as many as ranks, squared: equal lists are kept once.
//
// Threading  put() from any, for different traces.
class CollectedDigests {
 public:
  explicit CollectedDigests(size_t traces) : digests_(traces) {}

  void put(size_t trace, Result<RankDigest> digest);
  [[nodiscard]] bool has(size_t trace) const { return digests_[trace].has_value(); }
  // All have been put.
  [[nodiscard]] std::vector<Result<RankDigest>> take() &&;

 private:
  std::vector<std::optional<Result<RankDigest>>> digests_;
  std::mutex mutex_;  // of members_
  ListPool<int> members_;
};

// One result per trace, in their order. Fails only when `progress` cancels; what has begun is then
// waited for.
Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress);

}  // namespace dprof::analyzer
