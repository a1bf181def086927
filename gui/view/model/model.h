// SPDX-License-Identifier: Apache-2.0
// The GUI's data: one run's analysis and events, arranged for drawing. The figures are the
// analyser's; only indexes for drawing are made here.
//
// Threading  immutable once built, except for its ranks' events and the results shown beside
//            them, which only the user interface's thread reads and replaces; shared between
//            threads as std::shared_ptr<const Model>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/compare/rank_matrix.h"
#include "analyzer/lanes/lanes.h"
#include "analyzer/run/run.h"
#include "gui/view/drawing/lod.h"
#include "gui/view/model/memory_track.h"
#include "gui/view/model/rank_groups.h"
#include "gui/view/model/result_lanes.h"
#include "gui/view/model/run_path.h"

namespace dprof::view {

// One rank's pieces of step time as a lane.
struct SummaryLane {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<uint8_t> category;    // as coloured: an overlapped piece as its phase
  std::vector<uint8_t> overlapped;  // 1 = overlaps communication
  LodIndex lod;

  [[nodiscard]] Slices slices() const { return {start_ns, duration_ns, category}; }
};

// A rank's part of a collective.
struct MemberPlace {
  uint32_t collective = 0;  // index into Model::collectives
  uint32_t member = 0;
};

// A rank's events as columns, with indexes to find them fast. Immutable.
struct RankEvents {
  RankEvents() = default;  // not loaded
  explicit RankEvents(analyzer::RankLanes loaded);

  bool loaded = false;
  analyzer::RankLanes lanes;
  std::vector<std::vector<LodIndex>> lods;  // by thread and depth
  int64_t slices = 0;
  int64_t memory_bytes = 0;  // of columns and indexes
};
using SharedEvents = std::shared_ptr<const RankEvents>;

struct LoadedRank {
  int rank = 0;
  SharedEvents events;  // never null
};
using RunEvents = std::vector<LoadedRank>;  // by the index of the rank

struct RankModel {
  int rank = 0;
  std::string host;
  analyzer::ClockMap clock;  // from its trace's times to the run's axis
  // Never null. Loaded and dropped while the run is looked at (event_loading.h).
  mutable SharedEvents events = std::make_shared<const RankEvents>();
  mutable std::vector<SharedResultLanes> results;  // of queries shown as tracks
  std::vector<analyzer::StepWindow> steps;
  std::vector<analyzer::Piece> pieces;
  SummaryLane summary;
  std::unordered_map<int64_t, MemberPlace> collective_of_row;
  std::unordered_map<int64_t, uint32_t> message_of_row;  // into Model::messages
  std::optional<DurationNs> wait_per_step;               // exposed wait, over steady steps
  std::optional<DurationNs> own_delay;                   // of a named straggler
  // The time that others waited for this rank as the last of a collective: the longest wait of
  // each, per steady step.
  DurationNs waited_for{0};
  std::vector<analyzer::OwnDelay> own_delays;
  std::vector<MemoryTrack> memory;

  [[nodiscard]] const analyzer::RankLanes& lanes() const { return events->lanes; }
  [[nodiscard]] const std::vector<std::vector<LodIndex>>& lods() const { return events->lods; }
  // Rows of lanes: the threads and streams, and behind them the results.
  [[nodiscard]] size_t row_count() const { return lanes().threads.size() + results.size(); }
  [[nodiscard]] RowLanes row_lanes(size_t index) const;
};

struct Model {
  analyzer::Run run;
  analyzer::Report report;
  std::vector<analyzer::MatchedCollective> collectives;
  std::vector<analyzer::MatchedMessage> messages;
  std::vector<analyzer::CommunicatorMatrix> matrices;  // of both, by communicator
  analyzer::RankClocks clocks;                         // in the order of `ranks`
  std::vector<RankModel> ranks;                        // by rank
  RankGroups groups;                                   // by position in `ranks`
  Interval span;                                       // first to last event of all ranks
  // Windows of the steps over all ranks: earliest begin to latest end.
  std::vector<analyzer::StepWindow> steps;
  // Share of compute over all ranks, in equal parts of `span`.
  std::vector<float> utilisation;
  // Answers questions and determines the critical path; nullptr = no replay possible.
  std::shared_ptr<const analyzer::WhatIfModel> what_if;
  std::shared_ptr<const RunPath> path;

  // Of the loaded events.
  [[nodiscard]] int64_t slices() const;
  [[nodiscard]] int64_t memory_bytes() const;
  [[nodiscard]] const RankModel* rank(int number) const;
  [[nodiscard]] std::optional<size_t> index_of_rank(int number) const;
  [[nodiscard]] std::optional<size_t> index_of_step(int64_t step) const;
  // From the first steady step's begin to the last one's end; nullopt = there is none.
  [[nodiscard]] std::optional<Interval> steady() const;
  [[nodiscard]] const std::vector<analyzer::Finding>& findings() const;
  [[nodiscard]] int64_t lost() const;
  // The widest of the hosts' bounds; nullopt = not known for every host.
  [[nodiscard]] std::optional<DurationNs> clock_bound() const;
  // The error bound of a time difference between two ranks; nullopt = unknown.
  [[nodiscard]] std::optional<DurationNs> clock_bound(int rank, TraceNs at, int other,
                                                      TraceNs other_at) const;
};

// The open run; nullptr = none. Objects of a session keep a reference to the session's.
using SharedModel = std::shared_ptr<const Model>;

// Adds the replay for questions, and the critical path, to the model. O(tasks + edges).
void ask_of(Model& model, std::shared_ptr<const analyzer::WhatIfModel> asked);

[[nodiscard]] Slices slices_of(const analyzer::Lane& lane);

// `lanes` in the order of analysis.ranks. Building the indexes is O(events).
[[nodiscard]] Model build_model(analyzer::Run run, analyzer::Analysis analysis,
                                std::vector<analyzer::RankLanes> lanes);

// Opens and analyses a run, and loads the events of these ranks, or of all. Called on a worker
// thread; `progress` on the same one, and `found` once it is known what will be read.
using RunFound = std::function<void(const analyzer::Run& run)>;
Result<std::shared_ptr<const Model>> load_model(
    const std::vector<std::filesystem::path>& paths, const analyzer::AnalysisOptions& options,
    const analyzer::Progress& progress = {}, const std::optional<std::set<int>>& with_events = {},
    const RunFound& found = {});

// "run-7: 1,024 ranks on 128 hosts, 468 MB".
[[nodiscard]] std::string about(const analyzer::Run& run);

// The loaded events of each rank, for use on another thread.
[[nodiscard]] RunEvents events_of(const Model& model);

// Events of one rank. O(events). Called on a worker thread: reads nothing of the model that
// changes.
Result<SharedEvents> load_events(const Model& model, size_t rank_index);

// The maximum over all ranks for this kind of memory: all are drawn on this scale.
[[nodiscard]] int64_t memory_scale(const Model& model, const analyzer::MemoryCurve& like);

}  // namespace dprof::view
