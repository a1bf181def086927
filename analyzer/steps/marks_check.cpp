// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/marks_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "analyzer/digest/thread_sketch.h"
#include "analyzer/steps/shared_events.h"

namespace dprof::analyzer {
namespace {

constexpr double kMostUnsound = 0.1;  // share of the marked steps that may be empty or overlap
constexpr double kAgreement = 0.8;    // share of two ranks' shared events that are in the same step
constexpr size_t kFewestShared = 5;

bool are_sound(const std::vector<StepRecord>& steps) {
  size_t unsound = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool overlaps = i > 0 && steps[i].window.begin < steps[i - 1].window.end;
    const bool goes_back = i > 0 && steps[i].index <= steps[i - 1].index;
    if (overlaps || goes_back || steps[i].window.empty()) ++unsound;
  }
  return static_cast<double>(unsound) <= kMostUnsound * static_cast<double>(steps.size());
}

// Falls back to the rank's own next-best evidence.
void fall_back(RankDigest& digest, std::string_view why, std::vector<Diagnostic>& diagnostics) {
  const bool marked = digest.step_source == schema::StepSource::kMarker;
  const size_t marks = digest.steps.size();
  digest.steps.clear();
  digest.marked.clear();  // it refers to the steps
  if (marked) {
    for (const StepMark& step : steps_from_optimizer(digest.phases, digest.autograd))
      digest.steps.push_back({static_cast<int64_t>(digest.steps.size()), step.span});
    digest.step_source = schema::StepSource::kOptimizer;
  }
  digest.steps_begun = static_cast<int64_t>(digest.steps.size());
  diagnostics.push_back(
      make_diagnostic("step_marks_not_used",
                      fmt::format("rank {}: {} steps by {} {}; {}", digest.rank, marks,
                                  marked ? "marker" : "optimizer", why,
                                  digest.steps.empty() ? "its steps come from what repeats"
                                                       : "the ends of optimizer ranges are used")));
}

// Finds the steps of moments given in ascending order.
class StepFinder {
 public:
  explicit StepFinder(const std::vector<StepRecord>& steps) : steps_(steps) {}

  std::optional<int64_t> index_at(TraceNs moment) {
    while (next_ < steps_.size() && steps_[next_].window.end <= moment) ++next_;
    if (next_ == steps_.size() || steps_[next_].window.begin > moment) return std::nullopt;
    return steps_[next_].index;
  }

 private:
  const std::vector<StepRecord>& steps_;
  size_t next_ = 0;
};

struct Agreement {
  size_t shared = 0;
  size_t agree = 0;
  int64_t shift = 0;  // the other's number of a step minus the known one's
  [[nodiscard]] double share() const {
    return shared == 0 ? 0 : static_cast<double>(agree) / static_cast<double>(shared);
  }
};

using Shifts = std::map<int64_t, size_t>;  // the other's index minus the known one's; how often

size_t times(const Shifts& shifts, int64_t shift) {
  const auto found = shifts.find(shift);
  return found == shifts.end() ? 0 : found->second;
}

// Shared operations are in the same step on both ranks. A message can be received a step later than
// it was sent, if messages in its direction usually are: a parameter server's answers begin the
// workers' next step. Such messages alone do not show that a rank counts from another number.
Agreement agreement_of(const std::vector<StepRecord>& known, const std::vector<StepRecord>& other,
                       std::span<const SharedEvent> events) {
  std::array<Shifts, 3> by_way;
  StepFinder in_known(known);
  StepFinder in_other(other);
  std::set<int64_t> candidates = {0};
  Agreement best;
  for (const SharedEvent& event : events) {
    const auto there = in_known.index_at(event.known_arrival);
    const auto here = in_other.index_at(event.arrival);
    if (!there || !here) continue;
    ++by_way[static_cast<size_t>(event.way)][*here - *there];
    candidates.insert(*here - *there);
    ++best.shared;
  }
  const Shifts& together = by_way[static_cast<size_t>(Way::kTogether)];
  const Shifts& from_known = by_way[static_cast<size_t>(Way::kFromKnown)];
  const Shifts& to_known = by_way[static_cast<size_t>(Way::kToKnown)];
  for (const int64_t shift : candidates) {
    const size_t agree = times(together, shift) +
                         std::max(times(from_known, shift), times(from_known, shift + 1)) +
                         std::max(times(to_known, shift), times(to_known, shift - 1));
    if (agree > best.agree || (agree == best.agree && shift == 0)) {
      best.agree = agree;
      best.shift = shift;
    }
  }
  return best;
}

class Checker {
 public:
  Checker(std::span<RankDigest> digests, const Matching& matching,
          std::vector<Diagnostic>& diagnostics)
      : digests_(digests), matching_(matching), diagnostics_(diagnostics) {}

  void run() {
    for (RankDigest& digest : digests_) {
      for (int evidence = 0; evidence < 2 && !digest.steps.empty(); ++evidence) {
        if (are_sound(digest.steps)) break;
        fall_back(digest, "overlap or go back", diagnostics_);
      }
    }
    for (const RankDigest& digest : digests_) held_.push_back(digest.steps.empty());
    // Each round takes a rank with the usual count as known, and checks against it every rank that
    // shares events with it.
    for (auto known = next_known(); known; known = next_known()) spread_from(*known);
  }

 private:
  std::optional<size_t> next_known() const {
    std::map<size_t, size_t> counts;
    for (size_t d = 0; d < digests_.size(); ++d) {
      if (!held_[d] && !digests_[d].steps.empty()) ++counts[digests_[d].steps.size()];
    }
    if (counts.empty()) return std::nullopt;
    const size_t usual =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
    for (size_t d = 0; d < digests_.size(); ++d) {
      if (!held_[d] && digests_[d].steps.size() == usual) return d;
    }
    return std::nullopt;
  }

  void spread_from(size_t first) {
    held_[first] = true;
    std::vector<size_t> known = {first};
    for (size_t k = 0; k < known.size(); ++k) {
      if (std::ranges::find(held_, false) == held_.end()) return;
      const SharedWith shared(digests_, matching_, known[k]);
      for (size_t d = 0; d < digests_.size(); ++d) {
        if (held_[d]) continue;
        const std::vector<SharedEvent> events = shared.events(d);
        if (events.size() < kFewestShared) continue;
        hold(known[k], d, events);
        held_[d] = true;
        if (!digests_[d].steps.empty()) known.push_back(d);
      }
    }
  }

  void hold(size_t known, size_t d, std::span<const SharedEvent> events) {
    RankDigest& digest = digests_[d];
    for (int evidence = 0; evidence < 2 && !digest.steps.empty(); ++evidence) {
      const Agreement found = agreement_of(digests_[known].steps, digest.steps, events);
      if (found.shared < kFewestShared) return;  // too few to check against
      if (found.share() >= kAgreement) return renumber(digest, found.shift);
      fall_back(digest,
                fmt::format("disagree with rank {} about {} of {} collectives and messages",
                            digests_[known].rank, found.shared - found.agree, found.shared),
                diagnostics_);
    }
  }

  void renumber(RankDigest& digest, int64_t shift) {
    if (shift == 0) return;
    for (StepRecord& step : digest.steps) step.index -= shift;
    diagnostics_.push_back(
        make_diagnostic("steps_renumbered", fmt::format("rank {} counted its steps from {}{}",
                                                        digest.rank, shift > 0 ? "+" : "", shift)));
  }

  std::span<RankDigest> digests_;
  const Matching& matching_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<bool> held_;  // checked against another rank, or known
};

}  // namespace

void check_marks(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics) {
  Checker(digests, matching, diagnostics).run();
}

}  // namespace dprof::analyzer
