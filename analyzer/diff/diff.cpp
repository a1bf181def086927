// SPDX-License-Identifier: Apache-2.0
#include "analyzer/diff/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "analyzer/vocabulary/category.h"
#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

using Facts = std::span<const RunFacts>;

constexpr double kLeastNameShare = 0.0005;  // of a step, for a name to count as changed
constexpr double kSameCount = 0.01;         // relative

std::string title_of_key(const std::string& key) {
  for (size_t c = 0; c < kCategories; ++c) {
    if (key_of(static_cast<Category>(c)) == key)
      return std::string(title_of(static_cast<Category>(c)));
  }
  std::string title = key;  // of a later dprof version
  std::ranges::replace(title, '_', ' ');
  return title;
}

bool is_exposed(const std::string& key) {
  return key == key_of(Category::kExposedWait) || key == key_of(Category::kExposedTransfer);
}

// ---- comparable? -------------------------------------------------------------------------------

std::string joined(const std::set<std::string>& values) {
  return fmt::to_string(fmt::join(values, ", "));
}

class Comparison {
 public:
  Comparison(Facts a, Facts b) : a_(a), b_(b) {}

  std::vector<Dissimilarity> made() && {
    compare("world size", true, "steps on a different number of ranks are not the same work",
            [](const RunFacts& run) { return fmt::to_string(run.world_size.value_or(run.ranks)); });
    compare("hosts", true, "communication between hosts differs from communication within one",
            [](const RunFacts& run) { return fmt::to_string(run.hosts); });
    compare("micro-steps", true, "a step has a different number of forward and backward passes",
            [](const RunFacts& run) {
              return run.micro_steps ? fmt::to_string(*run.micro_steps) : std::string();
            });
    compare("steps found by", true, "steps may begin and end in different places",
            [](const RunFacts& run) { return run.step_source; });
    constexpr char kHardware[] = "a different machine may simply be faster or slower";
    variable("gpu", "GPU", true, kHardware);
    variable("cpu_model", "processor", true, kHardware);
    variable("cpus", "processors", true, kHardware);
    variable("detail", "detail", true, "recording at a different detail has a different cost");
    variable("torch_version", "torch", false, "the change may be this");
    variable("nccl_version", "NCCL", false, "the change may be this");
    variable("cuda_driver", "CUDA driver", false, "the change may be this");
    variable("host", "host", false, "even machines of one kind differ");
    variable("dprof_version", "dprof", false, "the cost of recording may differ");
    compare("command", false, "the change may be this",
            [](const RunFacts& run) { return run.command; });
    for (const RunFacts& run : a_) missing(run, "A");
    for (const RunFacts& run : b_) missing(run, "B");
    return std::move(found_);
  }

 private:
  template <typename F>
  static std::set<std::string> values(Facts side, F&& value) {
    std::set<std::string> all;
    for (const RunFacts& run : side) {
      if (std::string text = value(run); !text.empty()) all.insert(std::move(text));
    }
    return all;
  }

  // A value known on only one side is no difference.
  template <typename F>
  void compare(const char* what, bool matters, const char* why, F&& value) {
    const std::set<std::string> a = values(a_, value);
    const std::set<std::string> b = values(b_, value);
    if (a.empty() || b.empty()) return;
    if (std::ranges::includes(a, b)) return;  // a pool of machines: all of B's are among A's
    found_.push_back({what, joined(a), joined(b), matters, why});
  }
  void variable(const char* key, const char* what, bool matters, const char* why) {
    compare(what, matters, why, [&](const RunFacts& run) {
      const auto found = run.environment.find(key);
      return found == run.environment.end() ? std::string() : found->second;
    });
  }
  void missing(const RunFacts& run, const char* side) {
    const auto say = [&](const char* what, std::string words, bool matters, const char* why) {
      Dissimilarity one{what, "", "", matters, why};
      (side[0] == 'A' ? one.a : one.b) = std::move(words);
      found_.push_back(std::move(one));
    };
    if (run.world_size && run.ranks < *run.world_size) {
      say("ranks", fmt::format("{}: {} of {} left a trace", run.name, run.ranks, *run.world_size),
          true, "a partial run says nothing about the missing ranks");
    }
    if (run.lost > 0) {
      const double share =
          static_cast<double>(run.lost) / static_cast<double>(run.lost + run.events);
      say("lost records",
          fmt::format("{}: {} ({})", run.name, format_count(run.lost), format_share(share)),
          share > 0.01, "lost records are missing from counts and from the breakdown");
    }
    if (!run.has_clock) {
      say("clocks", fmt::format("{}: not aligned", run.name), false,
          "waits between hosts are based on durations alone");
    }
    if (!run.ended.empty() && run.ended != "ok")
      say("how it ended", fmt::format("{}: {}", run.name, run.ended_title), true,
          "a failed run is not a measurement");
  }

  Facts a_;
  Facts b_;
  std::vector<Dissimilarity> found_;
};

DiffSide side_of(Facts runs) {
  DiffSide side{.ranks = runs.front().ranks, .hosts = runs.front().hosts};
  for (const RunFacts& run : runs) {
    side.runs.push_back(run.name);
    side.steps.push_back(static_cast<int64_t>(run.lengths_ns.size()));
  }
  return side;
}

// ---- steps -------------------------------------------------------------------------------------

void find_step_change(Facts a, Facts b, Diff& diff) {
  std::array<std::vector<MedianStep>, 2> medians;
  for (size_t side = 0; side < 2; ++side) {
    for (const RunFacts& run : side == 0 ? a : b) {
      if (run.lengths_ns.size() < kFewestLengths) {
        diff.why_no_step = run.steady > 0 && run.lengths_ns.empty()
                               ? fmt::format(
                                     "{}: its report does not hold the lengths of steps; "
                                     "create it again with this dprof",
                                     run.source)
                               : fmt::format(
                                     "{} has {} steady steps; at least {} are needed, and 50 "
                                     "are better",
                                     run.source, run.lengths_ns.size(), kFewestLengths);
        return;
      }
      medians[side].push_back(median_step_of(run.lengths_ns));
    }
  }
  diff.step = change_of(medians[0], medians[1]);
}

// Mean over runs of each one's mean over its ranks. Empty: a run has no breakdown.
CategoryMeans mean_categories(Facts runs) {
  CategoryMeans means;
  for (const RunFacts& run : runs) {
    if (run.per_rank.empty()) return {};
    const double weight = 1.0 / static_cast<double>(runs.size() * run.per_rank.size());
    for (const RankFacts& rank : run.per_rank) {
      for (const auto& [key, ns] : rank.category_ns) {
        auto found = std::ranges::find(means, key, &CategoryMeans::value_type::first);
        if (found == means.end()) found = means.insert(means.end(), {key, 0.0});
        found->second += weight * ns;
      }
    }
  }
  return means;
}

std::optional<Division> division_of(Facts a, Facts b) {
  const CategoryMeans a_means = mean_categories(a);
  const CategoryMeans b_means = mean_categories(b);
  if (a_means.empty() || b_means.empty()) return std::nullopt;
  std::vector<std::string> keys;
  for (const CategoryMeans* means : {&a_means, &b_means}) {
    for (const auto& [key, ns] : *means) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  const auto rounded = [&](const CategoryMeans& means) {
    std::vector<double> values;
    for (const std::string& key : keys) {
      const auto found = std::ranges::find(means, key, &CategoryMeans::value_type::first);
      values.push_back(found == means.end() ? 0 : found->second);
    }
    return rounded_to_sum(values);
  };
  const std::vector<int64_t> a_ns = rounded(a_means);
  const std::vector<int64_t> b_ns = rounded(b_means);
  Division division{.a_ns = std::accumulate(a_ns.begin(), a_ns.end(), int64_t{0}),
                    .b_ns = std::accumulate(b_ns.begin(), b_ns.end(), int64_t{0}),
                    .parts = {}};
  for (size_t i = 0; i < keys.size(); ++i)
    division.parts.push_back({keys[i], title_of_key(keys[i]), a_ns[i], b_ns[i]});
  return division;
}

// ---- what else changed -------------------------------------------------------------------------

template <typename T>
void sort_by_change(std::vector<T>& list) {
  std::ranges::stable_sort(list, std::greater(), [](const T& one) {
    return std::abs(static_cast<double>(one.change_ns()));
  });
}

std::vector<ChangedPhase> phases_changed(Facts a, Facts b) {
  std::map<std::string, ChangedPhase> phases;
  const auto add = [&](Facts runs, std::optional<double> ChangedPhase::*side) {
    for (const RunFacts& run : runs) {
      for (const PhaseFacts& phase : run.phases) {
        ChangedPhase& changed = phases[phase.name];
        changed.name = phase.name;
        changed.*side = (changed.*side).value_or(0) + phase.ns / static_cast<double>(runs.size());
      }
    }
  };
  add(a, &ChangedPhase::a_ns);
  add(b, &ChangedPhase::b_ns);
  std::vector<ChangedPhase> list;
  for (auto& [name, phase] : phases) list.push_back(std::move(phase));
  sort_by_change(list);
  return list;
}

std::map<int, CategoryMeans> means_by_rank(Facts runs) {
  std::map<int, CategoryMeans> ranks;
  std::map<int, int> seen;
  for (const RunFacts& run : runs) {
    for (const RankFacts& rank : run.per_rank) ++seen[rank.rank];
  }
  for (const RunFacts& run : runs) {
    for (const RankFacts& rank : run.per_rank) {
      CategoryMeans& means = ranks[rank.rank];
      for (const auto& [key, ns] : rank.category_ns) {
        auto found = std::ranges::find(means, key, &CategoryMeans::value_type::first);
        if (found == means.end()) found = means.insert(means.end(), {key, 0.0});
        found->second += ns / seen[rank.rank];
      }
    }
  }
  return ranks;
}

std::vector<ChangedRank> ranks_changed(Facts a, Facts b) {
  const std::map<int, CategoryMeans> a_ranks = means_by_rank(a);
  const std::map<int, CategoryMeans> b_ranks = means_by_rank(b);
  std::vector<ChangedRank> list;
  for (const auto& [rank, a_means] : a_ranks) {
    const auto other = b_ranks.find(rank);
    if (other == b_ranks.end()) continue;
    ChangedRank changed{.rank = rank, .part = {}};
    double a_work = 0;
    double b_work = 0;
    double largest = 0;
    for (const auto& [key, a_ns] : a_means) {
      if (is_exposed(key)) continue;
      const auto found = std::ranges::find(other->second, key, &CategoryMeans::value_type::first);
      const double b_ns = found == other->second.end() ? 0 : found->second;
      a_work += a_ns;
      b_work += b_ns;
      if (std::abs(b_ns - a_ns) <= std::abs(largest)) continue;
      largest = b_ns - a_ns;
      changed.part = title_of_key(key);
    }
    changed.a_work_ns = std::llround(a_work);
    changed.b_work_ns = std::llround(b_work);
    changed.part_ns = std::llround(largest);
    list.push_back(std::move(changed));
  }
  sort_by_change(list);
  return list;
}

std::vector<ChangedCollective> collectives_changed(Facts a, Facts b) {
  using Key = std::tuple<std::string, std::string, std::optional<int64_t>>;
  std::map<Key, ChangedCollective> kinds;
  const auto add = [&](Facts runs, std::optional<CollectiveTimes> ChangedCollective::*side) {
    for (const RunFacts& run : runs) {
      for (const CollectiveFacts& one : run.collectives) {
        ChangedCollective& kind = kinds[{one.communicator, one.function, one.bytes}];
        kind.communicator = one.communicator;
        kind.function = one.function;
        kind.bytes = one.bytes;
        CollectiveTimes& times = (kind.*side) ? *(kind.*side) : (kind.*side).emplace();
        const auto weight = static_cast<int64_t>(runs.size());
        times.per_step += one.per_step / static_cast<double>(weight);
        times.transfer_ns += one.transfer_ns / weight;
        times.wait_ns += one.wait_ns / weight;
      }
    }
  };
  add(a, &ChangedCollective::a);
  add(b, &ChangedCollective::b);
  std::vector<ChangedCollective> list;
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  sort_by_change(list);
  return list;
}

struct NameSide {
  double count = 0;
  double self_ns = 0;
};

class NamesChanged {
 public:
  NamesChanged(Facts a, Facts b, double step_ns) : least_ns_(kLeastNameShare * step_ns) {
    add(a, 0);
    add(b, 1);
  }

  std::vector<ChangedName> made() && {
    std::vector<ChangedName> list;
    for (const auto& [key, sides] : names_) {
      ChangedName name{.name = key.second, .on_device = key.first, .what = {}};
      if (sides[0]) name.a_count = sides[0]->count;
      if (sides[1]) name.b_count = sides[1]->count;
      name.a_self_ns = sides[0] ? std::llround(sides[0]->self_ns) : 0;
      name.b_self_ns = sides[1] ? std::llround(sides[1]->self_ns) : 0;
      if (std::abs(static_cast<double>(name.change_ns())) < least_ns_) continue;
      if (could_be_left_out(sides)) continue;
      divide(name);
      list.push_back(std::move(name));
    }
    sort_by_change(list);
    return list;
  }

 private:
  using Sides = std::array<std::optional<NameSide>, 2>;

  void add(Facts runs, size_t side) {
    for (const RunFacts& run : runs) {
      for (const NameTimes& name : run.names->list) {
        std::optional<NameSide>& sum = names_[{name.on_device, name.name}][side];
        if (!sum) sum.emplace();
        sum->count += name.count / static_cast<double>(runs.size());
        sum->self_ns += static_cast<double>(name.self_ns) / static_cast<double>(runs.size());
      }
      if (run.names->left_out > 0)
        floor_[side] = std::max(floor_[side], static_cast<double>(run.names->list.back().self_ns));
    }
  }
  // Missing from a truncated list whose limit was above its time on the other side.
  [[nodiscard]] bool could_be_left_out(const Sides& sides) const {
    for (size_t side = 0; side < 2; ++side) {
      if (!sides[side] && sides[1 - side]->self_ns <= floor_[side]) return true;
    }
    return false;
  }
  static void divide(ChangedName& name) {
    const double a = name.a_count.value_or(0);
    const double b = name.b_count.value_or(0);
    const double length = a > 0   ? static_cast<double>(name.a_self_ns) / a
                          : b > 0 ? static_cast<double>(name.b_self_ns) / b
                                  : 0;
    name.by_count_ns = std::llround((b - a) * length);
    name.by_length_ns = name.change_ns() - name.by_count_ns;
    if (!name.a_count) {
      name.what = "new";
    } else if (!name.b_count) {
      name.what = "gone";
    } else if (std::abs(b - a) > kSameCount * a &&
               std::abs(name.by_count_ns) >= std::abs(name.by_length_ns)) {
      name.what = b > a ? "more" : "fewer";
    } else {
      name.what = name.change_ns() > 0 ? "longer" : "shorter";
    }
  }

  double least_ns_;
  std::map<std::pair<bool, std::string>, Sides> names_;
  std::array<double, 2> floor_{};
};

void find_names(Facts a, Facts b, Diff& diff) {
  const auto has_none = [](const RunFacts& run) { return !run.names; };
  for (const Facts side : {a, b}) {
    const auto without = std::ranges::find_if(side, has_none);
    if (without == side.end()) continue;
    diff.why_no_names = fmt::format("{} has no events by name in steady steps", without->source);
    return;
  }
  diff.names =
      NamesChanged(a, b, diff.division ? static_cast<double>(diff.division->a_ns) : 0).made();
}

std::vector<ChangedFigure> figures_changed(Facts a, Facts b) {
  std::vector<ChangedFigure> figures;
  const auto add = [&](const char* key, const char* title, const char* unit, auto&& value) {
    const auto mean = [&](Facts runs) -> std::optional<double> {
      double sum = 0;
      for (const RunFacts& run : runs) {
        const auto one = value(run);
        if (!one) return std::nullopt;
        sum += static_cast<double>(*one);
      }
      return sum / static_cast<double>(runs.size());
    };
    const std::optional<double> of_a = mean(a);
    const std::optional<double> of_b = mean(b);
    if (of_a && of_b) figures.push_back({key, title, unit, *of_a, *of_b});
  };
  add("peak_memory", "allocated memory, peak", "bytes",
      [](const RunFacts& run) { return run.peak_allocated; });
  add("peak_resident", "resident memory, peak", "bytes",
      [](const RunFacts& run) { return run.peak_resident; });
  add("page_faults_per_step", "page faults per step, worst rank", "faults",
      [](const RunFacts& run) { return run.page_faults_per_step; });
  add("kernel_cpu_ns_per_step", "time in the kernel per step, worst rank", "ns",
      [](const RunFacts& run) { return run.kernel_cpu_ns_per_step; });
  add("waited_for_core_ns", "ready to run, but on no core, per step", "ns",
      [](const RunFacts& run) { return run.waited_for_core_ns; });
  add("exposed_communication_share", "exposed communication", "share",
      [](const RunFacts& run) { return run.exposed_share; });
  add("input_wait_share", "input wait", "share",
      [](const RunFacts& run) { return run.input_share; });
  add("recording_cost", "cost of recording", "share",
      [](const RunFacts& run) { return run.overhead_share; });
  add("lost_records", "lost records", "records",
      [](const RunFacts& run) { return std::optional(run.lost); });
  return figures;
}

std::string straggler_text(const StragglerFacts& straggler) {
  return fmt::format(
      "{}: {}, {} per step",
      straggler.rank ? fmt::format("rank {}", *straggler.rank) : fmt::format("ranks by turns"),
      straggler.cause.empty() ? "cause unknown" : straggler.cause,
      format_duration({straggler.cost_ns}));
}

// By rank. If both sides have unmatched ones, the most expensive of each count as one that moved.
std::vector<ChangedStraggler> stragglers_changed(const RunFacts& a, const RunFacts& b) {
  std::vector<ChangedStraggler> changes;
  if (!a.stragglers || !b.stragglers) return changes;
  std::vector<StragglerFacts> before = *a.stragglers;
  std::vector<StragglerFacts> after;
  for (const StragglerFacts& straggler : *b.stragglers) {
    const auto same = std::ranges::find(before, straggler.rank, &StragglerFacts::rank);
    if (same == before.end()) {
      after.push_back(straggler);
      continue;
    }
    if (same->cause != straggler.cause) {
      changes.push_back({"other cause", fmt::format("{}; it was {}", straggler_text(straggler),
                                                    straggler_text(*same))});
    }
    before.erase(same);
  }
  while (!before.empty() && !after.empty() && before.front().cause == after.front().cause) {
    changes.push_back({"other rank", fmt::format("{}; it was {}", straggler_text(after.front()),
                                                 straggler_text(before.front()))});
    before.erase(before.begin());
    after.erase(after.begin());
  }
  for (const StragglerFacts& one : after) changes.push_back({"appeared", straggler_text(one)});
  for (const StragglerFacts& one : before) changes.push_back({"vanished", straggler_text(one)});
  return changes;
}

// In all runs of one side and in none of the other, to exclude chance.
std::vector<ChangedFinding> findings_changed(Facts a, Facts b) {
  const auto rules_of = [](const RunFacts& run) {
    std::set<std::pair<std::string, std::string>> rules;
    for (const FindingFacts& finding : run.findings) {
      if (!finding.symptom) rules.emplace(finding.rule, finding.cause);
    }
    return rules;
  };
  const auto in_none = [&](Facts runs, const FindingFacts& finding) {
    return std::ranges::none_of(runs, [&](const RunFacts& run) {
      return rules_of(run).contains({finding.rule, finding.cause});
    });
  };
  const auto in_all = [&](Facts runs, const FindingFacts& finding) {
    return std::ranges::all_of(runs, [&](const RunFacts& run) {
      return rules_of(run).contains({finding.rule, finding.cause});
    });
  };
  std::vector<ChangedFinding> changes;
  const auto add = [&](Facts has, Facts other, const char* what) {
    for (const FindingFacts& finding : has.front().findings) {
      if (finding.severity == FindingSeverity::kInfo || finding.symptom) continue;
      if (!in_all(has, finding) || !in_none(other, finding)) continue;
      changes.push_back(
          {what, finding.rule, std::string(word_of(finding.severity)), finding.title});
    }
  };
  add(b, a, "new");
  add(a, b, "gone");
  return changes;
}

}  // namespace

bool Diff::comparable() const { return std::ranges::none_of(dissimilar, &Dissimilarity::matters); }

const ChangedPart* largest_part(const Division& division) {
  const ChangedPart* largest = nullptr;
  const int64_t sign = division.change_ns() < 0 ? -1 : 1;
  for (const ChangedPart& part : division.parts) {
    if (sign * part.change_ns() <= 0) continue;
    if (largest == nullptr || sign * part.change_ns() > sign * largest->change_ns())
      largest = &part;
  }
  return largest;
}

Diff diff_of(Facts a, Facts b) {
  Diff diff{.a = side_of(a), .b = side_of(b), .dissimilar = Comparison(a, b).made()};
  find_step_change(a, b, diff);
  diff.division = division_of(a, b);
  diff.phases = phases_changed(a, b);
  diff.ranks = ranks_changed(a, b);
  diff.collectives = collectives_changed(a, b);
  find_names(a, b, diff);
  diff.figures = figures_changed(a, b);
  diff.stragglers = stragglers_changed(a.front(), b.front());
  diff.findings = findings_changed(a, b);
  return diff;
}

}  // namespace dprof::analyzer
