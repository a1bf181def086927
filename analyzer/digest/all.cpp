// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/all.h"

#include <fmt/format.h>

#include "analyzer/digest/cache.h"
#include "base/in_threads.h"
#include "base/paged_memory.h"

namespace dprof::analyzer {

namespace {

void page_out(RankDigest& digest) {
  CollectiveRecords calls = std::move(digest.collectives);
  digest = paged_copy(digest);
  digest.collectives = std::move(calls);
  let_go_of_paged_memory();
}

}  // namespace

void CollectedDigests::put(size_t trace, Result<RankDigest> digest) {
  bool too_many = false;
  if (digest.ok()) {
    const std::lock_guard lock(mutex_);
    for (CommunicatorInfo& one : digest->communicators) members_.share(one.members);
    calls_ += digest->collectives.size();
    too_many = calls_ > calls_in_memory_;
    if (!too_many) in_memory_.push_back(trace);
  }
  if (too_many) page_out(*digest);
  digests_[trace] = std::move(digest);
}

std::vector<Result<RankDigest>> CollectedDigests::take() && {
  if (calls_ > calls_in_memory_) {
    for (const size_t trace : in_memory_) page_out(**digests_[trace]);
  }
  std::vector<Result<RankDigest>> all;
  all.reserve(digests_.size());
  for (std::optional<Result<RankDigest>>& digest : digests_) all.push_back(*std::move(digest));
  return all;
}

Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress,
                                                   size_t calls_in_memory) {
  if (!progress("reading", 0)) return fail(Code::kUsage, "cancelled");
  CollectedDigests digests(traces.size(), calls_in_memory);
  const bool all = in_threads(
      traces.size(), 0,
      [&](size_t i) { digests.put(i, cache ? cached_digest(traces[i]) : digest_rank(traces[i])); },
      [&](size_t done) {
        return progress(fmt::format("{} of {} ranks read", done, traces.size()),
                        static_cast<double>(done) / static_cast<double>(traces.size()));
      });
  if (!all) return fail(Code::kUsage, "cancelled");
  return std::move(digests).take();
}

}  // namespace dprof::analyzer
