// SPDX-License-Identifier: Apache-2.0
// A small run for tests, in memory: three ranks on two hosts, three steps of 100 ms; rank 2 fetches
// its input 30 ms longer, and the others wait for it in their all-reduce.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "gui/view/model/model.h"

namespace dprof::view::test {

inline constexpr int64_t kMs = kNsPerMs;
inline constexpr int kRanks = 3;
inline constexpr int64_t kSteps = 3;
inline constexpr int64_t kStepNs = 100 * kMs;

inline void add(analyzer::Lane& lane, int64_t start, int64_t end, int32_t name,
                analyzer::Category phase, int64_t row) {
  lane.start_ns.push_back(start);
  lane.duration_ns.push_back(end - start);
  lane.name.push_back(name);
  lane.row.push_back(row);
  lane.phase.push_back(static_cast<uint8_t>(phase));
}

// Input until here, within a step.
inline int64_t input_end(int rank) { return (rank == 2 ? 40 : 10) * kMs; }

inline void add_step(int rank, int64_t step, analyzer::RankAnalysis& analysis,
                     analyzer::RankLanes& lanes, std::vector<analyzer::CollectiveMember>& members) {
  using analyzer::Category;
  const int64_t begin = step * kStepNs;
  const int64_t input = begin + input_end(rank);
  const int64_t arrive = input + 40 * kMs;
  const int64_t transfer = begin + 80 * kMs;
  const int64_t end = begin + kStepNs;
  const auto piece = [&](int64_t from, int64_t to, Category category, Category phase) {
    if (from < to) analysis.pieces.push_back({{TraceNs{from}, TraceNs{to}}, category, phase});
  };
  analysis.steps.push_back({step, {TraceNs{begin}, TraceNs{end}}});
  piece(begin, input, Category::kInputWait, Category::kInputWait);
  piece(input, input + 35 * kMs, Category::kForward, Category::kForward);
  piece(input + 35 * kMs, arrive, Category::kOverlapped, Category::kBackward);
  piece(arrive, transfer, Category::kExposedWait, Category::kExposedWait);
  piece(transfer, begin + 90 * kMs, Category::kExposedTransfer, Category::kExposedTransfer);
  piece(begin + 90 * kMs, end, Category::kOptimizer, Category::kOptimizer);

  analyzer::ThreadLanes& main = lanes.threads[0];
  const int64_t row = step * 10 + 1;
  add(main.depths[0], begin, end, 0, Category::kHost, row);
  add(main.depths[1], begin, input, 1, Category::kInputWait, row + 1);
  add(main.depths[1], input, input + 35 * kMs, 2, Category::kForward, row + 2);
  add(main.depths[1], begin + 90 * kMs, end, 3, Category::kOptimizer, row + 3);
  add(lanes.threads[1].depths[0], arrive, begin + 90 * kMs, 4, Category::kExposedTransfer,
      step + 1);
  members.push_back({.rank = rank,
                     .row = step + 1,
                     .enqueue = TraceNs{arrive},
                     .start = TraceNs{arrive},
                     .end = TraceNs{begin + 90 * kMs},
                     .wait_ns = transfer - arrive});
}

inline analyzer::Report report() {
  analyzer::Report report;
  report.run = {.name = "small", .ranks = kRanks, .hosts = 2};
  report.run.steps = analyzer::StepsInfo{.count = kSteps,
                                         .first_steady = 0,
                                         .last_steady = kSteps - 1,
                                         .steady = kSteps,
                                         .median_ns = kStepNs};
  report.recording.events = 48;
  report.clock = analyzer::Clock{
      .reference = "node-a",
      .hosts = {{.host = "node-a", .bound_ns = 0}, {.host = "node-b", .bound_ns = 14'000}}};
  analyzer::Finding straggler{
      .rule = "straggler",
      .severity = analyzer::FindingSeverity::kCritical,
      .title = "rank 2 holds everyone up: +30.0 ms per step (30 %)",
      .detail = "its input wait is 40.0 ms, the other ranks' median 10.0 ms",
      .advice = "raise its loader workers",
      .ranks = {2},
      .cost_ns = 30 * kMs,
      .cause = "dataloader"};
  straggler.evidence.push_back({2, "host_range", {12}, kStepNs, kStepNs + 40 * kMs});
  analyzer::Finding transfers{.rule = "communication.exposed",
                              .severity = analyzer::FindingSeverity::kWarn,
                              .title = "exposed communication: 10.0 ms per step (10 %)",
                              .detail = "nothing runs beside them",
                              .advice = "smaller buckets",
                              .cost_ns = 10 * kMs,
                              .cause = "network"};
  report.findings = {std::move(straggler), std::move(transfers)};
  report.stragglers = {{.rank = 2, .shape = "persistent", .own_delay_ns = 30 * kMs}};
  return report;
}

inline Model small_model() {
  analyzer::Run run{.name = "small"};
  analyzer::Analysis analysis{.report = report()};
  std::vector<analyzer::RankLanes> lanes;
  std::vector<std::vector<analyzer::CollectiveMember>> members(kSteps);
  for (int rank = 0; rank < kRanks; ++rank) {
    run.traces.push_back({.rank = rank, .host = rank < 2 ? "node-a" : "node-b"});
    analyzer::RankAnalysis of{.rank = rank};
    analyzer::RankLanes lane{.rank = rank,
                             .span = {TraceNs{0}, TraceNs{kSteps * kStepNs}},
                             .names = {"step", "input", "forward", "optimizer", "all_reduce"}};
    lane.threads.push_back({.thread_id = 1,
                            .name = "main",
                            .role = schema::ThreadRole::kMain,
                            .table = "host_range",
                            .depths = std::vector<analyzer::Lane>(2)});
    lane.threads.push_back({.thread_id = 2,
                            .name = "gloo worker",
                            .role = schema::ThreadRole::kCommunication,
                            .table = "collective",
                            .depths = std::vector<analyzer::Lane>(1)});
    for (int64_t step = 0; step < kSteps; ++step) {
      of.own_delays.push_back({step, rank == 2 ? 30 * kMs : 0});
      add_step(rank, step, of, lane, members[static_cast<size_t>(step)]);
    }
    analysis.ranks.push_back(std::move(of));
    lanes.push_back(std::move(lane));
  }
  analysis.clocks = {
      .maps = {{},
               {},
               analyzer::ClockMap(std::vector<analyzer::ClockMap::Knot>{{TraceNs{0}, 0, 14'000}})},
      .clock_of = {0, 0, 1},
      .recorder_of = {0, 0, 0},
      .recorder_bound_ns = {0, 0, 0}};
  for (int64_t step = 0; step < kSteps; ++step) {
    analysis.collectives.push_back({.communicator = "0",
                                    .function = schema::Function::kAllReduce,
                                    .sequence = step,
                                    .bytes = 25'000'000,
                                    .complete = true,
                                    .transfer_ns = 10 * kMs,
                                    .last_arriver = 2,
                                    .members = std::move(members[static_cast<size_t>(step)])});
  }
  return build_model(std::move(run), std::move(analysis), std::move(lanes));
}

// The same, but with more events on rank 0's main thread than a frame has time for: "tick" every 1
// µs.
inline constexpr int64_t kManyEvents = 250'000;
inline std::shared_ptr<const Model> model_with_many_events() {
  Model model = small_model();
  analyzer::RankLanes lanes = model.ranks[0].lanes();
  lanes.names.emplace_back("tick");
  analyzer::Lane& lane = lanes.threads[0].depths.emplace_back();
  for (int64_t i = 0; i < kManyEvents; ++i) {
    add(lane, i * kNsPerUs, i * kNsPerUs + 500, static_cast<int32_t>(lanes.names.size() - 1),
        analyzer::Category::kForward, 1000 + i);
  }
  model.ranks[0].events = std::make_shared<const RankEvents>(std::move(lanes));
  return std::make_shared<const Model>(std::move(model));
}

inline std::shared_ptr<const Model> shared_small_model() {
  return std::make_shared<const Model>(small_model());
}

}  // namespace dprof::view::test
