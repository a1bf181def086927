// SPDX-License-Identifier: Apache-2.0
#include "analyzer/digest/facts.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/digest/facts_internal.h"
#include "analyzer/digest/system.h"
#include "analyzer/run/sensible.h"
#include "base/stats.h"

namespace dprof::analyzer {
namespace facts {
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

// First and last value of a counter.
struct Counter {
  std::optional<int64_t> first;
  int64_t last = 0;

  void see(int64_t value) {
    if (!first) first = value;
    last = value;
  }
  [[nodiscard]] int64_t grown() const { return first ? std::max<int64_t>(0, last - *first) : 0; }
};

std::optional<int64_t> median_if_any(std::vector<int64_t> values) {
  if (values.empty()) return std::nullopt;
  return median_ns(std::move(values));
}

// Backward as the host ran it: marked or recognised phases, and autograd's own threads.
IntervalSet backward_of(const RankDigest& digest) {
  std::vector<Interval> spans;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker == schema::Marker::kBackward) spans.push_back(phase.span);
  }
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

Status FactsReader::read_settings() {
  const auto text = [&](std::string_view key) { return reader_.meta(key).value_or(""); };
  facts_.ddp = text("ddp");
  facts_.detail = text("detail");
  facts_.memory_source = text("memory_source");
  facts_.cuda_source = text("cuda_source");
  facts_.ended = text("ended");
  facts_.exit_status = text("exit_status");
  read_ddp(facts_);
  facts_.has_ops = std::ranges::any_of(
      reader_.strings(), [](const std::string& name) { return name.starts_with("aten::"); });
  if (facts_.parameter_tensors) return Done{};
  std::set<int64_t> addresses;
  Status read = reader_.for_each<schema::MemoryEventRow>([&](const schema::MemoryEventRow& row) {
    if (row.kind == schema::MemoryEventKind::kRegistered &&
        row.category == schema::MemoryCategory::kParameter)
      addresses.insert(row.address);
  });
  if (!addresses.empty()) facts_.parameter_tensors = static_cast<int64_t>(addresses.size());
  return read;
}

Status FactsReader::read_devices() {
  return reader_.for_each<schema::DeviceRow>([&](const schema::DeviceRow& row) {
    facts_.devices.push_back({.id = row.id,
                              .uuid = row.uuid.value_or(""),
                              .model = row.name_id ? reader_.string(*row.name_id) : std::string(),
                              .memory_bytes = row.memory_bytes,
                              .compute_capability = row.compute_capability});
  });
}

Status FactsReader::read_batches() {
  std::map<std::string, int32_t> known;
  return reader_.for_each<schema::LoaderEventRow>([&](const schema::LoaderEventRow& row) {
    if (!sensible(row.start_ns)) return;
    BatchFact batch{.at = on_axis(row.start_ns),
                    .wait_ns = {},
                    .queue_depth = row.queue_depth,
                    .hash = row.index_hash,
                    .epoch = row.epoch,
                    .row = row.id};
    if (row.duration_ns && *row.duration_ns >= 0 && sensible(*row.duration_ns))
      batch.wait_ns = row.duration_ns;
    if (row.batch_shape && (known.size() < kMostShapes || known.contains(*row.batch_shape))) {
      const auto [shape, is_new] =
          known.try_emplace(*row.batch_shape, static_cast<int32_t>(known.size()));
      if (is_new) facts_.shapes.push_back(*row.batch_shape);
      batch.shape = shape->second;
    }
    facts_.batches.push_back(batch);
  });
}

Status FactsReader::read_system() {
  std::map<int64_t, ThreadFact> threads;
  const Status read_threads =
      reader_.for_each<schema::ThreadRow>([&](const schema::ThreadRow& row) {
        threads[row.os_tid] = {.os_tid = row.os_tid,
                               .role = row.role,
                               .name = row.name_id ? reader_.string(*row.name_id) : std::string()};
      });
  if (!read_threads.ok()) return fail(read_threads.error());
  std::map<int64_t, Counter> cpu;
  std::map<int64_t, Counter> queued;
  std::map<int64_t, std::vector<int64_t>> power;
  std::map<int64_t, int64_t> limit;
  std::map<int64_t, std::string> uuid;
  std::vector<int64_t> load;
  std::vector<int64_t> runnable;
  Status read = reader_.for_each<schema::SystemSampleRow>([&](const schema::SystemSampleRow& row) {
    const std::string& kind = reader_.string(row.kind_id);
    const int64_t subject = row.subject.value_or(-1);
    if (kind == "thread.cpu_ns") cpu[subject].see(row.value);
    if (kind == "thread.run_queue_ns") queued[subject].see(row.value);
    if (kind == "gpu.power_mw") power[subject].push_back(row.value);
    if (kind == "gpu.power_limit_mw") limit[subject] = row.value;
    if (kind == "host.load_1min_milli") load.push_back(row.value);
    if (kind == "host.runnable_threads") runnable.push_back(row.value);
    if (kind == "host.memory_available_bytes") facts_.host_memory.available_bytes = row.value;
    if (kind == "cgroup.memory_bytes") facts_.host_memory.cgroup_bytes = row.value;
    if (kind == "cgroup.memory_limit_bytes") facts_.host_memory.cgroup_limit_bytes = row.value;
    if (kind.starts_with(kUuidPrefix)) uuid[row.value] = kind.substr(kUuidPrefix.size());
  });
  const double busy_ns = kBusyThread * static_cast<double>(digest_.span.length().ns);
  for (const auto& [tid, counter] : cpu) {
    const int64_t used = counter.grown();
    if (used <= 0 || static_cast<double>(used) < busy_ns) continue;
    ThreadFact thread = threads.contains(tid) ? threads[tid] : ThreadFact{.os_tid = tid};
    thread.cpu_ns = used;
    thread.run_queue_ns = queued[tid].grown();
    facts_.threads.push_back(std::move(thread));
  }
  for (auto& [index, values] : power) {
    const auto samples = static_cast<int64_t>(values.size());
    facts_.power.push_back({.uuid = uuid[index],
                            .power_mw = median_ns(std::move(values)),
                            .limit_mw = limit[index],
                            .samples = samples});
  }
  facts_.load_1min_milli = median_if_any(std::move(load));
  facts_.runnable_threads = median_if_any(std::move(runnable));
  return read;
}

void FactsReader::read_backward() {
  const IntervalSet backward = backward_of(digest_);
  for (const DeviceDigest& device : digest_.gpu.devices) {
    std::vector<Interval> starved;
    std::vector<Interval> busy;
    for (size_t i = 0; i < device.pieces.size(); ++i) {
      const DevicePiece& piece = device.pieces[i];
      const Interval span{piece.begin, device.end_of(i)};
      if (computes(piece.category)) busy.push_back(span);
      if (piece.category == Category::kHost || piece.category == Category::kLaunch)
        starved.push_back(span);
    }
    facts_.backward_busy_ns += measure(intersection_of(backward, union_of(std::move(busy)))).ns;
    facts_.backward_starved_ns +=
        measure(intersection_of(backward, union_of(std::move(starved)))).ns;
  }
}

Result<Facts> FactsReader::read() {
  for (const auto part :
       {&FactsReader::read_settings, &FactsReader::read_devices, &FactsReader::read_batches,
        &FactsReader::read_system, &FactsReader::read_activities, &FactsReader::read_calls}) {
    if (const Status good = (this->*part)(); !good.ok()) return fail(good.error());
  }
  read_backward();
  return std::move(facts_);
}

}  // namespace facts

std::optional<int64_t> HostMemoryLeft::bytes() const {
  if (!cgroup_bytes || !cgroup_limit_bytes) return available_bytes;
  const int64_t below_limit = std::max<int64_t>(0, *cgroup_limit_bytes - *cgroup_bytes);
  return std::min(available_bytes.value_or(below_limit), below_limit);
}

Result<Facts> read_facts(const TraceFile& trace, const schema::TraceReader& reader,
                         const RankDigest& digest) {
  return facts::FactsReader(trace, reader, digest).read();
}

}  // namespace dprof::analyzer
