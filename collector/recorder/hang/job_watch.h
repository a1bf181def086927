// SPDX-License-Identifier: Apache-2.0
// Detects that a job hangs while it is recorded: since when, in which call, and which ranks have
// not come.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/rows/how_far.h"

namespace dprof::recorder {

struct WatchedRank {
  int rank = 0;
  int pid = 0;      // in the recorder's namespace
  int own_pid = 0;  // as the process sees itself
  uint64_t first_event_ticks = 0;
  HowFar far;
};

// A hang as known when it is noticed.
struct JobHang {
  int64_t since_ns = 0;        // the last progress of any rank
  std::vector<int> suspects;   // have not come to a call in which others wait
  std::vector<int> waiting;    // are in a call
  std::optional<OpenCall> in;  // that call: the first to which a suspect has not come, or any
};

// A job hangs when none of its ranks has completed a step or a collective for the limit. It is not
// judged before the first step, while part of the job is not recorded, and for the limit after a
// rank started or ended or the recorder itself stood still (Ctrl-Z, a laptop that slept).
//
// Threading  one thread.
// Cost       O(ranks * open calls), some microseconds.
class JobWatch {
 public:
  static constexpr int64_t kDefaultSteps = 20;  // of the median step
  static constexpr int64_t kLeastDefaultNs = 60'000'000'000;

  // Without a limit: 20 median steps, 60 s at least.
  explicit JobWatch(std::optional<int64_t> limit_ns) : limit_ns_(limit_ns) {}

  enum class News { kNone, kHangs, kGoesOn };
  // To be called several times a second.
  News look(int64_t now_ns, const std::vector<WatchedRank>& ranks);
  // After kHangs; after kGoesOn, how long it lasted.
  [[nodiscard]] const JobHang& hang() const { return hang_; }
  [[nodiscard]] int64_t lasted_ns() const { return lasted_ns_; }
  // The job hangs now.
  [[nodiscard]] bool hangs() const { return hangs_; }

 private:
  [[nodiscard]] int64_t limit_of(const std::vector<WatchedRank>& ranks) const;

  std::optional<int64_t> limit_ns_;
  std::map<int, int> pids_;  // of the ranks
  int64_t last_look_ns_ = 0;
  int64_t not_before_ns_ = 0;
  bool hangs_ = false;
  JobHang hang_;
  int64_t lasted_ns_ = 0;
};

// The ranks that wait, and those they wait for, as far as their calls show.
[[nodiscard]] JobHang hang_of(const std::vector<WatchedRank>& ranks);

// "all_reduce #42 of default_pg".
[[nodiscard]] std::string words_of(const OpenCall& call);
// "rank 1 has not come to all_reduce #42 of default_pg, where rank 0 waits".
[[nodiscard]] std::string words_of(const JobHang& hang);
// "rank 1", "ranks 0, 2".
[[nodiscard]] std::string words_of_ranks(const std::vector<int>& ranks);

}  // namespace dprof::recorder
