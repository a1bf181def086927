// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/format.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr double kCriticalShare = 0.10;  // of the median step
constexpr double kWarnShare = 0.03;
constexpr double kInfoShare = 0.01;
constexpr double kInputBoundShare = 0.05;

FindingSeverity severity_of(double share) {
  if (share >= kCriticalShare) return FindingSeverity::kCritical;
  return share >= kWarnShare ? FindingSeverity::kWarn : FindingSeverity::kInfo;
}

struct Rules {
  const Report& report;
  const std::vector<Verdict>& verdicts;
  std::vector<Finding> findings;

  [[nodiscard]] int64_t median_step() const {
    return report.run.steps ? report.run.steps->median_ns : 0;
  }
  [[nodiscard]] double share(int64_t ns) const {
    return median_step() <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(median_step());
  }
  [[nodiscard]] int64_t steady_steps() const {
    return report.run.steps ? report.run.steps->last_steady - report.run.steps->first_steady + 1
                            : 0;
  }

  void hang();
  void stragglers();
  [[nodiscard]] std::string transfer_advice() const;
  void exposed_transfer();
  void input_bound();
  void mutual_waiting();
  void losses();
};

std::string ms(int64_t ns) { return format_ms({ns}); }

std::string list_of(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

void Rules::hang() {
  if (!report.hang) return;
  const Hang& h = *report.hang;
  const std::string what =
      fmt::format("{} {}of {}", word_of(h.function),
                  h.sequence ? fmt::format("#{} ", *h.sequence) : std::string(), h.communicator);
  Finding finding{.rule = "comm.hang",
                  .severity = FindingSeverity::kCritical,
                  .ranks = h.culprits.empty() ? h.waiting : h.culprits,
                  .cause = "synchronisation",
                  .confidence = 0.9,
                  .evidence = {}};
  if (h.state == "dead") {
    finding.title =
        fmt::format("{} died; the others waited for it in {}", list_of(h.culprits), what);
    finding.advice =
        "see how that process ended: its exit status, its last ranges, the system's log";
  } else if (h.state == "mismatch") {
    finding.title =
        fmt::format("{} called {} differently from the others", list_of(h.culprits), what);
    finding.advice = "make all ranks call the same collectives, in the same order and size";
  } else if (h.culprits.empty()) {
    finding.title = fmt::format("all members began {} and none finished it", what);
    finding.advice = "look at the network or transport between these ranks";
  } else {
    finding.title = fmt::format("{} never came to {}", list_of(h.culprits), what);
    finding.advice =
        "see what that rank did last: code that only some ranks run, uneven data, an endless loop";
  }
  finding.detail = fmt::format("{} waited in it when the run ended", list_of(h.waiting));
  findings.push_back(std::move(finding));
}

std::string advice_for(const Straggler& s) {
  if (s.cause == "dataloader")
    return "raise this rank's loader workers or prefetching, or look at where its data lies";
  if (s.cause == "checkpoint") return "write checkpoints asynchronously, or outside of the step";
  if (s.cause == "host")
    return "look at what the training thread does between its ranges: logging, garbage collection, "
           "other processes on its core";
  if (s.cause == "compute" && !s.rank)
    return "batches cost differently: balance their work across ranks";
  if (s.cause == "compute")
    return "compare that phase with another rank's in the timeline; if the work is the same, the "
           "core or "
           "device is slower or shared";
  return "compare that rank with another in the timeline";
}

std::string title_of(const Straggler& s, const Verdict& v, double share) {
  const std::string cost = fmt::format("+{} per step ({})", ms(s.cost_ns), format_share(share));
  if (!v.named && s.rank)
    return fmt::format("rank {} is slower than its peers: {}, in {} of steps", *s.rank, cost,
                       format_share(v.share_of_steps));
  if (!s.rank) return fmt::format("a different rank is late in each step: {}", cost);
  if (s.shape == "persistent")
    return fmt::format("rank {} holds everyone up: {}, in {} of steps", *s.rank, cost,
                       format_share(v.share_of_steps));
  return fmt::format("rank {} holds everyone up {}: {}, in {} of steps", *s.rank,
                     s.shape == "periodic" ? "at regular intervals" : "now and then", cost,
                     format_share(v.share_of_steps));
}

void Rules::stragglers() {
  for (const Verdict& v : verdicts) {
    const Straggler& s = v.straggler;
    Finding finding{.rule = "balance.straggler",
                    .severity = v.named ? severity_of(share(s.cost_ns)) : FindingSeverity::kInfo,
                    .title = title_of(s, v, share(s.cost_ns)),
                    .advice = advice_for(s),
                    .cost_ns = s.cost_ns,
                    .bound_ns = s.bound_ns,
                    .cause = s.cause,
                    .confidence = s.confidence,
                    .evidence = s.evidence};
    if (s.rank) finding.ranks = {*s.rank};
    const std::string without =
        fmt::format("without it a step takes {} ± {}", ms(v.step_ns), ms(s.bound_ns));
    if (v.kind.empty()) {
      finding.detail = fmt::format("its own delay is {} per step, of several kinds; {}",
                                   ms(s.own_delay_ns), without);
    } else {
      finding.detail = fmt::format("{} {} is {}{}, the other ranks' median {}; {}",
                                   s.rank ? "its" : "that rank's", v.kind, ms(v.kind_ns),
                                   s.shape == "persistent" ? "" : " in those steps",
                                   ms(v.peers_kind_ns), without);
    }
    const bool two = report.breakdown && report.breakdown->per_rank.size() == 2;
    if (two && v.named) finding.detail += "; with two ranks this is relative to the other one only";
    if (two && !v.named) finding.detail += "; two ranks that share cores differ as much by chance";
    findings.push_back(std::move(finding));
  }
}

// What helps against transfers depends on what is transferred in a step: gradients by collectives,
// or messages from rank to rank.
std::string Rules::transfer_advice() const {
  const auto in_steps = [](const auto& entry) { return entry.per_step.value_or(0) > 0; };
  const bool collectives = report.collectives && std::ranges::any_of(*report.collectives, in_steps);
  const bool messages =
      report.point_to_point && std::ranges::any_of(*report.point_to_point, in_steps);
  if (messages && !collectives) {
    return "more micro-batches in flight hide the messages of a pipeline; fewer bytes: 16-bit "
           "tensors; one server for all ranks: divide its parameters among several";
  }
  return "smaller buckets start earlier (bucket_cap_mb); fewer bytes: a larger batch, 16-bit "
         "gradients, no_sync while accumulating";
}

// Transfers that no computation hides, on the rank that has most of them.
void Rules::exposed_transfer() {
  if (!report.overlap || steady_steps() <= 0) return;
  std::vector<int64_t> per_step;
  int64_t hidden = 0;
  int64_t total = 0;
  for (const RankOverlap& rank : report.overlap->per_rank) {
    per_step.push_back(rank.exposed_transfer_ns / steady_steps());
    hidden += rank.hidden_ns;
    total += rank.hidden_ns + rank.exposed_transfer_ns;
  }
  const int64_t cost = median_ns(per_step);
  if (share(cost) < kInfoShare) return;
  const double hidden_share =
      total == 0 ? 0 : static_cast<double>(hidden) / static_cast<double>(total);
  Finding finding{
      .rule = "comm.exposed-transfer",
      .severity = severity_of(share(cost)),
      .title = fmt::format("transfers that nothing hides: {} per step ({})", ms(cost),
                           format_share(share(cost))),
      .detail = fmt::format(
          "{} of the communication is hidden; the cost is an upper bound of what could be won",
          format_share(hidden_share)),
      .advice = transfer_advice(),
      .cost_ns = cost,
      .cause = "network",
      .confidence = 0.5,
      .evidence = {}};
  findings.push_back(std::move(finding));
}

void Rules::input_bound() {
  if (!report.breakdown || steady_steps() <= 0) return;
  Finding finding{.rule = "input.bound", .evidence = {}};
  std::vector<int64_t> waits;
  for (const RankBreakdown& rank : report.breakdown->per_rank) {
    const int64_t wait =
        rank.category_ns[static_cast<size_t>(Category::kInputWait)] / steady_steps();
    waits.push_back(wait);
    if (share(wait) >= kInputBoundShare) finding.ranks.push_back(rank.rank);
  }
  if (2 * finding.ranks.size() <= waits.size()) return;
  const int64_t cost = median_ns(waits);
  finding.severity = severity_of(share(cost));
  finding.title = fmt::format("{} wait for input: {} per step ({})",
                              finding.ranks.size() == waits.size() ? "all ranks" : "most ranks",
                              ms(cost), format_share(share(cost)));
  finding.detail =
      "median over ranks of the time in the loader; an upper bound of what could be won";
  finding.advice = "more loader workers, prefetching, cheaper decoding, or a cache";
  finding.cost_ns = cost;
  finding.cause = "dataloader";
  finding.confidence = 0.7;
  findings.push_back(std::move(finding));
}

// Waiting that no culprit explains.
void Rules::mutual_waiting() {
  if (!report.overlap || steady_steps() <= 0) return;
  if (std::ranges::any_of(verdicts, &Verdict::named)) return;
  std::vector<int64_t> waits;
  for (const RankOverlap& rank : report.overlap->per_rank)
    waits.push_back(rank.exposed_wait_ns / steady_steps());
  const int64_t cost = median_ns(waits);
  if (waits.size() < 2 || share(cost) < kWarnShare) return;
  findings.push_back(
      {.rule = "balance.waiting",
       .severity = FindingSeverity::kInfo,
       .title = fmt::format("ranks wait for each other: {} per step ({})", ms(cost),
                            format_share(share(cost))),
       .detail = "no rank is late of its own doing in a way that lasts",
       .advice = "expected where ranks share cores; else look for jitter: other processes, uneven "
                 "batches",
       .ranks = {},
       .cost_ns = cost,
       .cause = "mixed",
       .confidence = 0.5,
       .evidence = {}});
}

void Rules::losses() {
  const int64_t count = lost_records(report.recording);
  if (count == 0) return;
  Finding finding{.rule = "hygiene.lost-records", .evidence = {}};
  for (const Loss& loss : report.recording.lost) {
    if (!is_lost(loss)) continue;
    if (std::ranges::count(finding.ranks, loss.rank) == 0) finding.ranks.push_back(loss.rank);
  }
  const auto all = static_cast<double>(std::max<int64_t>(1, count + report.recording.events));
  finding.severity = static_cast<double>(count) / all >= kInfoShare ? FindingSeverity::kWarn
                                                                    : FindingSeverity::kInfo;
  finding.title = fmt::format("{} records were lost", format_count(count));
  finding.detail = "what they would have shown is missing from every figure";
  finding.advice = "record less: --detail light, or only some steps with --steps A:B";
  finding.cause = "unknown";
  finding.confidence = 1;
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> find_all(const Report& report, const std::vector<Verdict>& verdicts) {
  Rules rules{report, verdicts, {}};
  rules.hang();
  rules.stragglers();
  rules.exposed_transfer();
  rules.input_bound();
  rules.mutual_waiting();
  rules.losses();
  // A hang first, named culprits next: they are causes, what follows is often their symptom.
  const auto rank = [](const Finding& f) {
    const bool root = f.rule == "comm.hang" ||
                      (f.rule == "balance.straggler" && f.severity != FindingSeverity::kInfo);
    return std::make_tuple(f.rule != "comm.hang", !root, -static_cast<int>(f.severity),
                           -f.cost_ns.value_or(0));
  };
  std::ranges::stable_sort(rules.findings, {}, rank);
  return std::move(rules.findings);
}

}  // namespace dprof::analyzer
