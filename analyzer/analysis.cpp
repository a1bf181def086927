// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/align/align.h"
#include "analyzer/breakdown/breakdown.h"
#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/marked_phases.h"
#include "analyzer/breakdown/slow_links.h"
#include "analyzer/digest/all.h"
#include "analyzer/match/hang.h"
#include "analyzer/match/match.h"
#include "analyzer/match/summary.h"
#include "analyzer/memory/curves.h"
#include "analyzer/memory/memory.h"
#include "analyzer/replay/operation_verdicts.h"
#include "analyzer/replay/replay.h"
#include "analyzer/rules/rules.h"
#include "analyzer/steps/infer.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/stragglers.h"

namespace dprof::analyzer {
namespace {

class Analyst {
 public:
  Analyst(const Run& run, const AnalysisOptions& options, const Progress& progress)
      : run_(run), options_(options), progress_(progress) {}

  Result<Analysis> run() {
    if (const Status good = select_traces(); !good.ok()) return fail(good.error());
    if (const Status good = digest_traces(); !good.ok()) return fail(good.error());
    report().gpu_rows = gpu_rows_of(digests_, options_.rows);
    if (const Status good = tell("match", 0.8); !good.ok()) return fail(good.error());
    matching_ = match_collectives(digests_);
    append(matching_.remarks);
    align();
    settle_times(matching_, digests_, alignment_);
    infer_steps(digests_, matching_, notes());
    attach_steps(matching_, digests_);
    steps_ = align_steps(digests_, options_.steps, notes());
    if (const Status good = tell("breakdown", 0.85); !good.ok()) return fail(good.error());
    for (size_t d = 0; d < digests_.size(); ++d) {
      // The steps are found: what served for that is not needed any more.
      GpuDigest& gpu = digests_[d].gpu;
      gpu.compute = {};
      gpu.communication = {};
      gpu.launches = {};
      gpu.tokens = {};
      pieces_.push_back(lattice_of(digests_[d], comm_spans(digests_, matching_, d)));
      // They stand in the lattice now.
      for (DeviceDigest& device : gpu.devices) device.pieces = {};
    }
    fill_run();
    fill_recording();
    const SteadySteps steady(steps_, digests_.size());
    report().collectives = summarise(digests_, matching_, steady);
    report().point_to_point = summarise_messages(digests_, matching_, steady);
    append(match_diagnostics(digests_, matching_));
    report().hang = find_hang(
        {.digests = digests_,
         .traces = traces_,
         .matching = matching_,
         .aligned = alignment_.aligned,
         .median_step_ns = steps_ ? std::optional(steps_->info.median_ns) : std::nullopt});
    if (steps_) fill_breakdown();
    report().link_fits = link_fits_of(digests_, matching_);
    if (steps_) {
      report().slow_links = slow_links_of(digests_, traces_, matching_, *steps_,
                                          report().overlap ? &*report().overlap : nullptr, notes());
    }
    report().memory = memory_of(digests_, steps_ ? &*steps_ : nullptr, notes());
    if (const Status good = tell("stragglers", 0.9); !good.ok()) return fail(good.error());
    const std::vector<Verdict> verdicts = compare_ranks();
    note_not_computed();
    std::vector<Finding> findings = find_all({.report = report(),
                                              .verdicts = verdicts,
                                              .digests = digests_,
                                              .matching = &matching_,
                                              .steps = steps_ ? &*steps_ : nullptr,
                                              .traces = traces_});
    // Without steps little could be looked for: an empty list would say too much.
    if (steps_ || !findings.empty()) report().findings = std::move(findings);
    fill_ranks();
    if (const Status good = tell("done", 1); !good.ok()) return fail(good.error());
    return std::move(analysis_);
  }

 private:
  Report& report() { return analysis_.report; }
  std::vector<Diagnostic>& notes() { return analysis_.report.recording.diagnostics; }
  void note(std::string_view code, std::string text, int64_t count = 1) {
    notes().push_back(make_diagnostic(code, std::move(text), count));
  }
  void append(std::vector<Diagnostic> more) {
    notes().insert(notes().end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }

  Status tell(std::string_view stage, double share) const {
    if (!progress_ || progress_(stage, share)) return Done{};
    return fail(Code::kUsage, "cancelled");
  }

  Status select_traces() {
    for (const int rank : options_.ranks) {
      if (std::ranges::count(run_.traces, rank, &TraceFile::rank) != 0) continue;
      return fail(Code::kNotFound, fmt::format("{}: no trace of rank {}", run_.name, rank),
                  "`dprof report` without --ranks lists the ranks that are there");
    }
    for (const TraceFile& trace : run_.traces) {
      if (options_.ranks.empty() || std::ranges::count(options_.ranks, trace.rank) != 0)
        traces_.push_back(trace);
    }
    return Done{};
  }

  // A trace that proves unreadable on the way is left out and named; only if none is left, it
  // fails.
  Status digest_traces() {
    notes() = run_.diagnostics;
    analysis_.damaged = run_.damaged;
    Result<std::vector<Result<RankDigest>>> digests = digest_all(
        traces_, options_.cache,
        [&](std::string_view stage, double share) { return tell(stage, 0.8 * share).ok(); });
    if (!digests.ok()) return fail(digests.error());
    std::vector<TraceFile> readable;
    std::optional<Error> first_error;
    for (size_t i = 0; i < traces_.size(); ++i) {
      Result<RankDigest>& digest = (*digests)[i];
      if (digest.ok()) {
        digests_.push_back(*std::move(digest));
        readable.push_back(traces_[i]);
        continue;
      }
      const Error& error = digest.error();
      if (!first_error) first_error = error;
      analysis_.damaged = true;
      note("unreadable_trace",
           error.hint.empty() ? error.what : fmt::format("{}; hint: {}", error.what, error.hint));
    }
    traces_ = std::move(readable);
    if (digests_.empty() && first_error) return fail(*first_error);
    return Done{};
  }

  // Traces that are not analysed tell of the clocks, too.
  [[nodiscard]] std::vector<ClockWitness> witnesses() const {
    std::vector<TraceFile> left_out = run_.others;
    for (const TraceFile& trace : run_.traces) {
      if (std::ranges::count(traces_, trace.rank, &TraceFile::rank) == 0) left_out.push_back(trace);
    }
    return clock_witnesses(left_out);
  }

  void align() {
    alignment_ = align_clocks(traces_, digests_, matching_, witnesses());
    put_on_axis(alignment_, digests_);
    report().clock = std::move(alignment_.clock);
    append(std::move(alignment_.diagnostics));
  }

  void fill_run() {
    RunInfo& info = report().run;
    info.name = run_.name;
    info.command = run_.command;
    info.ranks = static_cast<int64_t>(traces_.size());
    std::set<std::string> hosts;
    for (const TraceFile& trace : traces_) hosts.insert(trace.clock_id);  // a host is a clock
    info.hosts = static_cast<int64_t>(hosts.size());
    if (run_.world_size) info.world_size = *run_.world_size;
    if (steps_) info.steps = steps_->info;
  }

  void fill_recording() {
    Recording& recording = report().recording;
    Overhead overhead;
    for (size_t d = 0; d < digests_.size(); ++d) {
      const RankDigest& digest = digests_[d];
      recording.events += digest.events;
      for (const LossRecord& loss : digest.losses)
        recording.lost.push_back({digest.rank, loss.source, loss.reason, loss.count});
      for (const Diagnostic& remark : digest.remarks) {
        notes().push_back(remark);
        notes().back().text = fmt::format("rank {}: {}", digest.rank, remark.text);
      }
      note_rank(d);
      add_overhead(overhead, digest);
    }
    if (const int64_t lost = lost_records(recording); lost > 0)
      note("events_lost", fmt::format("{} records were lost", lost), lost);
    if (overhead.in_process_ns || overhead.recorder_cpu_ns) {
      overhead.how =
          "in the process: "
          "records times the measured cost of writing one, without what PyTorch spends on calling back; "
          "beside it: CPU time of the writers";
      recording.overhead = std::move(overhead);
    }
  }

  void note_rank(size_t d) {
    const RankDigest& digest = digests_[d];
    if (digest.open_ranges > 0) {
      note("open_ranges", fmt::format("rank {}: {} ranges", digest.rank, digest.open_ranges),
           digest.open_ranges);
    }
    const bool remarked = std::ranges::any_of(
        digest.remarks, [](const Diagnostic& remark) { return remark.code == "process_killed"; });
    if (traces_[d].ended == "process_killed" && !remarked) {
      note("process_killed",
           fmt::format("rank {} was ended by force ({})", digest.rank,
                       traces_[d].exit_status.empty() ? "unknown how" : traces_[d].exit_status));
    }
  }

  static void add_overhead(Overhead& overhead, const RankDigest& digest) {
    if (digest.recorder_cpu_ns)
      overhead.recorder_cpu_ns = overhead.recorder_cpu_ns.value_or(0) + *digest.recorder_cpu_ns;
    if (!digest.in_process_ns) return;
    overhead.in_process_ns = overhead.in_process_ns.value_or(0) + *digest.in_process_ns;
    if (digest.span.empty()) return;
    const double share =
        static_cast<double>(*digest.in_process_ns) / static_cast<double>(digest.span.length().ns);
    overhead.share = std::max(overhead.share.value_or(0), share);
  }

  void fill_breakdown() {
    StepSums sums;
    for (size_t r = 0; r < steps_->ranks.size(); ++r) {
      sums.push_back(sum_over(pieces_[steps_->ranks[r]], windows_of(r)));
    }
    report().breakdown = breakdown_of(digests_, *steps_, sums);
    const CommunicationInput communication{digests_, matching_, *steps_, pieces_};
    report().overlap = overlap_of(communication, sums);
    report().phases = phases_of(digests_, *steps_, notes());
    report().contention = contention_of(communication, notes());
    report().buckets = buckets_of(communication, notes());
  }

  // A GPU rank's steps are those of its device, where each of them has work there: its time is
  // divided by what the device did.
  [[nodiscard]] std::vector<Interval> windows_of(size_t r) const {
    std::vector<Interval> windows;
    const bool on_device = std::ranges::all_of(steps_->steps, [&](const AlignedStep& step) {
      return !step.device_windows.empty() && step.device_windows[r].has_value();
    });
    for (const AlignedStep& step : steps_->steps)
      windows.push_back(on_device ? *step.device_windows[r] : step.windows[r]);
    return windows;
  }

  std::vector<Verdict> compare_ranks() {
    if (!steps_) return {};
    const RunReplay replay = replay_run(digests_, *steps_, matching_, pieces_);
    report().replay = replay_of(replay, digests_, *steps_, notes());
    if (steps_->ranks.size() < 2) {
      note("not_computed",
           "stragglers: there is one rank with steps, and nothing to compare it with");
      return {};
    }
    if (replay.operations)
      return name_stragglers(operation_verdicts(*replay.operations, digests_, *steps_));
    std::vector<std::span<const LatticePiece>> pieces;
    for (const size_t rank : steps_->ranks) pieces.emplace_back(pieces_[rank]);
    Judgement judgement =
        judge({.digests = digests_,
               .traces = traces_,
               .steps = *steps_,
               .matching = matching_,
               .pieces = pieces,
               .replayer = replay.segments.get(),
               .slow_links = report().slow_links ? &*report().slow_links : nullptr},
              notes());
    report().detection = judgement.detection;
    if (!judgement.compared) return {};
    note_own_delays(judgement);
    return name_stragglers(std::move(judgement.verdicts));
  }

  void note_own_delays(const Judgement& judgement) {
    own_delays_.resize(digests_.size());
    for (size_t r = 0; r < judgement.excess_ns.size(); ++r) {
      std::vector<OwnDelay>& delays = own_delays_[steps_->ranks[r]];
      for (size_t s = 0; s < judgement.steps.size(); ++s)
        delays.push_back({steps_->steps[judgement.steps[s]].index, judgement.excess_ns[r][s]});
    }
  }

  std::vector<Verdict> name_stragglers(std::vector<Verdict> verdicts) {
    if (report().replay) widen_costs(*report().replay, steps_->info.median_ns, verdicts);
    report().stragglers.emplace();
    for (const Verdict& verdict : verdicts) {
      if (verdict.named) report().stragglers->push_back(verdict.straggler);
    }
    return verdicts;
  }

  void note_not_computed() {
    note("not_computed", "replay: of what-if questions only the stragglers' cost is answered");
  }

  void fill_ranks() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      RankAnalysis rank{.rank = digests_[d].rank,
                        .clock = alignment_.maps[d],
                        .steps = {},
                        .pieces = {},
                        .own_delays = {},
                        .memory = {}};
      if (d < own_delays_.size()) rank.own_delays = std::move(own_delays_[d]);
      for (const StepRecord& step : digests_[d].steps)
        rank.steps.push_back({step.index, step.window});
      if (options_.pieces) {
        rank.pieces.reserve(pieces_[d].size());
        for (const LatticePiece& piece : pieces_[d])
          rank.pieces.push_back({piece.span, piece.category, piece.phase});
        rank.memory = memory_curves(digests_[d].memory);
      }
      pieces_[d] = {};
      analysis_.ranks.push_back(std::move(rank));
    }
    analysis_.clocks = std::move(static_cast<RankClocks&>(alignment_));
    if (!options_.pieces) return;
    analysis_.collectives = matched_collectives(digests_, matching_);
    analysis_.messages = matched_messages(digests_, matching_);
  }

  const Run& run_;
  const AnalysisOptions& options_;
  const Progress& progress_;
  Analysis analysis_;
  std::vector<TraceFile> traces_;  // those analysed; the following are by the same position
  std::vector<RankDigest> digests_;
  std::vector<std::vector<LatticePiece>> pieces_;
  Matching matching_;
  std::optional<Steps> steps_;
  std::vector<std::vector<OwnDelay>> own_delays_;
  Alignment alignment_;
};

}  // namespace

Result<Analysis> analyze(const Run& run, const AnalysisOptions& options, const Progress& progress) {
  return Analyst(run, options, progress).run();
}

}  // namespace dprof::analyzer
