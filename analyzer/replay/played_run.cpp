// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/played_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/replay/hidden_waits.h"
#include "analyzer/replay/pipelines.h"
#include "base/format.h"
#include "schema/function.h"

namespace dprof::analyzer {
namespace {

std::string_view word_of_detail(HostDetail detail) {
  switch (detail) {
    case HostDetail::kCheckpoint:
      return "host.checkpoint";
    case HostDetail::kRange:
      return "host.range";
    case HostDetail::kGc:
      return "host.gc";
    case HostDetail::kOptimizer:
      return "host.optimizer";
    case HostDetail::kLogging:
      return "host.logging";
    case HostDetail::kPreempted:
    case HostDetail::kRunnable:
      return "host.preempted";
    default:
      return "host.unattributed";
  }
}

Category category_of(schema::Marker marker) {
  switch (marker) {
    case schema::Marker::kInput:
      return Category::kInputWait;
    case schema::Marker::kCheckpoint:
      return Category::kHost;
    default:
      return compute_in(marker);
  }
}

// The gaps before captured launches, from pieces in order of time.
class DeviceGaps {
 public:
  void take(Interval piece) {
    if (piece.begin == gap_.end) {
      gap_.end = piece.end;
    } else {
      close();
      gap_ = piece;
    }
  }
  [[nodiscard]] int64_t between_kernels_ns() {
    close();
    return sum_ns_;
  }

 private:
  void close() {
    sum_ns_ += std::min(gap_.length().ns, kBetweenKernelsNs);
    gap_ = {};
  }

  Interval gap_{};
  int64_t sum_ns_ = 0;
};

class PlayedRunBuilder {
 public:
  PlayedRunBuilder(std::shared_ptr<const RunReplay> replay, const PlayedRunInput& input)
      : in_(input), costs_(fit_costs(input.matching, kTwoSizes)) {
    run_.source = std::move(replay);
  }

  PlayedRun run() && {
    for (const size_t d : in_.steps.ranks) {
      run_.ranks.push_back(in_.digests[d].rank);
      run_.hosts.push_back(d < in_.traces.size() ? in_.traces[d].host : std::string());
      run_.kernels.push_back(kernels_of(in_.digests[d].facts));
      run_.ops.push_back(ops_of(in_.digests[d], in_.pieces[d]));
      run_.on_device |= !in_.digests[d].gpu.empty();
    }
    run_.between_kernels_ns.resize(run_.ranks.size(), 0);
    if (run_.source->operations) {
      take_operations(*run_.source->operations);
    } else {
      run_.links = run_.source->segments->links();
      take_segments(run_.source->segments->run());
    }
    for (const ReplayedStep& step : run_.steps) {
      run_.step_index.push_back(in_.steps.steps[step.step].index);
      run_.outer.push_back(in_.steps.steps[step.step].outer);
    }
    std::vector<int64_t> replayed = run_.step_index;
    std::ranges::sort(replayed);
    for (const size_t d : in_.steps.ranks)
      run_.device_waits.push_back(device_waits_of(in_.digests[d], replayed));
    run_.durations = run_.graph->durations();
    run_.lags = run_.graph->lags();
    for (size_t g = 0; g < run_.gates.size(); ++g)
      role(run_.gates[g].task, TaskRole::What::kGate, g);
    for (size_t w = 0; w < run_.works.size(); ++w)
      role(run_.works[w].task, TaskRole::What::kWork, w);
    for (size_t m = 0; m < run_.moves.size(); ++m)
      role(run_.moves[m].task, TaskRole::What::kMove, m);
    run_.parts.shrink_to_fit();
    for (Spot& spot : run_.spots) spot.shrink_to_fit();
    return std::move(run_);
  }

 private:
  static std::vector<KernelShare> kernels_of(const Facts& facts) {
    int64_t all = 0;
    for (size_t k = 0; k < kKernelClasses; ++k) {
      if (static_cast<KernelClass>(k) != KernelClass::kCommunication)
        all += facts.kernels_by_class[k].total_ns;
    }
    std::vector<KernelShare> kernels;
    for (const KernelFact& kernel : facts.kernels) {
      if (kernel.what == KernelClass::kCommunication || all <= 0) continue;
      kernels.push_back(
          {kernel.name, static_cast<double>(kernel.total_ns) / static_cast<double>(all)});
    }
    return kernels;
  }

  static std::vector<OpShare> ops_of(const RankDigest& digest, const Lattice& pieces) {
    int64_t backward_ns = 0;
    int64_t other_ns = 0;
    for (const LatticePiece& piece : pieces) {
      const WorkKind kind{.category = piece.category, .phase = piece.phase};
      if (!kind.computes()) continue;
      (kind.phase_of() == Category::kBackward ? backward_ns : other_ns) += piece.span.length().ns;
    }
    const auto share = [](int64_t part, int64_t all) {
      return all <= 0 ? 0.0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(all));
    };
    std::vector<OpShare> ops;
    for (const OpSum& op : digest.op_sums)
      ops.push_back({op.name, share(op.backward_ns, backward_ns), share(op.other_ns, other_ns)});
    return ops;
  }

  // In these steps.
  static std::optional<int64_t> device_waits_of(const RankDigest& digest,
                                                std::span<const int64_t> replayed) {
    const std::vector<int64_t>& by_step = digest.facts.device_wait_ns;
    if (by_step.empty()) return std::nullopt;
    int64_t sum = 0;
    for (size_t s = 0; s < std::min(by_step.size(), digest.steps.size()); ++s) {
      if (std::ranges::binary_search(replayed, digest.steps[s].index)) sum += by_step[s];
    }
    return sum;
  }

  void role(TaskId task, TaskRole::What what, size_t index) {
    run_.roles[task] = {what, static_cast<uint32_t>(index)};
  }

  uint32_t work_kind(Category category, Category phase, HostDetail detail) {
    const auto [known, is_new] =
        work_kind_of_.try_emplace({category, phase, detail}, run_.work_kinds.size());
    if (is_new) {
      const bool beside = category == Category::kOverlapped;
      std::string name(category == Category::kHost ? word_of_detail(detail)
                                                   : key_of(beside ? phase : category));
      if (detail == HostDetail::kRunnable) name += " (on no core)";
      run_.work_kinds.push_back({category, phase, detail, std::move(name)});
    }
    return static_cast<uint32_t>(known->second);
  }

  uint32_t move_kind(size_t d, size_t record, std::string_view towards) {
    const CollectiveRecord& one = in_.digests[d].collectives[record];
    const size_t group = in_.matching.group_of[d][one.communicator];
    const auto [known, is_new] = move_kind_of_.try_emplace(
        {group, one.function, one.bytes.value_or(-1), std::string(towards)},
        run_.move_kinds.size());
    if (is_new) {
      MoveKind kind{.name = {},
                    .by = fmt::format("{} {}", schema::word_of(one.function),
                                      in_.matching.groups[group].name),
                    .function = one.function,
                    .group = group,
                    .members = in_.matching.groups[group].members.size(),
                    .bytes = one.bytes};
      kind.name = kind.by;
      if (!towards.empty()) kind.name += fmt::format(" {}", towards);
      if (one.bytes) kind.name += " " + format_bytes(*one.bytes);
      const schema::Function function =
          schema::is_message(one.function) ? schema::Function::kSend : kind.function;
      if (const auto cost = costs_.find({group, function}); cost != costs_.end())
        kind.cost = cost->second;
      run_.move_kinds.push_back(std::move(kind));
    }
    return static_cast<uint32_t>(known->second);
  }

  std::optional<int64_t> bucket_of_record(size_t d, size_t record) const {
    const CollectiveRecord& one = in_.digests[d].collectives[record];
    if (one.bucket) return one.bucket;
    const size_t i = in_.matching.instance_of[d][record];
    return i == kNoInstance ? std::nullopt : in_.matching.instances[i].bucket;
  }

  void add_move(TaskId task, uint32_t entry, uint32_t step, size_t record,
                std::string_view towards) {
    const size_t d = in_.steps.ranks[entry];
    const uint32_t kind = move_kind(d, record, towards);
    const std::optional<int64_t> bucket = bucket_of_record(d, record);
    run_.move_kinds[kind].gradients |= bucket.has_value();
    run_.moves.push_back({task, entry, step, kind, bucket});
  }

  void take_segments(const RunGraph& graph) {
    run_.graph = &graph.graph;
    run_.steps = graph.steps;
    run_.gates = graph.gates;
    run_.roles.resize(graph.graph.size());
    run_.works.reserve(graph.own_tasks.size());
    run_.moves.reserve(graph.calls.size());
    for (uint32_t r = 0; r < run_.ranks.size(); ++r) {
      const size_t first = graph.own_tasks_of[r];
      take_works(r, std::span(graph.own_tasks).subspan(first, graph.own_tasks_of[r + 1] - first));
    }
    for (const CallTask& call : graph.calls) {
      role(call.start, TaskRole::What::kStart, run_.moves.size());
      add_move(call.body, call.entry, call.step, call.record, {});
    }
    // Stages of a pipeline with the same calls make them in different orders; if each has a single
    // rank, there is nothing else to compare it with.
    const std::optional<Pipelines> pipelines = pipelines_of(in_.digests, in_.steps, in_.matching);
    if (pipelines && pipelines->replicas > 1) {
      stages_ = pipelines->stages;
      for (const PipelinePlace& place : pipelines->of) stage_of_.push_back(place.stage);
    } else {
      stage_of_.assign(run_.ranks.size(), 0);
    }
    run_.spots.resize(graph.spots * stages_);
    for (const Place& place : graph.places) take_place(graph, place);
    for (Spot& spot : run_.spots) {
      std::ranges::sort(spot, {}, [](const SpotWork& w) { return std::tuple(w.entry, w.step); });
    }
  }

  // Ranks without work there get an empty entry.
  void take_place(const RunGraph& graph, const Place& place) {
    std::map<uint32_t, SpotWork> of_entry;
    for (const uint32_t entry : graph.alike[place.alike])
      of_entry[entry] = {.entry = entry, .step = place.step};
    for (const OwnSegment& segment : std::span(graph.segments).subspan(place.first, place.count)) {
      SpotWork& work = of_entry[segment.entry];
      // Before and after a stop: a rank's works are in order of time.
      if (work.count == 0) work.first = segment.first;
      work.count = segment.first + segment.count - work.first;
      work.ns += segment.own_ns;
    }
    for (const auto& [entry, work] : of_entry)
      run_.spots[place.spot * stages_ + stage_of_[entry]].push_back(work);
  }

  void take_works(uint32_t entry, std::span<const OwnTask> tasks) {
    const size_t d = in_.steps.ranks[entry];
    const Lattice marked = d < in_.starved.size() && !in_.starved[d].empty()
                               ? with_launch_waits(in_.pieces[d], in_.starved[d])
                               : Lattice();
    const Lattice& pieces = marked.empty() ? in_.pieces[d] : marked;
    size_t first = 0;
    std::vector<int64_t> ns;
    DeviceGaps gaps;
    for (const OwnTask& task : tasks) {
      Work work{.task = task.task,
                .entry = entry,
                .step = task.step,
                .first_part = static_cast<uint32_t>(run_.parts.size())};
      while (first < pieces.size() && pieces[first].span.end <= task.span.begin) ++first;
      int64_t left = task.span.length().ns;
      ns.assign(run_.work_kinds.size(), 0);
      const auto add = [&](uint32_t kind, int64_t length) {
        if (length <= 0) return;
        if (kind >= ns.size()) ns.resize(kind + 1, 0);
        ns[kind] += length;
        left -= length;
      };
      for (size_t p = first; p < pieces.size(); ++p) {
        const LatticePiece& piece = pieces[p];
        if (piece.span.begin >= task.span.end) break;
        const Interval part{std::max(piece.span.begin, task.span.begin),
                            std::min(piece.span.end, task.span.end)};
        const uint32_t kind = work_kind(piece.category, piece.phase, piece.detail);
        add(kind, part.length().ns);
        if (run_.work_kinds[kind].is_capturable()) gaps.take(part);
      }
      if (left > 0) add(work_kind(Category::kIdle, Category::kIdle, HostDetail::kNone), left);
      for (uint32_t k = 0; k < ns.size(); ++k) {
        if (ns[k] > 0) run_.parts.push_back({k, ns[k]});
      }
      work.parts = static_cast<uint32_t>(run_.parts.size()) - work.first_part;
      run_.works.push_back(work);
    }
    run_.between_kernels_ns[entry] += gaps.between_kernels_ns();
  }

  // The k-th operation of a kind on the ranks of one stage is a spot.
  void take_operations(const OperationRun& operations) {
    run_.graph = &operations.graph;
    run_.steps = operations.steps;
    run_.roles.resize(operations.graph.size());
    std::map<std::tuple<size_t, uint32_t, uint32_t>, size_t> spot_of;     // stage, kind, number
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> number;  // entry, step, kind
    for (const OperationTask& one : operations.tasks) {
      const OperationKind& kind = operations.kinds[one.kind];
      if (!kind.computes) {
        const size_t record = record_of_row(one);
        const size_t cut = kind.name.find(' ');
        const bool message = kind.name.ends_with("stream");
        add_move(one.task, one.entry, one.step, record,
                 message ? std::string_view(kind.name).substr(cut + 1) : std::string_view());
        continue;
      }
      const Category category = category_of(kind.marker);
      const HostDetail detail =
          kind.marker == schema::Marker::kCheckpoint ? HostDetail::kCheckpoint : HostDetail::kNone;
      const int64_t ns = operations.graph.durations()[one.task];
      const auto at = static_cast<uint32_t>(run_.works.size());
      run_.works.push_back(
          {one.task, one.entry, one.step, static_cast<uint32_t>(run_.parts.size()), 1});
      run_.parts.push_back({work_kind(category, category, detail), ns});
      const uint32_t k = number[{one.entry, one.step, one.kind}]++;
      const size_t stage = operations.pipelines.of[one.entry].stage;
      const size_t spot =
          spot_of.try_emplace({stage, one.kind, k}, run_.spots.size()).first->second;
      if (spot == run_.spots.size()) run_.spots.emplace_back();
      run_.spots[spot].push_back({one.entry, one.step, at, 1, ns});
    }
    for (Spot& spot : run_.spots) {
      std::ranges::sort(spot, {}, [](const SpotWork& w) { return std::tuple(w.entry, w.step); });
    }
  }

  [[nodiscard]] size_t record_of_row(const OperationTask& one) {
    const size_t d = in_.steps.ranks[one.entry];
    auto& of_digest = record_of_[d];
    if (of_digest.empty()) {
      const CollectiveRecords& records = in_.digests[d].collectives;
      for (size_t i = 0; i < records.size(); ++i) of_digest[records[i].row] = i;
    }
    return of_digest.at(one.row);
  }

  const PlayedRunInput& in_;
  std::map<GroupFunction, LinearCost> costs_;
  PlayedRun run_;
  size_t stages_ = 1;             // that are distinguished
  std::vector<size_t> stage_of_;  // by entry
  std::map<std::tuple<Category, Category, HostDetail>, size_t> work_kind_of_;
  std::map<std::tuple<size_t, schema::Function, int64_t, std::string>, size_t> move_kind_of_;
  std::map<size_t, std::map<int64_t, size_t>> record_of_;  // by digest and row
};

}  // namespace

std::set<std::string_view> PlayedRun::kernels_meant(std::string_view name) const {
  std::set<std::string_view> meant;
  for (const std::vector<KernelShare>& of_rank : kernels) {
    for (const KernelShare& kernel : of_rank) {
      if (kernel.name == name) return {name};
      if (!name.empty() && kernel.name.find(name) != std::string::npos) meant.insert(kernel.name);
    }
  }
  return meant;
}

PlayedRun played_run_of(std::shared_ptr<const RunReplay> replay, const PlayedRunInput& input) {
  return PlayedRunBuilder(std::move(replay), input).run();
}

}  // namespace dprof::analyzer
