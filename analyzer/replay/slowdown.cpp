// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/slowdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kWorstParts = 3;  // percent of the ranks

std::vector<bool> flags(size_t size, const std::vector<size_t>& entries) {
  std::vector<bool> set(size, false);
  for (const size_t entry : entries) set[entry] = true;
  return set;
}

std::vector<int> ranks_of(const std::vector<size_t>& entries, std::span<const RankDigest> digests,
                          const Steps& steps) {
  std::vector<int> ranks;
  for (const size_t entry : entries) ranks.push_back(digests[steps.ranks[entry]].rank);
  return ranks;
}

int64_t middle(const std::vector<int64_t>& values, bool computes) {
  return computes ? static_cast<int64_t>(mean_of(values)) : median_ns(values);
}

}  // namespace

EvenRun::EvenRun(const OperationRun& run) : run_(run), recorded_(run.graph.durations()) {
  even_ = recorded_;
  std::vector<std::vector<int64_t>> of_kind(run.kinds.size());
  for (const OperationTask& one : run.tasks) of_kind[one.kind].push_back(recorded_[one.task]);
  std::vector<int64_t> typical;
  for (size_t k = 0; k < of_kind.size(); ++k)
    typical.push_back(middle(of_kind[k], run.kinds[k].computes));
  for (const OperationTask& one : run.tasks) even_[one.task] = typical[one.kind];
}

std::vector<int64_t> EvenRun::lengths(std::span<const int64_t> durations) const {
  return step_lengths(run_.steps, run_.graph.simulate(durations, {}));
}

template <typename Choose>
std::vector<int64_t> EvenRun::mixed(Choose even_where) const {
  std::vector<int64_t> durations = recorded_;
  for (const OperationTask& one : run_.tasks) {
    if (even_where(one)) durations[one.task] = even_[one.task];
  }
  return lengths(durations);
}

std::vector<int64_t> EvenRun::recorded() const { return lengths(recorded_); }
std::vector<int64_t> EvenRun::even() const { return lengths(even_); }

std::vector<int64_t> EvenRun::without(const std::vector<size_t>& entries) const {
  const std::vector<bool> chosen = flags(run_.pipelines.of.size(), entries);
  return mixed([&](const OperationTask& one) { return chosen[one.entry]; });
}

std::vector<int64_t> EvenRun::only(const std::vector<size_t>& entries) const {
  const std::vector<bool> chosen = flags(run_.pipelines.of.size(), entries);
  return mixed([&](const OperationTask& one) { return !chosen[one.entry]; });
}

std::optional<std::vector<int64_t>> EvenRun::as_its_peers(size_t entry) const {
  const size_t stage = run_.pipelines.of[entry].stage;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<int64_t>> peers;  // by step and kind
  for (const OperationTask& one : run_.tasks) {
    if (one.entry == entry || run_.pipelines.of[one.entry].stage != stage) continue;
    if (run_.kinds[one.kind].computes) peers[{one.step, one.kind}].push_back(recorded_[one.task]);
  }
  if (peers.empty()) return std::nullopt;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> typical;
  for (auto& [key, values] : peers) typical[key] = median_ns(std::move(values));
  std::vector<int64_t> durations = recorded_;
  for (const OperationTask& one : run_.tasks) {
    if (one.entry != entry) continue;
    const auto known = typical.find({one.step, one.kind});
    if (known != typical.end()) durations[one.task] = known->second;
  }
  return lengths(durations);
}

Slowdown EvenRun::slowdown(std::span<const RankDigest> digests, const Steps& steps) const {
  const double recorded_mean = mean_of(recorded());
  const double even_mean = mean_of(even());
  Slowdown result;
  result.step_ns = static_cast<int64_t>(recorded_mean);
  result.ideal_ns = static_cast<int64_t>(even_mean);
  if (even_mean <= 0) return result;
  result.slowdown = recorded_mean / even_mean;
  const Pipelines& pipelines = run_.pipelines;
  const auto part = [&](std::string name, const std::vector<size_t>& entries) {
    return PartSlowdown{std::move(name), ranks_of(entries, digests, steps),
                        mean_of(only(entries)) / even_mean};
  };
  for (size_t p = 0; pipelines.stages > 1 && p < pipelines.stages; ++p)
    result.stages.push_back(part(stage_words(p, pipelines.stages), pipelines.with_stage(p)));
  for (size_t p = 0; p < pipelines.replicas; ++p) {
    result.replicas.push_back(part(fmt::format("replica {} of {}", p + 1, pipelines.replicas),
                                   pipelines.with_replica(p)));
  }
  for (size_t k = 0; k < run_.kinds.size(); ++k) {
    const double length = mean_of(mixed([&](const OperationTask& one) { return one.kind != k; }));
    result.operations.push_back({run_.kinds[k].name, {}, length / even_mean});
  }
  std::ranges::stable_sort(result.operations, std::greater{}, &PartSlowdown::slowdown);

  // A rank is blamed for no more than its stage and its replica.
  std::vector<size_t> by_slowdown;
  for (size_t r = 0; r < pipelines.of.size(); ++r) {
    double least = result.replicas[pipelines.of[r].replica].slowdown;
    if (!result.stages.empty())
      least = std::min(least, result.stages[pipelines.of[r].stage].slowdown);
    result.per_rank.push_back({fmt::format("rank {}", digests[steps.ranks[r]].rank),
                               ranks_of({r}, digests, steps), least});
    by_slowdown.push_back(r);
  }
  const double lost = recorded_mean - even_mean;
  if (lost <= 0) return result;
  std::ranges::stable_sort(by_slowdown, std::greater{},
                           [&](size_t r) { return result.per_rank[r].slowdown; });
  by_slowdown.resize((by_slowdown.size() * kWorstParts + 99) / 100);
  result.worst_ranks_share = (recorded_mean - mean_of(without(by_slowdown))) / lost;
  if (pipelines.stages > 1) {
    result.last_stage_share =
        (recorded_mean - mean_of(without(pipelines.with_stage(pipelines.stages - 1)))) / lost;
  }
  return result;
}

}  // namespace dprof::analyzer
