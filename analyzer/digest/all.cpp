// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/all.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "analyzer/digest/cache.h"
#include "base/in_threads.h"
#include "base/shared_list.h"

namespace dprof::analyzer {

Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress) {
  if (!progress("reading", 0)) return fail(Code::kUsage, "cancelled");
  std::vector<std::optional<Result<RankDigest>>> digests(traces.size());
  std::mutex mutex;  // of `members`
  // Each rank knows the members of its communicators: together as many as ranks, squared.
  ListPool<int> members;
  const bool all = in_threads(
      traces.size(), 0,
      [&](size_t i) {
        Result<RankDigest> digest = cache ? cached_digest(traces[i]) : digest_rank(traces[i]);
        if (digest.ok()) {
          const std::lock_guard lock(mutex);
          for (CommunicatorInfo& one : digest->communicators) members.share(one.members);
        }
        digests[i] = std::move(digest);
      },
      [&](size_t done) {
        return progress(fmt::format("{} of {} ranks read", done, traces.size()),
                        static_cast<double>(done) / static_cast<double>(traces.size()));
      });
  if (!all) return fail(Code::kUsage, "cancelled");
  std::vector<Result<RankDigest>> taken;
  taken.reserve(digests.size());
  for (std::optional<Result<RankDigest>>& digest : digests) taken.push_back(*std::move(digest));
  return taken;
}

}  // namespace dprof::analyzer
