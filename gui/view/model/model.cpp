// SPDX-License-Identifier: Apache-2.0
#include "gui/view/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analyzer/ending/ending.h"
#include "analyzer/render/layout.h"
#include "base/format.h"
#include "gui/view/drawing/texts.h"

namespace dprof::view {
namespace {

using analyzer::Category;
using analyzer::Piece;

constexpr size_t kUtilisationParts = 4096;

bool is_busy(Category category) {
  return category == Category::kForward || category == Category::kBackward ||
         category == Category::kOptimizer || category == Category::kOtherCompute ||
         category == Category::kOverlapped;
}

SummaryLane summary_of(const std::vector<Piece>& pieces) {
  SummaryLane lane;
  for (const Piece& piece : pieces) {
    if (piece.span.empty()) continue;
    const bool overlapped = piece.category == Category::kOverlapped;
    lane.start_ns.push_back(piece.span.begin.ns);
    lane.duration_ns.push_back(piece.span.length().ns);
    lane.category.push_back(static_cast<uint8_t>(overlapped ? piece.phase : piece.category));
    lane.overlapped.push_back(overlapped ? 1 : 0);
  }
  lane.lod = LodIndex(lane.duration_ns);
  return lane;
}

void add_busy(const RankModel& rank, Interval span, std::vector<double>& busy_ns) {
  const double part = static_cast<double>(span.length().ns) / static_cast<double>(busy_ns.size());
  for (const Piece& piece : rank.pieces) {
    if (!is_busy(piece.category)) continue;
    double from = static_cast<double>((piece.span.begin - span.begin).ns);
    const auto to = static_cast<double>((piece.span.end - span.begin).ns);
    for (auto i = static_cast<size_t>(std::max(from / part, 0.0)); i < busy_ns.size() && from < to;
         ++i) {
      const double until = std::min(to, static_cast<double>(i + 1) * part);
      busy_ns[i] += until - from;
      from = until;
    }
  }
}

std::vector<float> utilisation_of(const std::vector<RankModel>& ranks, Interval span) {
  if (span.empty() || ranks.empty()) return {};
  std::vector<double> busy_ns(kUtilisationParts);
  for (const RankModel& rank : ranks) add_busy(rank, span, busy_ns);
  const double whole = static_cast<double>(span.length().ns) /
                       static_cast<double>(kUtilisationParts) * static_cast<double>(ranks.size());
  std::vector<float> shares;
  for (const double busy : busy_ns) {
    shares.push_back(static_cast<float>(std::clamp(busy / whole, 0.0, 1.0)));
  }
  return shares;
}

std::vector<analyzer::StepWindow> steps_over(const std::vector<RankModel>& ranks) {
  std::map<int64_t, Interval> windows;
  for (const RankModel& rank : ranks) {
    for (const analyzer::StepWindow& step : rank.steps) {
      const auto [place, added] = windows.try_emplace(step.index, step.window);
      if (added) continue;
      place->second.begin = std::min(place->second.begin, step.window.begin);
      place->second.end = std::max(place->second.end, step.window.end);
    }
  }
  std::vector<analyzer::StepWindow> steps;
  for (const auto& [index, window] : windows) steps.push_back({index, window});
  return steps;
}

// The notes beside the ranks are the report's figures, per steady step.
void add_notes(Model& model) {
  const analyzer::Report& report = model.report;
  if (report.breakdown && report.run.steps && report.run.steps->steady > 0) {
    for (const analyzer::RankBreakdown& of : report.breakdown->per_rank) {
      if (const auto index = model.index_of_rank(of.rank))
        model.ranks[*index].wait_per_step = DurationNs{
            of.category_ns[static_cast<size_t>(Category::kExposedWait)] / report.run.steps->steady};
    }
  }
  if (!report.stragglers) return;
  for (const analyzer::Straggler& straggler : *report.stragglers) {
    const auto index = straggler.rank ? model.index_of_rank(*straggler.rank) : std::nullopt;
    if (index && !model.ranks[*index].own_delay)
      model.ranks[*index].own_delay = DurationNs{straggler.own_delay_ns};
  }
}

// Of steady steps: in the first ones, ranks wait for the rank that starts last.
void add_waited_for(Model& model) {
  const std::optional<Interval> steady = model.steady();
  if (!steady) return;
  for (const analyzer::MatchedCollective& one : model.collectives) {
    const auto index =
        one.complete && one.last_arriver ? model.index_of_rank(*one.last_arriver) : std::nullopt;
    if (!index) continue;
    int64_t longest = 0;
    for (const analyzer::CollectiveMember& member : one.members) {
      const std::optional<TraceNs> at = member.start ? member.start : member.enqueue;
      if (at && *at >= steady->begin && *at < steady->end)
        longest = std::max(longest, member.wait_ns);
    }
    model.ranks[*index].waited_for.ns += longest;
  }
  for (RankModel& rank : model.ranks) rank.waited_for.ns /= model.report.run.steps->steady;
}

int64_t bytes_of(const analyzer::Lane& lane) {
  constexpr int64_t kPerSlice = 8 + 8 + 4 + 8 + 1;
  return static_cast<int64_t>(lane.start_ns.size()) * kPerSlice +
         static_cast<int64_t>(lane.start_ns.size()) / 4;
}

void widen(Interval& span, Interval by) {
  if (by.empty()) return;
  span = span.empty() ? by : Interval{std::min(span.begin, by.begin), std::max(span.end, by.end)};
}

// From known events; for ranks whose events are not loaded, from their pieces.
void settle_span(Model& model) {
  model.span = {};
  for (const RankModel& rank : model.ranks) {
    if (rank.events->loaded) {
      widen(model.span, rank.lanes().span);
    } else if (!rank.pieces.empty()) {
      widen(model.span, {rank.pieces.front().span.begin, rank.pieces.back().span.end});
    }
    for (const analyzer::StepWindow& step : rank.steps) widen(model.span, step.window);
  }
  if (model.report.ending) {  // a failed process can have ended long after its last event
    for (const analyzer::EndedRank& rank : model.report.ending->ranks) {
      if (rank.time_ns && analyzer::has_failed(rank))
        model.span.end = std::max(model.span.end, TraceNs{*rank.time_ns});
    }
  }
  if (model.span.empty()) model.span.end = model.span.begin + DurationNs{kNsPerMs};
  model.utilisation = utilisation_of(model.ranks, model.span);
}

RankGroups groups_of(const Model& model) {
  std::vector<int> ranks;
  std::vector<std::string> hosts;
  for (const RankModel& rank : model.ranks) {
    ranks.push_back(rank.rank);
    hosts.push_back(rank.host);
  }
  return rank_groups_of(ranks, hosts, model.collectives, model.messages);
}

const analyzer::TraceFile* trace_of(const analyzer::Run& run, int rank) {
  const auto trace = std::ranges::lower_bound(run.traces, rank, {}, &analyzer::TraceFile::rank);
  return trace == run.traces.end() || trace->rank != rank ? nullptr : &*trace;
}

// The analyser's stages in words; other stages already describe themselves.
std::string_view words_of(std::string_view stage) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kStages = {{
      {"reading", english("reading the traces")},
      {"match", english("matching the ranks' collectives and clocks")},
      {"breakdown", english("dividing the steps by what the time went to")},
      {"replay", english("replaying the steps")},
      {"stragglers", english("comparing the ranks")},
      {"names", english("summing up")},
  }};
  const auto known = std::ranges::find(kStages, stage, [](const auto& one) { return one.first; });
  return known == kStages.end() ? stage : translated(known->second);
}

bool is_like(const analyzer::MemoryCurve& a, const analyzer::MemoryCurve& b) {
  return (a.device >= 0) == (b.device >= 0) && is_resident(a) == is_resident(b);
}

}  // namespace

RankEvents::RankEvents(analyzer::RankLanes of) : loaded(true), lanes(std::move(of)) {
  for (std::string& name : lanes.names) name = analyzer::printable(name);
  for (analyzer::ThreadLanes& thread : lanes.threads) {
    thread.name = analyzer::printable(thread.name);
    std::vector<LodIndex>& depths = lods.emplace_back();
    for (const analyzer::Lane& lane : thread.depths) {
      depths.emplace_back(lane.duration_ns);
      slices += static_cast<int64_t>(lane.start_ns.size());
      memory_bytes += bytes_of(lane);
    }
  }
}

int64_t Model::slices() const {
  int64_t sum = 0;
  for (const RankModel& rank : ranks) sum += rank.events->slices;
  return sum;
}

int64_t Model::memory_bytes() const {
  int64_t sum = 0;
  for (const RankModel& rank : ranks) sum += rank.events->memory_bytes;
  return sum;
}

RowLanes RankModel::row_lanes(size_t index) const {
  const size_t threads = lanes().threads.size();
  if (index < threads) return {lanes().threads[index], lanes().names, lods()[index]};
  const ResultLanes& result = *results[index - threads];
  return {result.thread, result.names, result.lods};
}

const RankModel* Model::rank(int number) const {
  const std::optional<size_t> index = index_of_rank(number);
  return index ? &ranks[*index] : nullptr;
}

std::optional<size_t> Model::index_of_rank(int number) const {
  const auto at = std::ranges::lower_bound(ranks, number, {}, &RankModel::rank);
  if (at == ranks.end() || at->rank != number) return std::nullopt;
  return static_cast<size_t>(at - ranks.begin());
}

std::optional<size_t> Model::index_of_step(int64_t step) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].index == step) return i;
  }
  return std::nullopt;
}

std::optional<Interval> Model::steady() const {
  const std::optional<analyzer::StepsInfo>& info = report.run.steps;
  if (!info || info->steady <= 0) return std::nullopt;
  const std::optional<size_t> first = index_of_step(info->first_steady);
  const std::optional<size_t> last = index_of_step(info->last_steady);
  if (!first || !last) return std::nullopt;
  return Interval{steps[*first].window.begin, steps[*last].window.end};
}

const std::vector<analyzer::Finding>& Model::findings() const {
  static const std::vector<analyzer::Finding> kNone;
  return report.findings ? *report.findings : kNone;
}

int64_t Model::lost() const { return analyzer::lost_records(report.recording); }

std::optional<DurationNs> Model::clock_bound() const {
  if (!report.clock || report.clock->hosts.empty()) return std::nullopt;
  DurationNs widest{0};
  for (const analyzer::HostClock& host : report.clock->hosts) {
    if (!host.bound_ns) return std::nullopt;
    widest = std::max(widest, DurationNs{*host.bound_ns});
  }
  return widest;
}

std::optional<DurationNs> Model::clock_bound(int rank, TraceNs at, int other,
                                             TraceNs other_at) const {
  const std::optional<size_t> one = index_of_rank(rank);
  const std::optional<size_t> two = index_of_rank(other);
  if (!one || !two || clocks.maps.size() != ranks.size()) return std::nullopt;
  const std::optional<int64_t> bound = clocks.bound_between(*one, at, *two, other_at);
  return bound ? std::optional(DurationNs{*bound}) : std::nullopt;
}

Slices slices_of(const analyzer::Lane& lane) {
  return {lane.start_ns, lane.duration_ns, lane.phase};
}

void ask_of(Model& model, std::shared_ptr<const analyzer::WhatIfModel> asked) {
  if (!asked) return;
  std::vector<int> ranks;
  for (const RankModel& rank : model.ranks) ranks.push_back(rank.rank);
  std::vector<StepBegin> begins;
  for (const analyzer::StepWindow& step : model.steps)
    begins.push_back({step.index, step.window.begin});
  model.path = std::make_shared<const RunPath>(run_path_of(*asked, ranks, begins));
  model.what_if = std::move(asked);
}

Model build_model(analyzer::Run run, analyzer::Analysis analysis,
                  std::vector<analyzer::RankLanes> lanes) {
  Model model;
  model.collectives = std::move(analysis.collectives);
  model.messages = std::move(analysis.messages);
  model.clocks = std::move(analysis.clocks);
  model.matrices = analyzer::rank_matrices(model.collectives, model.messages);
  model.report = std::move(analysis.report);
  for (size_t i = 0; i < analysis.ranks.size(); ++i) {
    RankModel rank{.rank = analysis.ranks[i].rank};
    if (const analyzer::TraceFile* trace = trace_of(run, rank.rank)) rank.host = trace->host;
    rank.clock = std::move(analysis.ranks[i].clock);
    rank.steps = std::move(analysis.ranks[i].steps);
    rank.pieces = std::move(analysis.ranks[i].pieces);
    rank.own_delays = std::move(analysis.ranks[i].own_delays);
    for (analyzer::MemoryCurve& curve : analysis.ranks[i].memory)
      rank.memory.emplace_back(std::move(curve));
    rank.summary = summary_of(rank.pieces);
    rank.host = analyzer::printable(rank.host);
    if (i < lanes.size()) rank.events = std::make_shared<const RankEvents>(std::move(lanes[i]));
    model.ranks.push_back(std::move(rank));
  }
  for (uint32_t c = 0; c < model.collectives.size(); ++c) {
    const std::vector<analyzer::CollectiveMember>& members = model.collectives[c].members;
    for (uint32_t m = 0; m < members.size(); ++m) {
      const std::optional<size_t> index = model.index_of_rank(members[m].rank);
      if (index) model.ranks[*index].collective_of_row[members[m].row] = {c, m};
    }
  }
  for (uint32_t m = 0; m < model.messages.size(); ++m) {
    for (const auto& side : {model.messages[m].send, model.messages[m].receive}) {
      const auto index = side ? model.index_of_rank(side->rank) : std::nullopt;
      if (index) model.ranks[*index].message_of_row[side->row] = m;
    }
  }
  model.groups = groups_of(model);
  model.steps = steps_over(model.ranks);
  ask_of(model, std::move(analysis.model));
  settle_span(model);
  add_notes(model);
  add_waited_for(model);
  model.run = std::move(run);
  return model;
}

Result<std::shared_ptr<const Model>> load_model(const std::vector<std::filesystem::path>& paths,
                                                const analyzer::AnalysisOptions& options,
                                                const analyzer::Progress& progress,
                                                const std::optional<std::set<int>>& with_events,
                                                const RunFound& found) {
  const auto report = [&](std::string_view stage, double share) {
    return !progress || progress(words_of(stage), share);
  };
  const auto cancelled = [] { return fail(Code::kUsage, "cancelled"); };
  if (!report(say("opening"), 0)) return cancelled();
  Result<analyzer::Run> run = analyzer::open_run(paths);
  if (!run.ok()) return fail(run.error());
  if (found) found(*run);
  const bool no_events = with_events && with_events->empty();
  const double analysis_share = no_events ? 1 : 0.6;
  analyzer::AnalysisOptions asked = options;
  asked.model = true;
  Result<analyzer::Analysis> analysis = analyzer::analyze(
      *run, asked,
      [&](std::string_view stage, double share) { return report(stage, share * analysis_share); });
  if (!analysis.ok()) return fail(analysis.error());

  if (!report(say("putting together what is shown"), analysis_share)) return cancelled();
  auto model = std::make_shared<Model>(build_model(std::move(*run), std::move(*analysis), {}));
  for (size_t r = 0; r < model->ranks.size(); ++r) {
    if (with_events && !with_events->contains(model->ranks[r].rank)) continue;
    const double share =
        static_cast<double>(r) / static_cast<double>(model->ranks.size()) * (1 - analysis_share);
    if (!report(say("loading rank {}", model->ranks[r].rank), analysis_share + share))
      return cancelled();
    const Result<SharedEvents> loaded = load_events(*model, r);
    if (!loaded.ok()) return fail(loaded.error());
    model->ranks[r].events = *loaded;
  }
  settle_span(*model);
  return std::shared_ptr<const Model>(std::move(model));
}

std::string about(const analyzer::Run& run) {
  std::set<std::string_view> hosts;
  int64_t bytes = 0;
  for (const analyzer::TraceFile& trace : run.traces) {
    hosts.insert(trace.host);
    std::error_code unknown;
    const auto size = std::filesystem::file_size(trace.path, unknown);
    if (!unknown) bytes += static_cast<int64_t>(size);
  }
  return say_count(hosts.size(), "{}: {} ranks on {} host, {}", "{}: {} ranks on {} hosts, {}",
                   run.name, format_count(static_cast<int64_t>(run.traces.size())), hosts.size(),
                   format_bytes(bytes));
}

RunEvents events_of(const Model& model) {
  RunEvents events;
  for (const RankModel& rank : model.ranks) events.push_back({rank.rank, rank.events});
  return events;
}

Result<SharedEvents> load_events(const Model& model, size_t rank_index) {
  const RankModel& rank = model.ranks[rank_index];
  const analyzer::TraceFile* trace = trace_of(model.run, rank.rank);
  if (trace == nullptr) return fail(Code::kInternal, say("no trace of rank {}", rank.rank));
  Result<analyzer::RankLanes> lanes = analyzer::load_lanes(*trace, rank.clock);
  if (!lanes.ok()) return fail(lanes.error());
  return std::make_shared<const RankEvents>(*std::move(lanes));
}

int64_t memory_scale(const Model& model, const analyzer::MemoryCurve& like) {
  int64_t most = 1;
  for (const RankModel& rank : model.ranks) {
    for (const MemoryTrack& track : rank.memory) {
      if (is_like(track.curve, like)) most = std::max(most, track.most);
    }
  }
  return most;
}

}  // namespace dprof::view
