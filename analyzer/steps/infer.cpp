// SPDX-License-Identifier: Apache-2.0
#include "analyzer/steps/infer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analyzer/steps/evidence.h"
#include "analyzer/steps/marks_check.h"
#include "analyzer/steps/quiet_start.h"
#include "analyzer/steps/shared_events.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kVoters = 8;  // ranks that are asked for the length of a step

// Steps from each begin to the next; the last one is not known to be complete.
void set_steps(RankDigest& digest, std::span<const TraceNs> begins) {
  digest.steps.clear();
  for (size_t i = 0; i + 1 < begins.size(); ++i)
    digest.steps.push_back({static_cast<int64_t>(i), {begins[i], begins[i + 1]}});
  digest.steps_begun = static_cast<int64_t>(begins.size());
  digest.step_source = schema::StepSource::kInferred;
}

// The steps of one rank as another saw them, by what they did together.
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
      // A rank that began a marked step and did not end it has none; that is no reason to guess.
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

  // Carries steps over to all of `missing_` that share something with one that has them, and from
  // these on. Returns who got some.
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

  // Asks ranks that have none, takes what most of them say, and carries it over to their peers.
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

  // Nobody marked the begin of a step; where operators were recorded, it is where they pause. The
  // others keep as far ahead of what recurs as the seed is.
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
