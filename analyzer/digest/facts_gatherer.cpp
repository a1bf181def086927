// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts_gatherer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyzer/digest/digest.h"
#include "analyzer/run/sensible.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace {

constexpr size_t kMostShapes = 256;
constexpr double kBusyThread = 0.01;         // of a core
constexpr int64_t kClosesGapNs = 2'000'000;  // between two nodes of one backward

// Settings of DDP: its buckets, and what it searched for.
void read_ddp(Facts& facts) {
  const nlohmann::json said = nlohmann::json::parse(facts.ddp, nullptr, false);
  if (!said.is_object()) return;
  if (said.contains("find_unused_parameters"))
    facts.find_unused = said["find_unused_parameters"] == "true";
  if (!said.contains("buckets") || !said["buckets"].is_array()) return;
  for (const nlohmann::json& group : said["buckets"]) {
    if (!group.is_object() || !group.contains("buckets")) continue;
    for (const nlohmann::json& bucket : group["buckets"]) {
      if (!bucket.is_object() || !bucket.contains("parameters")) continue;
      const nlohmann::json& parameters = bucket["parameters"];
      if (parameters.is_number_integer())
        facts.parameter_tensors = facts.parameter_tensors.value_or(0) + parameters.get<int64_t>();
    }
  }
}

std::vector<Interval> spans_of(const RankDigest& digest, schema::Marker marker) {
  std::vector<Interval> spans;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker == marker) spans.push_back(phase.span);
  }
  return spans;
}

// Adds the part of each step's window that the set covers.
void add_by_step(std::vector<int64_t>& sums, const RankDigest& digest, const IntervalSet& set) {
  sums.resize(digest.steps.size(), 0);
  for (size_t s = 0; s < digest.steps.size(); ++s) {
    const Interval& window = digest.steps[s].window;
    auto at = std::ranges::upper_bound(set, window.begin, {}, &Interval::end);
    for (; at != set.end() && at->begin < window.end; ++at)
      sums[s] += (std::min(at->end, window.end) - std::max(at->begin, window.begin)).ns;
  }
}

// Backward as the host ran it: marked or recognised phases, and autograd's own threads.
IntervalSet backward_of(const RankDigest& digest) {
  std::vector<Interval> spans = spans_of(digest, schema::Marker::kBackward);
  for (const Interval& nodes : digest.autograd_elsewhere) {
    if (!spans.empty() && nodes.begin >= spans.back().end &&
        (nodes.begin - spans.back().end).ns < kClosesGapNs) {
      spans.push_back({spans.back().end, nodes.end});
    } else {
      spans.push_back(nodes);
    }
  }
  return union_of(std::move(spans));
}

bool computes(Category category) {
  return category == Category::kForward || category == Category::kBackward ||
         category == Category::kOptimizer || category == Category::kOtherCompute ||
         category == Category::kOverlapped;
}

}  // namespace

FactsGatherer::FactsGatherer(const schema::TraceReader& reader, int64_t shift_ns, int64_t gpu_rows)
    : reader_(reader),
      shift_ns_(shift_ns),
      calls_(reader, shift_ns, gpu_rows, facts_),
      kernels_(reader, shift_ns, gpu_rows, facts_) {
  facts_.has_gpu = gpu_rows > 0;
  read_settings();
}

void FactsGatherer::read_settings() {
  const auto text = [&](std::string_view key) { return reader_.meta(key).value_or(""); };
  facts_.ddp = text("ddp");
  facts_.detail = text("detail");
  facts_.memory_source = text("memory_source");
  facts_.cuda_source = text("cuda_source");
  facts_.ended = text("ended");
  facts_.exit_status = text("exit_status");
  read_ddp(facts_);
  facts_.collections_recorded = std::ranges::any_of(reader_.strings(), [](const std::string& name) {
    return name.starts_with("gc.collect generation ");
  });
  facts_.has_ops = std::ranges::any_of(
      reader_.strings(), [](const std::string& name) { return name.starts_with("aten::"); });
}

void FactsGatherer::see(const schema::DeviceRow& row) {
  facts_.devices.push_back({.id = row.id,
                            .uuid = row.uuid.value_or(""),
                            .model = row.name_id ? reader_.string(*row.name_id) : std::string(),
                            .memory_bytes = row.memory_bytes,
                            .compute_capability = row.compute_capability});
}

void FactsGatherer::see(const schema::LoaderEventRow& row) {
  if (!sensible(row.start_ns)) return;
  BatchFact batch{.at = {row.start_ns + shift_ns_},
                  .wait_ns = {},
                  .queue_depth = row.queue_depth,
                  .hash = row.index_hash,
                  .epoch = row.epoch,
                  .row = row.id};
  if (row.duration_ns && *row.duration_ns >= 0 && sensible(*row.duration_ns))
    batch.wait_ns = row.duration_ns;
  if (row.batch_shape && (shapes_.size() < kMostShapes || shapes_.contains(*row.batch_shape))) {
    const auto [shape, is_new] =
        shapes_.try_emplace(*row.batch_shape, static_cast<int32_t>(shapes_.size()));
    if (is_new) facts_.shapes.push_back(*row.batch_shape);
    batch.shape = shape->second;
  }
  facts_.batches.push_back(batch);
}

void FactsGatherer::see(const schema::ThreadRow& row) {
  threads_[row.os_tid] = {.os_tid = row.os_tid,
                          .role = row.role,
                          .name = row.name_id ? reader_.string(*row.name_id) : std::string()};
}

void FactsGatherer::see(const schema::SystemSampleRow& row, SampleKind kind) {
  const int64_t subject = row.subject.value_or(-1);
  switch (kind) {
    case SampleKind::kThreadCpu:
      return cpu_[subject].see(row.value);
    case SampleKind::kThreadRunQueue:
      return queued_[subject].see(row.value);
    case SampleKind::kPower:
      return power_[subject].values.push_back(row.value);
    case SampleKind::kPowerLimit:
      power_[subject].limit = row.value;
      return;
    case SampleKind::kUuid:
      power_[row.value].uuid = uuid_of(reader_.string(row.kind_id));
      return;
    case SampleKind::kLoad:
      return load_.push_back(row.value);
    case SampleKind::kRunnableThreads:
      return runnable_.push_back(row.value);
    case SampleKind::kMemoryAvailable:
      facts_.host_memory.available_bytes = row.value;
      return;
    case SampleKind::kCgroupMemory:
      facts_.host_memory.cgroup_bytes = row.value;
      return;
    case SampleKind::kCgroupLimit:
      facts_.host_memory.cgroup_limit_bytes = row.value;
      return;
    default:
      return;
  }
}

void FactsGatherer::finish_threads(const RankDigest& digest) {
  const double busy_ns = kBusyThread * static_cast<double>(digest.span.length().ns);
  for (const auto& [tid, counter] : cpu_) {
    const int64_t used = counter.grown();
    if (used <= 0 || static_cast<double>(used) < busy_ns) continue;
    ThreadFact thread = threads_.contains(tid) ? threads_[tid] : ThreadFact{.os_tid = tid};
    thread.cpu_ns = used;
    thread.run_queue_ns = queued_[tid].grown();
    facts_.threads.push_back(std::move(thread));
  }
}

void FactsGatherer::finish_backward(const RankDigest& digest) {
  const IntervalSet backward = backward_of(digest);
  for (const DeviceDigest& device : digest.gpu.devices) {
    std::vector<Interval> starved;
    std::vector<Interval> busy;
    for (size_t i = 0; i < device.pieces.size(); ++i) {
      const DevicePiece& piece = device.pieces[i];
      const Interval span{piece.begin, device.end_of(i)};
      if (computes(piece.category)) busy.push_back(span);
      if (piece.category == Category::kHost || piece.category == Category::kLaunch)
        starved.push_back(span);
    }
    add_by_step(facts_.backward_busy_ns, digest,
                intersection_of(backward, union_of(std::move(busy))));
    add_by_step(facts_.backward_starved_ns, digest,
                intersection_of(backward, union_of(std::move(starved))));
  }
}

Facts FactsGatherer::finish(const RankDigest& digest) && {
  if (!facts_.parameter_tensors && digest.memory.registered_parameters > 0)
    facts_.parameter_tensors = digest.memory.registered_parameters;
  finish_threads(digest);
  for (auto& [index, gpu] : power_) {
    if (gpu.values.empty()) continue;
    const auto samples = static_cast<int64_t>(gpu.values.size());
    facts_.power.push_back({.uuid = std::move(gpu.uuid),
                            .power_mw = median_ns(std::move(gpu.values)),
                            .limit_mw = gpu.limit,
                            .samples = samples});
  }
  facts_.load_1min_milli = median_if_any(std::move(load_));
  facts_.runnable_threads = median_if_any(std::move(runnable_));
  calls_.finish(std::move(kernels_).finish(),
                union_of(spans_of(digest, schema::Marker::kOptimizer)));
  finish_backward(digest);
  if (!device_waits_.empty()) add_by_step(facts_.device_wait_ns, digest, device_waits_);
  return std::move(facts_);
}

}  // namespace dprof::analyzer
