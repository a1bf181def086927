// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analyzer/replay/changed_transfers_internal.h"
#include "analyzer/replay/changed_work_internal.h"
#include "analyzer/replay/longest_path_internal.h"
#include "base/in_threads.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kWorthwhile = 0.005;  // of a step: least gain of an answer not asked for
constexpr double kModelError = 0.003;  // of a step: usual error of answers without a gain
constexpr size_t kMostListed = 12;     // names in a hint
constexpr size_t kLongestListed = 60;  // bytes of one; a part of a kernel's name suffices
constexpr size_t kRanksAsked = 4;      // in the catalogue: those that work most

// "a, b, … and 3 more".
template <typename Names>
std::string listed(const Names& names) {
  std::vector<std::string> some;
  for (const auto& name : names) {
    if (some.size() == kMostListed) break;
    std::string one = fmt::format("{}", name);
    if (one.size() > kLongestListed) one.replace(kLongestListed, std::string::npos, "…");
    some.push_back(std::move(one));
  }
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  if (names.size() > some.size()) text += fmt::format(" and {} more", names.size() - some.size());
  return text;
}

}  // namespace

std::string words_of(std::span<const Change> changes) {
  std::vector<std::string_view> words;
  for (const Change& change : changes) words.emplace_back(change.text);
  return fmt::format("{}", fmt::join(words, " + "));
}

// The run with changes, as far as they can be applied.
class WhatIfModel::Trial {
 public:
  explicit Trial(const WhatIfModel& model, std::optional<Doubt> other_way = {})
      : model_(model),
        run_(model.run_),
        durations_(model.run_.durations.begin(), model.run_.durations.end()),
        work_(run_, grounds_, durations_),
        transfers_(run_, {model.ends_, model.beside_.overlap, model.beside_.contention}, grounds_,
                   durations_) {
    grounds_.other_way = other_way;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // "" = done; else the reason why not.
  std::string make(std::span<const Change> changes) {
    for (const Change& change : changes) {
      std::string why =
          is_of_transfers(change.subject) ? transfers_.take(change) : work_.take(change);
      if (!why.empty()) return change.text + ": " + why;
    }
    // Contention disappears with the transfers that cause it. If they become longer, it is unknown
    // what would then overlap them.
    const double left = transfers_.apply();
    if (model_.beside_.contention && left < 1) {
      const double lost = 1 - 1 / std::max(1.0, model_.beside_.contention->factor);
      work_.speed_up_beside(1 - lost * (1 - left));
    }
    work_.apply();
    shared_ = run_.may_share_links() && grounds_.other(Doubt::kSharedLinks);
    return {};
  }

  // The gain of each step.
  [[nodiscard]] std::vector<int64_t> gain() const {
    std::vector<int64_t> gain = lengths();
    for (size_t s = 0; s < gain.size(); ++s) gain[s] = model_.unchanged_[s] - gain[s];
    return gain;
  }

  [[nodiscard]] const Grounds& grounds() const { return grounds_; }

 private:
  static bool is_of_transfers(Subject subject) {
    switch (subject) {
      case Subject::kTransfer:
      case Subject::kBandwidth:
      case Subject::kLatency:
      case Subject::kBucketCap:
      case Subject::kOverlap:
      case Subject::kAccumulate:
      case Subject::kWorld:
        return true;
      default:
        return false;
    }
  }

  [[nodiscard]] std::vector<int64_t> lengths() const {
    std::vector<int64_t> lengths = run_.lengths(durations_, shared_);
    if (const double passes = transfers_.passes(); passes > 1) {
      // Of the passes, all but the last send and update nothing.
      std::vector<int64_t> without = durations_;
      transfers_.drop_gradients(without);
      const double slowed =
          model_.beside_.contention ? std::max(1.0, model_.beside_.contention->factor) : 1;
      work_.drop_updates(without, 1 / slowed, transfers_.runs_ahead());
      const std::vector<int64_t> silent =
          transfers_.meets_for_gradients_only()
              ? unmet_lengths(without, static_cast<size_t>(passes) - 1)
              : run_.lengths(without, shared_);
      for (size_t s = 0; s < lengths.size(); ++s) {
        lengths[s] = static_cast<int64_t>(
            (static_cast<double>(lengths[s]) + (passes - 1) * static_cast<double>(silent[s])) /
            passes);
      }
    }
    for (int64_t& length : lengths) length += work_.longer_ns() + transfers_.longer_ns();
    return lengths;
  }

  // Ranks that do not meet wait for the one that is last after all passes, not after each: over as
  // many steps from each on, a step of the rank that works most in them.
  [[nodiscard]] std::vector<int64_t> unmet_lengths(std::span<const int64_t> durations,
                                                   size_t passes) const {
    const size_t steps = run_.steps.size();
    std::vector<std::vector<int64_t>> own(run_.ranks.size(), std::vector<int64_t>(steps, 0));
    for (const Work& work : run_.works) own[work.entry][work.step] += durations[work.task];
    const size_t n = std::clamp<size_t>(passes, 1, steps);
    std::vector<int64_t> lengths(steps, 0);
    for (size_t s = 0; s < steps; ++s) {
      const size_t first = std::min(s, steps - n);
      for (const std::vector<int64_t>& of_rank : own) {
        int64_t sum = 0;
        for (size_t i = first; i < first + n; ++i) sum += of_rank[i];
        lengths[s] = std::max(lengths[s], sum / static_cast<int64_t>(n));
      }
    }
    return lengths;
  }

  const WhatIfModel& model_;
  const PlayedRun& run_;
  std::vector<int64_t> durations_;
  Grounds grounds_;
  ChangedWork work_;
  ChangedTransfers transfers_;
  bool shared_ = false;  // links, though that is unknown
};

WhatIfModel::WhatIfModel(PlayedRun run, Beside beside)
    : run_(std::move(run)), beside_(std::move(beside)) {
  ends_ = run_.graph->simulate(run_.durations, run_.lags);
  unchanged_ = step_lengths(run_.steps, ends_);
  mean_step_ns_ = std::llround(mean_recorded(run_.steps));
}

Status WhatIfModel::check(const Change& change) const {
  const auto unknown = [&](std::string what, std::string there) {
    return fail(Code::kNotFound, fmt::format("--what-if '{}': {}", change.text, what),
                std::move(there));
  };
  // If no rank has any, the question cannot be answered: reported elsewhere.
  const auto in_shares = [&](std::string_view kind, const auto& shares) -> Status {
    std::vector<std::string_view> names;
    for (const auto& of_rank : shares) {
      for (const auto& share : of_rank) {
        if (share.name == change.name) return Done{};
        if (std::ranges::count(names, share.name) == 0) names.push_back(share.name);
      }
    }
    if (names.empty()) return Done{};
    return unknown(fmt::format("there is no {} '{}'", kind, change.name),
                   fmt::format("{}s: {}", kind, listed(names)));
  };
  switch (change.subject) {
    case Subject::kRank:
      if (std::ranges::count(run_.ranks, change.rank) == 0)
        return unknown(fmt::format("there is no rank {} with steps", change.rank),
                       "ranks: " + listed(run_.ranks));
      return Done{};
    case Subject::kHost:
      if (std::ranges::count(run_.hosts, change.name) == 0) {
        return unknown(
            fmt::format("there is no host '{}'", change.name),
            "hosts: " + listed(std::set<std::string>(run_.hosts.begin(), run_.hosts.end())));
      }
      return Done{};
    case Subject::kPhase: {
      std::set<std::string_view> phases;
      for (const WorkKind& kind : run_.work_kinds) {
        if (kind.computes()) phases.insert(key_of(kind.phase_of()));
      }
      if (!phases.contains(change.name)) {
        return unknown(fmt::format("there is no phase '{}'", change.name),
                       "phases: " + listed(phases));
      }
      return Done{};
    }
    case Subject::kKernel:
      if (!run_.kernels_meant(change.name).empty()) return Done{};
      return in_shares("kernel", run_.kernels);
    case Subject::kOp:
      if (run_.on_device) return Done{};  // kernels compute: reported elsewhere
      return in_shares("operator", run_.ops);
    default:
      return Done{};
  }
}

// An answer with its gain.
struct WhatIfModel::Draft {
  WhatIf what;
  Grounds grounds;
  Estimate mean;
  double expected = 0;
  std::array<std::optional<double>, kDoubts> away;  // of those that count: the other way's gain
};

Result<WhatIfModel::Draft> WhatIfModel::draft(std::span<const Change> changes) const {
  for (const Change& change : changes) {
    if (const Status known = check(change); !known.ok()) return fail(known.error());
  }
  Draft draft;
  draft.what.change = words_of(changes);
  if (!beside_.quality.accepted) {
    draft.what.refused =
        "the replay of this run is refused: it does not reproduce what was recorded";
    return draft;
  }
  Trial trial(*this);
  if (std::string why = trial.make(changes); !why.empty()) {
    draft.what.refused = std::move(why);
    return draft;
  }
  const std::vector<int64_t> gain = trial.gain();
  draft.grounds = trial.grounds();
  draft.mean = bootstrap_mean({gain.begin(), gain.end()});
  draft.expected = draft.mean.value;
  for (size_t d = 0; d < kDoubts; ++d) {
    if (!draft.grounds.open[d] || !draft.grounds.middle[d]) continue;
    if (const auto other = gain_other_way(changes, static_cast<Doubt>(d))) {
      draft.away[d] = (*other - draft.mean.value) / 2;
      draft.expected += *draft.away[d];
    }
  }
  draft.what.gain_ns = std::llround(draft.expected);
  draft.what.step_ns = mean_step_ns_ - *draft.what.gain_ns;
  return draft;
}

WhatIf WhatIfModel::complete(std::span<const Change> changes, Draft draft) const {
  if (!draft.what.gain_ns) return std::move(draft.what);
  const Grounds& grounds = draft.grounds;
  double undecided = 0;
  for (size_t d = 0; d < kDoubts; ++d) {
    if (!grounds.open[d]) continue;
    if (!grounds.middle[d]) {
      if (const auto other = gain_other_way(changes, static_cast<Doubt>(d)))
        draft.away[d] = *other - draft.mean.value;
    }
    undecided = std::hypot(undecided, draft.away[d].value_or(0));
  }
  const double doubt = std::hypot(grounds.doubt, kGainError) * draft.expected;
  draft.what.bound_ns =
      std::llround(std::hypot(std::hypot(draft.mean.half_width, undecided),
                              std::hypot(doubt, std::max(beside_.quality.error(), kModelError) *
                                                    static_cast<double>(mean_step_ns_))));
  draft.what.valid_because =
      fmt::format("{}; {} steps replayed", fmt::join(grounds.rests_on, "; "), run_.steps.size());
  draft.what.bias = fmt::format("{}", fmt::join(grounds.errs, "; "));
  return std::move(draft.what);
}

std::optional<double> WhatIfModel::gain_other_way(std::span<const Change> changes,
                                                  Doubt doubt) const {
  Trial other(*this, doubt);
  if (!other.make(changes).empty()) return std::nullopt;
  return mean_of(other.gain());
}

Result<WhatIf> WhatIfModel::answer(std::span<const Change> changes) const {
  Result<Draft> drafted = draft(changes);
  if (!drafted.ok()) return fail(drafted.error());
  return complete(changes, *std::move(drafted));
}

std::vector<int64_t> WhatIfModel::gain_of(std::span<const Change> changes) const {
  Trial trial(*this);
  if (!trial.make(changes).empty()) return std::vector<int64_t>(unchanged_.size(), 0);
  return trial.gain();
}

std::vector<Change> WhatIfModel::catalogue() const {
  std::vector<std::string> texts = {"stragglers=none", "input=0",    "bandwidth*2",   "latency=0",
                                    "overlap=full",    "sync=none",  "launch=graphs", "gc=together",
                                    "checkpoint=0",    "host-work=0"};
  const bool buckets =
      std::ranges::any_of(run_.moves, [](const Move& move) { return move.bucket.has_value(); });
  if (buckets) {
    for (const char* cap : {"1MiB", "5MiB", "25MiB", "100MiB"})
      texts.push_back(fmt::format("bucket_cap={}", cap));
  }
  std::vector<std::pair<int64_t, int>> busiest;
  for (size_t r = 0; r < run_.ranks.size(); ++r) busiest.emplace_back(0, run_.ranks[r]);
  for (const Work& work : run_.works) busiest[work.entry].first += run_.durations[work.task];
  std::ranges::sort(busiest, std::greater{});
  for (size_t i = 0; run_.ranks.size() > 1 && i < std::min(kRanksAsked, busiest.size()); ++i)
    texts.push_back(fmt::format("rank:{}=peers", busiest[i].second));
  std::vector<Change> changes;
  for (const std::string& text : texts) {
    Result<Change> change = parse_change(text);
    if (change.ok()) changes.push_back(*std::move(change));
  }
  return changes;
}

bool WhatIfModel::is_worthwhile(double gain_ns) const {
  return gain_ns >= kWorthwhile * static_cast<double>(mean_step_ns_);
}

std::vector<WhatIf> WhatIfModel::best(size_t most) const {
  struct Asked {
    Change change;
    std::optional<Draft> draft;
    WhatIf what;
  };
  std::vector<Asked> asked;
  const std::optional<LongestPath> path = LongestPath::of(run_, ends_);
  for (Change& change : catalogue()) {
    const auto bound = path ? path->most_gained(run_, change, beside_.contention) : std::nullopt;
    if (!bound || is_worthwhile(*bound)) asked.push_back({std::move(change), {}, {}});
  }
  const auto all_at_once = [&](const auto& work) {
    in_threads(asked.size(), kReplaysAtOnce, work);
  };
  all_at_once([&](size_t i) {
    Result<Draft> drafted = draft(std::span(&asked[i].change, 1));
    if (drafted.ok() && drafted->what.gain_ns) asked[i].draft = *std::move(drafted);
  });
  std::erase_if(asked, [&](const Asked& one) {
    return !one.draft || !is_worthwhile(static_cast<double>(*one.draft->what.gain_ns));
  });
  std::ranges::stable_sort(asked, std::greater{},
                           [](const Asked& one) { return *one.draft->what.gain_ns; });
  // Of the bucket caps only the best one is listed.
  bool cap_seen = false;
  std::erase_if(asked, [&](const Asked& one) {
    const bool cap = one.change.subject == Subject::kBucketCap;
    const bool again = cap && cap_seen;
    cap_seen |= cap;
    return again;
  });
  if (asked.size() > most) asked.resize(most);
  all_at_once([&](size_t i) {
    asked[i].what = complete(std::span(&asked[i].change, 1), *std::move(asked[i].draft));
  });
  std::vector<WhatIf> answers;
  for (Asked& one : asked) answers.push_back(std::move(one.what));
  return answers;
}

}  // namespace dprof::analyzer
