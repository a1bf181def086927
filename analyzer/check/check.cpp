// SPDX-License-Identifier: Apache-2.0
#include "analyzer/check/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "analyzer/diff/render.h"
#include "analyzer/render/layout.h"
#include "analyzer/render/mean_step.h"
#include "base/format.h"
#include "base/nearest_name.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kLeastTolerance = 0.02;  // default: a smaller change is not worth a failed build
// A less sensitive check does not pass a run. Nor does it fail one with one run per side: 11 of 300
// equal pairs of real runs did, which differed by 8 to 52 % (docs/ci.md).
constexpr double kWorstSensitivity = 0.10;
// With one run per side the spread between runs is unknown.
constexpr double kLeastSuspect = 0.03;
constexpr double kBothErrors = kTwoSided98 + kOneSided95;

// The reasons for exit code 4, in a few words.
std::string reasons_of(const Diff& diff) {
  std::vector<std::string> reasons;
  for (const Dissimilarity& one : diff.dissimilar) {
    if (!one.matters) continue;
    reasons.push_back(one.a.empty() || one.b.empty()
                          ? fmt::format("{} ({}{})", one.what, one.a, one.b)
                          : fmt::format("{} ({} → {})", one.what, one.a, one.b));
  }
  return fmt::to_string(fmt::join(reasons, ", "));
}

class Checker {
 public:
  Checker(const CheckInput& input, const CheckSettings& settings)
      : input_(input), settings_(settings), run_(input.runs.back()) {
    result_.fail_on = settings.fail_on;
    choose_baselines();
    if (!baselines_.empty()) result_.diff = diff_of(baselines_, input.runs);
    result_.run = result_.diff ? result_.diff->b : diff_of(input.runs, input.runs).b;
  }

  CheckResult made() && {
    check_ending();
    check_step_time();
    check_budgets();
    check_findings();
    find_metrics();
    note_waivers();
    conclude();
    return std::move(result_);
  }

 private:
  // From a history, only runs that are comparable with this one.
  void choose_baselines() {
    std::set<std::string> why;
    for (const RunFacts& base : input_.baselines) {
      if (input_.is_history) {
        const Diff diff = diff_of(std::span(&base, 1), input_.runs.first(1));
        const bool other = std::ranges::any_of(diff.dissimilar, [&](const Dissimilarity& one) {
          if (one.matters && !one.a.empty()) why.insert(one.what);
          return one.matters && !one.a.empty();
        });
        if (other || base.lengths_ns.size() < kFewestLengths) continue;
      }
      baselines_.push_back(base);
    }
    const size_t left_out = input_.baselines.size() - baselines_.size();
    if (left_out == 0) return;
    result_.remarks.push_back(
        fmt::format("{} of {} left out: {}", left_out,
                    plural(static_cast<int64_t>(input_.baselines.size()), "baseline"),
                    why.empty() ? "too few steps" : fmt::format("other {}", fmt::join(why, ", "))));
  }

  [[nodiscard]] bool enabled(const std::string& rule) const {
    const auto found = settings_.rules.find(rule);
    return found == settings_.rules.end() || found->second.enabled;
  }

  void add(CheckCase one) {
    const auto setting = settings_.rules.find(one.name);
    if (setting != settings_.rules.end()) {
      if (!setting->second.enabled) return;
      if (setting->second.severity) one.severity = *setting->second.severity;
    }
    if (one.outcome == Outcome::kFailed) {
      for (const Waiver& waiver : settings_.waivers) {
        if (waiver.rule != one.name) continue;
        if (input_.today <= waiver.expires) {
          one.outcome = Outcome::kExcused;
          one.says += fmt::format("; waived until {}: {}", day_text(waiver.expires), waiver.reason);
        } else {
          one.says += fmt::format("; its waiver expired on {} ({})", day_text(waiver.expires),
                                  waiver.reason);
        }
      }
    }
    result_.cases.push_back(std::move(one));
  }

  void check_ending() {
    if (run_.ended.empty()) return;
    CheckCase one{.name = "ending", .says = "every rank ended cleanly"};
    if (run_.ended != "ok") {
      one.outcome = Outcome::kFailed;
      one.says = run_.ended_title.empty() ? fmt::format("the run failed: {}", run_.ended)
                                          : run_.ended_title;
    }
    add(std::move(one));
  }

  // ---- against the baselines ----

  void check_step_time() {
    if (!enabled("step_time")) return;
    if (input_.baselines.empty() && input_.is_history) {
      result_.sensitivity = "No change of the step time could have been detected.";
      result_.needed = "`dprof baseline add` with a good run";
      add({.name = "step_time",
           .outcome = Outcome::kUndecided,
           .says = "the history has no baseline yet"});
      return;
    }
    if (input_.baselines.empty()) {
      result_.sensitivity =
          "Without a baseline no change of the step time can be detected: give one with --baseline.";
      return;
    }
    CheckCase one{.name = "step_time", .outcome = Outcome::kUndecided};
    if (baselines_.empty()) {
      one.says = "none of the baselines is comparable with this run";
      result_.needed = "a baseline of the same world size, on the same hardware";
    } else if (!result_.diff->comparable()) {
      one.says = fmt::format("not comparable with the baseline: {}", reasons_of(*result_.diff));
      result_.needed = "a baseline that differs only in the change under test";
    } else if (!result_.diff->step) {
      one.says = result_.diff->why_no_step;
      result_.needed = "at least 50 steps";
    } else {
      judge_change(*result_.diff->step, one);
    }
    if (result_.sensitivity.empty())
      result_.sensitivity = "No change of the step time could have been detected.";
    add(std::move(one));
  }

  void judge_change(const StepChange& step, CheckCase& one) {
    const double least = settings_.max_slowdown.value_or(kLeastTolerance);
    // Without a limit, noise is tolerated; with one, noise above it leaves the check undecided.
    const double most =
        settings_.max_slowdown.value_or(std::max(kLeastTolerance, step.detectable(0)));
    const double fails_from = step.single() ? std::max(least, kLeastSuspect) : least;
    const double seen = step.detectable(fails_from);
    const bool slower = step.least > least && step.change > fails_from;
    result_.sensitivity =
        fmt::format("A slow-down of {} or more would have been detected.", format_share(seen));
    const std::string change =
        fmt::format("step time {} against {}", change_text(step),
                    step.runs_a == 1 ? "the baseline" : fmt::format("{} baselines", step.runs_a));
    if (const std::string why = why_machine(step); !why.empty() && step.least > least) {
      one.says = fmt::format("{}; {}", change, why);
      result_.needed = "a quieter machine, or three runs of each side or more";
    } else if (slower && step.single() && step.detectable(kLeastSuspect) > kWorstSensitivity) {
      one.says =
          fmt::format("{}; on a machine this noisy, two equal runs can differ as much", change);
      result_.needed = "three runs of each side or more";
    } else if (slower) {
      one.outcome = Outcome::kFailed;
      one.says = fmt::format("{}{}", step.single() ? "suspect: " : "", change);
      if (const std::string where = where_text(*result_.diff); !where.empty())
        one.says += fmt::format("; {}", where);
      if (step.single())
        one.advice =
            "one run per side cannot separate a change from run-to-run noise: repeat "
            "both, or keep a history of baselines";
    } else if (step.most < 0 ||
               (step.most < most && (settings_.max_slowdown || seen <= kWorstSensitivity))) {
      one.outcome = Outcome::kPassed;
      one.says = change;
    } else {
      one.says = fmt::format("{}; {}", change, why_undecided(step, least, most, seen));
      result_.needed = what_decides(step, fails_from);
    }
  }

  // With one run per side, on a shared machine: the ranks waited for a core, for a tenth of a step
  // or half of the change. Several runs show the machine's variation themselves.
  [[nodiscard]] std::string why_machine(const StepChange& step) const {
    constexpr double kLeastShare = 0.5;
    constexpr double kBusy = 0.1;
    const auto& figures = result_.diff->figures;
    const auto waited = std::ranges::find(figures, "waited_for_core_ns", &ChangedFigure::key);
    if (!step.single() || waited == figures.end()) return "";
    const double busy = std::max(waited->a / step.a_ns, waited->b / step.b_ns);
    if (busy > kBusy) {
      return fmt::format(
          "the machine was busy: for {} of a step the ranks were ready to run and had no core",
          format_share(busy));
    }
    const double more = waited->b - waited->a;
    if (more < kLeastShare * (step.b_ns - step.a_ns)) return "";
    return fmt::format(
        "for {:.3g} ms of it the ranks were ready to run but had no core: other programs used them, or there are more threads than cores",
        std::min(more, step.b_ns - step.a_ns) / 1e6);
  }

  [[nodiscard]] std::string why_undecided(const StepChange& step, double least, double most,
                                          double seen) const {
    if (!settings_.max_slowdown && step.most < most)
      return fmt::format("the noise hides anything below {}", format_share(seen));
    return fmt::format("it is unclear whether that is more than {}", format_share(least));
  }

  static constexpr int kMostRunsAdvised = 30;  // nobody makes more for one change

  // Runs per side until the distance to the limit, or the limit itself, is resolved.
  [[nodiscard]] static std::string what_decides(const StepChange& step, double limit) {
    const double sd =
        step.half_width / kTwoSided98 /
        std::sqrt(1 / static_cast<double>(step.runs_a) + 1 / static_cast<double>(step.runs_b));
    const double distance = std::max(std::abs(step.change - limit), 0.5 * limit);
    const double runs = std::ceil(2 * std::pow(kBothErrors * sd / distance, 2));
    if (runs > kMostRunsAdvised)
      return fmt::format("a quieter machine: on this one, more than {} runs per side",
                         kMostRunsAdvised);
    return fmt::format("about {:.0f} runs per side", std::max(runs, 3.0));
  }

  // ---- budgets ----

  void keep_to(const std::string& name, bool known, bool kept, const std::string& kept_text,
               const std::string& why_unknown) {
    CheckCase one{.name = name, .says = kept_text};
    one.outcome = !known ? Outcome::kUndecided : kept ? Outcome::kPassed : Outcome::kFailed;
    if (!known) one.says = why_unknown;
    add(std::move(one));
  }

  void check_step_budget(double limit_ms) {
    CheckCase one{.name = "budget.step_ms", .outcome = Outcome::kUndecided};
    std::vector<MedianStep> medians;
    for (const RunFacts& run : input_.runs) {
      if (run.lengths_ns.size() >= kFewestLengths)
        medians.push_back(median_step_of(run.lengths_ns));
    }
    if (medians.empty()) {
      one.says = fmt::format("{} has {}; at least {} are needed", run_.source,
                             plural(static_cast<int64_t>(run_.lengths_ns.size()), "steady step"),
                             kFewestLengths);
    } else {
      const StepChange step = change_of(medians, medians);
      const double half = step.half_width / std::numbers::sqrt2;  // of one side
      const double ms = step.b_ns / 1e6;
      one.says = fmt::format(
          "the median step takes {:.4g} ms (98 %: {:.4g} to {:.4g}), the budget is {:.4g} ms", ms,
          ms * std::exp(-half), ms * std::exp(half), limit_ms);
      if (ms * std::exp(-half) > limit_ms) one.outcome = Outcome::kFailed;
      if (ms * std::exp(half) <= limit_ms) one.outcome = Outcome::kPassed;
    }
    add(std::move(one));
  }

  void check_share(const std::string& name, const char* what, std::optional<double> limit,
                   std::optional<double> share) {
    if (!limit) return;
    keep_to("budget." + name, share.has_value(), share && *share <= *limit,
            fmt::format("{} is {} of a step, the budget {}", what, format_share(share.value_or(0)),
                        format_share(*limit)),
            fmt::format("{} is unknown: the run has no breakdown of its steps", what));
  }

  void check_budgets() {
    const Budgets& budgets = settings_.budgets;
    if (budgets.step_ms) check_step_budget(*budgets.step_ms);
    check_share("exposed_communication_share", "exposed communication",
                budgets.exposed_communication_share, run_.exposed_share);
    check_share("input_wait_share", "input wait", budgets.input_wait_share, run_.input_share);
    if (budgets.peak_memory) {
      const auto peak = run_.peak_allocated;
      keep_to("budget.peak_memory", peak.has_value(), peak && *peak <= *budgets.peak_memory,
              fmt::format("{} were allocated at the peak, the budget is {}",
                          format_bytes(peak.value_or(0)), format_bytes(*budgets.peak_memory)),
              "allocated memory was not recorded");
    }
    if (budgets.lost_records) {
      keep_to("budget.lost_records", true, run_.lost <= *budgets.lost_records,
              fmt::format("{} lost, {} allowed", plural(run_.lost, "record"),
                          format_count(*budgets.lost_records)),
              "");
    }
    if (budgets.no_stragglers) check_stragglers();
    for (const auto& [name, budget] : budgets.phases) check_phase(name, budget);
    for (const auto& [name, budget] : budgets.ranges) check_range(name, budget);
  }

  // "; did you mean 'forward'?"
  template <typename List>
  [[nodiscard]] static std::string nearest_text(const std::string& name, const List& list) {
    std::vector<std::string_view> names;
    for (const auto& one : list) names.push_back(one.name);
    const std::optional<std::string_view> near = nearest_name(name, names);
    return near ? fmt::format("; did you mean '{}'?", *near) : "";
  }

  void check_phase(const std::string& name, const NamedBudget& budget) {
    if (!budget.ms) return;
    const PhaseFacts* phase = phase_of(name);
    const double ms = phase != nullptr ? phase->ns / 1e6 : 0;
    keep_to(
        "phase." + name, phase != nullptr, ms <= *budget.ms,
        fmt::format("{} takes {:.4g} ms per step, the budget is {:.4g} ms", name, ms, *budget.ms),
        why_no_phase(name));
  }

  [[nodiscard]] std::string why_no_phase(const std::string& name) const {
    return fmt::format("the run has no marked phase '{}'{}", name, nearest_text(name, run_.phases));
  }

  void check_range(const std::string& name, const NamedBudget& budget) {
    if (!budget.ms && !budget.own_ms && !budget.calls) return;
    const NameTimes* range = range_of(name);
    std::vector<std::string> kept;
    std::vector<std::string> exceeded;
    const auto limit = [&](std::optional<double> most, double value, const char* says) {
      if (most) {
        (value <= *most ? kept : exceeded).push_back(fmt::format(fmt::runtime(says), value, *most));
      }
    };
    if (range != nullptr) {
      limit(budget.ms, static_cast<double>(range->total_ns) / 1e6,
            "{:.4g} ms per step, the budget is {:.4g} ms");
      limit(budget.own_ms, static_cast<double>(range->self_ns) / 1e6,
            "{:.4g} ms of its own per step, the budget is {:.4g} ms");
      limit(budget.calls, range->count, "called {:.4g}× per step, {:.4g}× is allowed");
    }
    keep_to("range." + name, range != nullptr, exceeded.empty(),
            fmt::format("{}: {}", name, fmt::join(exceeded.empty() ? kept : exceeded, "; ")),
            why_no_range(name));
  }

  [[nodiscard]] std::string why_no_range(const std::string& name) const {
    if (!run_.names) return "operators and ranges are unknown: the run has no events by name";
    if (const std::string near = nearest_text(name, run_.names->list); !near.empty())
      return fmt::format("the run has no range '{}'{}", name, near);
    if (run_.names->left_out > 0)
      return fmt::format("'{}' is not among the {} names that take most time", name, Names::kMost);
    return fmt::format("the run has no range '{}'", name);
  }

  [[nodiscard]] const PhaseFacts* phase_of(const std::string& name) const {
    const auto found = std::ranges::find(run_.phases, name, &PhaseFacts::name);
    return found == run_.phases.end() ? nullptr : &*found;
  }
  // The file uses the names of reports: without template arguments and addresses.
  [[nodiscard]] const NameTimes* range_of(const std::string& name) const {
    if (!run_.names) return nullptr;
    const auto found = std::ranges::find(run_.names->list, name, &NameTimes::name);
    return found == run_.names->list.end() ? nullptr : &*found;
  }

  void check_stragglers() {
    std::string text = "no rank holds the others up";
    if (run_.stragglers && !run_.stragglers->empty()) {
      const StragglerFacts& one = run_.stragglers->front();
      text =
          fmt::format("{} holds the others up: {} per step ({})",
                      one.rank ? fmt::format("rank {}", *one.rank) : "a different rank each time",
                      format_duration({one.cost_ns}), one.cause);
    }
    keep_to("budget.stragglers", run_.stragglers.has_value(),
            run_.stragglers && run_.stragglers->empty(), text,
            "stragglers are unknown: ranks could not be compared");
  }

  // ---- findings ----

  // Known: every baseline has it with at least that severity, and yet passed as a good run.
  [[nodiscard]] bool is_known(const FindingFacts& finding) const {
    return !baselines_.empty() && std::ranges::all_of(baselines_, [&](const RunFacts& base) {
      return std::ranges::any_of(base.findings, [&](const FindingFacts& other) {
        return other.rule == finding.rule && other.cause == finding.cause &&
               other.severity >= finding.severity;
      });
    });
  }

  // A finding with a cost lengthens the step. If steps are not measurably longer than the
  // baselines', the finding is variation between runs: a share just above its limit, a rank that
  // shared its core.
  [[nodiscard]] bool shows_in_steps(const FindingFacts& finding) const {
    if (!finding.cost_ns || settings_.rules.contains(finding.rule)) return true;
    if (!result_.diff || !result_.diff->comparable() || !result_.diff->step) return true;
    const auto step_time = std::ranges::find(result_.cases, "step_time", &CheckCase::name);
    return step_time == result_.cases.end() || step_time->outcome == Outcome::kFailed;
  }

  void check_findings() {
    for (const FindingFacts& finding : run_.findings) {
      if (finding.symptom || finding.rule == "run.failed") continue;  // reported as the ending
      if (finding.severity < FindingSeverity::kWarn && !settings_.rules.contains(finding.rule) &&
          settings_.fail_on > FindingSeverity::kInfo)
        continue;
      CheckCase one{.name = finding.rule,
                    .outcome = Outcome::kFailed,
                    .severity = finding.severity,
                    .says = finding.title,
                    .advice = finding.advice};
      if (is_known(finding)) {
        one.outcome = Outcome::kExcused;
        one.says += "; the baselines also have it";
      } else if (!shows_in_steps(finding)) {
        one.outcome = Outcome::kExcused;
        one.says += "; steps are not measurably longer than the baselines'";
      }
      add(std::move(one));
    }
  }

  void note_waivers() {
    for (const Waiver& waiver : settings_.waivers) {
      if (input_.today <= waiver.expires) continue;
      const bool fired = std::ranges::any_of(result_.cases, [&](const CheckCase& one) {
        return one.name == waiver.rule && one.outcome == Outcome::kFailed;
      });
      if (!fired)
        result_.remarks.push_back(fmt::format("the waiver of {} expired on {} and can go",
                                              waiver.rule, day_text(waiver.expires)));
    }
  }

  // ---- the answer ----

  void find_metrics() {
    const auto metric = [&](const char* name, const char* unit, const char* help,
                            std::optional<double> value, std::optional<double> half = {}) {
      if (value) result_.metrics.push_back({name, unit, help, *value, half});
    };
    if (run_.lengths_ns.size() >= kFewestLengths) {
      const MedianStep step = median_step_of(run_.lengths_ns);
      metric("step_seconds", "seconds", "Median steady step.", step.ns / 1e9,
             step.ns / 1e9 * kTwoSided95 * step.log_sd);
    }
    metric("exposed_communication_ratio", "ratio", "Exposed communication as a share of step time.",
           run_.exposed_share);
    metric("input_wait_ratio", "ratio", "Input wait as a share of step time.", run_.input_share);
    const auto as_double = [](std::optional<int64_t> value) {
      return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
    };
    metric("peak_memory_bytes", "bytes", "Peak allocated memory of the rank with the most.",
           as_double(run_.peak_allocated));
    if (run_.stragglers)
      metric("stragglers", "", "Ranks that hold the others up.",
             static_cast<double>(run_.stragglers->size()));
    metric("lost_records", "", "Records that were dropped.", static_cast<double>(run_.lost));
    find_named_metrics();
  }

  // For the phases and ranges that the file names.
  void find_named_metrics() {
    for (const auto& [name, budget] : settings_.budgets.phases) {
      if (const PhaseFacts* phase = phase_of(name)) {
        result_.metrics.push_back({.name = "phase_seconds",
                                   .unit = "seconds",
                                   .help = "A marked phase, per step.",
                                   .value = phase->ns / 1e9,
                                   .half_width = {},
                                   .of = name});
      } else if (!budget.ms) {
        result_.remarks.push_back(why_no_phase(name));
      }
    }
    for (const auto& [name, budget] : settings_.budgets.ranges) {
      if (const NameTimes* range = range_of(name)) {
        result_.metrics.push_back({.name = "range_seconds",
                                   .unit = "seconds",
                                   .help = "An operator, kernel or range, per rank and step.",
                                   .value = static_cast<double>(range->total_ns) / 1e9,
                                   .half_width = {},
                                   .of = name});
      } else if (!budget.ms && !budget.own_ms && !budget.calls) {
        result_.remarks.push_back(why_no_range(name));
      }
    }
  }

  void conclude() {
    std::vector<const CheckCase*> failed;
    std::vector<const CheckCase*> undecided;
    for (const CheckCase& one : result_.cases) {
      if (result_.counts(one)) failed.push_back(&one);
      if (one.outcome == Outcome::kUndecided && one.severity >= result_.fail_on)
        undecided.push_back(&one);
    }
    const auto more = [](const std::vector<const CheckCase*>& cases) {
      return cases.size() > 1 ? fmt::format(" (and {} more)", cases.size() - 1) : std::string();
    };
    if (!failed.empty()) {
      result_.verdict = Outcome::kFailed;
      result_.title = failed.front()->says + more(failed);
    } else if (!undecided.empty()) {
      result_.verdict = Outcome::kUndecided;
      result_.title = undecided.front()->says + more(undecided);
    } else {
      const auto step = std::ranges::find(result_.cases, "step_time", &CheckCase::name);
      result_.title =
          step != result_.cases.end() && step->outcome == Outcome::kPassed
              ? step->says
              : fmt::format("{} passed",
                            plural(static_cast<int64_t>(result_.cases.size()), "check"));
    }
    if (result_.verdict != Outcome::kUndecided) result_.needed.clear();
  }

  const CheckInput& input_;
  const CheckSettings& settings_;
  const RunFacts& run_;  // the last run: budgets and findings refer to it
  std::vector<RunFacts> baselines_;
  CheckResult result_;
};

}  // namespace

std::string_view word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kUndecided:
      return "undecided";
    case Outcome::kExcused:
      return "excused";
  }
  return "";
}

ExitCode CheckResult::code() const {
  return verdict == Outcome::kFailed      ? ExitCode::kCheckFailed
         : verdict == Outcome::kUndecided ? ExitCode::kInconclusive
                                          : ExitCode::kGood;
}

CheckResult check(const CheckInput& input, const CheckSettings& settings) {
  return Checker(input, settings).made();
}

}  // namespace dprof::analyzer
