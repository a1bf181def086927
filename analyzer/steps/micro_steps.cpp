// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/micro_steps.h"

#include <algorithm>
#include <map>

#include "analyzer/steps/ngrams.h"
#include "analyzer/steps/phases.h"
#include "analyzer/steps/tokens.h"

namespace dprof::analyzer {
namespace {

using schema::Marker;

constexpr double kInMostSteps = 0.8;
// A layer that is spread over ranks repeats within a step too, but has fewer collectives.
constexpr size_t kLeastTokens = kLongestGram + 1;
constexpr size_t kMostTokens = size_t{1} << 16;  // of one step

// The number that most steps have, if 80 % of them do.
std::optional<int64_t> usual_number(const std::vector<int64_t>& numbers) {
  std::map<int64_t, size_t> count;
  for (const int64_t number : numbers) ++count[number];
  if (count.empty()) return std::nullopt;
  const auto usual =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  if (usual->first == 0 ||
      static_cast<double>(usual->second) < kInMostSteps * static_cast<double>(numbers.size()))
    return std::nullopt;
  return usual->first;
}

std::optional<int64_t> by_marks(const RankDigest& digest, const Steps& steps) {
  for (const MarkedPhase& marked : digest.marked) {
    if (marked.name != schema::kMicroStepName) continue;
    std::map<int64_t, int64_t> in_step;
    for (const MarksInStep& marks : marked.in_steps) {
      if (marks.step < digest.steps.size()) in_step[digest.steps[marks.step].index] = marks.count;
    }
    std::vector<int64_t> numbers;
    for (const AlignedStep& step : steps.steady()) {
      const auto found = in_step.find(step.index);
      numbers.push_back(found == in_step.end() ? 0 : found->second);
    }
    return usual_number(numbers);
  }
  return std::nullopt;
}

// Steady steps by one rank's windows; moments are asked for in ascending order.
class WindowCursor {
 public:
  WindowCursor(const Steps& steps, size_t rank) : steady_(steps.steady()), rank_(rank) {}

  std::optional<size_t> at(TraceNs moment) {
    while (next_ < steady_.size() && steady_[next_].windows[rank_].end <= moment) ++next_;
    if (next_ == steady_.size() || steady_[next_].windows[rank_].begin > moment) return {};
    return next_;
  }

 private:
  std::span<const AlignedStep> steady_;
  size_t rank_;
  size_t next_ = 0;
};

std::optional<int64_t> by_phases(const RankDigest& digest, const Steps& steps, size_t rank) {
  const size_t n = steps.steady().size();
  std::vector<int64_t> forwards(n, 0);
  std::vector<int64_t> backwards(n, 0);
  WindowCursor cursor(steps, rank);
  TraceNs covered_to{INT64_MIN};  // a phase within a phase of its kind is none of its own
  Marker covered_by = Marker::kNone;
  for (const PhaseRange& phase : with_inferred_backward(digest)) {
    if (phase.marker != Marker::kForward && phase.marker != Marker::kBackward) continue;
    if (phase.marker == covered_by && phase.span.begin < covered_to) continue;
    covered_to = phase.span.end;
    covered_by = phase.marker;
    const std::optional<size_t> step = cursor.at(phase.span.begin);
    if (step) ++(phase.marker == Marker::kForward ? forwards : backwards)[*step];
  }
  const std::optional<int64_t> number = usual_number(forwards);
  return number && number == usual_number(backwards) ? number : std::nullopt;
}

// Of the step in the middle: what repeats in its collectives.
std::optional<int64_t> by_tokens(const RankDigest& digest, const Steps& steps, size_t rank) {
  const std::span<const AlignedStep> steady = steps.steady();
  const Interval window = steady[steady.size() / 2].windows[rank];
  std::vector<CollectiveRecord> within;
  for (const CollectiveRecord& record : digest.collectives) {
    const auto at = record.arrival();
    if (at && *at >= window.begin && *at < window.end) within.push_back(record);
  }
  if (within.size() < 2 * kLeastTokens || within.size() > kMostTokens) return std::nullopt;
  const Tokens tokens = tokens_of(within);
  const Vote vote = vote_on_distance(tokens.kinds, {.fewest = 2});
  if (vote.distance < kLeastTokens) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Gram& gram : vote.grams) numbers.push_back(static_cast<int64_t>(gram.at.size()));
  return usual_number(numbers);
}

}  // namespace

std::optional<int64_t> micro_steps_of(std::span<const RankDigest> digests, const Steps& steps) {
  // Every rank of a step has as many: the first that tells is enough.
  constexpr size_t kAsked = 8;
  for (size_t r = 0; r < std::min(kAsked, steps.ranks.size()); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    if (const auto number = by_marks(digest, steps)) return number;
    if (const auto number = by_phases(digest, steps, r)) return number;
    if (const auto number = by_tokens(digest, steps, r)) return number;
  }
  return std::nullopt;
}

}  // namespace dprof::analyzer
