// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "analyzer/match/match.h"
#include "analyzer/steps/device_windows.h"
#include "analyzer/steps/ngrams.h"
#include "analyzer/steps/phases.h"
#include "analyzer/steps/tokens.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kMuchLonger = 3;   // times the median
constexpr double kMostSteps = 0.5;  // have the usual collectives; else none are usual
constexpr size_t kFewestSteps = 5;  // to say what is usual
constexpr size_t kRanksAsked = 16;

enum class Named : uint8_t { kNothing, kValidation, kCheckpoint };

Named named_by(std::string_view name) {
  const auto holds = [&](std::string_view part) {
    const auto same = [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    };
    return std::search(name.begin(), name.end(), part.begin(), part.end(), same) != name.end();
  };
  if (holds("checkpoint") || holds("save")) return Named::kCheckpoint;
  if (holds("valid") || holds("eval")) return Named::kValidation;
  return Named::kNothing;
}

// The steady step of that rank that contains a moment.
std::optional<size_t> steady_at(const Steps& steps, size_t rank, TraceNs moment) {
  return holder_of(steps.steady(), moment,
                   [rank](const AlignedStep& step) { return step.windows[rank]; });
}

void see_names(const RankDigest& digest, const Steps& steps, std::vector<Named>& named) {
  std::map<int64_t, size_t> position;
  for (size_t s = 0; s < steps.steady().size(); ++s) position[steps.steady()[s].index] = s;
  for (const MarkedPhase& marked : digest.marked) {
    const Named what = named_by(marked.name);
    if (what == Named::kNothing) continue;
    for (const MarksInStep& marks : marked.in_steps) {
      if (marks.step >= digest.steps.size()) continue;
      const auto found = position.find(digest.steps[marks.step].index);
      if (found != position.end()) named[found->second] = std::max(named[found->second], what);
    }
  }
}

void see_checkpoints(const RankDigest& digest, const Steps& steps, size_t rank,
                     std::vector<bool>& checkpoint) {
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kCheckpoint) continue;
    if (const auto step = steady_at(steps, rank, phase.span.begin)) checkpoint[*step] = true;
  }
}

// A number for each step's collectives: equal for steps with equal collectives in any order, since
// calls of several threads interleave.
std::vector<uint64_t> contents_of(const RankDigest& digest, const Steps& steps, size_t rank) {
  std::vector<uint64_t> contents(steps.steady().size(), 0);
  const auto mixed = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  for (const CollectiveRecord& record : digest.collectives) {
    const auto at = record.arrival();
    const auto step = at ? steady_at(steps, rank, *at) : std::nullopt;
    if (!step) continue;
    uint64_t token = mixed(record.communicator + 1);
    token = mixed(token + static_cast<uint64_t>(record.function));
    token = mixed(token + static_cast<uint64_t>(record.bytes.value_or(-1)));
    contents[*step] += mixed(token + static_cast<uint64_t>(record.dtype));
  }
  return contents;
}

// Adds a vote for each step in which this rank's collectives differ from its usual ones. False if
// it has no usual ones.
bool vote_by_contents(const std::vector<uint64_t>& contents, std::vector<size_t>& votes) {
  std::unordered_map<uint64_t, size_t> count;
  for (const uint64_t content : contents) ++count[content];
  const auto usual =
      std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  if (static_cast<double>(usual->second) <= kMostSteps * static_cast<double>(contents.size()))
    return false;
  for (size_t s = 0; s < contents.size(); ++s) votes[s] += contents[s] == usual->first ? 0 : 1;
  return true;
}

// The extra work of each step of steps.steady(): "checkpoint", "validation", "other", or "" for an
// ordinary step. A step is not ordinary if
//   - a range in it says so (checkpoint, validation, evaluate, …) and it contains a checkpoint or
//     is longer than three times the median, or
//   - most ranks' collectives differ from those in their other steps.
// O(collectives + steps * ranks).
std::vector<std::string> outer_kinds(std::span<const RankDigest> digests, const Steps& steps) {
  const std::span<const AlignedStep> steady = steps.steady();
  std::vector<Named> named(steady.size(), Named::kNothing);
  std::vector<bool> checkpoint(steady.size(), false);
  std::vector<size_t> votes(steady.size(), 0);
  size_t voters = 0;
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    see_names(digest, steps, named);
    see_checkpoints(digest, steps, r, checkpoint);
    const bool asked = voters < kRanksAsked && steady.size() >= kFewestSteps;
    if (asked && vote_by_contents(contents_of(digest, steps, r), votes)) ++voters;
  }
  std::vector<int64_t> lengths;
  for (const AlignedStep& step : steady) lengths.push_back(step.longest_ns);
  const double usual = static_cast<double>(median_ns(std::move(lengths)));
  std::vector<std::string> kinds(steady.size());
  for (size_t s = 0; s < steady.size(); ++s) {
    const bool other_contents = voters > 0 && 2 * votes[s] > voters;
    const bool longer = static_cast<double>(steady[s].longest_ns) > kMuchLonger * usual;
    if (checkpoint[s] || (longer && named[s] == Named::kCheckpoint)) {
      kinds[s] = "checkpoint";
    } else if ((longer || other_contents) && named[s] == Named::kValidation) {
      kinds[s] = "validation";
    } else if (other_contents) {
      kinds[s] = named[s] == Named::kCheckpoint ? "checkpoint" : "other";
    }
  }
  return kinds;
}

using schema::Marker;

constexpr double kInMostSteps = 0.8;
// A layer that is spread over ranks also repeats within a step, but with fewer collectives.
constexpr size_t kLeastTokens = kLongestGram + 1;
constexpr size_t kMostTokens = size_t{1} << 16;  // of one step

// The most frequent number, if 80 % of the steps have it.
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

// Finds steady steps by one rank's windows; moments are given in ascending order.
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
  TraceNs covered_to{INT64_MIN};  // a phase nested in one of its kind is not counted
  Marker covered_by = Marker::kNone;
  for (const PhaseRange& phase : with_inferred_phases(digest)) {
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

// Repetition among the collectives of the middle step.
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

// The usual number of micro-steps in a steady step: by ranges named micro_step, else by equally
// many forwards and backwards, else by collectives that repeat within the step. nullopt = unknown.
// O(phases + collectives of one rank).
std::optional<int64_t> micro_steps_of(std::span<const RankDigest> digests, const Steps& steps) {
  // All ranks of a step agree: the first one with an answer is enough.
  constexpr size_t kAsked = 8;
  for (size_t r = 0; r < std::min(kAsked, steps.ranks.size()); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    if (const auto number = by_marks(digest, steps)) return number;
    if (const auto number = by_phases(digest, steps, r)) return number;
    if (const auto number = by_tokens(digest, steps, r)) return number;
  }
  return std::nullopt;
}

constexpr size_t kAlwaysWarmUp = 2;  // DDP's first step has one bucket, the second rebuilds them
constexpr size_t kRunning = 5;
constexpr int64_t kFewSteps = 10;

std::vector<double> as_doubles(std::span<const int64_t> values) {
  return {values.begin(), values.end()};
}

// Complete steps of one rank by index, without empty and overlapping ones.
std::map<int64_t, Interval> sound_steps(const RankDigest& digest, int64_t& left_out) {
  std::vector<StepRecord> records = digest.steps;
  std::ranges::stable_sort(records, {}, [](const StepRecord& s) { return s.window.begin; });
  std::map<int64_t, Interval> sound;
  TraceNs covered_to{INT64_MIN};
  int64_t last_index = INT64_MIN;
  for (const StepRecord& record : records) {
    if (record.window.empty() || record.window.begin < covered_to || record.index <= last_index) {
      ++left_out;
      continue;
    }
    sound.emplace(record.index, record.window);
    covered_to = record.window.end;
    last_index = record.index;
  }
  return sound;
}

void note_ranks_without_steps(std::span<const RankDigest> digests, const std::vector<size_t>& with,
                              std::vector<Diagnostic>& diagnostics) {
  if (with.empty()) return;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (std::ranges::count(with, i) != 0) continue;
    diagnostics.push_back(make_diagnostic(
        "rank_without_steps",
        fmt::format("rank {} has no complete step{}", digests[i].rank,
                    digests[i].steps_begun > 0 ? fmt::format(" ({} begun)", digests[i].steps_begun)
                                               : std::string())));
  }
}

// Chooses the steady steps; false if none of the chosen indices exists.
bool settle_steady(Steps& steps, const std::optional<std::pair<int64_t, int64_t>>& chosen) {
  if (!chosen) {
    std::vector<int64_t> lengths;
    for (const AlignedStep& step : steps.steps) lengths.push_back(step.longest_ns);
    steps.first_steady = end_of_warm_up(lengths);
    steps.last_steady = steps.steps.size() - 1;
    return true;
  }
  const auto first = std::ranges::lower_bound(steps.steps, chosen->first, {}, &AlignedStep::index);
  const auto end = std::ranges::lower_bound(steps.steps, chosen->second, {}, &AlignedStep::index);
  if (first >= end) return false;
  steps.first_steady = static_cast<size_t>(first - steps.steps.begin());
  steps.last_steady = static_cast<size_t>(end - steps.steps.begin()) - 1;
  return true;
}

void fill_info(std::span<const RankDigest> digests, Steps& steps) {
  const std::vector<std::string> kinds = outer_kinds(digests, steps);
  std::vector<int64_t> ordinary;
  std::vector<int64_t> all;
  for (size_t s = 0; s < kinds.size(); ++s) {
    AlignedStep& step = steps.steps[steps.first_steady + s];
    step.outer = !kinds[s].empty();
    all.push_back(step.longest_ns);
    if (!step.outer) ordinary.push_back(step.longest_ns);
  }
  steps.info = {.count = static_cast<int64_t>(steps.steps.size()),
                .first_steady = steps.steps[steps.first_steady].index,
                .last_steady = steps.steps[steps.last_steady].index,
                .steady = static_cast<int64_t>(steps.steady().size()),
                .median_ns = median_ns(ordinary.empty() ? all : ordinary),
                .source = digests[steps.ranks.front()].step_source,
                .micro_steps = micro_steps_of(digests, steps),
                .outer = {},
                .lengths_ns = {}};
  const std::vector<int64_t>& usable = ordinary.empty() ? all : ordinary;
  steps.info.lengths_ns.assign(
      usable.end() - static_cast<ptrdiff_t>(std::min(usable.size(), StepsInfo::kMostLengths)),
      usable.end());
  for (size_t s = 0; s < kinds.size(); ++s) {
    const AlignedStep& step = steps.steady()[s];
    if (step.outer)
      steps.info.outer.push_back({step.index, kinds[s], step.longest_ns - steps.info.median_ns});
  }
}

void fill_device_windows(std::span<const RankDigest> digests, Steps& steps) {
  const auto launches = [&](size_t rank) -> const std::vector<Launch>& {
    return digests[rank].gpu.launches;
  };
  if (std::ranges::all_of(steps.ranks, [&](size_t r) { return launches(r).empty(); })) return;
  for (AlignedStep& step : steps.steps) step.device_windows.resize(steps.ranks.size());
  for (size_t r = 0; r < steps.ranks.size(); ++r) {
    const RankDigest& digest = digests[steps.ranks[r]];
    std::vector<Interval> hosts;
    for (const AlignedStep& step : steps.steps) hosts.push_back(step.windows[r]);
    TraceNs end = digest.span.begin;
    for (const IntervalSet* busy : {&digest.gpu.compute, &digest.gpu.communication}) {
      if (!busy->empty()) end = std::max(end, busy->back().end);
    }
    const auto windows = device_windows_of(launches(steps.ranks[r]), hosts, end);
    for (size_t s = 0; s < windows.size(); ++s) steps.steps[s].device_windows[r] = windows[s];
  }
}

using RankSteps = std::map<int64_t, Interval>;

// Leaves out ranks with very few steps: the common steps of all ranks would be as few.
void leave_out_short_ranks(std::span<const RankDigest> digests, std::vector<size_t>& ranks,
                           std::vector<RankSteps>& of_rank, std::vector<Diagnostic>& diagnostics) {
  std::vector<int64_t> counts;
  for (const RankSteps& steps : of_rank) counts.push_back(static_cast<int64_t>(steps.size()));
  const int64_t usual = median_ns(counts);
  size_t kept = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (2 * counts[r] < usual) {
      diagnostics.push_back(make_diagnostic(
          "rank_with_few_steps", fmt::format("rank {} has {} complete steps, the others {}",
                                             digests[ranks[r]].rank, counts[r], usual)));
      continue;
    }
    ranks[kept] = ranks[r];
    std::swap(of_rank[kept], of_rank[r]);
    ++kept;
  }
  ranks.resize(kept);
  of_rank.resize(kept);
}

// The steps common to all ranks.
void join(const std::vector<RankSteps>& of_rank, Steps& steps) {
  for (const auto& [index, window] : of_rank.front()) {
    AlignedStep step{.index = index, .windows = {}, .device_windows = {}};
    for (const RankSteps& rank : of_rank) {
      const auto found = rank.find(index);
      if (found == rank.end()) break;
      step.windows.push_back(found->second);
      step.longest_ns = std::max(step.longest_ns, found->second.length().ns);
    }
    if (step.windows.size() == of_rank.size()) steps.steps.push_back(std::move(step));
  }
}

}  // namespace

Interval Steps::until_next(size_t step, size_t entry) const {
  Interval span = steps[step].windows[entry];
  if (step + 1 < steps.size() && steps[step + 1].index == steps[step].index + 1)
    span.end = std::max(span.end, steps[step + 1].windows[entry].begin);
  return span;
}

size_t end_of_warm_up(const std::vector<int64_t>& lengths_ns) {
  const size_t n = lengths_ns.size();
  if (n <= kAlwaysWarmUp) return 0;
  if (n < kAlwaysWarmUp + kRunning) return kAlwaysWarmUp;
  const std::vector<double> half = as_doubles(std::span(lengths_ns).subspan(n / 2));
  const double settled = median(half);
  // A perfectly even run has MADn 0: one percent is even enough.
  const double tolerance = std::max(3 * mad_n(half), 0.01 * settled);
  for (size_t first = kAlwaysWarmUp; first < n / 2; ++first) {
    const double running = median(as_doubles(std::span(lengths_ns).subspan(first, kRunning)));
    // A run that becomes slower has no warm-up.
    if (running - settled <= tolerance) return first;
  }
  return std::max(kAlwaysWarmUp, n / 2);
}

void drop_failed_steps(std::span<RankDigest> digests) {
  for (RankDigest& digest : digests) {
    const auto failed_in = [&](const StepRecord& step) {
      return std::ranges::any_of(digest.collectives, [&](const CollectiveRecord& record) {
        return record.failed && *record.failed > step.window.begin &&
               *record.failed <= step.window.end;
      });
    };
    while (!digest.steps.empty() && failed_in(digest.steps.back())) digest.steps.pop_back();
  }
}

std::optional<Steps> align_steps(std::span<const RankDigest> digests,
                                 const std::optional<std::pair<int64_t, int64_t>>& chosen,
                                 std::vector<Diagnostic>& diagnostics) {
  Steps steps;
  std::vector<RankSteps> of_rank;
  int64_t left_out = 0;
  for (size_t i = 0; i < digests.size(); ++i) {
    RankSteps sound = sound_steps(digests[i], left_out);
    if (sound.empty()) continue;
    steps.ranks.push_back(i);
    of_rank.push_back(std::move(sound));
  }
  note_ranks_without_steps(digests, steps.ranks, diagnostics);
  if (of_rank.empty()) {
    diagnostics.push_back(make_diagnostic("no_steps", "no rank has a complete training step"));
    return std::nullopt;
  }
  leave_out_short_ranks(digests, steps.ranks, of_rank, diagnostics);
  const auto [fewest, most] = std::ranges::minmax_element(of_rank, {}, &RankSteps::size);
  if (most->size() > fewest->size() + 1 || left_out > 0) {
    diagnostics.push_back(make_diagnostic(
        "uneven_steps",
        fmt::format("ranks have {} to {} complete steps; {} overlapping or empty ones left out",
                    fewest->size(), most->size(), left_out)));
  }
  join(of_rank, steps);
  if (steps.steps.empty() || !settle_steady(steps, chosen)) {
    diagnostics.push_back(make_diagnostic(
        "no_steps", steps.steps.empty() ? "no step is complete on all ranks"
                                        : fmt::format("none of the steps {}:{} was recorded",
                                                      chosen->first, chosen->second)));
    return std::nullopt;
  }
  fill_info(digests, steps);
  fill_device_windows(digests, steps);
  if (const auto steady = static_cast<int64_t>(steps.steady().size()); steady < kFewSteps) {
    diagnostics.push_back(
        make_diagnostic("few_steps", fmt::format("{} steady steps", steady), steady));
  }
  return steps;
}

}  // namespace dprof::analyzer
