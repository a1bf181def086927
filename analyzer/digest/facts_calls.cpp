// SPDX-License-Identifier: Apache-2.0
// The part of facts that host_range tells: of its rows only those whose names matter are looked at.
#include <algorithm>
#include <optional>

#include "analyzer/digest/facts_internal.h"
#include "analyzer/digest/range_names.h"
#include "analyzer/run/sensible.h"

namespace dprof::analyzer::facts {
namespace {

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view s) { return name.starts_with(s); });
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

// What a name is to the facts.
struct Meaning {
  std::optional<CallKind> call;
  bool launch = false;            // of a kernel
  bool copy = false;              // launches a copy
  bool writes_parameter = false;  // an operator that does, within the optimizer
  bool recomputes = false;        // an autograd node that runs forward again
  bool single_process = false;    // a loader without workers
  bool workers = false;           // and with some

  [[nodiscard]] bool matters() const {
    return call || launch || copy || writes_parameter || recomputes || single_process || workers;
  }
};

// Only where gradients are no views of buckets.
constexpr std::string_view kBucketToGradient = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
constexpr std::string_view kGradientToBucket = "torch::distributed::reducer::";  // mul_out, copy_

// A runtime call and the driver call within it are one: the driver's names count where the trace
// has none of the runtime's.
std::optional<CallKind> call_of(std::string_view name, bool has_runtime) {
  if (is_any(name, {"cudaStreamSynchronize", "cudaEventSynchronize", "hipStreamSynchronize",
                    "hipEventSynchronize"}))
    return CallKind::kStreamSync;
  if (is_any(name, {"cudaDeviceSynchronize", "hipDeviceSynchronize"})) return CallKind::kDeviceSync;
  if (is_any(name, {"cudaMemcpy", "cudaMemcpy2D", "hipMemcpy"})) return CallKind::kBlockingCopy;
  if (is_any(name, {"cudaMalloc", "hipMalloc", "cuMemCreate"})) return CallKind::kAllocate;
  if (is_any(name, {"cudaFree", "hipFree", "cuMemRelease"})) return CallKind::kRelease;
  if (name == "aten::isnan") return CallKind::kNanCheck;
  if (name == "aten::_amp_update_scale_") return CallKind::kScalerUpdate;
  if (name.starts_with("Optimizer.zero_grad#")) return CallKind::kZeroGrad;
  if (contains(name, "empty_cache") || contains(name, "emptyCache")) return CallKind::kEmptyCache;
  if (has_runtime) return std::nullopt;
  if (is_any(name, {"cuStreamSynchronize", "cuEventSynchronize"})) return CallKind::kStreamSync;
  if (name == "cuCtxSynchronize") return CallKind::kDeviceSync;
  return std::nullopt;
}

class Meanings {
 public:
  explicit Meanings(const std::vector<std::string>& strings) {
    const auto has = [&](auto&& is) { return std::ranges::any_of(strings, is); };
    const bool runtime = has([](const std::string& s) {
      return starts_with_any(s, {"cudaLaunch", "cudaMemcpy", "cudaStream", "hipLaunch"});
    });
    // Reading a value is `item`, which calls the other: one of them counts.
    const bool reads = has([](const std::string& s) { return s == "aten::_local_scalar_dense"; });
    const bool scales = has([](const std::string& s) { return s == "aten::_amp_update_scale_"; });
    const bool copies_back = has([](const std::string& s) { return s == kBucketToGradient; });
    of_.resize(strings.size());
    for (size_t id = 1; id < strings.size(); ++id) {
      const std::string& name = strings[id];
      Meaning& meaning = of_[id];
      meaning.call = call_of(name, runtime);
      if (name == (reads ? "aten::_local_scalar_dense" : "aten::item"))
        meaning.call = CallKind::kItem;
      if (copies_back && (name == kBucketToGradient || name.starts_with(kGradientToBucket)))
        meaning.call = CallKind::kBucketCopy;
      meaning.launch = contains(name, "LaunchKernel") && !(runtime && name.starts_with("cuLaunch"));
      meaning.copy = starts_with_any(name, {"cudaMemcpy", "hipMemcpy"});
      meaning.writes_parameter =
          scales &&
          starts_with_any(name, {"aten::add_", "aten::sub_", "aten::addcdiv_", "aten::addcmul_",
                                 "aten::lerp_", "aten::_foreach_", "aten::_fused_"});
      meaning.recomputes =
          contains(name, "CheckpointFunctionBackward") || contains(name, "RecomputeBackward");
      meaning.single_process = contains(name, "_SingleProcessDataLoaderIter");
      meaning.workers = contains(name, "_MultiProcessingDataLoaderIter");
    }
  }

  // nullptr = it means nothing.
  [[nodiscard]] const Meaning* of(int64_t name_id) const {
    const auto id = static_cast<size_t>(name_id);
    return name_id > 0 && id < of_.size() && of_[id].matters() ? &of_[id] : nullptr;
  }
  [[nodiscard]] bool has(CallKind kind) const {
    return std::ranges::any_of(of_, [&](const Meaning& meaning) { return meaning.call == kind; });
  }
  [[nodiscard]] bool empty() const { return std::ranges::none_of(of_, &Meaning::matters); }

 private:
  std::vector<Meaning> of_;  // by name id
};

void add(Calls& calls, const Call& call) {
  ++calls.count;
  calls.total_ns += call.ns;
  if (calls.count % calls.every != 0) return;
  if (calls.kept.size() >= Calls::kMostKept) {
    for (size_t i = 0; 2 * i + 1 < calls.kept.size(); ++i) calls.kept[i] = calls.kept[2 * i + 1];
    calls.kept.resize(calls.kept.size() / 2);
    calls.every *= 2;
    if (calls.count % calls.every != 0) return;
  }
  calls.kept.push_back(call);
}

// The host's optimizer phases.
IntervalSet optimizer_of(const RankDigest& digest) {
  std::vector<Interval> spans;
  for (const PhaseRange& phase : digest.phases) {
    if (phase.marker == schema::Marker::kOptimizer) spans.push_back(phase.span);
  }
  return union_of(std::move(spans));
}

int64_t count_within(std::vector<TraceNs> moments, const IntervalSet& set) {
  std::ranges::sort(moments);
  int64_t count = 0;
  size_t next = 0;
  for (const TraceNs moment : moments) {
    while (next < set.size() && set[next].end <= moment) ++next;
    if (next < set.size() && set[next].begin <= moment) ++count;
  }
  return count;
}

// What DDP's copies between gradients and buckets launched. Memory 32 bytes per launch.
class BucketCopies {
 public:
  explicit BucketCopies(bool any) : any_(any) {}

  void see(const Meaning& meaning, const schema::HostRangeRow& row) {
    if (!any_) return;
    const Part part{row.thread_id, row.start_ns, row.start_ns + row.duration_ns.value_or(0),
                    row.correlation.value_or(0)};
    if (meaning.call == CallKind::kBucketCopy) ranges_.push_back(part);
    if (meaning.launch || meaning.copy) launches_.push_back(part);
  }

  // Correlations of those launches that stand in one of the ranges, which do not nest.
  [[nodiscard]] std::unordered_set<int64_t> launched() {
    std::ranges::sort(ranges_, {}, &Part::place);
    std::unordered_set<int64_t> inside;
    for (const Part& launch : launches_) {
      const auto after = std::ranges::upper_bound(ranges_, launch.place(), {}, &Part::place);
      if (after == ranges_.begin()) continue;
      const Part& range = *std::prev(after);
      if (range.thread == launch.thread && launch.at_ns < range.end_ns)
        inside.insert(launch.correlation);
    }
    return inside;
  }

 private:
  struct Part {
    int64_t thread = 0;
    int64_t at_ns = 0;
    int64_t end_ns = 0;
    int64_t correlation = 0;

    [[nodiscard]] std::pair<int64_t, int64_t> place() const { return {thread, at_ns}; }
  };

  bool any_;
  std::vector<Part> ranges_;
  std::vector<Part> launches_;
};

// Gaps between updates of the scaler in which no parameter was written.
int64_t skips_of(std::vector<TraceNs> updates, std::vector<TraceNs> writes) {
  std::ranges::sort(updates);
  std::ranges::sort(writes);
  int64_t skips = 0;
  for (size_t i = 1; i < updates.size(); ++i) {
    const auto write = std::ranges::lower_bound(writes, updates[i - 1]);
    if (write == writes.end() || *write >= updates[i]) ++skips;
  }
  return skips;
}

bool accumulates(std::string_view node) { return contains(node, "AccumulateGrad"); }

}  // namespace

Status FactsReader::sum_activities(const std::unordered_set<int64_t>& correlations,
                                   KernelSum& sum) {
  if (correlations.empty()) return Done{};
  return reader_.for_each<schema::GpuActivityRow>([&](const schema::GpuActivityRow& row) {
    if (!row.correlation || !correlations.contains(*row.correlation)) return;
    if (!row.duration_ns || *row.duration_ns < 0 || !sensible(*row.duration_ns)) return;
    ++sum.count;
    sum.total_ns += *row.duration_ns;
  });
}

Status FactsReader::read_calls() {
  const Meanings meanings(reader_.strings());
  const IntervalSet optimizer = optimizer_of(digest_);
  facts_.optimizer_phases = static_cast<int64_t>(optimizer.size());
  std::vector<TraceNs> launches;
  std::vector<TraceNs> writes;
  int64_t last_launch = 0;
  BucketCopies bucket_copies(meanings.has(CallKind::kBucketCopy));
  const auto compare = [&](const schema::HostRangeRow& row, int64_t end_ns, bool copies) {
    const auto sampled = sample_.find(row.correlation.value_or(0));
    if (sampled == sample_.end() || sampled->second.copy != copies) return;
    const bool until_done = end_ns >= sampled->second.end_ns;
    if (copies) {
      ++facts_.host_copies.sampled;
      facts_.host_copies.held_host_up += until_done ? 1 : 0;
    } else {
      ++facts_.launches_sampled;
      facts_.launches_until_done += until_done ? 1 : 0;
      facts_.start_lag_ns.add(std::max<int64_t>(0, sampled->second.start_ns - end_ns));
    }
    sample_.erase(sampled);  // the driver's call within has the same number
  };
  const auto read = [&](const schema::HostRangeRow& row) {
    const Meaning* meaning = meanings.of(row.name_id);
    if (meaning == nullptr || !sensible(row.start_ns)) return;
    if (!row.duration_ns || *row.duration_ns < 0 || !sensible(*row.duration_ns)) return;
    const TraceNs at = on_axis(row.start_ns);
    const int64_t ns = *row.duration_ns;
    if (meaning->call) add(facts_.calls[static_cast<size_t>(*meaning->call)], {at, ns, row.id});
    if (meaning->launch && row.correlation.value_or(0) != last_launch) {
      last_launch = row.correlation.value_or(0);
      launches.push_back(at);
    }
    bucket_copies.see(*meaning, row);
    if (meaning->launch || meaning->copy) compare(row, row.start_ns + ns, meaning->copy);
    if (meaning->writes_parameter) writes.push_back(at);
    if (meaning->recomputes && row.category == schema::RangeCategory::kAutograd) {
      ++facts_.recompute.count;
      facts_.recompute.total_ns += ns;
    }
    facts_.single_process_loads += meaning->single_process ? 1 : 0;
    facts_.worker_loads += meaning->workers ? 1 : 0;
  };
  if (meanings.empty()) return Done{};
  if (const Status good = reader_.for_each<schema::HostRangeRow>(read); !good.ok())
    return fail(good.error());
  facts_.optimizer_launches = count_within(std::move(launches), optimizer);
  if (meanings.has(CallKind::kScalerUpdate)) {
    std::vector<TraceNs> updates;
    for (const Call& call : facts_.of(CallKind::kScalerUpdate).kept) updates.push_back(call.at);
    std::erase_if(writes, [&](TraceNs at) { return count_within({at}, optimizer) == 0; });
    facts_.scaler_skips = skips_of(std::move(updates), std::move(writes));
  }
  if (const Status good = sum_activities(bucket_copies.launched(), facts_.bucket_copies);
      !good.ok())
    return fail(good.error());
  if (!meanings.has(CallKind::kNanCheck)) return Done{};
  return count_nodes();
}

Status FactsReader::count_nodes() {
  return reader_.for_each<schema::HostRangeRow>([&](const schema::HostRangeRow& row) {
    if (row.category != schema::RangeCategory::kAutograd) return;
    facts_.autograd_nodes += accumulates(reader_.string(row.name_id)) ? 0 : 1;
  });
}

}  // namespace dprof::analyzer::facts
