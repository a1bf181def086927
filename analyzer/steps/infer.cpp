// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/infer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/steps/busy_rhythm.h"
#include "analyzer/steps/marks_check.h"
#include "analyzer/steps/period.h"
#include "analyzer/steps/shared_events.h"
#include "analyzer/steps/tokens.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

struct StepBegins {
  std::string by;               // "order of collectives": their source
  size_t tokens = 0;            // per step; 0 = not found from tokens
  std::vector<TraceNs> begins;  // ascending
  // They recur within the step rather than at its begin.
  bool within_steps = false;
};

struct BeginsFound {
  std::optional<StepBegins> begins;
  std::string unsteady;  // repeats, but not evenly in time; "" = nothing does
};

// Of several forwards without a collective between them (gradient accumulation) only the first.
// Nested forwards are layers; messages mean a pipeline.
std::vector<TraceNs> forwards_after_collectives(const RankDigest& digest) {
  std::vector<TraceNs> begins;
  auto next = digest.collectives.begin();
  bool reduced = true;
  TraceNs covered_to{INT64_MIN};
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kForward || phase.span.begin < covered_to) continue;
    covered_to = phase.span.end;
    for (;
         next != digest.collectives.end() && next->arrival() && *next->arrival() < phase.span.begin;
         ++next) {
      const bool message =
          next->function == schema::Function::kSend || next->function == schema::Function::kRecv;
      reduced = reduced || !message;
    }
    if (reduced) begins.push_back(phase.span.begin);
    reduced = false;
  }
  return begins;
}

std::vector<TraceNs> first_buckets(const RankDigest& digest) {
  std::vector<TraceNs> begins;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.bucket == 0 && record.arrival()) begins.push_back(*record.arrival());
  }
  return begins;
}

std::optional<StepBegins> of_tokens(const Tokens& tokens, std::string by, bool within_steps) {
  const std::optional<Period> period = find_period(tokens.kinds, tokens.times);
  if (!period) return std::nullopt;
  StepBegins found{
      .by = std::move(by), .tokens = period->tokens, .begins = {}, .within_steps = within_steps};
  for (const size_t begin : period->begins) found.begins.push_back(tokens.times[begin]);
  return found;
}

std::optional<StepBegins> of_rhythm(const RankDigest& digest) {
  std::optional<std::vector<TraceNs>> begins =
      rhythm_of(union_of(digest.gpu.compute, digest.gpu.communication));
  if (!begins) return std::nullopt;
  return StepBegins{.by = "rhythm of the GPU's busy time",
                    .tokens = 0,
                    .begins = *std::move(begins),
                    .within_steps = false};
}

std::optional<StepBegins> of_moments(std::vector<TraceNs> begins, std::string by,
                                     bool within_steps) {
  if (begins.size() < kFewestOccurrences) return std::nullopt;
  return StepBegins{
      .by = std::move(by), .tokens = 0, .begins = std::move(begins), .within_steps = within_steps};
}

// Tries, in this order: DDP's forward after a collective, DDP's first bucket, the order of
// collectives, of operators, of kernels, and the rhythm of the GPU's busy time.
BeginsFound find_begins(const RankDigest& digest) {
  BeginsFound found;
  const auto take = [&](std::optional<StepBegins> begins) {
    if (!begins) return false;
    if (!is_steady(begins->begins)) {
      if (found.unsteady.empty()) found.unsteady = begins->by;
      return false;
    }
    found.begins = std::move(begins);
    return true;
  };
  const bool taken = take(of_moments(forwards_after_collectives(digest), "forwards", false)) ||
                     take(of_moments(first_buckets(digest), "first buckets", true)) ||
                     take(of_tokens(tokens_of(digest.collectives), "order of collectives", true)) ||
                     take(of_tokens(tokens_of(digest.tokens), "order of operators", false)) ||
                     take(of_tokens(tokens_of(digest.gpu.tokens), "order of kernels", false)) ||
                     take(of_rhythm(digest));
  if (taken) found.unsteady.clear();
  return found;
}

constexpr double kLeastGap = 0.005;  // of a step: a shorter one is a pause between two operators
constexpr double kSamePlace = 0.1;   // of a step
constexpr double kQuietInMostSteps = 0.8;

// The longest part of `window` outside `set`; empty if `set` covers all of it.
Interval longest_gap(const IntervalSet& set, Interval window) {
  Interval best{window.begin, window.begin};
  TraceNs from = window.begin;
  const auto consider = [&](TraceNs to) {
    if (to - from > best.length()) best = {from, to};
  };
  auto next = std::ranges::lower_bound(set, window.begin, {}, &Interval::end);
  for (; next != set.end() && next->begin < window.end; ++next) {
    consider(std::max(from, next->begin));
    from = std::max(from, next->end);
  }
  consider(std::max(from, window.end));
  return best;
}

// The latest end of a collective before `moment`, else the begin of the trace.
TraceNs last_end_before(const RankDigest& digest, TraceNs moment) {
  TraceNs last = digest.span.begin;
  for (const CollectiveRecord& record : digest.collectives) {
    if (record.end && *record.end <= moment) last = std::max(last, *record.end);
  }
  return last;
}

IntervalSet busy_times(const RankDigest& digest, const IntervalSet& autograd) {
  std::vector<Interval> more;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker != schema::Marker::kInput) more.push_back(phase.span);
  }
  // Without a GPU the host waits for its collectives.
  if (digest.gpu.empty()) {
    for (const CollectiveRecord& record : digest.collectives) {
      if (record.arrival() && record.end && record.by_training_thread)
        more.push_back({*record.arrival(), *record.end});
    }
  }
  return union_of(union_of(union_of(digest.ops, autograd), digest.waits),
                  union_of(std::move(more)));
}

// A step begins at the longest gap in the training thread's recorded work between the backward of
// the step before and its own: after the optimizer, before the batch. One per begin. nullopt = the
// rank's operators were not recorded, or that place is not the same in most steps.
std::optional<std::vector<TraceNs>> quiet_starts(const RankDigest& digest,
                                                 std::span<const TraceNs> begins) {
  if (begins.size() < 3 || (digest.ops.empty() && digest.autograd.empty())) return std::nullopt;
  const IntervalSet autograd = union_of(digest.autograd, digest.autograd_elsewhere);
  const IntervalSet busy = busy_times(digest, autograd);
  std::vector<int64_t> lengths;
  for (size_t i = 1; i < begins.size(); ++i) lengths.push_back((begins[i] - begins[i - 1]).ns);
  const int64_t usual_length = median_ns(lengths);
  std::vector<TraceNs> starts;
  std::vector<int64_t> gaps;
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < begins.size(); ++i) {
    // Anything further back than a usual step belongs to the step before, or to none.
    const TraceNs earliest = begins[i] - DurationNs{usual_length};
    const TraceNs before = i == 0 ? last_end_before(digest, begins[i]) : begins[i - 1];
    Interval window{std::max(before, earliest), begins[i]};
    if (!autograd.empty()) window = longest_gap(autograd, window);
    const Interval gap = longest_gap(busy, window);
    starts.push_back(gap.begin);
    gaps.push_back(gap.length().ns);
    offsets.push_back((begins[i] - gap.begin).ns);
  }
  const auto usual = static_cast<double>(usual_length);
  const int64_t usual_offset = median_ns(offsets);
  const auto is_usual = [&](int64_t offset) {
    return std::abs(static_cast<double>(offset - usual_offset)) <= kSamePlace * usual;
  };
  const auto same = std::ranges::count_if(offsets, is_usual);
  if (static_cast<double>(median_ns(gaps)) < kLeastGap * usual ||
      static_cast<double>(same) < kQuietInMostSteps * static_cast<double>(begins.size()))
    return std::nullopt;
  // Before the first step the gap is arbitrary.
  if (!is_usual(offsets.front())) starts.front() = begins.front() - DurationNs{usual_offset};
  return starts;
}

constexpr size_t kVoters = 8;  // ranks that are asked for the length of a step

// Steps from each begin to the next; the last one might be incomplete.
void set_steps(RankDigest& digest, std::span<const TraceNs> begins) {
  digest.steps.clear();
  for (size_t i = 0; i + 1 < begins.size(); ++i)
    digest.steps.push_back({static_cast<int64_t>(i), {begins[i], begins[i + 1]}});
  digest.steps_begun = static_cast<int64_t>(begins.size());
  digest.step_source = schema::StepSource::kInferred;
}

// The steps of one rank converted to another's time by their shared events.
std::vector<StepRecord> carried(const std::vector<StepRecord>& steps,
                                std::span<const SharedEvent> events) {
  std::vector<StepRecord> here;
  MomentCarrier carrier(events);
  TraceNs covered_there{INT64_MIN};
  TraceNs covered_here{INT64_MIN};
  for (const StepRecord& step : steps) {
    if (step.window.begin < covered_there || step.window.empty()) continue;
    const std::optional<TraceNs> begin = carrier.carry(step.window.begin);
    const std::optional<TraceNs> end = carrier.carry(step.window.end);
    covered_there = step.window.end;
    if (!begin || !end) continue;
    const Interval window{std::max(*begin, covered_here), *end};
    if (window.empty()) continue;
    here.push_back({step.index, window});
    covered_here = window.end;
  }
  return here;
}

class Inferrer {
 public:
  Inferrer(std::span<RankDigest> digests, const Matching& matching,
           std::vector<Diagnostic>& diagnostics)
      : digests_(digests), matching_(matching), diagnostics_(diagnostics) {}

  void run() {
    std::vector<size_t> known;
    for (size_t d = 0; d < digests_.size(); ++d) {
      // A rank that began a marked step and did not end it has none: do not guess.
      if (digests_[d].steps.empty() && digests_[d].steps_begun == 0) {
        missing_.push_back(d);
      } else if (!digests_[d].steps.empty()) {
        known.push_back(d);
      }
    }
    if (missing_.empty()) return;
    if (const std::vector<size_t> got = carry_from(std::move(known)); !got.empty()) {
      diagnostics_.push_back(
          make_diagnostic("steps_from_peers",
                          fmt::format("rank{} {}: by what they share with ranks that have steps",
                                      got.size() == 1 ? "" : "s", names_of(got)),
                          static_cast<int64_t>(got.size())));
    }
    while (!missing_.empty()) infer_next();
  }

 private:
  std::string names_of(const std::vector<size_t>& positions) const {
    std::vector<int> ranks;
    for (const size_t d : positions) ranks.push_back(digests_[d].rank);
    std::ranges::sort(ranks);
    constexpr size_t kNamed = 8;
    if (ranks.size() <= kNamed) return fmt::format("{}", fmt::join(ranks, ", "));
    return fmt::format("{} and {} more", fmt::join(std::span(ranks).first(kNamed), ", "),
                       ranks.size() - kNamed);
  }

  // Carries steps over to all of `missing_` that share events with a rank that has steps, and
  // onwards from these. Returns the ranks that got steps.
  std::vector<size_t> carry_from(std::vector<size_t> known) {
    std::vector<size_t> got;
    for (size_t k = 0; k < known.size() && !missing_.empty(); ++k) {
      const SharedWith shared(digests_, matching_, known[k]);
      std::erase_if(missing_, [&](size_t d) {
        const std::vector<SharedEvent> events = shared.events(d);
        if (events.empty()) return false;
        std::vector<StepRecord> steps = carried(digests_[known[k]].steps, events);
        if (steps.empty()) return false;
        digests_[d].steps_begun = static_cast<int64_t>(steps.size());
        digests_[d].steps = std::move(steps);
        digests_[d].step_source = schema::StepSource::kInferred;
        known.push_back(d);
        got.push_back(d);
        return true;
      });
    }
    return got;
  }

  // Asks ranks without steps, takes the majority's answer, and carries it over to their peers.
  void infer_next() {
    std::map<std::pair<std::string, size_t>, std::vector<std::pair<size_t, StepBegins>>> votes;
    std::string unsteady;
    const size_t asked = std::min(kVoters, missing_.size());
    for (size_t i = 0; i < asked; ++i) {
      const size_t d = missing_[i * missing_.size() / asked];
      BeginsFound found = find_begins(digests_[d]);
      if (unsteady.empty()) unsteady = std::move(found.unsteady);
      if (!found.begins) continue;
      auto& said = votes[{found.begins->by, found.begins->tokens}];
      said.emplace_back(d, *std::move(found.begins));
    }
    if (votes.empty()) return give_up(asked, unsteady);
    auto& agreed = std::ranges::max_element(votes, {}, [](const auto& vote) {
                     return vote.second.size();
                   })->second;
    const auto& [seed, begins] = *std::ranges::max_element(
        agreed, {}, [](const auto& one) { return one.second.begins.size(); });
    take(seed, begins, asked, agreed.size());
  }

  void take(size_t seed, const StepBegins& found, size_t asked, size_t agreed) {
    std::erase(missing_, seed);
    set_steps(digests_[seed], found.begins);
    std::vector<size_t> all = carry_from({seed});
    all.push_back(seed);
    if (found.within_steps) settle_begins(seed, found.begins, all);
    std::string text = fmt::format("rank {}: {} steps by {}", digests_[seed].rank,
                                   digests_[seed].steps.size(), found.by);
    if (found.tokens > 0) text += fmt::format(", {} in a step", found.tokens);
    if (asked > 1) text += fmt::format(", {} of {} ranks asked say so", agreed, asked);
    if (all.size() > 1) text += fmt::format("; carried over to {} more", all.size() - 1);
    diagnostics_.push_back(
        make_diagnostic("steps_inferred", std::move(text), static_cast<int64_t>(all.size())));
  }

  // The begin of a step is not marked; where operators were recorded, it is at their pause. The
  // other ranks keep the seed's distance between the begin and the recurring event.
  void settle_begins(size_t seed, std::span<const TraceNs> recurs, const std::vector<size_t>& all) {
    const auto of_seed = quiet_starts(digests_[seed], recurs);
    if (!of_seed) return;
    std::vector<int64_t> ahead;
    for (size_t i = 0; i < recurs.size(); ++i) ahead.push_back((recurs[i] - (*of_seed)[i]).ns);
    const DurationNs usual{median_ns(std::move(ahead))};
    for (const size_t d : all) {
      std::vector<StepRecord>& steps = digests_[d].steps;
      std::vector<TraceNs> begins;
      for (const StepRecord& step : steps) begins.push_back(step.window.begin);
      begins.push_back(steps.back().window.end);
      auto quiet = quiet_starts(digests_[d], begins);
      for (size_t i = 0; i < begins.size(); ++i)
        begins[i] = quiet ? (*quiet)[i] : begins[i] - usual;
      for (size_t i = 0; i < steps.size(); ++i) steps[i].window = {begins[i], begins[i + 1]};
      std::erase_if(steps, [](const StepRecord& step) { return step.window.empty(); });
    }
  }

  void give_up(size_t asked, const std::string& unsteady) {
    std::vector<size_t> gone;
    for (size_t i = 0; i < asked; ++i) gone.push_back(missing_[i * missing_.size() / asked]);
    std::erase_if(missing_, [&](size_t d) { return std::ranges::count(gone, d) != 0; });
    if (unsteady.empty()) return;
    diagnostics_.push_back(make_diagnostic(
        "no_steady_steps", fmt::format("rank{} {}: {} repeat, but their time varies too much",
                                       gone.size() == 1 ? "" : "s", names_of(gone), unsteady)));
  }

  std::span<RankDigest> digests_;
  const Matching& matching_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<size_t> missing_;  // positions of digests that have no steps, ascending
};

}  // namespace

void infer_steps(std::span<RankDigest> digests, const Matching& matching,
                 std::vector<Diagnostic>& diagnostics) {
  check_marks(digests, matching, diagnostics);
  Inferrer(digests, matching, diagnostics).run();
}

}  // namespace dprof::analyzer
