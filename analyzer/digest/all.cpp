// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/all.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "analyzer/digest/cache.h"
#include "base/shared_list.h"

namespace dprof::analyzer {
namespace {

// Hands out traces to threads and takes their digests.
class Digesters {
 public:
  Digesters(std::span<const TraceFile> traces, bool cache)
      : traces_(traces), cache_(cache), digests_(traces.size()) {}

  bool run(const Progress& progress) {
    const size_t cores = std::max<size_t>(1, std::thread::hardware_concurrency());
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < std::min(cores, traces_.size()); ++t)
      threads.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    bool wanted = true;
    while (done_ < traces_.size() && wanted) {
      finished_.wait_for(lock, std::chrono::milliseconds(100));
      const double share = static_cast<double>(done_) / static_cast<double>(traces_.size());
      const std::string stage = fmt::format("{} of {} ranks read", done_, traces_.size());
      lock.unlock();
      wanted = progress(stage, share);
      lock.lock();
      if (!wanted) next_ = traces_.size();
    }
    return wanted;
  }

  std::vector<Result<RankDigest>> take() {
    std::vector<Result<RankDigest>> all;
    all.reserve(digests_.size());
    for (std::optional<Result<RankDigest>>& digest : digests_) all.push_back(*std::move(digest));
    return all;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < traces_.size()) {
      const size_t mine = next_++;
      lock.unlock();
      Result<RankDigest> digest =
          cache_ ? cached_digest(traces_[mine]) : digest_rank(traces_[mine]);
      lock.lock();
      // Each rank knows the members of its communicators: together as many as ranks, squared.
      if (digest.ok()) {
        for (CommunicatorInfo& one : digest->communicators) members_.share(one.members);
      }
      digests_[mine] = std::move(digest);
      ++done_;
      finished_.notify_one();
    }
  }

  std::span<const TraceFile> traces_;
  bool cache_;
  std::mutex mutex_;  // of what follows
  std::condition_variable finished_;
  size_t next_ = 0;
  size_t done_ = 0;
  std::vector<std::optional<Result<RankDigest>>> digests_;
  ListPool<int> members_;
};

}  // namespace

Result<std::vector<Result<RankDigest>>> digest_all(std::span<const TraceFile> traces, bool cache,
                                                   const Progress& progress) {
  if (!progress("reading", 0)) return fail(Code::kUsage, "cancelled");
  Digesters digesters(traces, cache);
  if (!digesters.run(progress)) return fail(Code::kUsage, "cancelled");
  return digesters.take();
}

}  // namespace dprof::analyzer
