// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyzer/align/align.h"
#include "analyzer/breakdown/breakdown.h"
#include "analyzer/breakdown/communication.h"
#include "analyzer/breakdown/energy.h"
#include "analyzer/breakdown/gpu_rows.h"
#include "analyzer/breakdown/marked_phases.h"
#include "analyzer/breakdown/slow_links.h"
#include "analyzer/breakdown/summary.h"
#include "analyzer/compare/compare.h"
#include "analyzer/digest/all.h"
#include "analyzer/ending/ending.h"
#include "analyzer/hang/hang.h"
#include "analyzer/match/failed_ends.h"
#include "analyzer/match/match.h"
#include "analyzer/memory/curves.h"
#include "analyzer/memory/memory.h"
#include "analyzer/replay/calls.h"
#include "analyzer/replay/critical_path.h"
#include "analyzer/replay/held_out.h"
#include "analyzer/replay/hidden_waits.h"
#include "analyzer/replay/replay.h"
#include "analyzer/replay/what_if.h"
#include "analyzer/report/recording.h"
#include "analyzer/rules/rules.h"
#include "analyzer/steps/infer.h"
#include "analyzer/steps/steps.h"
#include "analyzer/stragglers/operation_verdicts.h"
#include "analyzer/stragglers/price.h"
#include "analyzer/stragglers/stragglers.h"
#include "analyzer/waits/waits.h"
#include "base/free_memory.h"
#include "base/in_threads.h"
#include "base/paged_memory.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kAnswersUnasked = 6;

int64_t largest_bound(const std::optional<Clock>& clock) {
  int64_t bound = 0;
  if (!clock) return bound;
  for (const HostClock& host : clock->hosts) bound = std::max(bound, host.bound_ns.value_or(0));
  return bound;
}

// What only the steps and the pieces of a rank's time are made of.
void free_what_pieces_needed(RankDigest& digest) {
  GpuDigest& gpu = digest.gpu;
  for (IntervalSet* set : {&gpu.compute, &gpu.communication, &digest.named, &digest.allocations,
                           &digest.gc, &digest.logging, &digest.profiler})
    free_memory(*set);
  free_memory(gpu.tokens);
  free_memory(gpu.launches);
  for (DeviceDigest& device : gpu.devices) free_memory(device.pieces);
  free_memory(digest.run_queue);
}

// Calls the stages in order and passes their results on; computes nothing itself.
class Analyst {
 public:
  Analyst(const Run& run, const AnalysisOptions& options, const Progress& progress)
      : run_(run), options_(options), progress_(progress) {}

  Result<Analysis> run() {
    for (const auto stage : {
             &Analyst::select_traces,
             &Analyst::digest,
             &Analyst::match,
             &Analyst::find_steps,
             &Analyst::divide_time,
             &Analyst::describe_recording,
             &Analyst::take_first_look,
             &Analyst::sum_up_communication,
             &Analyst::find_hangs,
             &Analyst::find_ending,
             &Analyst::sum_up_steps,
             &Analyst::find_slow_links,
             &Analyst::sum_up_memory_and_energy,
             &Analyst::replay,
             &Analyst::compare_ranks,
             &Analyst::apply_rules,
             &Analyst::fill_for_drawing,
             &Analyst::sum_up_names,
         }) {
      if (const Status good = (this->*stage)(); !good.ok()) return fail(good.error());
      if (pages_) let_go_of_paged_memory();
    }
    return std::move(analysis_);
  }

 private:
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

  // A trace that turns out to be unreadable is left out and named. Fails only if none is left.
  Status digest() {
    notes() = run_.diagnostics;
    analysis_.damaged = run_.damaged;
    const Progress progress = [&](std::string_view stage, double share) {
      return report_progress(stage, 0.8 * share).ok();
    };
    Result<std::vector<Result<RankDigest>>> digests =
        options_.digests ? options_.digests(traces_, options_.cache, progress)
                         : digest_all(traces_, options_.cache, progress, options_.calls_in_memory);
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
    size_t calls = 0;
    for (const RankDigest& digest : digests_) calls += digest.collectives.size();
    pages_ = calls > options_.calls_in_memory;
    report().gpu_rows = gpu_rows_of(digests_, options_.rows);
    return Done{};
  }

  // Matching needs no clocks; after it all times are on one axis.
  Status match() {
    if (Status good = report_progress("match", 0.8); !good.ok()) return good;
    if (pages_) release_free_pages();  // of the threads that made the digests
    matching_ = match_collectives(digests_, pages_);
    if (take_ends_of_failed(digests_, traces_, matching_))
      matching_ = match_collectives(digests_, pages_);
    append(matching_.remarks);
    alignment_ = align_clocks(traces_, digests_, matching_, clock_witnesses(run_, traces_));
    {
      const ReadPagedInOrder in_order;
      put_on_axis(alignment_, digests_);
    }
    report().clock = std::move(alignment_.clock);
    append(std::move(alignment_.diagnostics));
    settle_times(matching_, digests_, alignment_);
    return Done{};
  }

  Status find_steps() {
    infer_steps(digests_, matching_, notes());
    drop_failed_steps(digests_);
    attach_steps(matching_, digests_);
    const ReadPagedInOrder in_order;
    steps_ = align_steps(digests_, options_.steps, notes());
    return Done{};
  }

  Status divide_time() {
    if (Status good = report_progress("breakdown", 0.85); !good.ok()) return good;
    const ReadPagedInOrder in_order;
    pieces_.resize(digests_.size());
    starved_.resize(digests_.size());
    in_threads(digests_.size(), 0, [&](size_t d) {
      RankDigest& digest = digests_[d];
      find_device_readiness(digest);
      pieces_[d] = lattice_of(digest, comm_spans(digests_, matching_, d));
      starved_[d] = launch_waits_of(digest, pieces_[d]);
      free_what_pieces_needed(digest);
      if (!pages_) return;
      pieces_[d] = paged_copy(pieces_[d]);
      starved_[d] = paged_copy(starved_[d]);
      constexpr size_t kRanksResident = 64;
      if (d % kRanksResident == 0) let_go_of_paged_memory();
    });
    release_free_pages();  // of the threads that made the digests
    return Done{};
  }

  Status describe_recording() {
    report().run = run_info_of(run_, traces_, digests_, steps_ ? &steps_->info : nullptr);
    report().recording = recording_of(digests_, traces_, std::move(notes()));
    return Done{};
  }

  Status take_first_look() {
    if (options_.first_look) {
      options_.first_look(first_look_of(report().run, digests_, traces_,
                                        steps_ ? &*steps_ : nullptr, matching_, pieces_));
    }
    return Done{};
  }

  Status sum_up_communication() {
    const StepsByTime steady(steps_, digests_.size());
    report().collectives = summarise(digests_, matching_, steady);
    report().point_to_point = summarise_messages(digests_, matching_, steady);
    append(match_diagnostics(digests_, matching_));
    return Done{};
  }

  [[nodiscard]] std::optional<int64_t> median_step() const {
    return steps_ ? std::optional(steps_->info.median_ns) : std::nullopt;
  }

  Status find_hangs() {
    report().hang = find_hang({.digests = digests_,
                               .traces = traces_,
                               .matching = matching_,
                               .aligned = alignment_.aligned,
                               .median_step_ns = median_step()});
    return Done{};
  }

  Status find_ending() {
    report().ending = ending_of({.digests = digests_,
                                 .traces = traces_,
                                 .matching = matching_,
                                 .hang = report().hang ? &*report().hang : nullptr,
                                 .aligned = alignment_.aligned,
                                 .clock_bound_ns = largest_bound(report().clock),
                                 .median_step_ns = median_step()});
    return Done{};
  }

  Status sum_up_steps() {
    if (!steps_) return Done{};
    const StepSums sums = step_sums_of(*steps_, pieces_);
    report().breakdown = breakdown_of(digests_, *steps_, sums);
    const CommunicationInput communication{digests_, matching_, *steps_, pieces_};
    report().overlap = overlap_of(communication, sums);
    report().phases = phases_of(digests_, *steps_, notes());
    report().contention = contention_of(communication, notes());
    report().buckets = buckets_of(communication, notes());
    return Done{};
  }

  Status find_slow_links() {
    report().link_fits = link_fits_of(digests_, matching_);
    if (steps_) {
      links_ = slow_links_of(digests_, traces_, matching_, *steps_,
                             report().overlap ? &*report().overlap : nullptr, notes());
      if (links_) report().slow_links = links_->links;
    }
    return Done{};
  }

  Status sum_up_memory_and_energy() {
    report().memory = memory_of(digests_, steps_ ? &*steps_ : nullptr, notes());
    if (steps_) report().energy = energy_of(digests_, traces_, *steps_, *report().breakdown);
    return Done{};
  }

  [[nodiscard]] std::vector<std::string> hosts() const {
    std::vector<std::string> hosts;
    for (const TraceFile& trace : traces_) hosts.push_back(trace.host);
    return hosts;
  }

  // From here on few of them are read, and the replay needs the room.
  void page_out_calls() {
    for (RankDigest& digest : digests_) {
      digest.collectives = paged_copy(digest.collectives);
      let_go_of_paged_memory();
    }
    release_free_pages();
  }

  [[nodiscard]] const Steps& replayed_steps() const { return last_steps_ ? *last_steps_ : *steps_; }

  Status replay() {
    if (Status good = report_progress("replay", 0.88); !good.ok()) return good;
    if (!steps_) return Done{};
    if (pages_) page_out_calls();
    last_steps_ = last_steps(digests_, *steps_);
    const Steps& steps = replayed_steps();
    replay_ = std::make_shared<RunReplay>(
        replay_run(digests_, steps, matching_, pieces_, {.starved = starved_, .hosts = hosts()}));
    report().replay = replay_of(*replay_, digests_, steps, notes());
    if (!report().replay) return Done{};
    if (last_steps_) {
      note(
          "not_computed",
          fmt::format("replay: only the last {} of {} steady steps are replayed, for there are too "
                      "many calls; stragglers are priced by the rank that is last in each step",
                      steps.steady().size(), steps_->steady().size()));
    }
    PlayedRun played = played_run_of(replay_, {.digests = digests_,
                                               .traces = traces_,
                                               .steps = steps,
                                               .matching = matching_,
                                               .pieces = pieces_,
                                               .starved = starved_});
    judge_replay(held_out_of(played), *report().replay, notes());
    model_ = std::make_shared<WhatIfModel>(std::move(played),
                                           WhatIfModel::Beside{.quality = *report().replay,
                                                               .overlap = report().overlap,
                                                               .contention = report().contention});
    if (Status good = report_progress("what-if", 0.89); !good.ok()) return good;
    if (!options_.what_if.empty()) {
      Result<WhatIf> answer = model_->answer(options_.what_if);
      if (!answer.ok()) return fail(answer.error());
      answer->asked = true;
      report().replay->whatif.push_back(*std::move(answer));
    }
    for (WhatIf& answer : model_->best(kAnswersUnasked))
      report().replay->whatif.push_back(std::move(answer));
    report().critical_path = critical_path_of(*model_);
    if (options_.model) analysis_.model = model_;
    return Done{};
  }

  Status compare_ranks() {
    if (Status good = report_progress("stragglers", 0.9); !good.ok()) return good;
    const ReadPagedInOrder in_order;
    if (steps_) name_stragglers(*replay_);
    return Done{};
  }

  // Uses these verdicts if the run consists of whole operations, else the ranks' own work.
  void name_stragglers(const RunReplay& replay) {
    if (steps_->ranks.size() < 2) {
      note("not_computed",
           "stragglers: there is one rank with steps, and nothing to compare it with");
      return;
    }
    if (replay.operations) {
      verdicts_ = operation_verdicts(*replay.operations, digests_, replayed_steps());
    } else {
      const Comparison comparison{.digests = digests_,
                                  .traces = traces_,
                                  .steps = *steps_,
                                  .matching = matching_,
                                  .pieces = pieces_,
                                  .replayer = report().replay && report().replay->accepted
                                                  ? replay.segments.get()
                                                  : nullptr,
                                  .links = links_ ? &*links_ : nullptr,
                                  .overlap = report().overlap ? &*report().overlap : nullptr,
                                  .model = model_.get()};
      Judgement judgement = judge(comparison, notes());
      report().detection = judgement.detection;
      if (!judgement.compared) return;
      own_delays_ = own_delays_of(judgement, *steps_, digests_.size());
      verdicts_ = std::move(judgement.verdicts);
    }
    if (report().replay) widen_costs(*report().replay, steps_->info.median_ns, verdicts_);
    report().stragglers.emplace();
    for (const Verdict& verdict : verdicts_) {
      if (verdict.named) report().stragglers->push_back(verdict.straggler);
    }
  }

  // Without steps few rules can apply: an empty list of findings would claim too much.
  Status apply_rules() {
    std::vector<Finding> findings = find_all({.report = report(),
                                              .verdicts = verdicts_,
                                              .digests = digests_,
                                              .matching = &matching_,
                                              .steps = steps_ ? &*steps_ : nullptr,
                                              .traces = traces_,
                                              .pieces = pieces_,
                                              .model = model_.get()});
    if (model_ != nullptr) report().replay->together = cost_together(findings, *model_);
    if (steps_ || !findings.empty()) report().findings = std::move(findings);
    return Done{};
  }

  Status fill_for_drawing() {
    for (size_t d = 0; d < digests_.size(); ++d) {
      RankAnalysis rank;
      rank.rank = digests_[d].rank;
      rank.clock = alignment_.maps[d];
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
    if (options_.pieces) {
      analysis_.collectives = matched_collectives(digests_, matching_);
      analysis_.messages = matched_messages(digests_, matching_);
    }
    return Done{};
  }

  // Takes evenly spread ranks, including the first.
  Status sum_up_names() {
    const size_t ranks = steps_ ? std::min(options_.names, traces_.size()) : 0;
    if (Status good = report_progress("names", 0.95); !good.ok()) return good;
    std::vector<size_t> chosen;
    int64_t events = 0;
    for (size_t i = 0; i < ranks; ++i) {
      chosen.push_back(i * traces_.size() / ranks);
      events += digests_[chosen.back()].events;
    }
    std::vector<RankLanes> lanes;
    std::vector<int> numbers;
    std::vector<std::span<const StepWindow>> counted;
    std::optional<size_t> fewest;
    for (const size_t r : chosen) {
      const std::vector<StepWindow>& all = analysis_.ranks[r].steps;
      const auto steps = steps_to_count(all, steps_->info, events);
      std::optional<Interval> within;
      if (!steps.empty() && steps.size() < all.size()) {
        within = {steps.front().window.begin, steps.back().window.end};
        fewest = std::min(fewest.value_or(steps.size()), steps.size());
      }
      Result<RankLanes> loaded = load_lanes(traces_[r], analysis_.ranks[r].clock, within);
      if (!loaded.ok()) continue;  // readable as a digest; if not, already reported there
      lanes.push_back(*std::move(loaded));
      numbers.push_back(traces_[r].rank);
      counted.push_back(steps);
    }
    ComparedRun run{.report = &report(), .ranks = {}};
    for (size_t i = 0; i < lanes.size(); ++i) run.ranks.push_back({&lanes[i], counted[i]});
    if (!lanes.empty()) report().names = names_of(run, std::move(numbers));
    if (fewest) {
      note("not_computed",
           fmt::format("time by name: only over the last {} steps, for there are many events",
                       *fewest));
    }
    return report_progress("done", 1);
  }

  Report& report() { return analysis_.report; }
  std::vector<Diagnostic>& notes() { return analysis_.report.recording.diagnostics; }
  void note(std::string_view code, std::string text) {
    notes().push_back(make_diagnostic(code, std::move(text)));
  }
  void append(std::vector<Diagnostic> more) {
    notes().insert(notes().end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }

  Status report_progress(std::string_view stage, double share) const {
    if (!progress_ || progress_(stage, share)) return Done{};
    return fail(Code::kUsage, "cancelled");
  }

  const Run& run_;
  const AnalysisOptions& options_;
  const Progress& progress_;
  Analysis analysis_;
  std::vector<TraceFile> traces_;  // the analysed ones; the members below use the same positions
  std::vector<RankDigest> digests_;
  bool pages_ = false;                // there are more calls than are to be kept in memory
  std::vector<Lattice> pieces_;       // by digest
  std::vector<IntervalSet> starved_;  // by digest, until the replay
  std::vector<std::vector<OwnDelay>> own_delays_;  // empty where ranks were not compared
  Matching matching_;
  Alignment alignment_;
  std::optional<Steps> steps_;
  std::optional<Steps> last_steps_;           // the steps to replay; nullopt = all steady ones
  std::shared_ptr<const RunReplay> replay_;   // where there are steps
  std::shared_ptr<const WhatIfModel> model_;  // where there is something to replay
  std::vector<Verdict> verdicts_;
  std::optional<LinkStudy> links_;
};

}  // namespace

Result<Analysis> analyze(const Run& run, const AnalysisOptions& options, const Progress& progress) {
  return Analyst(run, options, progress).run();
}

}  // namespace dprof::analyzer
