// SPDX-License-Identifier: Apache-2.0
// What the GUI shows: one run's analysis and events, arranged for drawing. The figures are the
// analyser's; only indexes for drawing are made here.
//
// Threading  immutable once built; shared between threads as std::shared_ptr<const Model>.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/analysis.h"
#include "analyzer/compare/rank_matrix.h"
#include "analyzer/lanes.h"
#include "analyzer/run.h"
#include "gui/view/lod.h"

namespace dprof::view {

// One rank's pieces of step time as a lane.
struct SummaryLane {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> duration_ns;
  std::vector<uint8_t> category;    // what it is coloured as: an overlapped piece as its phase
  std::vector<uint8_t> overlapped;  // 1 = communication runs underneath
  LodIndex lod;

  [[nodiscard]] Slices slices() const { return {start_ns, duration_ns, category}; }
};

// A rank's part of a collective.
struct MemberPlace {
  uint32_t collective = 0;  // index into Model::collectives
  uint32_t member = 0;
};

struct RankModel {
  int rank = 0;
  std::string host;
  analyzer::ClockMap clock;  // from its trace's times to the run's axis
  analyzer::RankLanes lanes;
  std::vector<std::vector<LodIndex>> lods;  // by thread and depth
  std::vector<analyzer::StepWindow> steps;
  std::vector<analyzer::Piece> pieces;
  SummaryLane summary;
  std::unordered_map<int64_t, MemberPlace> collective_of_row;
  std::optional<DurationNs> wait_per_step;  // exposed wait, over steady steps
  std::optional<DurationNs> own_delay;      // of a named straggler
  std::vector<analyzer::OwnDelay> own_delays;
};

struct Model {
  analyzer::Run run;
  analyzer::Report report;
  std::vector<analyzer::MatchedCollective> collectives;
  std::vector<analyzer::MatchedMessage> messages;
  std::vector<analyzer::CommunicatorMatrix> matrices;  // of both, by communicator
  std::vector<RankModel> ranks;                        // by rank
  Interval span;                                       // first to last event of all ranks
  // Windows of the steps over all ranks: earliest begin to latest end.
  std::vector<analyzer::StepWindow> steps;
  // Share of compute of all ranks, in equal parts of `span`.
  std::vector<float> utilisation;
  int64_t slices = 0;
  int64_t memory_bytes = 0;  // of columns and indexes

  [[nodiscard]] const RankModel* rank(int number) const;
  [[nodiscard]] std::optional<size_t> index_of_rank(int number) const;
  [[nodiscard]] std::optional<size_t> index_of_step(int64_t step) const;
  [[nodiscard]] const std::vector<analyzer::Finding>& findings() const;
  [[nodiscard]] int64_t lost() const;
  // The widest of the hosts' bounds; nullopt = not known for each.
  [[nodiscard]] std::optional<DurationNs> clock_bound() const;
};

[[nodiscard]] Slices slices_of(const analyzer::Lane& lane);

// `lanes` in the order of analysis.ranks. Building the indexes is O(events).
[[nodiscard]] Model build_model(analyzer::Run run, analyzer::Analysis analysis,
                                std::vector<analyzer::RankLanes> lanes);

// Opens, analyses and loads a run. Called on a worker thread; `progress` on the same one.
Result<std::shared_ptr<const Model>> load_model(const std::vector<std::filesystem::path>& paths,
                                                const analyzer::AnalysisOptions& options,
                                                const analyzer::Progress& progress = {});

}  // namespace dprof::view
