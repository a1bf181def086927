// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/hang/job_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/time.h"
#include "schema/function.h"

namespace dprof::recorder {
namespace {

using schema::Function;

// The recorder looks several times a second; a later look means that it was stopped itself.
constexpr int64_t kLateLookNs = 3 * kNsPerSecond;

bool stands_in(const WatchedRank& rank, const OpenCall& call) {
  return std::ranges::any_of(rank.far.open, [&](const OpenCall& other) {
    return other.communicator == call.communicator && other.function == call.function &&
           other.observed;
  });
}

// Ranks of this recorder that are members of the call's communicator and have not called it.
std::vector<int> missing_in(const OpenCall& call, const std::vector<WatchedRank>& ranks) {
  std::vector<int> missing;
  if (schema::is_message(call.function)) return missing;  // only the two know its peer
  for (const WatchedRank& rank : ranks) {
    if (!rank.far.called.contains({call.communicator, Function::kUnknown})) continue;
    const auto called = rank.far.called.find({call.communicator, call.function});
    const bool has_come = called != rank.far.called.end() && called->second > call.sequence;
    // A rank inside a call of that kind has come, whatever its count says: records can be lost.
    if (!has_come && !stands_in(rank, call)) missing.push_back(rank.rank);
  }
  return missing;
}

}  // namespace

JobHang hang_of(const std::vector<WatchedRank>& ranks) {
  JobHang hang;
  std::set<int> awaited, waiting;
  std::vector<std::pair<const OpenCall*, std::vector<int>>> calls;
  for (const WatchedRank& rank : ranks) {
    for (const OpenCall& call : rank.far.open) {
      std::vector<int> missing = missing_in(call, ranks);
      // A call with an unobserved end may be over; a missing rank shows that it is not.
      if (!call.observed && missing.empty()) continue;
      waiting.insert(rank.rank);
      awaited.insert(missing.begin(), missing.end());
      calls.emplace_back(&call, std::move(missing));
    }
  }
  // A rank that waits itself is a victim; if all do, they wait for each other.
  std::set<int> suspects;
  std::ranges::set_difference(awaited, waiting, std::inserter(suspects, suspects.end()));
  if (suspects.empty()) suspects = awaited;
  hang.suspects.assign(suspects.begin(), suspects.end());
  std::ranges::set_difference(waiting, suspects, std::back_inserter(hang.waiting));
  if (hang.waiting.empty()) hang.waiting.assign(waiting.begin(), waiting.end());
  const auto waits_for_one = [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](int rank) { return suspects.contains(rank); });
  };
  auto in = std::ranges::find_if(calls, waits_for_one);
  if (in == calls.end()) in = calls.begin();
  if (in != calls.end()) hang.in = *in->first;
  return hang;
}

int64_t JobWatch::limit_of(const std::vector<WatchedRank>& ranks) const {
  if (limit_ns_) return *limit_ns_;
  int64_t step_ns = 0;
  for (const WatchedRank& rank : ranks) step_ns = std::max(step_ns, rank.far.median_step_ns);
  return std::max(kLeastDefaultNs, kDefaultSteps * step_ns);
}

JobWatch::News JobWatch::look(int64_t now_ns, const std::vector<WatchedRank>& ranks) {
  std::map<int, int> pids;
  for (const WatchedRank& rank : ranks) pids[rank.rank] = rank.pid;
  const bool same_ranks = pids == pids_;
  const bool was_away = now_ns - last_look_ns_ > kLateLookNs;
  const bool all_seen = std::ranges::all_of(ranks, [](const auto& r) { return r.far.recording; });
  if (!same_ranks || was_away || !all_seen) not_before_ns_ = now_ns;
  if (!same_ranks) hangs_ = false;
  pids_ = std::move(pids);
  last_look_ns_ = now_ns;

  int64_t progress_ns = 0;
  for (const WatchedRank& rank : ranks)
    progress_ns = std::max(progress_ns, rank.far.last_progress_ns);
  if (hangs_) {
    if (progress_ns <= hang_.since_ns) return News::kNone;
    hangs_ = false;
    lasted_ns_ = progress_ns - hang_.since_ns;
    return News::kGoesOn;
  }
  const bool has_stepped =
      std::ranges::any_of(ranks, [](const auto& r) { return r.far.steps > 0; });
  if (!has_stepped || now_ns - std::max(progress_ns, not_before_ns_) < limit_of(ranks))
    return News::kNone;
  hangs_ = true;
  hang_ = hang_of(ranks);
  hang_.since_ns = progress_ns;
  return News::kHangs;
}

std::string words_of_ranks(const std::vector<int>& ranks) {
  constexpr size_t kMostNamed = 16;
  const std::span named(ranks.data(), std::min(ranks.size(), kMostNamed));
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(named, ", "),
                     ranks.size() > kMostNamed
                         ? fmt::format(" and {} more", ranks.size() - kMostNamed)
                         : std::string());
}

std::string words_of(const OpenCall& call) {
  const std::string number =
      schema::is_message(call.function) ? "" : fmt::format(" #{}", call.position);
  return fmt::format("{}{} of {}", schema::word_of(call.function), number,
                     schema::group_in_text(call.group));
}

std::string words_of(const JobHang& hang) {
  if (!hang.in) return "no rank waits in a collective";
  const std::string waits = fmt::format("{} {}", words_of_ranks(hang.waiting),
                                        hang.waiting.size() == 1 ? "waits" : "wait");
  if (hang.suspects.empty())
    return fmt::format("{} in {}, which all ranks of this host have entered", waits,
                       words_of(*hang.in));
  return fmt::format("{} {} not entered {}, where {}", words_of_ranks(hang.suspects),
                     hang.suspects.size() == 1 ? "has" : "have", words_of(*hang.in), waits);
}

}  // namespace dprof::recorder
